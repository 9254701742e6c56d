"""Rules for every command: none shows a secret of its input, and none lets its input control a terminal."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafkactl.bundle.api.create import create_bundle
from kafkactl.bundle.api.sources import Sources
from kafkactl.commands.framework.leaf import LeafCommand
from kafkactl.core.values import Role
from kafkactl.metadata.io.source import open_source
from kafkactl.migration.io.observation_writer import save_observation
from kafkactl.migration.io.saved_observation import CapturedMigration
from kafkactl.migration.observed.raw_observation import RawNode, RawObservation
from kafkactl.migration.zktree.znode import encode_znodes
from kafkactl.roll.io.saved_observation import CapturedRoll
from kafkactl.roll.io.saved_observation import save_observation as save_roll_observation
from kafkactl.roll.observation import RollNode, make_observation
from scripts import make_reference
from tests.commands import test_hostile_text, test_secrets_hidden
from tests.commands.every_command import CONSTANT, file_for, hostile_lines, lines_with
from tests.commands.storage.fleet_on_disk import FleetOnDisk
from tests.commands.test_hostile_text import EVIL, clean
from tests.conftest import Run
from tests.migration.zk_trees import config as config_znode
from tests.migration.zk_trees import small, znodes
from tests.secrets_scan import leaks
from tests.storage.fleet.fleets import FleetBuilder

log = test_hostile_text.log  # the fixtures: a log and a configuration in which everything is hostile
config = test_hostile_text.config

ID = "q1Sh-9_ISia_zwGINzRvyQ"
SEGMENT = test_hostile_text.SEGMENT
# numpy is loaded first: an import that the --timeout of one line interrupts would fail in all later lines.
RUNS = """
import json, os, sys
import numpy
from kafkactl.commands.main import main
for words in json.load(open(sys.argv[1])):
    code = main(words)
    with open(sys.argv[2], "a") as codes:
        codes.write(f"{code}\\n")
"""


def test_every_command_has_a_line() -> None:
    every = {
        " ".join(ctx.command_path.split()[1:])
        for ctx, command in make_reference.every_command()
        if isinstance(command, LeafCommand)
    }
    missing = {name: f"add {CONSTANT} of `{name}` to {file_for(name)}" for name in every - set(hostile_lines())}
    assert not missing, "\n".join(missing.values())
    assert sorted(set(hostile_lines()) - every) == [], f"remove {CONSTANT} of a command that no longer exists"
    assert len(every) > 60


def _inventory(folder: Path, config: Path, words: str) -> Path:
    """Return an inventory of a cluster whose nodes do not answer; `words` stand in a template of its own."""
    file = folder / "migration.toml"
    nodes = "\n".join(
        f'[[nodes]]\nid = {id}\nrole = "{role}"\naddress = "127.0.0.1:1"\nconfig = "/etc/kafka/x"\n'
        f'copy = "{config.name}"'
        for id, role in ((1, "broker"), (3001, "controller"))
    )
    file.write_text(
        '[zookeeper]\nconnect = "127.0.0.1:1/kafka"\n[hooks]\ntemplate = "command"\nread_config = ["false", '
        f"{json.dumps(words)}]\n{nodes}\n"
    )
    return file


def _roll_observation(folder: Path, log: Path, config: Path, words: str) -> Path:
    """Save the observation of a roll with the log and the file of a node; `words` is what its hooks said."""
    node = RollNode(
        id=1, roles=(Role.BROKER, Role.CONTROLLER), host=words, rack=words, alive=True, release=words, java=words,
        config=config.read_text(),
    )  # fmt: skip
    quorum = {"leader_id": 1, "leader_epoch": 1, "voters": [{"id": 1, "alive": True}], "observers": []}
    seen = make_observation(time_ms=1, cluster_id=None, nodes=[node], quorum=quorum)
    save_roll_observation(folder, CapturedRoll(observation=seen, logs={1: open_source(str(log))}))
    return folder


def world(
    folder: Path, log: Path, config: Path, client: Path, captured: CapturedMigration, text: str
) -> dict[str, str]:
    """Return the things that the lines name."""
    save_observation(str(folder / "observation"), captured)
    (folder / "zk.jsonl.gz").write_bytes(encode_znodes(captured.znodes or ()))
    (folder / "fleet").mkdir()
    fleet = FleetOnDisk(folder / "fleet", FleetBuilder())
    bundled = Sources(configs=(str(config),), logs=(str(log),), observation=str(folder / "observation"))
    create_bundle(folder / "bundle.zip", bundled, include_log=True)
    for path in (config, client):
        path.chmod(0o600)
    return {
        "log": str(log), "segment": str(log / SEGMENT), "meta": str(log.parent / "meta.properties"),
        "config": str(config), "client": str(client), "observation": str(folder / "observation"),
        "tree": str(folder / "zk.jsonl.gz"), "fleet": str(fleet.inventory), "fleet-plan": str(fleet.plan),
        "inventory": str(_inventory(folder, config, text)), "bundle": str(folder / "bundle.zip"),
        "id": ID, "text": text, "new": str(folder / "new"),
        "report": str(folder / "report.html"), "details": str(folder / "details"),
        "rendered": str(folder / "rendered"),
        "roll-seen": str(_roll_observation(folder / "roll-seen", log, config, text)),
    }  # fmt: skip


@pytest.fixture
def secrets(tmp_path: Path) -> dict[str, str]:
    """Return the forty, in all that commands read; in client properties a login, in a fleet's configuration some
    more."""
    log = test_secrets_hidden.written_log(tmp_path / "log")
    config = tmp_path / "server.properties"
    config.write_text(test_secrets_hidden.properties() + f"log.dirs={tmp_path}/disk\nlisteners=X://h:1\n")
    client = tmp_path / "client.properties"
    client.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config=org.apache.kafka.common.security.plain"
        '.PlainLoginModule required username="a" password="hunter60";\nmy.pwd=hunter61\n# hunter62\n'
    )
    known = world(tmp_path, log, config, client, test_secrets_hidden.captured(tmp_path / "captured"), "no-such-thing")
    for file in (tmp_path / "fleet").glob("*.properties"):
        own = file.read_text()  # and its log.dirs: a plan is of directories, and shows what they are called
        more = test_secrets_hidden.properties().partition("node.id=1\n")[2].replace("log.dirs=", "ldap.dirs=")
        file.write_text(own + more)
    return known


@pytest.mark.slow
@pytest.mark.parametrize("output", ["table", "json"])
def test_no_command_shows_a_secret(
    kafkactl: Callable[..., Run], secrets: dict[str, str], tmp_path: Path, output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The fixture that runs them fails on any answer in which one stands; files that they write are searched here.
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "contexts"))
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    ended: dict[str, int] = {}
    for words in lines_with(secrets):
        run = kafkactl(*words, "-o", output)
        ended[" ".join(words)] = run.code
        assert "internal-error" not in run.stdout + run.stderr, (words, run.stderr)
    assert 0 in ended.values() and len(set(ended.values())) > 3
    written = {path for path in tmp_path.rglob("*") if path.is_file()} - before
    assert {"report.html", "controller-3001.properties"} & {path.name for path in written}
    # Rendered files are those of the operator, secrets and all, in a folder that is the owner's alone.
    leaking = {path.name for path in written if leaks(path.read_bytes()) and path.suffix != ".properties"}
    assert leaking == set()
    assert all(path.stat().st_mode & 0o077 == 0 for path in written if leaks(path.read_bytes()))


@pytest.fixture
def hostile(tmp_path: Path, log: Path, config: Path) -> dict[str, str]:
    """Return names, values, paths and arguments with everything that steers a terminal."""
    escape = "".join(f"\\u{ord(letter):04x}" for letter in EVIL)
    client = tmp_path / "client.properties"
    client.write_text(f"{escape}={escape}\nsecurity.protocol={escape}\n")
    name = EVIL.replace("/", "")
    tree = small() | {
        f"/brokers/topics/{name}": b'{"version":2,"partitions":{"0":[1]}}',
        f"/config/topics/{name}": config_znode(**{"retention.ms": EVIL, EVIL: EVIL}),
        f"/config/users/{name}": config_znode(**{EVIL: EVIL}),
    }
    nodes = (
        RawNode(id=1, role=Role.BROKER, config=config.read_text()),
        RawNode(id=3001, role=Role.CONTROLLER, config=config.read_text()),
    )
    raw = RawObservation(time_ms=5, connect="zk1:2181/kafka", chroot="/kafka", nodes=nodes)
    captured = CapturedMigration(raw=raw, znodes=znodes(tree, "/kafka"), logs={3001: open_source(str(log))})
    return world(tmp_path, log, config, client, captured, EVIL)


@pytest.mark.slow
def test_no_command_lets_what_it_reads_steer_a_terminal(hostile: dict[str, str], tmp_path: Path) -> None:
    lines = lines_with(hostile)
    text, codes = on_a_terminal(lines, tmp_path)
    assert len(codes) == len(lines), text[-2_000:]
    assert {0, 2} < set(codes) and "internal-error" not in text
    clean(text)
    assert text.count(r"\x1b]0;PWN") > len(hostile_lines()), "it is shown, written out"


def on_a_terminal(lines: list[list[str]], folder: Path) -> tuple[str, list[int]]:
    """Return what command lines write to a terminal, one after the other in one process, and how they ended."""
    words, codes = folder / "lines.json", folder / "codes"
    words.write_text(json.dumps(lines))
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", RUNS, str(words), str(codes)],
        stdin=theirs, stdout=theirs, stderr=theirs, cwd=Path(__file__).resolve().parents[2],
        env=kept | {"TERM": "dumb", "LC_ALL": "C.UTF-8", "COLUMNS": "80", "XDG_CONFIG_HOME": str(folder / "contexts")},
    )  # fmt: skip
    os.close(theirs)
    text = b"".join(_read(ours))
    os.close(ours)
    child.wait(timeout=60)
    return text.decode(), [int(code) for code in codes.read_text().split()]


def _read(terminal: int) -> Iterator[bytes]:
    with contextlib.suppress(OSError):  # Linux: EIO when the last writer has closed a terminal
        while chunk := os.read(terminal, 65_536):
            yield chunk
