"""Nodes are not trusted: what their own files and folders hold runs nothing and gives nothing away."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from kafkactl.change.hooks.node import Request
from kafkactl.change.hooks.run import HookEnd, HookRun
from kafkactl.change.hooks.templates import TEMPLATES
from kafkactl.change.hooks.words import Verb, words_of
from kafkactl.core.findings import Finding
from kafkactl.kafka.client_config import load_client_config
from kafkactl.migration.driver.actions import Place, sha256
from kafkactl.migration.driver.moves import metadata_dir
from kafkactl.migration.inventory import Inventory, parse_inventory
from kafkactl.migration.io.live import LiveWorld
from kafkactl.migration.io.observe_places import observe_places
from kafkactl.migration.io.zookeeper.settings import ZooKeeperSettings
from kafkactl.migration.observed.observation import Observation
from tests.fakes.hook_clients import Clients
from tests.sampling import one_in

OLD, NEW = b"broker.id=1\n", b"broker.id=1\nnum.io.threads=9\n"
VARIABLES = {
    "systemd-ssh": "",
    "kubectl": 'variables = { pod = "p", statefulset = "s", configmap = "c" }',
    "docker-compose": 'variables = { service = "s" }',
}
NODES = """
[[nodes]]
id = 1
role = "broker"
host = "h1"
address = "127.0.0.1:9"
config = '{config}'
[[nodes]]
id = 3001
role = "controller"
address = "127.0.0.1:8"
config = "/none"
hooks = {{ template = "manual" }}
"""


@pytest.fixture
def clients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clients]:
    found = Clients(tmp_path / "clients")
    monkeypatch.setenv("PATH", f"{found.bin}{os.pathsep}{os.environ['PATH']}")
    yield found
    found.end()


def inventory_of(folder: Path, hooks: str, *, config: Path | None = None) -> Inventory:
    text = '[zookeeper]\nconnect = "127.0.0.1:1"\n[hooks]\n' + hooks + NODES.format(config=config or folder / "b.conf")
    return parse_inventory(text, file=str(folder / "migration.toml"))


def world_of(inventory: Inventory) -> LiveWorld:
    return LiveWorld(
        inventory,
        settings=ZooKeeperSettings(),
        client=load_client_config(None),
        observe=lambda: Observation(time_ms=0),
        tell=lambda _: None,
    )


def request(verb: Verb, **extra: str) -> Request:
    return Request(verb=verb, node=1, phase="kraft", seq=12, instruction="", text=NEW, extra=extra)


HOSTILE = [
    "log.dirs={data},-maxdepth,0,-exec,sh,-c,touch {mark},;",
    "log.dirs=/none -o -exec touch {mark} ;",
    "log.dirs=/none;touch {mark}",
    "log.dir=/none$(touch {mark})",
    "metadata.log.dir=(\nlog.dirs={data}",
    "log.dirs={data}/../data,!,-delete",
]


@pytest.mark.parametrize("line", one_in(3, HOSTILE))
@pytest.mark.parametrize("template", [*VARIABLES, "unquoted"])
def test_nodes_own_file_runs_nothing(template: str, line: str, clients: Clients, tmp_path: Path) -> None:
    mark, data = tmp_path / "PWNED", tmp_path / "data"
    data.mkdir()
    (data / "orders-0").mkdir()
    config = tmp_path / "b.conf"
    config.write_text(line.format(mark=mark, data=data) + "\n")
    if template == "unquoted":  # as an operator writes it who has forgotten `:q`
        hooks = 'fs_probe = ["ssh", "-n", "--", "{host}", "find", "{log_dirs}", "-maxdepth", "1"]\n'
        hooks += f"get_config = ['cat', '{config}']\n"
    else:
        hooks = f'template = "{template}"\n{VARIABLES[template]}\n'
        clients.put_configmap("c", {"server.properties": config.read_text()})
    facts = observe_places(inventory_of(tmp_path, hooks), timeout_ms=20_000)[1]
    assert facts.config is not None and facts.strays is None
    assert [finding.id for finding in facts.findings] == ["node-place-unreadable"]
    assert "expected is an absolute path" in facts.findings[0].message
    assert not mark.exists() and (data / "orders-0").exists()
    assert not [words for words in clients.recorded if "find" in words]


@pytest.mark.parametrize("line", [b"metadata.log.dir=-t\n", b"log.dirs=/a/../etc\n", b"log.dirs=/x;id\n"])
def test_directory_to_move_is_checked(line: bytes, clients: Clients, tmp_path: Path) -> None:
    (tmp_path / "b.conf").write_bytes(line)
    inventory = inventory_of(tmp_path, 'template = "systemd-ssh"')

    class Context:
        world = world_of(inventory)

    place = Place(node=1, name="broker 1", phase="kraft", seq=1)
    found = metadata_dir(inventory.nodes[0], Context(), place)  # type: ignore[arg-type]
    assert isinstance(found, Finding) and found.id == "node-directory-refused"


def swap(config: Path, *, before: bytes | None = OLD, content: bytes = NEW) -> subprocess.CompletedProcess[bytes]:
    values = {"config_path": str(config), "sha_before": "absent" if before is None else sha256(before)}
    words = words_of(TEMPLATES["docker-compose"][Verb.PUT_CONFIG], {**values, "sha_after": sha256(NEW)}, where="t")
    return subprocess.run(words, input=content, capture_output=True, check=False)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    folder = tmp_path / "conf"
    folder.mkdir(mode=0o755)
    found = folder / "server.properties"
    found.write_bytes(OLD)
    found.chmod(0o640)
    return found


def test_planted_link_is_not_followed(config: Path, tmp_path: Path) -> None:
    shadow = tmp_path / "shadow"
    shadow.write_text("secret")
    shadow.chmod(0o600)
    for name in (".kafkactl", ".new", ".tmp"):
        config.with_name(config.name + name).symlink_to(shadow)
    assert swap(config).returncode == 0
    assert (shadow.read_text(), stat.S_IMODE(shadow.stat().st_mode)) == ("secret", 0o600)
    assert config.read_bytes() == NEW and stat.S_IMODE(config.stat().st_mode) == 0o640
    assert len(list(config.parent.iterdir())) == 4  # nothing is left behind


def test_configuration_that_is_a_link_is_refused(config: Path, tmp_path: Path) -> None:
    real = tmp_path / "real"
    config.rename(real)
    config.symlink_to(real)
    done = swap(config)
    assert done.returncode == 67 and b"symbolic link" in done.stderr
    assert config.is_symlink() and real.read_bytes() == OLD


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o702])
def test_folder_that_every_user_may_write_is_refused(config: Path, mode: int) -> None:
    config.parent.chmod(mode)
    done = swap(config)
    assert done.returncode == 67 and b"chmod o-w" in done.stderr
    assert config.read_bytes() == OLD


def test_hook_refuses_a_fifo_as_configuration(config: Path) -> None:
    config.unlink()
    os.mkfifo(config)
    assert swap(config).returncode == 67


def test_setuid_bit_is_not_kept(config: Path) -> None:
    config.chmod(0o4750)
    assert swap(config).returncode == 0
    assert stat.S_IMODE(config.stat().st_mode) == 0o750


def test_file_that_appears_meanwhile_stays(config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config.unlink()
    (tmp_path / "bin").mkdir()
    real = shutil.which("sync")
    script = tmp_path / "bin" / "sync"
    script.write_text(f"#!/bin/sh\n[ -e '{config}' ] || echo theirs >'{config}'\nexec {real} \"$@\"\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    assert swap(config, before=None).returncode == 65
    assert config.read_text() == "theirs\n"


@pytest.mark.slow
def test_another_user_who_races_for_the_folder_gains_nothing(config: Path, tmp_path: Path) -> None:
    # A process of the folder's owner that replaces every new name by a link to a file that it may not write.
    prize = tmp_path / "prize"
    prize.mkdir(mode=0o700)
    (prize / "new").write_text("root's")
    over = threading.Event()

    def race() -> None:
        while not over.is_set():
            for path in config.parent.glob("tmp.*"):
                if not path.is_symlink():
                    with suppress(OSError):
                        path.rename(tmp_path / f"away-{path.name}")
                        path.symlink_to(prize)

    thread = threading.Thread(target=race)
    thread.start()
    try:
        for _ in range(30):
            config.write_bytes(OLD)
            swap(config)
            assert (prize / "new").read_text() == "root's" and len(list(prize.iterdir())) == 1
            for path in config.parent.glob("tmp.*"):
                path.unlink() if path.is_symlink() else shutil.rmtree(path, ignore_errors=True)
    finally:
        over.set()
        thread.join()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_owner_of_the_file_stays(config: Path) -> None:
    os.chown(config, 65534, 65534)
    os.chown(config.parent, 65534, 65534)
    assert swap(config).returncode == 0
    assert (config.stat().st_uid, config.stat().st_gid, config.read_bytes()) == (65534, 65534, NEW)


def print_environment(folder: Path) -> str:
    (folder / "hooks").mkdir()
    script = folder / "hooks" / "h.sh"
    script.write_text("#!/bin/sh\npwd\nenv | grep ^KAFKACTL_ | sort\n")
    script.chmod(0o755)
    return 'restart = ["./hooks/h.sh"]\nget_config = ["hooks/h.sh"]\nstop = ["sh", "hooks/h.sh"]\n'


@pytest.mark.parametrize("verb", [Verb.RESTART, Verb.GET_CONFIG, Verb.STOP])
@pytest.mark.parametrize("observe", [False, True])
def test_relative_command_is_that_of_the_inventorys_folder(
    verb: Verb, observe: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    for folder in (home, elsewhere):
        folder.mkdir()
    inventory = inventory_of(home, print_environment(home))
    print_environment(elsewhere)
    monkeypatch.chdir(elsewhere)
    monkeypatch.setenv("KAFKACTL_SCRAM", "SCRAM-SHA-256=[name=admin,password=hunter2]")
    monkeypatch.setenv("KAFKACTL_TIMEOUT", "5s")
    if observe:
        text = observe_places(inventory, timeout_ms=20_000)[1].config
        named, phase, seq = "get_config", "original", "0"
    else:
        run: HookRun = world_of(inventory).ask(request(verb))
        assert run.end is HookEnd.DONE
        text, named, phase, seq = run.stdout.decode(), verb.value, "kraft", "12"
    assert text is not None
    assert text.splitlines() == [
        str(home),
        f"KAFKACTL_CONFIG_PATH={home / 'b.conf'}",
        "KAFKACTL_HOST=h1",
        f"KAFKACTL_JOURNAL_SEQ={seq}",
        "KAFKACTL_NODE_ID=1",
        f"KAFKACTL_PHASE={phase}",
        "KAFKACTL_ROLE=broker",
        f"KAFKACTL_VERB={named}",
    ]


def test_hooks_of_an_inventory_in_the_working_directory_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    print_environment(tmp_path)
    monkeypatch.chdir(tmp_path)
    text = f"[zookeeper]\nconnect = '127.0.0.1:1'\n[hooks]\nrestart = './hooks/h.sh'\n{NODES.format(config='/c')}"
    run = world_of(parse_inventory(text, file="migration.toml")).ask(request(Verb.RESTART))
    assert run.stdout.decode().splitlines()[0] == str(tmp_path)


def test_contracts_value_is_not_replaced_by_a_variable(tmp_path: Path) -> None:
    hooks = f"get_config = ['{sys.executable}', '-c', 'import sys; print(sys.argv[1])', '{{host}}']\n"
    inventory = inventory_of(tmp_path, hooks + 'variables = { host = "other" }\n')
    assert observe_places(inventory, timeout_ms=20_000)[1].config == "h1\n"
