"""Phase, rollback and position of a cluster in a roll."""

from __future__ import annotations

import pytest

from kafkactl.change.journal_lines import JournalText, new_entry
from kafkactl.core.values import Role
from kafkactl.protocol.catalog.releases import find_release
from kafkactl.roll.api.judging import status_case
from kafkactl.roll.case import RollRequest
from kafkactl.roll.position import roll_status
from kafkactl.roll.rollback_path import rollback_path
from kafkactl.roll.rules.binaries import ranges
from kafkactl.roll.start_gates import mark_of
from tests.roll.rolls import Roll


@pytest.mark.parametrize(
    ("make", "to", "phase"),
    [
        (lambda: Roll("3.9.2"), "4.3.1", "before"),
        (lambda: Roll("3.9.2").runs("4.3.1", 1), "4.3.1", "controllers"),
        (lambda: Roll("3.9.2").runs("4.3.1", 1, 2, 3), "4.3.1", "brokers"),
        (lambda: Roll("3.9.2").runs("4.3.1", 1, 2, 3, 11), "4.3.1", "brokers"),
        (lambda: Roll("3.9.2").runs("4.3.1"), "4.3.1", "binaries"),
        (lambda: Roll("4.3.1", level=30), "4.3.1", "levels"),
        (lambda: Roll("3.9.2").runs("4.3.1", 11), "4.3.1", "mixed"),
        (lambda: Roll("3.9.2").runs("4.3.1", 1).runs("4.0.2", 2), "4.3.1", "mixed"),
        (lambda: Roll("4.3.1"), None, "done"),
        (lambda: Roll("3.9.2").runs("4.3.1", 1), None, "controllers"),
        # The way down: brokers first.
        (lambda: Roll("4.3.1", level=21), "3.9.2", "before"),
        (lambda: Roll("4.3.1", level=21).runs("3.9.2", 11), "3.9.2", "brokers"),
        (lambda: Roll("4.3.1", level=21).runs("3.9.2", 11, 12, 13), "3.9.2", "controllers"),
        (lambda: Roll("4.3.1", level=21).runs("3.9.2", 1), "3.9.2", "mixed"),
        (lambda: Roll("4.3.1", level=21).runs("3.9.2"), "3.9.2", "done"),
        # A rollback asks for no levels; an upgrade from before it that did does not count any more.
        (lambda: Roll("4.0.2", level=21).was("4.3.1"), "4.0.2", "done"),
        (lambda: Roll("4.0.2", level=21).was("3.9.2"), "4.0.2", "binaries"),
        (lambda: Roll("4.0.2", level=21), "4.0.2", "binaries"),
    ],
)
def test_phase_follows_from_all_nodes(make, to, phase):
    assert roll_status(make().case(to)).phase == phase


def test_registration_of_a_node_that_is_gone_does_not_make_a_rollback():
    roll = Roll("4.0.2", level=21)
    roll.registered[19] = {"ranges": ranges(find_release("4.3.1")), "roles": (Role.CONTROLLER,)}
    assert roll_status(roll.case("4.0.2")).phase == "binaries"


def test_rollback_in_the_journal_asks_for_no_levels_if_the_log_has_no_history():
    roll = Roll("4.0.2", level=21)
    before = dict.fromkeys(map(str, roll.nodes), "4.3.1")
    roll.journal = journal(
        ("begin", {"goal": {"to": "4.0.2", "way": "downgrade", "from": before}}), ("end", {"outcome": "done"})
    )
    status = roll_status(roll.case("4.0.2"))
    assert (status.phase, status.next_action) == ("done", "Nothing: no roll is under way.")


def test_all_levels_raised_is_done():
    roll = Roll("4.0.2")
    roll.features = {"transaction.version": 2, "group.version": 1, "eligible.leader.replicas.version": 1}
    assert roll_status(roll.case("4.0.2")).phase == "done"


@pytest.mark.parametrize(
    ("make", "to", "expected"),
    [
        (lambda: Roll("3.9.2").runs("4.3.1", 1), "4.3.1", ("3.9.2", True, "binaries")),
        (lambda: Roll("3.9.2"), "4.3.1", ("3.9.2", True, "none-needed")),
        (lambda: Roll("4.3.1"), None, (None, True, "none-needed")),
        (lambda: Roll("4.3.1"), "3.9.2", ("3.9.2", False, "no")),
        (lambda: Roll("4.3.1", level=21), "3.9.2", ("3.9.2", True, "binaries")),
        (lambda: Roll("4.2.1"), "4.0.2", ("4.0.2", True, "levels-first")),
        (lambda: Roll("3.9.2"), "3.7.2", ("3.7.2", True, "levels-first")),
        (lambda: Roll("4.4.0"), "4.3.1", ("4.3.1", False, "no")),
        (lambda: Roll("4.3.1"), "4.3.1", (None, True, "none-needed")),
        # The history of registrations names the line before.
        (lambda: Roll("4.3.1", level=21, registered_by="3.9.2"), "4.3.1", ("3.9", True, "binaries")),
    ],
)
def test_rollback_follows_from_the_levels(make, to, expected):
    found = rollback_path(make().case(to))
    assert (found.to, found.possible, found.how) == expected


def test_rollback_does_not_report_a_stopped_node_as_running():
    down = rollback_path(Roll("3.9.2").kill(12).case("4.3.1"))
    assert (down.how, down.reason) == ("none-needed", "no node ran another release than Kafka 3.9.2 last")
    assert rollback_path(Roll("3.9.2").case("4.3.1")).reason == "every node runs Kafka 3.9.2"


def test_recorded_kraft_version_closes_the_rollback_of_the_controllers():
    roll = Roll("3.9.2", level=19)
    roll.features["kraft.version"] = 1
    found = rollback_path(roll.case("3.7.2"))
    assert (found.possible, found.how) == (False, "no")


def test_status_shows_who_is_done_back_and_may_be_stopped():
    roll = Roll("3.9.2").topic("t", [11, 12, 13], [12, 13, 11]).topic("one", [13]).runs("4.3.1", 1, 2, 3, 11).kill(12)
    status = roll_status(roll.case("4.3.1"))
    rows = {node.id: (node.done, node.back, node.may_stop) for node in status.nodes}
    assert rows[11] == (True, True, False)
    assert rows[12][:2] == (False, False)
    assert rows[13] == (False, True, False)
    assert rows[1] == (True, True, False)
    assert status.has_problems
    assert status.next_action.startswith("Start node 12")
    assert "broker-down" in [finding.id for finding in status.findings]


def test_healthy_cluster_in_the_middle_names_the_next_node():
    status = roll_status(Roll("3.9.2").runs("4.3.1", 1, 2, 3).case("4.3.1"))
    assert not status.has_problems
    assert status.next_action.startswith("Continue with node 11")
    assert all(node.may_stop for node in status.nodes)


def journal(*entries):
    text = JournalText(entries=())
    for kind, data in (("journal", {"version": 1, "subject": "roll", "cluster_id": "c"}), *entries):
        text = JournalText(entries=(*text.entries, new_entry(text, kind, data, at_ms=1_000 * len(text.entries))))
    return text.entries


def test_journal_gives_goal_old_release_and_open_step():
    roll = Roll("3.9.2")
    case = roll.case()
    mark = mark_of(case, case.observation.node(11)).to_dict()
    roll.journal = journal(
        ("begin", {"goal": {"to": "4.3.1", "way": "upgrade", "from": {"11": "3.9.2"}}}),
        ("intent", {"number": 7, "action": "stop", "nodes": [11], "release": None, "marks": [mark]}),
    )
    roll.runs("4.3.1", 1, 2, 3).kill(11)
    status = roll_status(status_case(roll.observation(), RollRequest()))
    assert (status.goal, status.phase) == ("4.3.1", "brokers")
    assert status.open_step.to_dict() == {"number": 7, "action": "stop", "nodes": [11], "since_ms": 2000}
    assert status.journal.to_dict()["from"] == {"11": "3.9.2"}
    other = next(node for node in status.nodes if node.id == 1)
    assert other.may_stop is False  # step 7 is open


def test_rollback_that_is_done_needs_no_other_one():
    roll = Roll("4.3.1")
    before = dict.fromkeys(map(str, roll.nodes), "4.4.0")
    roll.journal = journal(("begin", {"goal": {"to": "4.3.1", "way": "downgrade", "from": before}}))
    for to in ("4.3.1", None):
        path = rollback_path(roll.case(to))
        assert (path.possible, path.how) == (True, "none-needed"), path


def test_settled_step_is_not_open():
    roll = Roll("4.3.1")
    roll.journal = journal(
        ("begin", {"goal": {"to": None, "way": "restart", "from": {}}}),
        ("intent", {"number": 1, "action": "stop", "nodes": [11], "release": None, "marks": []}),
        ("done", {"of": 2}),
        ("end", {"outcome": "done"}),
    )
    status = roll_status(roll.case())
    assert status.open_step is None
    assert status.journal.outcome == "done"


@pytest.mark.parametrize("outcome", ["partial", "failed", "unknown"])
def test_upgrade_that_stopped_in_the_middle_keeps_its_goal(outcome):
    roll = Roll("4.3.1")
    roll.journal = journal(
        ("begin", {"goal": {"to": "4.4.0", "way": "upgrade", "from": {"1": "4.3.1"}}}),
        ("intent", {"number": 1, "action": "install", "nodes": [1], "release": "4.4.0", "marks": []}),
        ("done", {"of": 2}),
        ("end", {"outcome": outcome}),
    )
    status = roll_status(status_case(roll.observation(), RollRequest()))
    assert (status.goal, status.phase) == ("4.4.0", "before")
    assert "roll run --inventory FILE --to 4.4.0" in status.next_action


@pytest.mark.parametrize("end", [(), (("end", {"outcome": "partial"}),)], ids=["runs", "stopped in the middle"])
def test_restart_under_way_is_followed_by_the_marks_of_the_journal(end):
    roll = Roll("4.3.1")
    case = roll.case()
    marks = [mark_of(case, node).to_dict() for node in case.observation.nodes]
    roll.journal = journal(
        ("begin", {"goal": {"to": None, "way": "restart", "from": {}}}),
        ("intent", {"number": 1, "action": "stop", "nodes": [1], "release": None, "marks": marks}),
        ("done", {"of": 2}),
        *end,
    )
    assert roll_status(roll.case()).phase == "before"
    roll.runs("4.3.1", 1)
    status = roll_status(roll.case())
    assert status.phase == "controllers"
    assert [node.done for node in status.nodes if node.id in (1, 2)] == [True, False]
