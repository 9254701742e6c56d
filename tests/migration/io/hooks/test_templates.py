"""The ready-made hooks from end to end: stand-ins for their clients act on real processes, and the real ones parse."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkactl.change.hooks.node import Request
from kafkactl.change.hooks.run import HookEnd
from kafkactl.change.hooks.templates import TEMPLATES
from kafkactl.change.hooks.words import Verb
from kafkactl.kafka.client_config import load_client_config
from kafkactl.migration.driver import actions as apply
from kafkactl.migration.driver.actions import Place, sha256
from kafkactl.migration.driver.ports import MigrationWaitPolicy
from kafkactl.migration.inventory import parse_inventory
from kafkactl.migration.io.live import LiveWorld
from kafkactl.migration.io.zookeeper.settings import ZooKeeperSettings
from kafkactl.migration.observed.observation import Observation
from tests.fakes.hook_clients import Clients

ODD = 'it\'s $HOME; a "b" {c}'
UNIT = "kafka@broker 1's.service"
POLICY = MigrationWaitPolicy(apart_ms=10, observe_every_ms=10, gone_ms=5_000)
OLD, NEW = b"broker.id=1\n# caf\xc3\xa9\n", b"broker.id=1\nzookeeper.metadata.migration.enable=true\n"
HOOKS = {
    "systemd-ssh": """unit = "kafka@broker 1's.service", ssh_user = "ops@", storage_command = '{storage}' """,
    "kubectl": """pod = "kafka-1-0", statefulset = "kafka-1", configmap = "kafka-1", namespace = "prod" """,
    "docker-compose": """service = "kafka 1", compose_file = '{folder}/a b.yml', storage_command = '{storage}' """,
}
PROCESS = {"systemd-ssh": UNIT, "kubectl": "kafka-1-0", "docker-compose": "kafka 1"}
READY_MADE = tuple(HOOKS)
WITH_FILES = ("systemd-ssh", "docker-compose")


@pytest.fixture
def clients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clients]:
    found = Clients(tmp_path)
    monkeypatch.setenv("PATH", f"{found.bin}{os.pathsep}{os.environ['PATH']}")
    yield found
    found.end()


def folder_of(tmp_path: Path) -> Path:
    found = tmp_path / ODD
    found.mkdir(exist_ok=True)
    return found


def config_of(tmp_path: Path) -> Path:
    return folder_of(tmp_path) / "server's.properties"


def world_of(template: str, tmp_path: Path) -> LiveWorld:
    folder = folder_of(tmp_path)
    storage = tmp_path / "kafka storage.sh"
    storage.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    storage.chmod(0o755)
    values = HOOKS[template].replace("{storage}", str(storage)).replace("{folder}", str(tmp_path))
    logs = [str(folder / "data 1"), str(folder / "data 2")]
    for log in logs:
        Path(log, "orders-0").mkdir(parents=True)
    text = f"""
[zookeeper]
connect = "127.0.0.1:1"
[hooks]
template = "{template}"
variables = {{ {values} }}
[[nodes]]
id = 1
role = "broker"
host = "odd_host-1.example;touch x"
address = "127.0.0.1:9"
config = '''{config_of(tmp_path)}'''
log_dirs = ['''{logs[0]}''', '''{logs[1]}''']
[[nodes]]
id = 3001
role = "controller"
address = "127.0.0.1:8"
config = "/etc/c.properties"
"""
    return LiveWorld(
        parse_inventory(text),
        settings=ZooKeeperSettings(),
        client=load_client_config(None),
        observe=lambda: Observation(time_ms=0),
        tell=lambda _: None,
    )


PLACE = Place(node=1, name="broker 1", phase="migration", seq=7)


def have_config(template: str, clients: Clients, tmp_path: Path, content: bytes) -> None:
    if template == "kubectl":
        clients.put_configmap("kafka-1", {"server.properties": content.decode(), "log4j.properties": "keep me"})
    else:
        config_of(tmp_path).write_bytes(content)


@pytest.mark.slow
@pytest.mark.parametrize("template", READY_MADE)
def test_node_is_stopped_started_and_restarted(template: str, clients: Clients, tmp_path: Path) -> None:
    world, unit = world_of(template, tmp_path), PROCESS[template]
    assert apply.is_running(world, PLACE) is False
    for _ in range(2):  # a hook may be run twice
        assert apply.start(world, PLACE).finding is None
    first = clients.pid(unit)
    assert first is not None and apply.is_running(world, PLACE) is True
    assert world.ask(Request(verb=Verb.RESTART, node=1, phase="migration", seq=7, instruction="")).is_done
    second = clients.pid(unit)
    assert second not in (None, first) and apply.is_running(world, PLACE) is True
    for _ in range(2):
        assert apply.stop(world, PLACE, policy=POLICY).finding is None
    assert clients.pid(unit) is None and apply.is_running(world, PLACE) is False


@pytest.mark.slow
@pytest.mark.parametrize("template", READY_MADE)
def test_file_is_swapped_where_it_is_the_expected_one(template: str, clients: Clients, tmp_path: Path) -> None:
    world = world_of(template, tmp_path)
    have_config(template, clients, tmp_path, OLD)
    assert apply.read_file(world, PLACE) == (OLD, None)
    assert apply.put_file(world, PLACE, NEW, before=OLD).finding is None
    assert apply.read_file(world, PLACE) == (NEW, None)
    assert apply.put_file(world, PLACE, NEW, before=OLD).finding is None  # again: nothing to do
    refused = apply.put_file(world, PLACE, OLD, before=b"somebody else's")
    assert refused.finding is not None and refused.finding.id == "config-changed-concurrently"
    assert apply.read_file(world, PLACE) == (NEW, None)
    if template == "kubectl":
        held = clients.configmap("kafka-1")
        assert held["data"] == {"server.properties": NEW.decode(), "log4j.properties": "keep me"}
        named = {"name": "kafka-1", "namespace": "prod", "labels": {"app": "kafka"}}
        assert held["metadata"] == {**named, "resourceVersion": "8"}


@pytest.mark.parametrize("template", READY_MADE)
def test_file_that_comes_cut_off_is_not_put(template: str, clients: Clients, tmp_path: Path) -> None:
    world = world_of(template, tmp_path)
    have_config(template, clients, tmp_path, OLD)
    hashes = {"sha_before": sha256(OLD), "sha_after": sha256(NEW)}
    run = world.ask(
        Request(verb=Verb.PUT_CONFIG, node=1, phase="kraft", seq=7, instruction="", text=NEW[:9], extra=hashes)
    )
    assert (run.end, run.exit_code) == (HookEnd.FAILED, 66)
    assert apply.read_file(world, PLACE) == (OLD, None)


@pytest.mark.parametrize("template", READY_MADE)
def test_missing_file_is_reported_and_can_be_written(template: str, clients: Clients, tmp_path: Path) -> None:
    world = world_of(template, tmp_path)
    _, missing = apply.read_file(world, PLACE)
    assert missing is not None and missing.id == "hook-failed"
    assert apply.put_file(world, PLACE, NEW, before=None).finding is None
    assert apply.read_file(world, PLACE) == (NEW, None)


@pytest.mark.parametrize("template", READY_MADE)
def test_hook_lists_log_directories_and_strays(template: str, clients: Clients, tmp_path: Path) -> None:
    world = world_of(template, tmp_path)
    logs = [str(folder_of(tmp_path) / name) for name in ("data 1", "data 2")]
    assert listed(world, logs) == []
    stray = Path(logs[1], "orders-0.b2a3-stray")
    stray.mkdir()
    assert listed(world, logs) == [str(stray)]


def listed(world: LiveWorld, logs: list[str]) -> list[str]:
    """Return the stray directories among what the hook prints."""
    run = world.ask(
        Request(verb=Verb.FS_PROBE, node=PLACE.node, phase="", seq=0, instruction="", extra={"log_dirs": logs})
    )
    assert run.is_done
    return [line for line in run.stdout.decode().splitlines() if line.endswith("-stray")]


@pytest.mark.parametrize("template", WITH_FILES)
def test_disk_is_formatted_by_kafkas_own_tool(template: str, clients: Clients, tmp_path: Path) -> None:
    world = world_of(template, tmp_path)
    extra: dict[str, str | tuple[str, ...]] = {
        "cluster_id": "-starts.with_a-dash", "release": "3.9", "format_flags": ("--initial-controllers", "1@h 1:9:x"),
    }  # fmt: skip
    run = world.ask(Request(verb=Verb.FORMAT, node=1, phase="migration", seq=7, instruction="", extra=extra))
    if run.end is HookEnd.NOT_STARTED:  # a word that would be read as an option is refused, not quoted
        assert "option" in run.message
        extra["cluster_id"] = "q1Sh-9_ISia_zwGINzRvyQ"
        run = world.ask(Request(verb=Verb.FORMAT, node=1, phase="migration", seq=7, instruction="", extra=extra))
    words = run.stdout.decode().splitlines()
    assert words[0] == "format" and words[-2:] == ["--initial-controllers", "1@h 1:9:x"]
    assert words[words.index("--cluster-id") + 1] == extra["cluster_id"]


@pytest.mark.slow
def test_disk_is_put_aside_and_a_unit_disabled_over_ssh(clients: Clients, tmp_path: Path) -> None:
    world = world_of("systemd-ssh", tmp_path)
    metadata = folder_of(tmp_path) / "meta data"
    metadata.mkdir()
    extra = {"metadata_dir": str(metadata)}
    wipe = Request(verb=Verb.WIPE, node=1, phase="original", seq=7, instruction="", extra=extra)
    (metadata / "passwd").touch()  # what the node's file names need not be a log directory
    refused = world.ask(wipe)
    assert (refused.end, refused.exit_code) == (HookEnd.FAILED, 67) and "not a log directory" in refused.message
    (metadata / "meta.properties").touch()
    for _ in range(2):  # a hook may be run twice
        assert world.ask(wipe).is_done
    assert not metadata.exists()
    assert len(list(metadata.parent.glob("meta data.before-migration.*"))) == 1
    assert world.ask(Request(verb=Verb.DISABLE, node=1, phase="original", seq=7, instruction="")).is_done
    calls = [client for client in clients.recorded if client[0] == "ssh"]
    assert {call[call.index("--") + 1] for call in calls} == {"ops@odd_host-1.example;touch x"}
    assert ["systemctl", "disable", UNIT] in clients.recorded


@pytest.mark.parametrize("template", READY_MADE)
def test_lines_of_a_nodes_log_are_read(template: str, clients: Clients, tmp_path: Path) -> None:
    extra = {"pattern": "Initial 'migration' of $ZK", "since_ms": "1790000000000"}
    run = world_of(template, tmp_path).ask(
        Request(verb=Verb.LOGS, node=1, phase="migration", seq=7, instruction="", extra=extra)
    )
    assert run.is_done and run.stdout.decode().strip() == f"a line of {PROCESS[template]}"


@pytest.mark.parametrize("template", READY_MADE)
def test_client_that_is_not_there_is_reported(template: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Also if ssh is there and the remote side has nothing: a hook that fails is not a file that was changed.
    empty = tmp_path / "bin"
    empty.mkdir()
    for name in ("sh", "cat", "sha256sum", "cut", "mktemp", "rm"):
        where = shutil.which(name)
        assert where is not None
        (empty / name).symlink_to(where)
    monkeypatch.setenv("PATH", str(empty))
    world = world_of(template, tmp_path)
    found = apply.put_file(world, PLACE, NEW, before=OLD).finding
    assert found is not None
    if template != "docker-compose":  # whose files are files of this machine
        assert found.id in ("hook-not-started", "hook-failed")
    assert apply.is_running(world, PLACE) is None


def test_another_process_that_changes_a_config_map_meanwhile_is_a_conflict(clients: Clients, tmp_path: Path) -> None:
    world = world_of("kubectl", tmp_path)
    clients.put_configmap("kafka-1", {"server.properties": OLD.decode()})
    real = clients.bin / "sha256sum"
    bump = f'sed -i \'s/"resourceVersion": "7"/"resourceVersion": "70"/\' \'{clients.root}/kafka%2d1.configmap\''
    real.write_text(f'#!/bin/sh\n{bump}\nexec {shutil.which("sha256sum")} "$@"\n')
    real.chmod(0o755)
    found = apply.put_file(world, PLACE, NEW, before=OLD).finding
    assert found is not None and found.id == "hook-failed" and "Conflict" in found.message
    assert clients.configmap("kafka-1")["data"] == {"server.properties": OLD.decode()}


KUBECTL = shutil.which("kubectl")


@pytest.mark.slow
@pytest.mark.skipif(KUBECTL is None, reason="what kubectl does without a server needs kubectl")
def test_real_kubectl_makes_of_a_config_map_what_the_swap_needs(clients: Clients, tmp_path: Path) -> None:
    assert KUBECTL is not None
    clients.use_real_kubectl(KUBECTL)
    test_file_is_swapped_where_it_is_the_expected_one("kubectl", clients, tmp_path)


CLIENTS = {"kubectl": "kubectl", "docker-compose": "docker"}
_NO_SUCH_WORD = ("unknown flag", "unknown shorthand", "unknown command", "Usage:", "error: unknown")


def has_client(template: str) -> bool:
    client = shutil.which(CLIENTS[template])
    words = ["compose", "version"] if template == "docker-compose" else ["version", "--client"]
    return client is not None and subprocess.run([client, *words], capture_output=True, check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("template", CLIENTS)
def test_real_clients_know_every_word(template: str, tmp_path: Path) -> None:
    # There is no engine behind them: they get as far as that, and do not complain of a word before.
    if not has_client(template):
        pytest.skip(f"whether the words of {template} are right needs its client, and there is none")
    world = world_of(template, tmp_path)
    (tmp_path / "a b.yml").write_text("services:\n  kafka 1:\n    image: x\n".replace("kafka 1", "kafka-1"))
    extra = {
        "sha_before": "a", "sha_after": "b", "cluster_id": "c", "release": "3.9", "format_flags": ("--standalone",),
        "metadata_dir": "/m", "log_dirs": ("/d",), "pattern": "p", "since_ms": "1790000000000", "mbean": "m",
    }  # fmt: skip
    for verb in TEMPLATES[template]:
        run = world.ask(Request(verb=verb, node=1, phase="kraft", seq=7, instruction="", text=NEW, extra=extra))
        assert not any(word in run.message for word in _NO_SUCH_WORD), (verb, run.message)
