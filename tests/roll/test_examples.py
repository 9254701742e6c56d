"""The inventories of docs/examples/roll: each loads, and its hooks do what their verbs say, verb by verb.

The clients are stand-ins that refuse what the real ones refuse; the scripts are those of the examples.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafkactl.change.hooks.node import Request
from kafkactl.change.hooks.run import HookEnd, HookRun
from kafkactl.change.hooks.words import Verb
from kafkactl.roll.api.observing import read_inventory
from kafkactl.roll.inventory import RollInventoryNode
from kafkactl.roll.io.live import LiveRoll
from kafkactl.roll.release_text import named_release
from kafkactl.roll.rules.java import java_release
from tests.fakes.hook_clients import Clients

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples" / "roll"
GUIDE = ROOT / "docs" / "rolling-upgrade.md"
INVENTORIES = sorted(path.stem for path in EXAMPLES.glob("*.toml"))
OLD, NEW = "4.3.1", "4.4.0"


class Example:
    """An example in a folder of its own, with its host below that folder, and one of its nodes."""

    def __init__(self, name: str, node_id: int, folder: Path, clients: Clients) -> None:
        self.clients = clients
        self.node_id = node_id
        self.root = folder / "host"
        self.folder = folder / "inventory"
        shutil.copytree(EXAMPLES, self.folder)
        for path in self.folder.iterdir():
            text = path.read_text()
            path.write_text(text.replace("/etc/kafka", f"{self.root}/etc").replace("/opt/kafka", f"{self.root}/kafka"))
        self.inventory = read_inventory(self.folder / f"{name}.toml")
        self.port = LiveRoll(self.inventory, observe_ms=1_000, stop_ms=30_000, tell=lambda _: None)

    @property
    def node(self) -> RollInventoryNode:
        found = self.inventory.node(self.node_id)
        assert found is not None
        return found

    def ask(self, verb: Verb, text: bytes = b"", **extra: str) -> HookRun:
        request = Request(
            verb=verb, node=self.node_id, phase="brokers", seq=3, instruction="", text=text, extra=dict(extra)
        )
        return self.port.ask([request])[self.node_id]

    def done(self, verb: Verb, text: bytes = b"", **extra: str) -> str:
        run = self.ask(verb, text, **extra)
        assert run.end is HookEnd.DONE, run.message
        return run.stdout.decode()

    def unpack(self, home: Path) -> None:
        """Unpack two releases, and link the old one."""
        for release in (OLD, NEW):
            libs = self.root / "kafka-releases" / release / "libs"
            libs.mkdir(parents=True)
            for name in (f"kafka_2.13-{release}.jar", f"kafka-clients-{release}.jar"):
                (libs / name).touch()
        home.symlink_to(self.root / "kafka-releases" / OLD)

    def put_file(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"node.id=1\n")


def with_unit(example: Example, unit: str, home: str) -> None:
    example.unpack(example.root / home)
    example.clients.put_home(unit, example.root / home)
    example.put_file(Path(example.node.config))


def with_pod(example: Example, name: str) -> None:
    example.clients.put_statefulset(name, f"apache/kafka:{OLD}")
    example.clients.put_configmap(name, {"server.properties": "node.id=1\n"})


def with_service(example: Example) -> None:
    example.put_file(example.folder / example.node.config)
    (example.folder / ".env").write_text("".join(f"KAFKA_{id}={OLD}\n" for id in (1, 11, 12)))


PREPARED: dict[tuple[str, int], Callable[[Example], None]] = {
    ("systemd", 2): lambda example: with_unit(example, "kafka@2", "kafka-2"),
    ("systemd-ssh", 1): lambda example: with_unit(example, "kafka-controller", "kafka"),
    ("systemd-ssh", 11): lambda example: with_unit(example, "kafka", "kafka"),
    ("kubectl", 11): lambda example: with_pod(example, "kafka-11"),
    ("docker-compose", 12): with_service,
}


@pytest.fixture
def clients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clients]:
    found = Clients(tmp_path)
    java = found.bin / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"17.0.9\" 2023-10-17' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("PATH", f"{found.bin}{os.pathsep}{os.environ['PATH']}")
    yield found
    found.end()


def test_every_example_is_tried_and_named_in_the_guide() -> None:
    assert sorted({name for name, _ in PREPARED}) == INVENTORIES
    links = re.findall(r"\(examples/roll/([a-z.-]+)\)", GUIDE.read_text())
    assert sorted(links) == sorted(path.name for path in EXAMPLES.iterdir())


@pytest.mark.parametrize("name", INVENTORIES)
def test_example_is_an_inventory_in_which_each_node_has_every_verb_of_a_roll(name: str) -> None:
    inventory = read_inventory(EXAMPLES / f"{name}.toml")
    port = LiveRoll(inventory, observe_ms=1_000, stop_ms=30_000, tell=lambda _: None)
    verbs = (
        Verb.GET_CONFIG, Verb.PUT_CONFIG, Verb.STOP, Verb.START, Verb.RESTART, Verb.IS_RUNNING, Verb.LOGS,
        Verb.INSTALL, Verb.INSTALLED, Verb.RUNNING,
    )  # fmt: skip
    assert [(node.id, verb) for node in inventory.nodes for verb in verbs if not port.has_hook(verb, node.id)] == []
    # The Java of a container is in its image, so that of the next start is not known before it.
    has_java = {port.has_hook(Verb.JAVA, node.id) for node in inventory.nodes}
    assert has_java == {name.startswith("systemd")}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "node_id"), PREPARED)
def test_hooks_of_an_example_upgrade_a_node(name: str, node_id: int, tmp_path: Path, clients: Clients) -> None:
    example = Example(name, node_id, tmp_path, clients)
    PREPARED[name, node_id](example)
    assert example.port.is_running(node_id) is False
    assert named_release(example.done(Verb.INSTALLED)) == OLD
    example.done(Verb.START)
    assert example.port.is_running(node_id) is True
    assert named_release(example.done(Verb.RUNNING)) == OLD
    for _ in range(2):
        example.done(Verb.INSTALL, release=NEW)
        assert named_release(example.done(Verb.INSTALLED)) == NEW
        assert named_release(example.done(Verb.RUNNING)) == OLD  # the process is not touched
    for _ in range(2):
        example.done(Verb.STOP)
    assert example.port.is_running(node_id) is False
    assert named_release(example.done(Verb.RUNNING)) is None
    for _ in range(2):
        example.done(Verb.START)
    assert example.port.is_running(node_id) is True
    assert named_release(example.done(Verb.RUNNING)) == NEW
    example.done(Verb.RESTART)
    assert example.port.is_running(node_id) is True
    assert "a line of" in example.done(Verb.LOGS, pattern="ERROR|FATAL", since_ms="1790000000000")
    if name.startswith("systemd"):
        assert java_release(example.done(Verb.JAVA)) == 17


@pytest.mark.slow
@pytest.mark.parametrize(("name", "node_id"), PREPARED)
def test_hooks_of_an_example_swap_the_file_of_a_node(name: str, node_id: int, tmp_path: Path, clients: Clients) -> None:
    example = Example(name, node_id, tmp_path, clients)
    PREPARED[name, node_id](example)
    before, after = b"node.id=1\n", b"node.id=1\nnum.io.threads=2\n"
    hashes = {"sha_before": hashlib.sha256(before).hexdigest(), "sha_after": hashlib.sha256(after).hexdigest()}
    assert example.done(Verb.GET_CONFIG).encode() == before
    example.done(Verb.PUT_CONFIG, after, **hashes)
    assert example.done(Verb.GET_CONFIG).encode() == after
    other = example.ask(Verb.PUT_CONFIG, before, sha_before="0" * 64, sha_after=hashes["sha_before"])
    assert other.end is HookEnd.CHANGED_MEANWHILE
    assert example.done(Verb.GET_CONFIG).encode() == after


@pytest.mark.parametrize(("name", "node_id"), [("systemd", 2), ("systemd-ssh", 11)])
def test_unit_is_unknown_and_not_stopped_if_systemd_does_not_answer(
    name: str, node_id: int, tmp_path: Path, clients: Clients
) -> None:
    example = Example(name, node_id, tmp_path, clients)
    PREPARED[name, node_id](example)
    example.done(Verb.START)
    clients.lose_systemd()
    assert example.port.is_running(node_id) is None
    assert example.ask(Verb.STOP).end is HookEnd.FAILED


@pytest.mark.parametrize("name", ["systemd", "systemd-ssh"])
def test_release_that_is_not_unpacked_is_refused(name: str, tmp_path: Path, clients: Clients) -> None:
    node_id = next(id for example, id in PREPARED if example == name)
    example = Example(name, node_id, tmp_path, clients)
    PREPARED[name, node_id](example)
    run = example.ask(Verb.INSTALL, release="4.2.1")
    assert (run.end, run.exit_code) == (HookEnd.FAILED, 67)
    assert "unpack Kafka 4.2.1 there" in run.message
    assert named_release(example.done(Verb.INSTALLED)) == OLD


def test_image_of_a_statefulset_that_would_restart_its_pod_is_refused(tmp_path: Path, clients: Clients) -> None:
    example = Example("kubectl", 11, tmp_path, clients)
    with_pod(example, "kafka-11")
    clients.put_statefulset("kafka-11", f"apache/kafka:{OLD}", "RollingUpdate")
    run = example.ask(Verb.INSTALL, release=NEW)
    assert (run.end, run.exit_code) == (HookEnd.FAILED, 67)
    assert "set it to OnDelete" in run.message
    assert named_release(example.done(Verb.INSTALLED)) == OLD
