"""Order, batches, predictions and rollback of a roll."""

from __future__ import annotations

import itertools

import pytest

from kafkactl.core.frozen import changed
from kafkactl.dryrun.scenarios.broker_loss import LossMode, broker_loss
from kafkactl.dryrun.scenarios.rolling_restart import rolling_restart
from kafkactl.roll.case import Until
from kafkactl.roll.planning import plan_roll
from tests.roll.rolls import Roll


def stops(plan):
    return [step.nodes for step in plan.steps if step.action == "stop"]


def busy(release: str = "4.3.1", **more) -> Roll:
    roll = Roll(release, **more)
    rf3 = [[11, 12, 13], [12, 13, 11], [13, 11, 12]]
    roll.topic("spread", *(rf3 * 2), min_insync_replicas="2").topic("lead", *([[11, 12, 13]] * 6))
    return roll.topic("pair", [11, 12], [12, 13], [13, 11]).topic("one", [11], [12], [13])


def test_upgrade_goes_through_controllers_leader_last_then_brokers():
    roll = busy("3.9.2")
    roll.leader = 2
    plan = plan_roll(roll.case("4.3.1"))
    assert plan.order.controllers == (1, 3, 2)
    assert stops(plan)[:3] == [(1,), (3,), (2,)]
    actions = [step.action for step in plan.steps if step.nodes == (1,)]
    assert actions == ["install", "stop", "start", "wait"]
    assert plan.steps[-1].action == "verify"
    assert plan.totals.steps == len(plan.steps) == 25


def test_downgrade_goes_through_brokers_then_controllers_leader_last():
    plan = plan_roll(busy("4.3.1", level=21).case("3.9.2"))
    assert plan.way == "downgrade"
    assert stops(plan)[-3:] == [(1,), (2,), (3,)]
    assert {nodes[0] for nodes in stops(plan)[:3]} == {11, 12, 13}


def test_restart_has_no_install_and_put_config_only_for_rendered_files():
    plan = plan_roll(busy().case(rendered={11: "process.roles=broker\n"}))
    assert [(step.action, step.nodes) for step in plan.steps if step.action in ("install", "put-config")] == [
        ("put-config", (11,))
    ]
    assert plan.steps[-1].phase == "proof"


def test_nodes_that_are_down_come_first_and_those_that_are_done_do_not_come():
    roll = busy("3.9.2").runs("4.3.1", 1, 2).kill(12)
    plan = plan_roll(roll.case("4.3.1"))
    assert plan.order.controllers == (3,)
    assert plan.order.brokers[0] == 12
    assert plan.steps[0].nodes == (12,)
    assert "stop" not in [step.action for step in plan.steps if step.nodes == (12,)]


def test_brokers_go_in_the_order_that_moves_the_fewest_leaders():
    case = busy().case()
    plan = plan_roll(case)
    sums = {
        order: _moves(rolling_restart(case.image, case.facts, order)) for order in itertools.permutations((11, 12, 13))
    }
    assert sums[plan.order.brokers] == min(sums.values()) < max(sums.values())
    assert plan.totals.leader_changes == min(sums.values())


def _moves(prediction) -> int:
    return sum(step["partitions"].leader_changes for step in prediction.effects["steps"])


@pytest.mark.parametrize("order", [(11, 12, 13), (13, 12, 11)])
def test_figures_equal_those_of_the_dry_run_for_an_equal_order(order):
    case = busy().case(order=order)
    plan = plan_roll(case)
    predicted = [step.predicted for step in plan.steps if step.action == "stop" and step.phase == "brokers"]
    expected = [step["partitions"] for step in rolling_restart(case.image, case.facts, order).effects["steps"]]
    assert plan.order.brokers == order
    for ours, theirs in zip(predicted, expected, strict=True):
        assert (ours.leader_changes, ours.offline) == (theirs.leader_changes, theirs.offline)
        assert (ours.under_min_isr, ours.at_min_isr) == (theirs.under_min_isr, theirs.at_min_isr)


def test_controllers_move_no_leader_and_leave_a_majority():
    first = plan_roll(busy().case()).steps[0].predicted
    assert (first.leader_changes, first.majority, first.tolerates) == (0, True, 0)
    sole = plan_roll(Roll("4.3.1", controllers=(1,)).case()).steps[0].predicted
    assert (sole.majority, sole.tolerates) == (False, -1)


def racked(*partitions, **configs) -> Roll:
    roll = Roll("4.3.1").topic("t", *partitions, **configs)
    for id, rack in ((11, "a"), (12, "a"), (13, "b")):
        roll.change(id, rack=rack)
    return roll


def test_batch_holds_brokers_of_one_rack_whose_partitions_keep_enough():
    plan = plan_roll(racked([11, 13], [12, 13], [13, 11]).case(batch=0))
    assert sorted(map(sorted, plan.batches)) == [[11, 12], [13]]
    together = next(step for step in plan.steps if step.action == "stop" and len(step.nodes) == 2)
    case = racked([11, 13], [12, 13], [13, 11]).case()
    if plan.batches[0] == together.nodes:
        counts = broker_loss(case.image, case.facts, together.nodes, mode=LossMode.CONTROLLED, in_order=True).counts
        assert together.predicted.leader_changes == counts.leader_changes


def test_batch_is_refused_for_one_partition_that_needs_both():
    roll = racked([11, 13], [11, 12, 13], min_insync_replicas="2")
    assert all(len(batch) == 1 for batch in plan_roll(roll.case(batch=0)).batches)


def test_batch_never_crosses_racks():
    assert all(len(batch) == 1 for batch in plan_roll(Roll("4.3.1").topic("t", [11], [12]).case(batch=2)).batches)


def test_equal_orders_follow_racks_then_ids():
    roll = Roll("4.3.1")
    for id, rack in ((11, "b"), (12, "a"), (13, "b")):
        roll.change(id, rack=rack)
    assert plan_roll(roll.case()).order.brokers == (12, 11, 13)


def test_rollback_is_possible_until_levels_are_raised():
    plan = plan_roll(busy("3.9.2").case("4.3.1", until="levels"))
    raising = next(step for step in plan.steps if step.action == "raise-levels")
    assert {step.rollback for step in plan.steps if step.number < raising.number} == {"yes"}
    assert raising.rollback == "no"
    band = plan_roll(busy("4.0.2").case("4.2.1", until="levels"))
    assert next(step for step in band.steps if step.action == "raise-levels").rollback == "levels-first"


@pytest.mark.parametrize(
    ("until", "last"),
    [
        (None, [("verify", "binaries")]),
        ("binaries", [("verify", "binaries")]),
        ("proof", [("verify", "proof")]),
        ("levels", [("verify", "binaries"), ("raise-levels", "levels")]),
    ],
)
def test_levels_are_raised_only_by_their_name(until, last):
    plan = plan_roll(busy("3.9.2").case("4.3.1", until=until))
    assert [(step.action, step.phase) for step in plan.steps if not step.nodes] == last
    done = plan_roll(Roll("4.4.0").case("4.4.0", until="levels"))
    assert "verify" in [step.action for step in done.steps]


def test_plan_until_controllers_ends_after_the_controllers():
    plan = plan_roll(busy("3.9.2").case("4.3.1", until="controllers"))
    assert {step.phase for step in plan.steps} == {"controllers"}


def test_partial_roll_is_reported():
    plan = plan_roll(busy("3.9.2").case("4.3.1", only=frozenset({11})))
    assert stops(plan) == [(11,)]
    assert "partial-roll" in [finding.id for finding in plan.findings]


def test_checksum_is_that_of_the_steps():
    first, second = (plan_roll(busy().case()) for _ in range(2))
    assert first.plan_sha256 == second.plan_sha256
    assert (
        plan_roll(busy().case(order=(11, 12, 13))).plan_sha256 != plan_roll(busy().case(order=(13, 11, 12))).plan_sha256
    )


def test_combined_nodes_are_controllers():
    roll = Roll("4.3.1", controllers=(), brokers=(), combined=(1, 2, 3)).topic("t", [1, 2, 3])
    plan = plan_roll(roll.case())
    assert (plan.order.controllers, plan.order.brokers) == ((1, 2, 3), ())
    assert sum(step.predicted.leader_changes for step in plan.steps if step.predicted) > 0
    assert changed(plan, out=None) == plan


def test_levels_that_are_asked_for_later_are_the_only_step():
    roll = busy("4.3.1", level=21, registered_by="4.3.1")
    plan = plan_roll(roll.case("4.3.1", until=Until.LEVELS))
    assert [(step.action, step.rollback) for step in plan.steps] == [("verify", "yes"), ("raise-levels", "no")]
    assert [step.action for step in plan_roll(roll.case("4.3.1")).steps] == ["verify"]
