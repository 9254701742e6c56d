"""A wrong inventory on the command line: each kind of error has an id, a next step and an exit code.

Nodes are scripted, ZooKeeper is a tree or a closed port.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkactl.commands.demo.quorum import FakeQuorum
from kafkactl.commands.framework import exit_codes
from kafkactl.core.frozen import changed
from kafkactl.migration.zktree.tree import Tree, tree_of
from tests.conftest import Run
from tests.migration.io.test_observe import FakeZooKeeper, zookeeper_broker
from tests.migration.zk_trees import small, text, znodes

Kafkactl = Callable[..., Run]
PROBLEMS, REFUSED, USAGE, UNREACHABLE = (
    exit_codes.PROBLEMS_FOUND, exit_codes.REFUSED, exit_codes.USAGE, exit_codes.UNREACHABLE,
)  # fmt: skip
ALL = ("status", "check", "plan", "rollback --dry-run", "compare")


def the_tree(data: dict[str, bytes | None], chroot: str = "/kafka") -> Tree:
    return changed(tree_of(znodes(data), ""), chroot=chroot)


@pytest.fixture
def zookeeper(monkeypatch: pytest.MonkeyPatch) -> Callable[[Tree], None]:
    def put(tree: Tree) -> None:
        monkeypatch.setattr(
            "kafkactl.migration.io.zookeeper.client.open_zookeeper", lambda *_, **__: FakeZooKeeper(tree)
        )

    put(the_tree(small()))
    return put


@pytest.fixture
def inventory(tmp_path: Path) -> Iterator[Path]:
    """Return the inventory of brokers 1 and 2, as in the tree, and of the controllers of a quorum under their own
    ids."""
    lines = ['[zookeeper]\nconnect = "127.0.0.1:1/kafka"\n']
    with contextlib.ExitStack() as stack:
        quorum = stack.enter_context(FakeQuorum(controllers=2, voters=(1, 2)))
        for id in (1, 2):
            address = stack.enter_context(zookeeper_broker()).address
            lines.append(_node(id, "broker", str(address)))
        for id in (1, 2):
            lines.append(_node(3000 + id, "controller", str(quorum.address(id))))
        path = tmp_path / "migration.toml"
        path.write_text("\n".join(lines))
        yield path


def _node(id: int, role: str, address: str) -> str:
    return f'[[nodes]]\nid = {id}\nrole = "{role}"\naddress = "{address}"\nconfig = "/etc/{id}.properties"\n'


def change(path: Path, *pairs: tuple[str, str]) -> None:
    content = path.read_text()
    for old, new in pairs:
        assert old in content
        content = content.replace(old, new)
    path.write_text(content)


def asked(kafkactl: Kafkactl, path: Path, command: str) -> Run:
    return kafkactl("migrate", *command.split(), "--inventory", str(path), "--timeout", "20s", "-o", "json")


def found(run: Run) -> dict[str, dict[str, Any]]:
    """Return the findings of an answer, by id."""
    answer = run.json
    return {gate["id"]: gate for gate in (*answer["findings"], *answer.get("gates", ()))}


def test_broker_missing_in_the_inventory_is_reported(
    kafkactl: Kafkactl, inventory: Path, zookeeper: Callable[[Tree], None]
) -> None:
    content = inventory.read_text()
    start = content.index("[[nodes]]\nid = 2\n")
    controllers = [_node(id, "controller", f"127.0.0.1:{id - 2998}") for id in (3001, 3002)]  # not started yet
    inventory.write_text(content[:start] + "\n".join(controllers))
    run = asked(kafkactl, inventory, "check")
    assert run.code == PROBLEMS
    finding = found(run)["broker-not-in-inventory"]
    assert (finding["subject"], finding["severity"]) == ("broker 2", "blocker")
    assert "Add the broker to the inventory" in finding["next_step"]


@pytest.mark.parametrize("command", ALL)
def test_duplicate_node_is_refused(command: str, kafkactl: Kafkactl, inventory: Path) -> None:
    change(inventory, ("id = 2\n", "id = 1\n"))
    run = asked(kafkactl, inventory, command)
    assert (run.code, run.stdout) == (USAGE, "")
    assert (run.error["id"], "broker 1 occurs 2 times" in run.error["message"]) == ("invalid-inventory", True)


@pytest.mark.parametrize("command", ["status", "check", "plan", "rollback --dry-run"])
def test_zookeeper_of_another_cluster_is_reported(
    command: str, kafkactl: Kafkactl, inventory: Path, zookeeper: Callable[[Tree], None]
) -> None:
    zookeeper(the_tree({**small(), "/cluster/id": text({"version": "1", "id": "AnotherClusterAnotherC"})}))
    run = asked(kafkactl, inventory, command)
    finding = found(run)["node-of-another-cluster"]
    assert finding["severity"] == "blocker" and "zookeeper.connect" in finding["next_step"]
    if command in ("plan", "rollback --dry-run"):
        assert (run.code, run.json["outcome"], run.json["steps"]) == (REFUSED, "refused", [])
    else:
        assert run.code == PROBLEMS
    if command == "status":
        assert run.json["next_action"] is None


@pytest.mark.parametrize("command", ALL)
def test_chroot_without_kafka_is_a_blocker(
    command: str, kafkactl: Kafkactl, inventory: Path, zookeeper: Callable[[Tree], None]
) -> None:
    # What is not there (`/controller`, `/migration`) would tell much if it were the right place.
    zookeeper(tree_of([], "/kafka"))
    run = asked(kafkactl, inventory, command)
    finding = found(run)["no-kafka-tree"]
    assert (finding["subject"], finding["severity"]) == ("chroot /kafka", "blocker")
    assert "zookeeper.connect" in finding["next_step"]
    assert run.code in (PROBLEMS, REFUSED)
    if command == "status":
        assert run.json["observed"]["controller"]["held_by"] == "unknown"
    if command in ("plan", "rollback --dry-run"):
        assert run.json["outcome"] == "refused"


def test_chroot_of_the_brokers_own_files_is_named(
    kafkactl: Kafkactl, inventory: Path, zookeeper: Callable[[Tree], None]
) -> None:
    zookeeper(tree_of([], "/kafka"))
    (inventory.parent / "b1.properties").write_text("broker.id=1\nzookeeper.connect=zk1:2181/kafka/prod\n")
    change(inventory, ("id = 1\n", 'id = 1\ncopy = "b1.properties"\n'))
    step = found(asked(kafkactl, inventory, "check"))["no-kafka-tree"]["next_step"]
    assert "/kafka/prod" in step
    (inventory.parent / "b1.properties").write_text("broker.id=1\nzookeeper.connect=zk1:2181/kafka\n")
    assert "Use the chroot" not in found(asked(kafkactl, inventory, "check"))["no-kafka-tree"]["next_step"]


def test_host_name_that_does_not_resolve(
    kafkactl: Kafkactl, inventory: Path, zookeeper: Callable[[Tree], None]
) -> None:
    change(
        inventory, ('id = 2\nrole = "broker"\naddress = "127.0.0.1', 'id = 2\nrole = "broker"\naddress = "no.invalid')
    )
    finding = found(asked(kafkactl, inventory, "check"))["node-not-observed"]
    assert (finding["subject"], finding["severity"]) == ("broker 2", "warning")
    assert "'no.invalid' is not known here" in finding["message"]
    assert "name server" in finding["next_step"]


@pytest.mark.parametrize("place", ["gone.properties", "."])
def test_copy_that_cannot_be_read(
    place: str, kafkactl: Kafkactl, inventory: Path, zookeeper: Callable[[Tree], None]
) -> None:
    change(inventory, ("id = 2\n", f'id = 2\ncopy = "{place}"\n'), ("id = 3001\n", 'id = 3001\nlog = "nowhere"\n'))
    run = asked(kafkactl, inventory, "status")
    unread = [finding for finding in run.json["findings"] if finding["id"] == "node-place-unreadable"]
    assert [message["subject"] for message in unread] == ["broker 2", "controller 3001"]
    assert all("inventory" in message["next_step"] for message in unread)


@pytest.mark.parametrize(
    ("lines", "id"),
    [
        ('command_config = "gone.properties"\n', "unreadable-client-config"),
        ('controller_command_config = "gone.properties"\n', "unreadable-client-config"),
    ],
)
@pytest.mark.parametrize("command", ALL)
def test_unreadable_client_settings_are_refused(
    command: str, lines: str, id: str, kafkactl: Kafkactl, inventory: Path
) -> None:
    inventory.write_text(lines + inventory.read_text())
    run = asked(kafkactl, inventory, command)
    assert (run.code, run.error["id"], run.stdout) == (USAGE, id, "")
    assert "gone.properties cannot be read" in run.error["message"]


@pytest.mark.parametrize("command", ALL)
def test_unreadable_zookeeper_settings_are_refused(command: str, kafkactl: Kafkactl, inventory: Path) -> None:
    change(inventory, ('"127.0.0.1:1/kafka"\n', '"127.0.0.1:1/kafka"\nconfig = "gone.properties"\n'))
    run = asked(kafkactl, inventory, command)
    assert (run.code, run.error["id"], run.stdout) == (USAGE, "input-file-unreadable", "")


@pytest.mark.slow
@pytest.mark.parametrize("command", ALL)
def test_no_zookeeper_answers(command: str, kafkactl: Kafkactl, inventory: Path) -> None:
    # The nodes answer, so there is an answer; a plan that needs znodes is refused.
    run = asked(kafkactl, inventory, command)
    finding = found(run)["zookeeper-not-observed"]
    assert "connection refused" in finding["message"] and "zookeeper.connect" in finding["next_step"]
    expected = {"plan": REFUSED, "rollback --dry-run": REFUSED, "compare": UNREACHABLE}
    assert run.code == expected.get(command, PROBLEMS)


@pytest.mark.slow
@pytest.mark.parametrize("command", ALL)
def test_nothing_answers(command: str, kafkactl: Kafkactl, tmp_path: Path) -> None:
    path = tmp_path / "migration.toml"
    nodes = (_node(1, "broker", "127.0.0.1:2"), _node(3001, "controller", "127.0.0.1:3"))
    path.write_text("\n".join(['[zookeeper]\nconnect = "127.0.0.1:1/kafka"\n', *nodes]))
    run = asked(kafkactl, path, command)
    assert (run.code, run.error["id"], run.stdout) == (UNREACHABLE, "cluster-not-reached", "")
    for place in ("127.0.0.1:1/kafka", "127.0.0.1:2", "127.0.0.1:3"):
        assert place in run.error["message"]
