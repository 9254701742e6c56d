"""The one next command of a status, in the states in which an operator asks for it."""

from __future__ import annotations

from typing import Any

import pytest

from kafkactl.change.journal_lines import JournalText, new_entry
from kafkactl.core.findings import blocker, warning
from kafkactl.core.frozen import changed
from kafkactl.roll.api.judging import status_case
from kafkactl.roll.case import RollRequest
from kafkactl.roll.position import RollStatus, roll_status
from kafkactl.roll.start_gates import mark_of
from tests.roll.rolls import Roll


def status(roll: Roll, to: str | None = None, *findings: Any) -> RollStatus:
    observation = roll.observation()
    seen = changed(observation, findings=(*observation.findings, *findings))
    return roll_status(status_case(seen, RollRequest.of(to=to, inventory="my roll.toml")))


def stopped(roll: Roll, *nodes: int, to: str | None = "4.4.0", way: str = "upgrade", fails: bool = False) -> Roll:
    """Write a journal in which the roll stopped nodes, and their start failed if `fails`."""
    case = roll.case()
    marks = [mark_of(case, case.observation.node(id)).to_dict() for id in nodes]
    before = {str(id): str(node.release) for id, node in roll.nodes.items()}
    step = {"number": 1, "nodes": list(nodes), "release": to, "marks": marks}
    text = JournalText(entries=())
    found = [
        ("journal", {"version": 1, "subject": "roll", "cluster_id": "c"}),
        ("begin", {"goal": {"to": to, "way": way, "from": before}}),
        ("intent", {**step, "action": "stop"}),
        ("done", {"of": 2}),
    ]
    if fails:
        found += [("intent", {**step, "number": 2, "action": "start"}), ("failed", {"of": 4, "came_up": False})]
    for kind, data in found:
        text = JournalText(entries=(*text.entries, new_entry(text, kind, data, at_ms=1_000 * len(text.entries))))
    roll.journal = text.entries
    return roll.kill(*nodes)


def interrupted(roll: Roll, *entries: tuple[str, Any], to: str | None = "4.4.0", options: Any = ()) -> Roll:
    """Write a journal of a roll that began, and has these entries."""
    goal = {"to": to, "way": "restart" if to is None else "upgrade", "from": {}}
    text = JournalText(entries=())
    header = ("journal", {"version": 1, "subject": "roll", "cluster_id": "c"})
    for kind, data in (header, ("begin", {"goal": goal, "options": list(options)}), *entries):
        text = JournalText(entries=(*text.entries, new_entry(text, kind, data, at_ms=1_000)))
    roll.journal = text.entries
    return roll


START_OF_1 = {"number": 3, "action": "start", "nodes": [1], "release": "4.4.0", "marks": []}
AGAIN = "kafkactl roll run --inventory 'my roll.toml'"


def test_step_that_is_open_although_its_node_is_back_is_settled_by_the_roll() -> None:
    roll = interrupted(Roll("4.3.1", level=30).runs("4.4.0", 1), ("intent", START_OF_1))
    action = status(roll, "4.4.0").next_action
    assert action == (
        f"Run the roll again, which first finds out what became of step 3 (start of node 1): {AGAIN} --to 4.4.0"
    )


@pytest.mark.parametrize(
    ("make", "to"), [(lambda: Roll("4.3.1", level=30).runs("4.4.0"), "4.4.0"), (lambda: Roll("4.3.1"), None)]
)
def test_roll_that_has_only_its_proof_left_is_run_again(make: Any, to: str | None) -> None:
    marks = {**START_OF_1, "release": to}
    action = status(interrupted(make(), ("intent", marks), ("done", {"of": 2}), to=to), to).next_action
    assert action.startswith("Run the roll again, which proves that every node is back, and ends it: ")
    assert action.endswith(AGAIN + ("" if to is None else f" --to {to}"))
    ended = interrupted(make(), ("intent", marks), ("done", {"of": 2}), ("end", {"outcome": "done"}), to=to)
    assert "Run the roll again" not in status(ended, to).next_action


def test_roll_of_some_nodes_is_resumed_with_its_options() -> None:
    request = RollRequest.of(
        to="4.4.0", only=[12, 1], rendered_from="/etc/new files", accepted=["default-changed", "partial-roll"]
    )
    roll = interrupted(Roll("4.3.1", level=30), options=request.options)
    assert status(roll, "4.4.0").next_action == (
        f"Run the roll again, with the nodes that it began with: {AGAIN} --to 4.4.0 --only 1,12 "
        "--rendered '/etc/new files' --accept default-changed --accept partial-roll"
    )


def silent(node: str, reason: str) -> Any:
    return warning("node-not-observed", node, f"{node} does not answer", reason=reason)


def test_node_that_did_not_come_up_under_the_goal_goes_back_to_the_old_binary() -> None:
    roll = stopped(Roll("4.3.1", level=30), 1, fails=True)
    assert status(roll).next_action.endswith("kafkactl roll rollback --inventory 'my roll.toml' --to 4.3.1 --only 1")


def test_node_that_did_not_come_up_under_raised_levels_is_repaired() -> None:
    roll = stopped(Roll("4.4.0"), 1, to=None, way="restart", fails=True)
    action = status(roll).next_action
    assert action.startswith("Read the log of node 1")
    assert action.endswith("kafkactl roll run --inventory 'my roll.toml'")


@pytest.mark.parametrize(
    ("to", "way", "command"),
    [
        ("4.4.0", "upgrade", "kafkactl roll run --inventory 'my roll.toml' --to 4.4.0"),
        (None, "restart", "kafkactl roll run --inventory 'my roll.toml'"),
        ("4.2.1", "downgrade", "kafkactl roll rollback --inventory 'my roll.toml' --to 4.2.1"),
    ],
)
def test_node_that_the_roll_stopped_is_started_by_the_roll(to: str | None, way: str, command: str) -> None:
    roll = stopped(Roll("4.3.1", level=29), 11, to=to, way=way)
    action = status(roll).next_action
    assert "starts node 11 first" in action
    assert action.endswith(command)


def test_node_that_is_down_for_another_reason_is_started() -> None:
    action = status(Roll("4.3.1").kill(12), "4.4.0", silent("broker 12", "connection-refused")).next_action
    assert action.startswith("Start node 12,")


def test_node_that_takes_connections_and_does_not_answer_is_not_started_blindly() -> None:
    action = status(Roll("4.3.1").kill(12), "4.4.0", silent("broker 12", "connection-timed-out")).next_action
    assert action.startswith("Find out why node 12 does not answer")


def test_downgrade_continues_with_a_broker_by_rollback() -> None:
    action = status(Roll("4.4.0", level=30), "4.3.1").next_action
    assert "kafkactl roll rollback --inventory 'my roll.toml' --to 4.3.1" in action
    assert action.startswith("Continue with node 11")


def test_two_releases_without_a_goal_are_not_continued_as_a_restart() -> None:
    action = status(Roll("4.3.1", level=30).runs("4.4.0", 1)).next_action
    assert "status --inventory 'my roll.toml' --to 4.4.0 shows the roll" in action
    assert "rollback --inventory 'my roll.toml' --to 4.3.1" in action


def test_levels_are_raised_by_the_roll() -> None:
    action = status(Roll("4.4.0", level=30), "4.4.0").next_action
    assert action.endswith("kafkactl roll run --inventory 'my roll.toml' --to 4.4.0 --until levels")


def test_quorum_that_was_not_observed_is_asked_for_first() -> None:
    roll = Roll("4.3.1")
    roll.quorum = None
    reason = warning("cluster-not-observed", "quorum", "denied", "Add the right.", reason="not-authorized")
    assert status(roll, None, reason).next_action.endswith("Add the right.")


def test_node_of_another_cluster_is_a_problem_and_may_not_be_stopped() -> None:
    stranger = blocker("node-of-another-cluster", "broker 12", "another cluster answers", "Correct the inventory.")
    found = status(Roll("4.3.1"), "4.4.0", stranger)
    row = next(node for node in found.nodes if node.id == 12)
    assert (row.back, row.may_stop, found.has_problems) == (False, False, True)
    assert found.next_action.startswith("Correct the inventory.")


def test_release_before_a_failed_start_is_named_with_its_patch() -> None:
    roll = stopped(Roll("4.3.1", level=30), 1)
    assert status(roll).rollback.to == "4.3.1"


def test_roll_that_would_be_refused_is_not_the_next_command() -> None:
    action = status(Roll("4.3.1"), "3.9.2").next_action
    assert action.startswith("Correct what blocks the roll: metadata.version is finalized at")
    assert "There is no way to Kafka 3.9.2" in action
    small = Roll("3.9.2").topic("small", [11, 12, 13], segment_bytes="100000")
    assert "kafka-configs.sh" in status(small, "4.3.1").next_action
    assert "roll run" not in status(small, "4.3.1").next_action


def test_unobserved_node_is_observed_first() -> None:
    roll = Roll("4.3.1", level=30).change(2, alive=None)
    action = status(roll, "4.4.0").next_action
    assert action.startswith("Observe again before node 1 is stopped")
    assert "controller 2, which was not asked" in action


def test_controllers_are_started_first_if_all_nodes_are_down() -> None:
    roll = Roll("4.3.1").kill(1, 2, 3, 11, 12, 13)
    roll.quorum = None
    assert status(roll, "4.4.0").next_action.startswith("Start controllers until a majority of the voters 1, 2, 3")


def test_election_is_waited_for() -> None:
    roll = Roll("4.3.1")
    roll.log_epoch = 6
    assert status(roll, "4.4.0").next_action.startswith("Wait until the quorum has settled on one leader")


def test_roll_to_another_release_in_the_journal_comes_first() -> None:
    roll = stopped(Roll("4.3.1", level=29), 11).runs("4.3.1")
    roll.dead.clear()
    roll.change(11, alive=True).registered[11]["fenced"] = False
    action = status(roll, "4.2.1").next_action
    assert action.endswith("kafkactl roll status --inventory 'my roll.toml' --to 4.4.0")
    assert "a roll to Kafka 4.4.0 that did not end" in action


def test_patch_release_that_nothing_shows_is_not_done() -> None:
    roll = Roll("4.3.0")
    for id in roll.nodes:
        roll.change(id, release=None)
    action = status(roll, "4.3.1").next_action
    assert action.startswith("Observe again with the hook `running`: it is unknown if nodes 1, 2, 3, 11, 12, 13 run")
    assert action.endswith("kafkactl roll run --inventory 'my roll.toml' --to 4.3.1")


def test_broker_ahead_of_the_controllers_does_not_change_the_goal() -> None:
    action = status(Roll("4.3.1", level=30).runs("4.4.0", 11), "4.4.0").next_action
    assert action.startswith("Continue with node 1:")


def test_quorum_without_a_leader_although_its_voters_answer_is_looked_into() -> None:
    roll = Roll("4.3.1")
    roll.quorum = {"leader_id": -1, "leader_epoch": 5, "voters": [{"id": id} for id in (1, 2, 3)]}
    action = status(roll, "4.4.0").next_action
    assert action.startswith("Find out with `kafkactl quorum describe` why no leader is elected")


def test_stop_of_one_of_two_voters_is_accepted_by_the_next_command() -> None:
    roll = Roll("4.3.1", level=30, controllers=(1, 2))
    action = status(roll, "4.4.0").next_action
    assert action.endswith("roll run --inventory 'my roll.toml' --to 4.4.0 --accept quorum-without-spare")
    assert "Start node 2" in status(roll.kill(2), "4.4.0").next_action


def test_only_controller_is_started() -> None:
    roll = Roll("4.3.1", controllers=(1,)).kill(1)
    roll.quorum = None
    assert status(roll, "4.4.0").next_action.startswith("Start controller 1, the only voter; stop nothing")


def test_only_controller_that_hangs_is_not_to_be_started() -> None:
    roll = Roll("4.3.1", controllers=(1,)).kill(1)
    roll.quorum = None
    action = status(roll, "4.4.0", silent("controller 1", "connection-timed-out")).next_action
    assert action.startswith("Find out why controller 1, the only voter, does not answer and refuses no connection")
