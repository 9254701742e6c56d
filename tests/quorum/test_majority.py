"""Majority arithmetic against the slow obvious version: try every subset."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.cluster.quorum.majority import arithmetic, critical, majorities_always_meet, majority, tolerates

NODES = st.frozensets(st.integers(0, 8), max_size=7)


def _subsets(members):
    return [set(part) for size in range(len(members) + 1) for part in combinations(sorted(members), size)]


def _majorities(voters):
    """Return every subset that is more than what it leaves out, in the obvious way."""
    return [part for part in _subsets(voters) if len(part) > len(voters) - len(part)]


def _can_decide(voters, alive):
    return any(part <= set(alive) for part in _majorities(voters))


def _survives(voters, alive):
    """Return the largest number of live voters of which any may be lost, in the obvious way; below 0, how many have to
    come back."""
    living, dead = set(voters) & set(alive), set(voters) - set(alive)
    if not _can_decide(voters, living):
        return -min(
            (len(back) for back in _subsets(dead) if _can_decide(voters, living | back)),
            default=1,  # no voters at all
        )
    return max(
        count
        for count in range(len(living) + 1)
        if all(_can_decide(voters, living - set(lost)) for lost in combinations(living, count))
    )


@pytest.mark.parametrize("size", range(10))
def test_majority_is_the_fewest_that_outnumber_the_rest(size):
    assert majority(size) == next(count for count in range(size + 2) if count > size - count)


@given(NODES, NODES)
def test_tolerates_is_what_losing_voters_one_by_one_shows(voters, alive):
    assert tolerates(voters, alive) == _survives(voters, alive)


@given(NODES, NODES)
def test_critical_is_whose_loss_alone_stops_the_quorum(voters, alive):
    stops = {
        voter for voter in voters & alive if _can_decide(voters, alive) and not _can_decide(voters, alive - {voter})
    }
    assert critical(voters, alive) == stops


@given(NODES, NODES)
def test_majorities_meet_as_found_by_trying_all(before, after):
    pairs = ((majority, two) for majority in _majorities(before) for two in _majorities(after))
    assert majorities_always_meet(before, after) == all(old_ & two for old_, two in pairs)


@given(NODES, st.integers(0, 8))
def test_one_voter_more_or_less_is_always_safe(voters, node):
    assert majorities_always_meet(voters, voters ^ {node}) or not voters or voters == {node}


def test_replacing_one_of_three_at_once_is_unsafe_although_kafka_accepts_it():
    assert majorities_always_meet({1, 2, 3}, {1, 2, 4}) is False


def test_arithmetic_can_be_checked_by_eye():
    assert arithmetic([1, 2], {1}) == "voters {1,2}, majority 2, alive {1}"
    assert arithmetic([], set()) == "voters {}, majority 1, alive {}"
