"""Voter sets: Kafka's check of a change against the exact rule, over all sets of up to five voters (finding 3)."""

from __future__ import annotations

from itertools import combinations

import pytest

from kafkactl.cluster.quorum.majority import majorities_always_meet, majority
from kafkactl.core.values import ReplicaKey
from kafkactl.simulator.raft.voters import NO_VOTERS, VoterSet
from tests.simulator.raft.quorum import directory, kafka_accepts, voter, voters

FIVE = tuple(voter(node_id) for node_id in range(1, 6))


def _majorities(members: VoterSet) -> list[set]:
    size = majority(len(members.voters))
    return [set(chosen) for chosen in combinations(members.keys, size)]


def _meet(before: VoterSet, after: VoterSet) -> bool:
    return all(left & right for left in _majorities(before) for right in _majorities(after))


def _sets() -> list[VoterSet]:
    return [VoterSet(chosen) for size in range(1, 6) for chosen in combinations(FIVE, size)]


def test_exact_rule_is_the_brute_force():
    sets = _sets()
    wrong = [
        (item, other)
        for item in sets
        for other in sets
        if majorities_always_meet(item.keys, other.keys) != _meet(item, other)
    ]
    assert wrong == []


def test_kafkas_check_differs_from_the_exact_rule_in_known_shapes():
    shapes = set()
    for item in _sets():
        for other in _sets():
            if kafka_accepts(item, other) != _meet(item, other):
                removed, added = len(set(item.keys) - set(other.keys)), len(set(other.keys) - set(item.keys))
                shapes.add((len(item.voters), removed, added, kafka_accepts(item, other)))
    unsafe = {shape[:3] for shape in shapes if shape[3]}
    refused = {shape[:3] for shape in shapes if not shape[3]}
    assert unsafe == {(1, 1, 1), (3, 1, 1)}  # one of an odd set replaced in a single step
    assert refused == {(2, 0, 2), (4, 2, 0)}  # 2 to 4 and 4 to 2


def test_one_voter_less_or_more_is_safe_in_both():
    for item in _sets():
        for node in FIVE:
            other = item.adding(node) or item.removing(ReplicaKey(node_id=node.node_id, directory_id=node.directory_id))
            if other is not None:
                assert kafka_accepts(item, other) and _meet(item, other)


def test_set_names_each_id_once():
    with pytest.raises(ValueError, match="names an id twice"):
        VoterSet((voter(1), voter(1, 2)))


def test_directory_that_is_not_known_matches_every_one():
    static = VoterSet((voter(1, 0), voter(2, 0)))
    assert static.is_voter(1, directory(1, 7)) and not static.is_voter(3, directory(3))
    assert voters(1, 2).is_voter(1, directory(1)) and not voters(1, 2).is_voter(1, directory(1, 2))


def test_voters_are_added_and_removed():
    three = voters(1, 2, 3)
    assert three.adding(voter(3, 2)) is None
    assert three.adding(voter(4)) == voters(1, 2, 3, 4)
    assert three.removing(ReplicaKey(node_id=3, directory_id=directory(3, 2))) is None
    assert voters(1).removing(ReplicaKey(node_id=1, directory_id=directory(1))) is None
    assert three.updating(voter(3, 2)) is None and three.updating(voter(9)) is None
    assert str(three) == "{1,2,3}" and three.is_only(1, directory(1)) is False and NO_VOTERS.endpoints(1) == ()
