"""Conditions of a roll that stop or count a single node, each with a cluster in which only this condition decides."""

from __future__ import annotations

from typing import Any

import pytest

from kafkactl.change.journal_lines import Entry
from kafkactl.core.findings import Outcome
from kafkactl.roll.driver.evidence import is_untouched
from kafkactl.roll.gates import gates_before
from kafkactl.roll.journal import progress_of
from kafkactl.roll.order import may_stop_together, nodes_to_do
from kafkactl.roll.partitions import RollPartition
from kafkactl.roll.start_gates import gates_after, mark_of
from tests.migration.migration_logs import record, uuid
from tests.roll.rolls import Roll


def whole() -> Roll:
    return Roll("4.3.1").topic("orders", [11, 12, 13], min_insync_replicas="2")


def closed(roll: Roll, *ids: int) -> dict[str, bool | None]:
    """Return the gates before a stop that are not open."""
    return {gate.id: gate.passed for gate in gates_before(roll.case(), ids) if gate.passed is not True}


def entry(word: str, seq: int = 0, **data: Any) -> Entry:
    return Entry(seq=seq, at_ms=0, entry=word, data=data, chain="")


def goal(to: str | None) -> dict[str, Any]:
    return {"to": to, "from": {}, "way": "restart" if to is None else "upgrade"}


def stop(seq: int, *ids: int) -> Entry:
    marks = [{"node_id": id, "incarnation": str(uuid(id + 900))} for id in ids]
    return entry("intent", seq, number=seq, action="stop", nodes=list(ids), release=None, marks=marks)


@pytest.mark.parametrize("silent", [12, 13])
def test_each_broker_of_an_isr_has_to_answer(silent: int) -> None:
    assert closed(whole().change(silent, alive=False), 11)["others-are-alive"] is False


def test_partition_that_stops_with_either_broker_forbids_a_stop_of_both() -> None:
    roll = Roll("4.3.1").topic("strict", [11, 12], min_insync_replicas="2")
    assert closed(roll, 11) == closed(roll, 12) == {}
    assert closed(roll, 11, 12) == {"isr-survives": False}


def test_voter_that_does_not_fetch_is_not_stopped_without_a_majority_of_others() -> None:
    roll = whole()
    roll.dead |= {1, 2}
    assert closed(roll, 1) == {"majority-survives": False}


@pytest.mark.parametrize("epoch", [0, 5, None])
def test_quorum_that_never_had_a_leader_forbids_a_stop(epoch: int | None) -> None:
    roll = whole()
    roll.quorum = {"leader_id": -1, "leader_epoch": epoch, "voters": [], "observers": []}
    assert closed(roll, 11)["majority-survives"] is False


def test_voter_that_does_not_answer_is_not_counted_in_a_majority() -> None:
    assert closed(whole().change(2, alive=False), 1) == {"majority-survives": False}


@pytest.mark.parametrize(("lag", "gates"), [(1_000, {}), (1_001, {"majority-survives": False})])
def test_voter_far_behind_the_leader_is_not_counted_in_a_majority(lag: int, gates: dict[str, bool]) -> None:
    roll = whole()
    roll.log_bytes()
    answer = dict(roll.quorum_answer() or {})
    answer["voters"] = [{**voter, "lag": lag if voter["id"] == 2 else 0} for voter in answer["voters"]]
    roll.quorum = answer
    assert closed(roll, 1) == gates


def test_broker_outside_of_the_roll_that_is_stopping_forbids_a_stop() -> None:
    from kafkactl.core.frozen import changed

    roll = whole()
    roll.nodes[19] = changed(roll.nodes[11], id=19)
    roll.registered[19] = {**roll.registered[11], "stopping": True}
    case = roll.case()
    nodes = tuple(node for node in case.observation.nodes if node.id != 19)
    case = changed(case, observation=changed(case.observation, nodes=nodes))
    assert [gate.id for gate in gates_before(case, [11]) if gate.passed is False] == ["nobody-else-is-down"]


def test_reassignment_that_only_removes_a_replica_forbids_a_stop() -> None:
    roll = whole()
    change = {"PartitionId": 0, "TopicId": uuid(1), "RemovingReplicas": [13]}
    roll.extra.append(record("PartitionChangeRecord", **change))
    assert closed(roll, 1) == {"nothing-moves": False}


@pytest.mark.parametrize("id", [1, 12])
def test_node_without_a_registration_after_its_stop_is_not_back(id: int) -> None:
    roll = whole()
    case = roll.case()
    mark = mark_of(case, case.observation.node(id))
    del roll.registered[id]
    case = roll.case()
    found = {gate.id: gate.passed for gate in gates_after(case, case.observation.node(id), mark)}
    assert found["new-incarnation"] is False


def test_partition_without_any_replica_left_has_never_enough() -> None:
    assert not RollPartition("t", 0, (11,), (11,), 11, False, 0).keeps_enough([11])
    assert RollPartition("t", 0, (11, 12), (11, 12), 11, False, 0).keeps_enough([11])


def test_half_of_the_voters_are_never_stopped_together() -> None:
    roll = Roll("4.3.1", controllers=(), brokers=(), combined=(1, 2, 3, 4, 5))
    assert may_stop_together(roll.case(), [1, 2])
    roll = Roll("4.3.1", controllers=(), brokers=(), combined=(1, 2, 3, 4))
    assert not may_stop_together(roll.case(), [1, 2])


def test_node_of_an_open_step_stays_to_be_restarted() -> None:
    roll = whole()
    roll.journal = [entry("begin", 1, goal=goal(None)), stop(2, 11)]
    assert 11 in {node.id for node in nodes_to_do(roll.case())}
    roll.journal += [entry("done", 3, of=2)]
    assert 11 not in {node.id for node in nodes_to_do(roll.case())}


def test_roll_to_another_release_forgets_what_was_done_and_keeps_nodes_that_are_down() -> None:
    steps = [
        entry("begin", 1, goal=goal("4.4.0")),
        *(stop(2, 11), entry("done", 3, of=2)),
        *(entry("intent", 4, number=4, action="start", nodes=[11], release="4.4.0"), entry("done", 5, of=4)),
        *(stop(6, 12), entry("done", 7, of=6), entry("end", 8, outcome=Outcome.PARTIAL.value)),
    ]
    resumed = progress_of([*steps, entry("begin", 9, goal=goal("4.4.0"))])
    assert (resumed.restarted, set(resumed.pending), set(resumed.marks)) == ({11}, {12}, {11, 12})
    back = progress_of([*steps, entry("begin", 9, goal=goal("4.3.1"))])
    assert (back.restarted, set(back.pending), set(back.marks)) == (set(), {12}, {12})
    ended = progress_of([*steps, entry("end", 9, outcome="done"), entry("begin", 10, goal=goal("4.3.1"))])
    assert (ended.restarted, set(ended.pending)) == (set(), set())


def test_broker_in_controlled_shutdown_is_not_as_before_its_stop() -> None:
    roll = whole()
    assert is_untouched(roll.case(), progress_of([]), 11)
    roll.registered[11]["stopping"] = True
    assert not is_untouched(roll.case(), progress_of([]), 11)
