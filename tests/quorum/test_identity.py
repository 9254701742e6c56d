"""Two directories under one node id: a disk that was replaced, or two processes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkactl.cluster.quorum.identity import check_directories
from kafkactl.cluster.quorum.state import Replica
from tests.quorum.worlds import directory, key, world

STATE = world("1 2 3", observers="4").observe()
OTHER = Replica(id=2, directory_id=directory("z"), alive=True)


@pytest.mark.parametrize(
    ("voter_alive", "observer", "expected"),
    [
        (True, OTHER, ["one-id-two-processes"]),
        (False, OTHER, ["voter-runs-on-another-disk"]),
        (None, OTHER, ["voter-runs-on-another-disk"]),
        (True, replace(OTHER, alive=None), []),
        (True, replace(OTHER, directory_id=None), []),
        (True, replace(OTHER, id=4), []),
    ],
)
def test_observer_with_a_voters_id_is_reported(
    voter_alive: bool | None, observer: Replica, expected: list[str]
) -> None:
    voters = tuple(replace(voter, alive=voter_alive) if voter.id == 2 else voter for voter in STATE.voters)
    found = list(check_directories(replace(STATE, voters=voters, observers=(observer,))))
    assert [finding.id for finding in found] == expected
    assert all(str(key(2).directory_id) in finding.message for finding in found)
