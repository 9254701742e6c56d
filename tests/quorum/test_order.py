"""The safest order compared with every order. All sets of up to five voters, and all patterns of liveness."""

from __future__ import annotations

from functools import cache
from itertools import accumulate, pairwise, permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.cluster.quorum.majority import majorities_always_meet, tolerates
from kafkactl.quorum.order import Move, Turn, safest_order
from tests.quorum.worlds import key
from tests.sampling import one_in


def _world(stay_alive, stay_dead, go_alive, go_dead, come):
    """Return voters 1.. in that order, newcomers from 11: (voters, target, alive)."""
    ids = iter(range(1, 10))
    stay = [next(ids) for _ in range(stay_alive + stay_dead)]
    go = [next(ids) for _ in range(go_alive + go_dead)]
    new = list(range(11, 11 + come))
    alive = stay[:stay_alive] + go[:go_alive] + new
    return tuple(frozenset(key(item) for item in part) for part in (stay + go, stay + new, alive))


WORLDS = [
    _world(*counts)
    for counts in product(range(6), repeat=5)
    if 1 <= sum(counts[:4]) <= 5 and 1 <= counts[0] + counts[1] + counts[4] <= 5
]
SMALL = [world for world in WORLDS if len(world[0] ^ world[1]) <= 5]


def _leaders(world):
    voters, target, alive = world
    groups = [voters & alive & target, (voters & alive) - target]
    return [None] + [sorted(group)[-1] for group in groups if group]


def _sets(voters, moves):
    """Return the voter set at the start and after every move."""
    return list(accumulate(moves, lambda members, move: move.on(members), initial=voters))


def _orders(voters, target):
    moves = [Move(turn=Turn.ADD, key=voter) for voter in target - voters]
    moves += [Move(turn=Turn.REMOVE, key=voter) for voter in voters - target]
    for order in permutations(moves):
        sets = _sets(voters, order)
        if all(len({member.node_id for member in members}) == len(members) for members in sets):
            yield order, sets[1:]


def _worth(voters, target, alive, leader, order, sets):
    """Return the criteria of the docstring as they are written there; smaller is better."""
    cap = max(tolerates(voters, alive), tolerates(target, alive))
    profile = sorted(min(tolerates(members, alive), cap) for members in sets)
    largest = max(len(members) for members in (voters, *sets))
    dead = sum(len(members - target - alive) for members in sets)
    late = sum(leader not in members for members in sets) if leader in voters else 0
    return [-item for item in profile], largest, dead, late, [move.key.node_id for move in order]


@pytest.mark.slow
@pytest.mark.parametrize("part", one_in(4, range(4)))
def test_no_order_is_better(part):
    for world in SMALL[part::4]:
        for leader in _leaders(world):
            best = min((_worth(*world, leader, order, sets) for order, sets in _orders(*world[:2])))
            order = safest_order(*world, leader=leader)
            found = _worth(*world, leader, order, _sets(world[0], order)[1:])
            assert found == best, (world, leader)


def _reachable_floor(voters, target, alive):
    """Return the best lowest tolerance of any order, by walking all subsets."""

    @cache
    def best(members):
        if members == target:
            return 99
        options = [members | {member} for member in target - members] + [
            members - {member} for member in members - target
        ]
        return max((min(tolerates(after, alive), best(after)) for after in options), default=99)

    return best(voters)


@pytest.mark.slow
@pytest.mark.parametrize("part", one_in(4, range(4)))
def test_lowest_tolerance_is_what_cannot_be_avoided(part):
    for world in WORLDS[part::4]:
        order = safest_order(*world)
        sets = _sets(world[0], order)
        assert sets[-1] == world[1]
        assert len(order) == len(world[0] ^ world[1])
        lowest = min((tolerates(members, world[2]) for members in sets[1:]), default=99)
        assert lowest == _reachable_floor(*world), world


@pytest.mark.parametrize("part", one_in(4, range(4)))
def test_majorities_of_neighbouring_sets_meet(part):
    for world in WORLDS[part::4]:
        sets = _sets(world[0], safest_order(*world))
        for before, after in pairwise(sets):
            assert not after or majorities_always_meet(before, after)


KEYS = st.builds(key, st.integers(1, 4), st.sampled_from("ab"))
VOTERS = st.lists(KEYS, min_size=1, max_size=3, unique_by=lambda key: key.node_id).map(frozenset)


@given(VOTERS, VOTERS, st.frozensets(KEYS, max_size=8), st.data())
def test_disks_that_change_are_ordered_best_too(voters, target, alive, data):
    leader = data.draw(st.sampled_from([None, *sorted(voters)]))
    best = min(_worth(voters, target, alive, leader, *order) for order in _orders(voters, target))
    order = safest_order(voters, target, alive, leader=leader)
    assert _worth(voters, target, alive, leader, order, _sets(voters, order)[1:]) == best


def test_target_with_an_id_twice_is_not_a_voter_set():
    with pytest.raises(ValueError, match="twice"):
        safest_order(frozenset({key(1)}), frozenset({key(2, "a"), key(2, "b")}), frozenset())
