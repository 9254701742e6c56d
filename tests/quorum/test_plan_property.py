"""The planner against everything that can happen: all small quorums, all patterns of life, interruption everywhere.

As in Patroni's tests: after every step, any set of nodes is lost, and the quorum is observed and planned again. It
reaches the goal or refuses, and never takes a step to a set without a living majority (the world in worlds.py would
fail). Whether it may refuse is checked by trying all sets there are.
"""

from __future__ import annotations

from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.cluster.quorum.majority import tolerates
from kafkactl.core.findings import Outcome
from kafkactl.quorum.guard import OVERRIDES, Circumstances
from kafkactl.quorum.plan import plan_reassignment
from kafkactl.quorum.step import Action
from kafkactl.quorum.target import TargetVoter
from tests.quorum.worlds import World, key
from tests.sampling import one_in

ALL_FLAGS = Circumstances(overrides=frozenset(OVERRIDES.values()))
PARTS = 6


def _subsets(members):
    members = sorted(members)
    return [frozenset(part) for size in range(len(members) + 1) for part in combinations(members, size)]


def _plan(world, target):
    wanted = [TargetVoter(node_id=member.node_id, directory_id=member.directory_id) for member in sorted(target)]
    return plan_reassignment(world.observe(), wanted, ALL_FLAGS)


def _can_be_reached(world, target):
    """Walk every voter set that a change at a time leads to without ever losing the live majority."""
    members = world.voters | target
    seen, todo = set(), [world.voters]
    while todo:
        voters = todo.pop()
        if voters in seen or not voters or tolerates(voters, world.alive) < 0:
            continue
        seen.add(voters)
        ids = {voter.node_id for voter in voters}
        todo += [voters - {voter} for voter in voters]
        todo += [
            voters | {member} for member in members - voters if member in world.alive and member.node_id not in ids
        ]
    return target in seen


def _journey(world, target):
    """Return every world on the way, with a new plan before each step; the last one is where it stopped, and the
    outcome."""
    worlds = [world]
    for _ in range(40):
        plan = _plan(worlds[-1], target)
        if plan.outcome is not Outcome.PLANNED:
            return worlds, plan
        step = next(step for step in plan.steps if step.action is not Action.WAIT)
        before, after = worlds[-1], worlds[-1].taken(step)
        assert step.voters_before == before.voters and step.voters_after == after.voters
        assert step.tolerates_before == tolerates(before.voters, before.alive)
        assert step.tolerates_after == tolerates(after.voters, after.alive)
        worlds.append(after)
    raise AssertionError("it never ends")


WORLDS = [
    World(voters=frozenset(map(key, range(1, size + 1))), alive=alive | frozenset(map(key, (6, 7, 8))))
    for size in range(1, 6)
    for alive in _subsets(map(key, range(1, size + 1)))
]
# By symmetry newcomers are 6, 7, 8 in this order.
TARGETS = [
    stay | frozenset(map(key, range(6, 6 + come)))
    for stay, come in product(_subsets(map(key, range(1, 6))), range(4))
    if 1 <= len(stay) + come <= 5
]
CASES = [(world, target) for world in WORLDS for target in TARGETS if target <= world.voters | world.alive]


@pytest.mark.slow
@pytest.mark.parametrize("part", one_in(3, range(PARTS), pytest.mark.campaign))
def test_plan_refuses_exactly_the_unreachable_targets(part):
    for world, target in CASES[part::PARTS]:
        worlds, end = _journey(world, target)
        if end.outcome is Outcome.NOTHING_TO_DO:
            assert worlds[-1].voters == target
            assert len(worlds) == 1 + len(world.voters ^ target)
        else:
            assert end.outcome is Outcome.REFUSED
            assert not _can_be_reached(world, target), (world, target)
            assert len(worlds) == 1, "what cannot be finished is not begun"


@pytest.mark.slow
@pytest.mark.parametrize("part", one_in(3, range(PARTS), pytest.mark.campaign))
def test_every_refusal_of_a_wedge_shows_a_sum_that_is_true(part):
    for world, target in CASES[part::PARTS]:
        plan = _plan(world, target)
        for finding in plan.findings:
            if finding.id == "quorum-would-wedge":
                after, alive = set(finding.evidence["voters_after"]), set(finding.evidence["alive"])
                assert len(alive) < finding.evidence["majority"] == len(after) // 2 + 1
                assert alive == after & {member.node_id for member in world.alive}


# Three and four voters with everybody alive or one dead; every moment, every set of nodes lost then.
INTERRUPTED = [
    (world, target)
    for world, target in CASES
    if len(world.voters) <= 4 and len(world.voters ^ target) <= 4 and len(world.voters - world.alive) <= 1
]


@pytest.mark.slow
@pytest.mark.parametrize("part", one_in(3, range(PARTS), pytest.mark.campaign))
def test_interrupted_anywhere_with_any_loss_it_continues_or_refuses(part):
    for world, target in INTERRUPTED[part::PARTS]:
        worlds, _ = _journey(world, target)
        for moment in worlds:
            for gone in _subsets(moment.alive & (moment.voters | target)):
                _check_after_loss(moment.losing(gone), target)


def _check_after_loss(moment, target):
    worlds, end = _journey(moment, target)  # taken() fails on a wedge
    if end.outcome is Outcome.NOTHING_TO_DO:
        assert worlds[-1].voters == target
    else:
        needed = target - moment.voters - moment.alive
        assert needed or not _can_be_reached(moment, target)


@pytest.mark.slow
@given(st.data())
def test_nodes_that_come_and_go_between_steps_never_meet_a_wedge(data):
    world = data.draw(st.sampled_from(WORLDS))
    target = data.draw(st.sampled_from(TARGETS))
    nodes = sorted(map(key, range(1, 9)))
    for _ in range(12):
        plan = _plan(world, target)
        if plan.outcome is Outcome.PLANNED:
            world = world.taken(next(step for step in plan.steps if step.action is not Action.WAIT))
        alive = data.draw(st.frozensets(st.sampled_from(nodes)))
        world = World(voters=world.voters, alive=alive)
    healed = World(voters=world.voters, alive=frozenset(nodes))
    if target <= healed.voters | healed.alive:
        assert _journey(healed, target)[0][-1].voters == target


DISKS = [disk for node_id in (1, 2, 3) for disk in (key(node_id), key(node_id, "b"))]


@given(st.frozensets(st.sampled_from(DISKS)), st.sampled_from([None, *map(key, (1, 2, 3))]))
def test_lost_disks_are_replaced_while_a_majority_is_left(alive, leader):
    # The target names ids only: whose directory is dead and fetches with another is meant to be replaced.
    world = World(voters=frozenset(map(key, (1, 2, 3))), alive=alive, leader=leader)
    for _ in range(10):
        plan = plan_reassignment(world.observe(), [TargetVoter(node_id=number) for number in (1, 2, 3)], ALL_FLAGS)
        if plan.outcome is not Outcome.PLANNED:
            break
        world = world.taken(next(step for step in plan.steps if step.action is not Action.WAIT))
    twice = any(key(index) in alive and key(index, "b") in alive for index in (1, 2, 3))
    if not twice and tolerates(frozenset(map(key, (1, 2, 3))), alive) >= 0:
        expected = {key(node_id, "b") if key(node_id, "b") in alive else key(node_id) for node_id in (1, 2, 3)}
        assert world.voters == expected
    else:
        assert plan.outcome is Outcome.REFUSED


NO_FLAGS = Circumstances()


@pytest.mark.slow
@pytest.mark.parametrize("part", one_in(3, range(PARTS), pytest.mark.campaign))
def test_plan_that_begins_without_a_flag_needs_none_later(part):
    for start, target in CASES[part::PARTS]:
        wanted = [TargetVoter(node_id=member.node_id, directory_id=member.directory_id) for member in sorted(target)]
        world, plan = start, plan_reassignment(start.observe(), wanted, NO_FLAGS)
        while plan.outcome is Outcome.PLANNED:
            world = world.taken(next(step for step in plan.steps if step.action is not Action.WAIT))
            plan = plan_reassignment(world.observe(), wanted, NO_FLAGS)
            assert plan.outcome is not Outcome.REFUSED, (start, target, plan.findings)
