"""The invariants find bugs of the protocol: each is planted into the nodes, and runs with random faults break on it."""

from __future__ import annotations

import pytest

from kafkactl.simulator.campaign import Asked, play, quorum_of
from tests.simulator.figures import Figures
from tests.simulator.planted import BUGS, search


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_bug_is_found_soon(bug):
    assert search(bug, 200) is not None


@pytest.mark.campaign
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_bug_is_found(bug):
    figures = Figures("bugs")
    found = search(bug, 100_000)
    assert found is not None
    figures.row(bug.name, f"{bug.profile}, {bug.voters} voters", bug.release)[0] = found.seed + 1
    figures.write()


def test_there_are_twenty_bugs():
    assert len({bug.name for bug in BUGS}) == len(BUGS) >= 20


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["chaos", "voter-change", "rolling-restart", "disk-loss"])
@pytest.mark.parametrize("release", ["3.9", "4.4"])
def test_without_a_bug_nothing_is_found(profile, release):
    asked = Asked(profile=profile, release=release)
    quorum, _ = quorum_of(asked)
    broken = [outcome for seed in range(3) if not (outcome := play(asked, quorum, seed, traced=False)).passed]
    assert not broken
