"""The rollback from every state: which steps, in which order, and when there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.core.explanations import explanations
from kafkactl.core.findings import Outcome, Severity, warning
from kafkactl.core.frozen import changed
from kafkactl.core.values import Uuid
from kafkactl.metadata.image.model import Topic
from kafkactl.migration.checks.registry import check
from kafkactl.migration.observed.observation import Mode, Observation
from kafkactl.migration.state.evidence import evidence_of
from kafkactl.migration.steps.epoch import EpochGate, epoch_gate
from kafkactl.migration.steps.rollback import Step, plan_rollback
from kafkactl.migration.steps.rollback_case import JournalFacts
from kafkactl.migration.steps.step import File, Move, Progress, Way
from kafkactl.migration.steps.table import State, observed_state
from tests.migration.state.states_seen import HEALTHY, KR, MIG, ZK, Seen, without
from tests.migration.steps.test_table import SITUATIONS, partial

_M0, _M3, _M4, _M6, _M7, _M8 = (HEALTHY[name] for name in ("M0", "M3", "M4", "M6", "M7", "M8"))
_DOWN = {3001: False}
_ROLL = ("restore-config", "restart-node")
_END = ["stop-controllers", "delete-migration-znode", "wait-zookeeper-controller"]
_TAKEN = ["stop-controllers", "delete-controller-znode", "delete-migration-znode", "wait-zookeeper-controller"]


def planned(seen: Seen, **options: Any) -> Way:
    return plan_rollback(seen.observation(), **options)


def actions(plan: Way, state: Progress = Progress.PENDING) -> list[str]:
    """Return actions of one state, with the number of the node."""
    return [
        step.action.value if step.node is None else f"{step.action.value} {step.node}"
        for step in plan.steps
        if step.state is state
    ]


def _rolled(*ids: int, follow: Sequence[int] | None = None) -> list[str]:
    waits = [f"wait-broker-follows-controller {id}" for id in (ids if follow is None else follow)]
    return [*waits, *(f"{word} {id}" for id in ids for word in _ROLL)]


WAYS: dict[str, tuple[Seen, list[str]]] = {
    "M2": (HEALTHY["M2"], ["wipe-disk 3001"]),
    "M3": (_M3, [*_END, "wipe-disk 3001"]),
    "M4": (_M4, [*_END, *_rolled(1), "wipe-disk 3001"]),
    "M4L": (HEALTHY["M4L"], [*_END, *_rolled(2, 1, follow=(2, 1)), "wipe-disk 3001"]),
    "M5": (HEALTHY["M5"], [*_TAKEN, *_rolled(1, 2, 3), "wipe-disk 3001"]),
    "M6": (_M6, [*_TAKEN, *_rolled(1, 2, 3), "wipe-disk 3001"]),
    "M7": (_M7, [*(f"{word} 1" for word in _ROLL), *_TAKEN, *_rolled(1, 2, 3), "wipe-disk 3001"]),
    "M8": (
        _M8,
        [*(f"{word} {id}" for id in (1, 2, 3) for word in _ROLL), *_TAKEN, *_rolled(1, 2, 3), "wipe-disk 3001"],
    ),
    "M7, one file is back already": (
        _M7.but(files={1: MIG}), ["restart-node 1", *_TAKEN, *_rolled(1, 2, 3), "wipe-disk 3001"],
    ),
    "the epoch of KRaft is too high (KAFKA-20488)": (
        _M6.but(epoch=10, state_epoch=10, zk_epoch=5),
        ["stop-controllers", "raise-controller-epoch", *_TAKEN[1:], *_rolled(1, 2, 3), "wipe-disk 3001"],
    ),
    "the controllers are stopped": (_M6.but(controllers=_DOWN), [*_TAKEN[1:], *_rolled(1, 2, 3), "wipe-disk 3001"]),
    "/controller is deleted": (
        _M6.but(controllers=_DOWN, holder=None),
        ["delete-migration-znode", "wait-zookeeper-controller", *_rolled(1, 2, 3), "wipe-disk 3001"],
    ),
    "a ZooKeeper broker is elected, /migration is left": (
        _M6.but(controllers=_DOWN, holder="zk", zk_epoch=5, state_epoch=5),
        ["delete-migration-znode", *_rolled(2, 3, 1), "wipe-disk 3001"],
    ),
    "one broker is rolled": (
        _M6.but(controllers=_DOWN, holder="zk", migration=None, modes={1: MIG, 2: ZK, 3: MIG}),
        [*_rolled(3, 1), "wipe-disk 3001"],
    ),
    "a file is put back and its broker still runs with the old one": (
        _M6.but(controllers=_DOWN, holder="zk", migration=None, modes={1: ZK, 2: MIG, 3: ZK}, files={2: ZK}),
        ["wait-broker-follows-controller 2", "restart-node 2", "wipe-disk 3001"],
    ),
    "a file is put back and its broker was killed": (
        _M6.but(controllers=_DOWN, holder="zk", migration=133, modes={1: ZK, 2: None, 3: ZK}),
        ["delete-migration-znode", "restart-node 2", "wipe-disk 3001"],
    ),
    "elected with the low epoch ([44])": (
        _M6.but(controllers=_DOWN, holder="zk", zk_epoch=6, state_epoch=10),
        ["raise-controller-epoch", "delete-migration-znode", *_rolled(1, 2, 3), "wipe-disk 3001"],
    ),
    "all is rolled back and the epoch is low ([48])": (
        _M0.but(controllers=_DOWN, log=1, zk_epoch=6, state_epoch=10),
        ["raise-controller-epoch", "restart-node 1"],
    ),
    "a broker entered and left": (_M4.but(modes={1: ZK, 2: ZK, 3: ZK}), [*_END, "wipe-disk 3001"]),
    "a file was put in place and its broker not restarted": (
        _M3.but(files={1: MIG}), [*_END, "restore-config 1", "wipe-disk 3001"],
    ),
    "stale, before the claim": (_M4.but(migration=133), [*_END, *_rolled(1), "wipe-disk 3001"]),
    "stale, claimed, in time": (
        _M6.but(log=2, copy=(None, None), end=48, migration=133),
        [*_TAKEN, *_rolled(1, 2, 3), "wipe-disk 3001"],
    ),
    "burnt": (SITUATIONS["burnt ([65])"][0], ["stop-controllers", "wait-zookeeper-controller", "wipe-disk 3001"]),
    "killed in the copy": (HEALTHY["M5"].but(controllers=_DOWN), [*_TAKEN[1:], *_rolled(1, 2, 3), "wipe-disk 3001"]),
    "re-formatted in dual write ([101])": (
        SITUATIONS["re-formatted in dual write ([101])"][0], [*_TAKEN, *_rolled(1, 2, 3), "wipe-disk 3001"],
    ),
    "split brain ([100])": (_M6.but(holder="zk", zk_epoch=5), [*_END, *_rolled(2, 3, 1), "wipe-disk 3001"]),
    "a controller without the flag": (
        _M8.but(controllers={3001: True, 3002: True}, flags={3002: False}, modes={1: MIG, 2: MIG, 3: MIG},
                registered={1: True, 2: True, 3: True}),
        [*(f"{word} 3002" for word in _ROLL), *_TAKEN, *_rolled(1, 2, 3), "wipe-disk 3001", "wipe-disk 3002"],
    ),
    "all brokers have died under a quorum that was formatted anew": (
        _M6.but(log=2, copy=(None, None), end=10, migration=133, holder=None, registered={},
                modes={1: None, 2: None, 3: None}, files={1: MIG, 2: MIG, 3: MIG}),
        [*_END[:2], "restore-config 1", "restart-node 1", _END[2], *_rolled(2, 3, follow=()), "wipe-disk 3001"],
    ),
    "a broker is left on KRaft, and everything else is back": (
        _M7.but(controllers=_DOWN, holder="zk", migration=None, modes={1: KR, 2: ZK, 3: ZK}),
        [*_rolled(1, follow=()), "wipe-disk 3001"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WAYS)
def test_rollback_has_the_expected_steps(name: str) -> None:
    seen, expected = WAYS[name]
    plan = planned(seen)
    assert (plan.outcome, actions(plan)) == (Outcome.PLANNED, expected), plan.findings
    _is_in_order(plan)


def test_completed_steps_are_marked_done_in_the_plan() -> None:
    plan = planned(WAYS["one broker is rolled"][0])
    assert actions(plan, Progress.DONE) == [
        "stop-controllers", "wait-zookeeper-controller", "restore-config 2", "restart-node 2",
    ]  # fmt: skip
    assert "2 restarts, one node at a time." in plan.consequences


def test_each_file_is_named() -> None:
    files = [step.file for step in planned(_M7).steps if step.action is Move.RESTORE_CONFIG and step.node == 1]
    assert files == [File.MIGRATION, File.ORIGINAL]


def test_epoch_is_raised_above_all_that_partitions_carry() -> None:
    plan = planned(_M6.but(epoch=12, state_epoch=10, zk_epoch=5))
    (step,) = (step for step in plan.steps if step.action is Move.RAISE_CONTROLLER_EPOCH)
    assert (step.value, step.version) == (13, 7)  # the quorum may stamp states until it is stopped


def test_epoch_gate_is_unknown_if_a_partition_state_is_hidden() -> None:
    evidence = evidence_of(_M6.observation())
    state = "/brokers/topics/orders/partitions/0/state"
    assert epoch_gate(evidence).is_known
    assert not epoch_gate(changed(evidence, tree=changed(evidence.tree, hidden=(state,)))).is_known


def test_deletions_know_the_version_that_was_seen() -> None:
    steps = {step.action: step for step in planned(_M6).steps}
    assert steps[Move.DELETE_CONTROLLER_ZNODE].version == 7
    assert steps[Move.DELETE_MIGRATION_ZNODE].version == 60


REFUSED: dict[str, tuple[Seen, str]] = {
    "M10": (HEALTHY["M10"], "migration-finalized"),
    "M11": (HEALTHY["M11"], "migration-finalized"),
    "a broker was left on ZooKeeper": (
        HEALTHY["M11"].but(modes={1: KR, 2: MIG, 3: KR}, registered={1: False, 2: True, 3: False}),
        "migration-finalized",
    ),
    "a broker was formatted for KRaft": (_M8.but(meta_version={2: "1"}), "broker-disk-of-kraft"),
    "brokers on KRaft and no quorum": (_M8.but(controllers=_DOWN), "kraft-brokers-without-quorum"),
    "the dual write is stuck": (_M6.but(end=900, migration_age_ms=300_000), "zookeeper-behind-kraft"),
    "/migration is gone": (_M6.but(migration=None), "zookeeper-behind-kraft"),
    "ZooKeeper is empty": (
        _M6.but(log=2, copy=(None, None), end=160, migration=158, topics=False), "zookeeper-emptied",
    ),
    "no ZooKeeper was seen": (_M6.but(has_tree=False), "rollback-without-zookeeper"),
    "the copy ended while it was observed": (
        _M6.but(end=250, holder="zk", migration=-1, migration_version=0), "copy-ended-during-observation",
    ),
    "nothing was seen": (Seen(has_tree=False), "not-enough-evidence"),
    "born in KRaft": (SITUATIONS["born in KRaft"][0], "born-in-kraft"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_rollback_is_refused_with_a_reason(name: str) -> None:
    seen, reason = REFUSED[name]
    plan = planned(seen)
    assert (plan.outcome, plan.steps, plan.findings[0].id) == (Outcome.REFUSED, (), reason)


@pytest.mark.parametrize("name", ["the dual write is stuck", "/migration is gone", "ZooKeeper is empty"])
def test_loss_can_be_accepted_by_name(name: str) -> None:
    seen, reason = REFUSED[name]
    plan = planned(seen, accepted=frozenset({reason}))
    assert plan.outcome is Outcome.PLANNED
    assert reason in [finding.id for finding in plan.findings if finding.severity is Severity.WARNING]


@pytest.mark.parametrize("name", ["M11", "a broker was formatted for KRaft", "brokers on KRaft and no quorum"])
def test_irreversible_state_cannot_be_accepted(name: str) -> None:
    seen, reason = REFUSED[name]
    assert planned(seen, accepted=frozenset({reason})).outcome is Outcome.REFUSED


@pytest.mark.parametrize("name", ["healthy M0", "rolled back from M3", "rolled back from M6"])
def test_nothing_to_do(name: str) -> None:
    plan = planned(SITUATIONS[name][0])
    assert (plan.outcome, plan.steps) == (Outcome.NOTHING_TO_DO, ())
    assert bool(plan.findings) is (name != "healthy M0")


def test_unseen_disk_of_a_broker_on_kraft_is_reported_and_does_not_stop() -> None:
    plan = plan_rollback(without(_M8.observation(), meta_properties=None))
    assert plan.outcome is Outcome.PLANNED
    assert [finding.id for finding in plan.findings].count("broker-disk-unknown") == 3


def test_without_a_log_the_lag_is_not_known_and_that_is_reported() -> None:
    plan = plan_rollback(changed(_M6.observation(), logs={}, nodes=tuple(
        changed(node, quorum=None) for node in _M6.observation().nodes
    )))  # fmt: skip
    assert (plan.outcome, [finding.id for finding in plan.findings]) == (Outcome.PLANNED, ["zookeeper-lag-unknown"])


def test_kraft_file_before_the_copy_is_reported() -> None:
    plan = planned(_M3.but(modes={1: None, 2: ZK, 3: ZK}, files={1: KR}))
    assert ("kraft-file-before-copy", "broker 1") in [(finding.id, finding.subject) for finding in plan.findings]
    assert "restore-config 1" in actions(plan)


def test_every_finding_of_a_rollback_is_explained() -> None:
    said = {finding.id for seen, _ in (*WAYS.values(), *REFUSED.values()) for finding in planned(seen).findings}
    assert said <= set(explanations())


def test_one_broker_is_restarted_first_if_no_controller_is_elected_in_time():
    seen = _M6.but(controllers=_DOWN, holder=None, migration=None)
    waits = actions(planned(seen))
    again = actions(planned(seen, remembered=JournalFacts(waited=True)))
    assert waits[0] == again[2] == "wait-zookeeper-controller"
    assert again[:2] == ["restore-config 1", "restart-node 1"]
    assert "wait-broker-follows-controller 1" not in again


def _is_in_order(plan: Way) -> None:
    """Check the order that was proven: nothing is deleted while a controller may live, nothing rolled before an
    election."""
    steps = plan.steps
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    for move in (Move.STOP_CONTROLLERS, Move.WAIT_ZOOKEEPER_CONTROLLER, Move.RAISE_CONTROLLER_EPOCH,
                 Move.DELETE_CONTROLLER_ZNODE, Move.DELETE_MIGRATION_ZNODE):  # fmt: skip
        assert sum(step.action is move for step in steps) <= 1
    order = [
        _places(steps, Move.STOP_CONTROLLERS),
        _places(steps, Move.RAISE_CONTROLLER_EPOCH),
        _places(steps, Move.DELETE_CONTROLLER_ZNODE),
        _places(steps, Move.DELETE_MIGRATION_ZNODE),
        _places(steps, Move.WAIT_ZOOKEEPER_CONTROLLER),
        _places(steps, Move.WAIT_BROKER_FOLLOWS_CONTROLLER),
        [at for at, step in enumerate(steps) if step.file is File.ORIGINAL],
        _places(steps, Move.WIPE_DISK),
    ]
    if plan.steps and _starts_the_first(steps):
        order[6] = order[6][2:]  # no broker that could be elected runs: one is started before the election
    placed = [at for places in order for at in places]
    assert placed == sorted(placed)
    first = [at for at, step in enumerate(steps) if step.file is File.MIGRATION]
    assert not first or max(first) < order[0][0]


def _starts_the_first(steps: Sequence[Step]) -> bool:
    wait = next((at for at, step in enumerate(steps) if step.action is Move.WAIT_ZOOKEEPER_CONTROLLER), 0)
    return wait > 0 and steps[wait - 1].action is Move.RESTART_NODE and steps[wait - 1].file is File.ORIGINAL


def _places(steps: Sequence[Step], move: Move) -> list[int]:
    return [at for at, step in enumerate(steps) if step.action is move]


@pytest.mark.slow
@given(data=st.data())
def test_no_observation_leads_to_a_plan_out_of_order(data: st.DataObject) -> None:
    modes = st.sampled_from([ZK, MIG, KR, None])
    ids = (1, 2, 3)
    seen = _M6.but(
        modes={id: data.draw(modes) for id in ids},
        files={id: data.draw(st.sampled_from(list(Mode))) for id in ids},
        registered={id: data.draw(st.booleans()) for id in data.draw(st.sets(st.sampled_from(ids)))},
        controllers={id: data.draw(st.sampled_from([True, False, None])) for id in (3001, 3002, 3003)},
        flags={3002: data.draw(st.booleans())},
        holder=data.draw(st.sampled_from(["zk", "kraft", "kraft-ephemeral", None])),
        migration=data.draw(st.sampled_from([None, -1, 133, 298, "empty"])),
        log=data.draw(st.sampled_from([None, 0, 1, 2, 3])),
        zk_epoch=data.draw(st.integers(0, 12)),
        state_epoch=data.draw(st.integers(0, 12)),
    )
    observation = partial(seen.observation(), data)
    plan = plan_rollback(observation, accepted=frozenset({"zookeeper-behind-kraft", "zookeeper-emptied"}))
    assert plan.outcome in (Outcome.PLANNED, Outcome.REFUSED, Outcome.NOTHING_TO_DO)
    assert (plan.outcome is Outcome.PLANNED) is bool(plan.pending)
    _is_in_order(plan)
    moves = {step.action for step in plan.steps}
    if seen.holder in ("zk", "kraft-ephemeral", None):
        assert Move.DELETE_CONTROLLER_ZNODE not in moves
    if seen.log == 3 and observation.logs:
        assert plan.outcome is Outcome.REFUSED
    if moves & {Move.DELETE_CONTROLLER_ZNODE, Move.RAISE_CONTROLLER_EPOCH} or plan.state not in (State.M0, State.M2):
        assert not plan.steps or Move.STOP_CONTROLLERS in moves


def of_another_cluster(seen: Seen) -> Observation:
    """Return the same with a log that has another topic."""
    observation = seen.observation()
    (log,) = observation.logs.values()
    stranger = Topic(id=Uuid(bytes(15) + b"\7"), name="orders", partitions={})
    image = changed(log.image, topics={stranger.id: stranger}, topic_ids={stranger.name: stranger.id})
    return changed(observation, logs={id: changed(log, image=image) for id in observation.logs})


@pytest.mark.parametrize("seen", [_M6, _M7, _M8], ids=["M6", "M7", "M8"])
def test_znodes_and_log_of_different_clusters_are_refused(seen: Seen):
    stranger = "tree-and-log-of-different-clusters"
    observation = of_another_cluster(seen)
    plan = plan_rollback(observation)
    assert (plan.outcome, plan.steps) == (Outcome.REFUSED, ())
    assert stranger in [finding.id for finding in plan.findings if finding.severity is Severity.BLOCKER]
    assert stranger in [finding.id for finding in observed_state(observation).findings]
    (finding,) = [finding for finding in check(observation) if finding.id == stranger]
    assert (finding.evidence["check"], finding.severity) == ("C-01", Severity.BLOCKER)
    everything = frozenset({stranger, "zookeeper-misses-metadata", "zookeeper-behind-kraft"})
    assert plan_rollback(observation, accepted=everything).steps
    assert stranger not in [finding.id for finding in plan_rollback(seen.observation()).findings]


@pytest.mark.parametrize(
    "reason, state",
    [("connection-refused", Progress.DONE), ("connection-timed-out", Progress.PENDING), (None, Progress.PENDING)],
)
def test_hanging_controller_stays_to_be_stopped(reason: str | None, state: Progress):
    # Stopped for a while (SIGSTOP) or cut off, it goes on afterwards: two controllers, if /controller was deleted.
    evidence = {} if reason is None else {"reason": reason}
    silent = warning("node-not-observed", "controller 3001", "it does not answer", **evidence)
    observation = changed(_M6.but(controllers=_DOWN).observation(), findings=(silent,))
    (step,) = [step for step in plan_rollback(observation).steps if step.action is Move.STOP_CONTROLLERS]
    assert step.state is state


@pytest.mark.parametrize(("controllers", "highest"), [({3001: True}, 12), (_DOWN, 10)])
def test_epoch_of_the_quorum_counts_only_while_a_controller_may_stamp_it(controllers, highest: int) -> None:
    seen = _M6.but(controllers=controllers, epoch=12, state_epoch=10, zk_epoch=5)
    assert epoch_gate(evidence_of(seen.observation())).highest == highest


@pytest.mark.parametrize(
    ("zk_epoch", "state_epoch", "holder", "needed", "after_election"),
    [
        (5, 5, "kraft", True, False),  # ZooKeeper's next controller would have that very epoch
        (5, 4, "kraft", False, False),
        (5, 6, "kraft", True, False),
        (5, 5, "zk", False, False),  # it stamps its states with its own epoch
        (5, 6, "zk", True, True),
    ],
)
def test_epoch_is_raised_where_a_state_has_the_epoch_of_the_next_controller(
    zk_epoch: int, state_epoch: int, holder: str, needed: bool, after_election: bool
) -> None:
    seen = _M6.but(controllers=_DOWN, zk_epoch=zk_epoch, state_epoch=state_epoch)
    gate = epoch_gate(evidence_of((seen.but(holder="zk") if holder == "zk" else seen).observation()))
    assert (gate.epoch, gate.highest) == (zk_epoch, state_epoch)
    assert (gate.needed, gate.after_election) == (needed, after_election)
    assert not needed or gate.value == state_epoch + 1


@pytest.mark.parametrize(("highest", "needed", "is_beaten"), [(5, True, False), (6, True, True), (6, False, False)])
def test_epoch_of_a_partition_beats_the_controllers_only_if_it_is_higher(highest: int, needed: bool, is_beaten: bool):
    gate = EpochGate(epoch=5, highest=highest, needed=needed, after_election=False)
    assert (gate.is_beaten, gate.value) == (is_beaten, highest + 1)
