"""Steps as they are shown: the shape of `quorum.change`, the waits, the numbers."""

from __future__ import annotations

from dataclasses import replace

from kafkactl.core.findings import Outcome
from kafkactl.quorum.plan import plan_conversion, plan_reassignment, plan_removal
from kafkactl.quorum.step import Action, StepState, numbered
from kafkactl.quorum.target import parse_target
from tests.quorum.worlds import directory, key, world


def test_payload_is_the_one_of_the_face():
    document = plan_reassignment(world("1 2 3", observers="4").observe(), parse_target("1,2,4")).to_dict()
    assert list(document) == ["outcome", "steps", "findings"]
    assert document["outcome"] == "planned"
    assert [(step["number"], step["action"], step["id"]) for step in document["steps"]] == [
        (1, "wait", 4),
        (2, "add", 4),
        (3, "remove", 3),
    ]
    assert document["steps"][1] == {
        "number": 2,
        "action": "add",
        "id": 4,
        "directory_id": str(directory("a")),
        "tolerates_before": 1,
        "tolerates_after": 1,
        "state": "pending",
        "voters_after": [1, 2, 3, 4],
        "leader_leaves": False,
    }


def test_waiting_changes_nothing_and_comes_before_each_addition():
    steps = plan_reassignment(world("1", observers="2 3").observe(), parse_target("1,2,3")).steps
    assert [step.action for step in steps] == [Action.WAIT, Action.ADD] * 2
    assert all(step.voters_before == step.voters_after for step in steps if step.action is Action.WAIT)
    assert [step.key for step in steps] == [key(2), key(2), key(3), key(3)]


def test_upgrade_is_about_no_node():
    document = plan_conversion(world("1 2 3", static=True).observe()).to_dict()["steps"][0]
    assert (document["action"], document["id"], document["directory_id"]) == ("upgrade", None, None)


def test_numbers_of_steps_continue_after_done_steps():
    plan = plan_reassignment(world("1 2 3", observers="4").observe(), parse_target("1,2,4"))
    done = replace(plan.steps[1], state=StepState.DONE)
    assert [step.number for step in numbered([done, *plan.steps])] == [1, 2, 3, 4]
    assert done.to_dict()["state"] == "done"


def test_outcome_that_is_known_later_is_reported_instead():
    plan = plan_removal(world("1 2 3").observe(), key(3))
    assert plan.outcome is Outcome.PLANNED
    assert plan.to_dict(Outcome.UNKNOWN)["outcome"] == "unknown"
    assert plan.next_step is plan.steps[0]
