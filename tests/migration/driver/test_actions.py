"""Single actions of a migration on a fake cluster: what they touch, what they refuse, and hooks that misbehave."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkactl.change.hooks.words import Verb
from kafkactl.core.errors import RefusedError
from kafkactl.migration.driver import actions as apply
from kafkactl.migration.driver.actions import Place
from kafkactl.migration.driver.ports import MigrationWaitPolicy
from tests.fakes.migrating_cluster import FakeCluster, broker_file
from tests.fakes.migration_hooks import ALL, FAIL, HANG, LATE, LIE, TWICE, FakeWorld, format_all

FLAG = (
    "zookeeper.metadata.migration.enable=true\ncontroller.listener.names=CONTROLLER\n"
    "controller.quorum.voters=3001@127.0.0.1:6091,3002@127.0.0.1:6092,3003@127.0.0.1:6093\n"
)
POLICY = MigrationWaitPolicy()
CONTROLLERS = tuple(Place(node=n, name=f"controller {n}", phase="original", seq=7) for n in (3001, 3002, 3003))


def place(node: int, phase: str = "migration") -> Place:
    return Place(node=node, name=f"broker {node}" if node < 3000 else f"controller {node}", phase=phase, seq=7)


@pytest.fixture
def world() -> FakeWorld:
    return FakeWorld(FakeCluster())


@pytest.fixture
def copied(world: FakeWorld) -> FakeWorld:
    """Return the cluster in dual write, all brokers on ZooKeeper."""
    format_all(world.cluster)
    for id in (1, 2, 3):
        world.cluster.nodes[id].file = broker_file(id) + FLAG
        assert world.cluster.stop(id)
        world.cluster.start(id)
    world.cluster.advance(1_000)
    world.cluster.advance(1_000)
    assert world.cluster.dual_write and world.cluster.harm == []
    return world


def put(world: FakeWorld, content: bytes = b"new=1\n", *, before: str | None = None) -> apply.Applied:
    return apply.put_file(world, place(1), content, before=(before or broker_file(1)).encode())


def test_file_goes_over_the_one_that_was_hashed_and_no_other(world: FakeWorld) -> None:
    assert put(world).finding is None
    assert world.cluster.nodes[1].file == "new=1\n"
    assert put(world).finding is None  # again: nothing new
    world.cluster.nodes[1].file = "edited=1\n"
    found = put(world, b"newer=1\n", before="new=1\n").finding
    assert found is not None and found.id == "config-changed-concurrently"
    assert world.cluster.nodes[1].file == "edited=1\n"


def test_node_without_a_file_gets_one(world: FakeWorld) -> None:
    world.cluster.nodes[3001].file = None
    assert apply.put_file(world, place(3001), b"node.id=3001\n", before=None).finding is None
    assert world.cluster.nodes[3001].file == "node.id=3001\n"


@pytest.mark.parametrize(
    ("fault", "id"), [(FAIL, "hook-failed"), (LIE, "config-not-written"), (TWICE, None), (LATE, None)]
)
def test_faulty_hook_of_a_file_is_reported(world: FakeWorld, fault: str, id: str | None) -> None:
    world.faults = [(Verb.PUT_CONFIG, 1, fault)]
    found = put(world).finding
    assert (None if found is None else found.id) == id
    assert world.cluster.nodes[1].file == (broker_file(1) if fault in (FAIL, LIE) else "new=1\n")


def test_broker_is_started_when_its_old_session_is_over(copied: FakeWorld) -> None:
    copied.cluster.kill(1)
    assert apply.restart(copied, place(1), in_zookeeper=True, policy=POLICY).finding is None
    assert copied.cluster.nodes[1].running
    assert copied.cluster.harm == []


def test_session_that_does_not_end_keeps_a_broker_down(copied: FakeWorld) -> None:
    copied.cluster.kill(1)
    found = apply.restart(copied, place(1), in_zookeeper=True, policy=replace(POLICY, znode_ms=3_000)).finding
    assert found is not None and found.id == "broker-session-active"
    assert not copied.cluster.nodes[1].running


def test_stop_that_a_hook_only_claims_is_detected(world: FakeWorld) -> None:
    world.faults = [(Verb.STOP, 1, LIE)]
    found = apply.restart(world, place(1), in_zookeeper=True, policy=POLICY).finding
    assert found is not None and found.id == "hook-did-nothing"
    world.faults = [(Verb.STOP, 1, HANG)]
    found = apply.restart(world, place(1), in_zookeeper=True, policy=POLICY).finding
    assert found is not None and found.id == "hook-timed-out"


def test_without_stop_and_start_there_is_restart(world: FakeWorld) -> None:
    world.verbs = frozenset({Verb.RESTART})
    assert apply.restart(world, place(1), in_zookeeper=True, policy=POLICY).finding is None
    assert world.cluster.nodes[1].starts == 2


def test_without_any_hook_the_operator_is_asked(world: FakeWorld) -> None:
    world.verbs = frozenset()
    applied = apply.restart(world, place(1), in_zookeeper=True, policy=POLICY)
    assert applied.asked and applied.finding is None
    assert apply.read_file(world, place(1)) == (None, None)


def test_nothing_is_deleted_while_a_controller_lives(copied: FakeWorld) -> None:
    for action in (apply.delete_controller, apply.delete_migration):
        found = action(copied, CONTROLLERS, lambda znode: "kept", policy=POLICY).finding
        assert found is not None and found.id == "controller-still-runs"
    found = apply.raise_epoch(copied, CONTROLLERS, policy=POLICY).finding
    assert found is not None and found.id == "controller-still-runs"
    assert copied.cluster.harm == []
    assert {"/controller", "/migration"} <= copied.cluster.znodes.keys()


def test_controller_that_comes_back_between_two_looks_is_seen(copied: FakeWorld) -> None:
    apply.stop_controllers(copied, CONTROLLERS, policy=POLICY)
    looks = []

    def back() -> None:
        looks.append(1)
        if len(looks) == 8:  # after the first look, which asks three
            copied.cluster.start(3002)

    copied.on_act = back
    found = apply.delete_controller(copied, CONTROLLERS, lambda znode: "kept", policy=replace(POLICY, gone_ms=0))
    assert found.finding is not None and found.finding.id == "controller-still-runs"
    assert copied.cluster.harm == []


def test_znode_is_not_deleted_while_running_controllers_are_unknown(
    copied: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply.stop_controllers(copied, CONTROLLERS, policy=POLICY)
    copied.verbs = ALL - {Verb.IS_RUNNING}
    monkeypatch.setattr(copied, "listens", lambda node: None)
    found = apply.delete_controller(copied, CONTROLLERS, lambda znode: "kept", policy=POLICY).finding
    assert found is not None and found.id == "controller-state-unknown"


def test_znodes_are_removed_in_order(copied: FakeWorld) -> None:
    kept = []
    for state in (znode for znode in copied.cluster.znodes if znode.endswith("/state")):
        copied.cluster.put(
            state, (copied.cluster.znodes[state].data or b"").replace(b'"controller_epoch":', b'"controller_epoch":1')
        )
    assert apply.stop_controllers(copied, CONTROLLERS, policy=POLICY).finding is None
    applied = apply.raise_epoch(copied, CONTROLLERS, policy=POLICY)
    assert applied.evidence["epoch_after"] == applied.evidence["highest"] + 1
    assert "epoch_after" not in apply.raise_epoch(copied, CONTROLLERS, policy=POLICY).evidence
    for action in (apply.delete_controller, apply.delete_migration):
        assert action(copied, CONTROLLERS, lambda znode: kept.append(znode.path) or "x", policy=POLICY).finding is None
        assert action(copied, CONTROLLERS, lambda znode: "x", policy=POLICY).evidence == {"already": True}
    assert kept == ["/controller", "/migration"]
    assert copied.cluster.harm == []


def test_controller_of_zookeeper_is_never_deleted(world: FakeWorld) -> None:
    before = world.cluster.znodes["/controller"]
    assert apply.delete_controller(world, CONTROLLERS, lambda znode: "x", policy=POLICY).evidence == {"already": True}
    assert world.cluster.znodes["/controller"] is before
    world.cluster.put("/controller", b"rubbish")
    found = apply.delete_controller(world, CONTROLLERS, lambda znode: "x", policy=POLICY).finding
    assert found is not None and found.id == "znode-unreadable"


def test_znode_that_changed_meanwhile_is_left_alone(copied: FakeWorld) -> None:
    apply.stop_controllers(copied, CONTROLLERS, policy=POLICY)
    copied.before_write = lambda path: copied.cluster.put(path, copied.cluster.znodes[path].data)
    with pytest.raises(RefusedError, match="another version"):
        apply.delete_migration(copied, CONTROLLERS, lambda znode: "x", policy=POLICY)
    assert "/migration" in copied.cluster.znodes


def test_no_disk_is_wiped_under_a_process(copied: FakeWorld) -> None:
    found = apply.wipe_disk(copied, place(3001), metadata_dir="/meta").finding
    assert found is not None and found.id == "node-still-runs"
    apply.stop_controllers(copied, CONTROLLERS, policy=POLICY)
    assert apply.wipe_disk(copied, place(3001), metadata_dir="/meta").finding is None
    assert copied.cluster.harm == []
