"""A million runs with random faults and no broken invariant but by Kafka's own faults, to docs/proof/simulator.md.

A campaign that is stopped goes on behind the seeds that it wrote down last: KAFKACTL_SIMULATED_RUNS says how many more
runs to make, a million in all without it.
"""

from __future__ import annotations

import os

import pytest

from kafkactl.frozen import changed
from kafkactl.simulator.campaign import Asked, play, quorum_of
from tests.simulator.figures import Figures
from tests.simulator.kafka_faults import causes_of

# Three voters and five with every release; two, where a crash of either stops it, and four with one.
VOTERS = {3: ("3.7", "3.9", "4.4"), 5: ("3.9", "4.4"), 2: ("3.9",), 4: ("3.9",)}
CASES = [(profile, release, voters) for voters, releases in VOTERS.items() for release in releases
         for profile in ("chaos", "voter-change", "disk-loss", "rolling-restart")]  # fmt: skip
ALL_RUNS = 1_000_000
STEP = 10
PAUSE_US = 200_000  # between two questions for a leader: of every second seed, the others ask as often as Kafka does


@pytest.mark.campaign
def test_no_invariant_is_broken():
    figures = Figures("profiles")
    rows = {case: figures.row(case[0], case[1], str(case[2])) for case in CASES}
    left = int(os.environ.get("KAFKACTL_SIMULATED_RUNS") or ALL_RUNS - sum(row[0] for row in rows.values()))
    failed = []
    while left > 0:
        for (profile, release, voters), row in rows.items():
            asked = Asked(profile=profile, release=release, voters=tuple(range(1, voters + 1)))
            quorum, _ = quorum_of(asked)
            for seed in range(row[0], row[0] + min(STEP, max(left, 0))):
                paused = changed(quorum, leaderless_pause_us=seed % 2 * PAUSE_US)
                outcome = play(asked, paused, seed, traced=False)
                causes = [] if outcome.passed else causes_of(asked, paused, seed)
                row[0] += 1
                row[1] += not outcome.passed and not causes
                row[2] += bool(causes)
                row[3] += outcome.events
                left -= 1
                failed += [] if outcome.passed or causes else [(profile, release, voters, seed)]
            figures.write()
    assert not failed
