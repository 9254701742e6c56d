"""Journeys of all changes of voters, with all faults at all events between a request and its end."""

from __future__ import annotations

import os
import random

from tests.campaigns.simulator.figures import Figures
from tests.quorum.faulted_journeys import Case, Fault, judged, run_case
from tests.quorum.test_journeys_in_simulator import EVERY, places_of

STEP = 20


def test_fault_at_every_event_of_a_request_is_survived():
    # KAFKACTL_SIMULATED_JOURNEYS says how many more to make; without it all of seed 1 that were not made yet.
    figures = Figures("journeys")
    left = int(os.environ.get("KAFKACTL_SIMULATED_JOURNEYS") or 10_000_000)
    begun_at = {each: _drawn(*each) for each in EVERY}
    wrong, before = [], -1
    while before != left and left > 0:
        before = left
        for (case, release), (world, drawn) in begun_at.items():
            row = figures.row(case.name, release)
            row[2] = len(drawn)
            for fault in drawn[row[0] : row[0] + min(STEP, left)]:
                verdict = judged(case, fault, run_case(case, world, fault))
                wrong += [(case.name, release, fault, verdict)] if verdict else []
                row[0] += 1
                row[1] += bool(verdict)
                left -= 1
            figures.write()
    assert not wrong


def _drawn(case: Case, release: str) -> tuple[bytes, list[Fault]]:
    """Return every fault at an event of a request and as many others, in an order that does not change."""
    world, asked, other = places_of(case, release, 1)
    draw = random.Random(f"{case.name} {release}")
    draw.shuffle(other)
    drawn = [*asked, *other[: len(asked)]]
    draw.shuffle(drawn)
    return world, drawn
