"""Differences between two observations of a quorum."""

from __future__ import annotations

import pytest

from kafkactl.quorum.differences import quorum_differences
from tests.quorum.worlds import world

HEALTHY = world("1 2 3", leader=1).observe()


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (world("1 2 3", leader=1), []),
        (
            world("1 2 3", dead="3", leader=1),
            ["voter 3: alive → not alive", "the quorum survives 1 failure → 0 failures"],
        ),
        (world("1 2 3 4", leader=1), ["node 4: absent → voter"]),
        (world("1 2 3", observers="4", leader=1), ["node 4: absent → observer"]),
    ],
    ids=["nothing", "voter dies", "voter is added", "observer"],
)
def test_difference_is_a_line(after, expected):
    assert list(quorum_differences(HEALTHY, after.observe())) == expected


def test_other_leader_is_named_with_its_epoch():
    after = world("1 2 3", leader=2).observe()
    assert quorum_differences(HEALTHY, after)[0] == f"leader 1 → 2, epoch {after.leader_epoch}"


def test_observer_that_becomes_a_voter_is_named_with_both_roles():
    before = world("1 2 3", observers="4", leader=1).observe()
    assert "node 4: observer → voter" in quorum_differences(before, world("1 2 3 4", leader=1).observe())
