"""Gates before a stop and after a start."""

from __future__ import annotations

import pytest

from kafkactl.roll.gates import gates_before
from kafkactl.roll.start_gates import gates_after, mark_of
from tests.roll.rolls import Roll


def before(roll: Roll, *ids: int):
    return {gate.id: gate.passed for gate in gates_before(roll.case(), ids) if gate.passed is not True}


def after(roll: Roll, id: int, mark=None):
    case = roll.case()
    return {
        gate.id: gate.passed for gate in gates_after(case, case.observation.node(id), mark) if gate.passed is not True
    }


def healthy() -> Roll:
    return Roll("4.3.1").topic("orders", [11, 12, 13], [12, 13, 11], min_insync_replicas="2").topic("pair", [12, 13])


@pytest.mark.parametrize("id", [1, 3, 11, 12])
def test_node_of_a_whole_cluster_may_be_stopped(id):
    assert before(healthy(), id) == {}
    assert after(healthy(), id) == {}


def test_broker_that_is_down_forbids_every_other_stop():
    roll = healthy().kill(12)
    assert before(roll, 11)["nobody-else-is-down"] is False
    assert before(roll, 1) == {"nobody-else-is-down": False}


def test_broker_that_was_not_asked_leaves_a_stop_unknown():
    roll = healthy().change(12, alive=None)
    assert before(roll, 11) == {"others-are-alive": None}
    assert before(roll, 1) == {}


def test_replica_that_is_missing_forbids_a_stop():
    roll = healthy().topic("lame", ((11, 12, 13), (11, 13)))
    assert before(roll, 11) == {"isr-survives": False}
    assert before(roll, 12) == {}  # it is not in this ISR


@pytest.mark.parametrize("configs", [{}, {"min_insync_replicas": "2"}])
def test_partition_that_cannot_do_without_a_replica_is_a_warning(configs):
    roll = healthy().topic("strict", [11] if not configs else [11, 12], **configs)
    gate = next(gate for gate in gates_before(roll.case(), [11]) if gate.id == "isr-survives")
    assert gate.passed is True
    assert [finding.id for finding in gate.findings] == ["partition-stops-while-down"]


def test_two_brokers_at_once_need_partitions_that_keep_enough():
    assert before(healthy(), 11, 12)["isr-survives"] is False
    roll = Roll("4.3.1").topic("a", [11, 13], [12, 13])
    assert before(roll, 11, 12) == {}


def test_voter_is_stopped_only_if_the_others_are_a_proved_majority():
    dead = healthy()
    dead.dead.add(2)
    assert before(dead, 1) == {"majority-survives": False}
    assert before(dead, 11) == {}
    unknown = healthy()
    unknown.unknown_voters.add(2)
    assert before(unknown, 1) == {"majority-survives": None}
    assert before(unknown, 2) == {}


def test_sole_voter_may_be_stopped_with_a_warning_and_one_of_two_may_not():
    gate = next(g for g in gates_before(Roll("4.3.1", controllers=(1,)).case(), [1]) if g.id == "majority-survives")
    assert (gate.passed, [finding.id for finding in gate.findings]) == (True, ["quorum-without-spare"])
    assert before(Roll("4.3.1", controllers=(1, 2)), 1) == {"majority-survives": False}


def test_quorum_without_a_leader_forbids_every_stop_and_without_an_answer_none_is_known():
    roll = healthy()
    roll.quorum = {"leader_id": -1, "leader_epoch": 5, "voters": [], "observers": []}
    assert before(roll, 11) == {"majority-survives": False}
    roll.quorum = None
    assert before(roll, 11) == {"majority-survives": None, "nothing-moves": None}


def test_reassignment_and_election_forbid_every_stop():
    roll = healthy().topic("moved", [11, 12])
    roll.adding[("moved", 0)] = [13]
    assert before(roll, 1) == {"nothing-moves": False}
    moved = healthy()
    moved.log_epoch = 6
    assert before(moved, 1) == {"nothing-moves": False}


def test_registration_of_a_broker_that_is_gone_forbids_nothing():
    roll = healthy()
    roll.nodes[19] = roll.nodes[11]
    roll.registered[19] = {**roll.registered[11], "fenced": True}
    case = roll.case()
    from kafkactl.core.frozen import changed

    seen = changed(case.observation, nodes=tuple(node for node in case.observation.nodes if node.id != 19))
    assert all(gate.passed for gate in gates_before(changed(case, observation=seen), [11]))


def test_broker_is_back_only_after_it_is_registered_unfenced_and_in_every_isr():
    assert after(healthy().kill(12), 12).keys() >= {"new-incarnation", "unfenced"}
    assert after(healthy().fence(12), 12) == {"unfenced": False}
    roll = healthy()
    roll.registered[12]["stopping"] = True
    assert after(roll, 12) == {"unfenced": False}
    assert after(healthy().topic("lame", ((11, 12), (11,))), 12) == {"isr-whole": False}
    assert after(healthy().topic("lame", ((11, 12), (11,))), 11) == {}


def test_broker_that_runs_another_release_than_it_registered_is_not_back():
    roll = healthy().runs("4.4.0", 12, registered=False)
    assert after(roll, 12) == {"ranges-of-the-release": False}


def test_mark_requires_a_new_incarnation_and_whole_partitions():
    roll = healthy()
    case = roll.case()
    marks = {id: mark_of(case, case.observation.node(id)) for id in (1, 12)}
    assert after(roll, 12, marks[12]) == {"new-incarnation": False}
    assert after(roll, 1, marks[1]) == {"new-incarnation": False}
    roll.runs("4.3.1", 1, 12)
    assert after(roll, 12, marks[12]) == {}
    assert after(roll, 1, marks[1]) == {}
    roll.topic("lame", ((11, 12, 13), (11, 12)))
    assert after(roll, 12, marks[12]) == {"isr-whole": False}


def test_controller_below_3_7_is_back_when_its_fetches_pass_the_end_of_the_log():
    roll = Roll("3.6.2", level=14)
    case = roll.case()
    mark = mark_of(case, case.observation.node(1))
    assert mark.controller_incarnation is None
    assert after(roll, 1, mark) == {"new-incarnation": False}
    roll.extra.append(("NoOpRecord", None, {}))
    assert after(roll, 1, mark) == {}


def test_broker_that_did_not_fetch_past_its_own_unfencing_is_not_back():
    roll = healthy()
    seen = roll.observation()
    answer = dict(roll.quorum_answer() or {})
    for end, passed in ((seen.log.end_offset, None), (1, False)):
        observers = [each if each["id"] != 12 else {**each, "log_end_offset": end} for each in answer["observers"]]
        roll.quorum = {**answer, "observers": observers}
        assert after(roll, 12).get("metadata-caught-up") is passed


def test_node_that_does_not_fetch_is_not_back():
    roll = healthy()
    roll.dead.add(2)
    assert after(roll, 2) == {"quorum-settled": False}
    roll = healthy()
    roll.unknown_voters.add(2)
    assert after(roll, 2) == {"quorum-settled": None}


@pytest.mark.parametrize("asked", [(), (2,), (1, 3)])
def test_voter_that_the_majority_needs_and_that_was_not_asked_leaves_a_stop_unknown(asked):
    roll = healthy()
    for id in {1, 2, 3}.difference(asked):
        roll.change(id, alive=None)
    assert before(roll, 1) == ({"others-are-alive": None} if 3 not in asked or 2 not in asked else {})
    assert before(roll, 11) == {}  # no voter is stopped, and the leader observed the fetches of all


def test_voters_that_the_majority_does_not_need_may_be_unasked():
    five = Roll("4.3.1", controllers=(1, 2, 3, 4, 5)).change(2, alive=None)
    assert before(five, 1) == {}


def test_stop_of_a_broker_needs_a_leader_with_a_majority():
    roll = healthy()
    roll.dead = {1, 2}
    assert before(roll, 11) == {"majority-survives": False}
    roll.dead, roll.unknown_voters = set(), {1, 2}
    assert before(roll, 11) == {"majority-survives": None}


def test_voters_out_of_reach_whose_fetches_the_leader_observed_let_brokers_stop():
    roll = healthy().change(1, alive=False).change(2, alive=False)
    assert before(roll, 11) == {}
    assert before(roll, 3) == {"majority-survives": False}


def skipping(min_isr: str) -> dict[str, list[str]]:
    roll = Roll("4.3.1").topic("orders", ((11, 12, 13), (11, 12)), min_insync_replicas=min_isr).kill(13)
    gates = gates_before(roll.case(skip=frozenset({13})), [11])
    return {gate.id: [finding.severity.value for finding in gate.findings] for gate in gates if gate.findings}


def test_broker_that_is_left_out_forbids_only_stops_that_break_an_isr():
    assert skipping("1") == {"isr-survives": ["warning"], "nobody-else-is-down": ["warning"]}
    assert skipping("2") == {"isr-survives": ["blocker"], "nobody-else-is-down": ["warning"]}


def test_one_of_two_voters_may_be_stopped_if_that_was_accepted():
    roll = Roll("4.3.1", controllers=(1, 2))
    accepted = frozenset({"quorum-without-spare"})
    passed = [{gate.id: gate.passed for gate in gates_before(roll.case(accepted=words), [1])}["majority-survives"]
              for words in (frozenset[str](), accepted)]  # fmt: skip
    assert passed == [False, True]
    dead = Roll("4.3.1", controllers=(1, 2, 3)).kill(2)
    assert before(dead, 1)["majority-survives"] is False
