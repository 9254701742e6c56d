"""Runs that are counted in ranges of seeds come to the same as runs that are counted one after the other."""

from __future__ import annotations

import pickle

import pytest

from kafkactl.simulator.campaign import Asked, ranges_of, simulate, tally_of
from kafkactl.simulator.script import parse_script
from tests.repository.tree import ROOT

SCRIPT = ROOT / "tests" / "scripts" / "simulator" / "s04_the_leader_is_silent.txt"
CASES = (
    Asked(profile="chaos", seed=3, runs=7, duration_us=3_000_000),
    Asked(script=parse_script("wait leader within 30s\nrun 1s\nkill 2\nkill 2\n", "remarked.txt"), runs=5),
    Asked(script=parse_script(SCRIPT.read_text(), SCRIPT.name), runs=3),
)


@pytest.mark.parametrize("asked", CASES)
@pytest.mark.parametrize("count", [1, 3, 20])
def test_counts_of_ranges_join_to_the_counts_of_all_runs(asked: Asked, count: int) -> None:
    parts = ranges_of(asked, count)
    assert sum(part.runs for part in parts) == asked.runs and len(parts) == min(count, asked.runs)
    tallies = [pickle.loads(pickle.dumps(tally_of(part))) for part in parts]
    counts: list[int] = []
    assert simulate(asked, counts.append, tallies) == simulate(asked)
    assert counts[-1] == asked.runs
