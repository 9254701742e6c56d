"""A million runs with random faults and no broken invariant; figures go to docs/proof/simulator.md.

A campaign that is stopped goes on behind the seeds that it wrote down last: KAFKACTL_SIMULATED_RUNS says how many more
runs to make, a million in all without it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from kafkactl.simulator.campaign import Asked, play, quorum_of

PAGE = Path(__file__).parents[2] / "docs" / "proof" / "simulator.md"
CASES = [(profile, release) for profile in ("chaos", "voter-change", "disk-loss", "rolling-restart")
         for release in ("3.7", "3.9", "4.4")]  # fmt: skip
ALL_RUNS = 1_000_000
STEP = 10
BEHIND = "\n## "  # sections of other campaigns follow (tests/lab/judge)
HEAD = """# Simulated quorums

Written by `make lab` (`tests/simulator/test_campaign.py`): runs of 60 simulated seconds with three voters, each with
a seed of its own, all invariants checked after every event.

| profile | release | runs | broken | events |
|---|---|---|---|---|
"""


def _known() -> dict[tuple[str, str], list[int]]:
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    rows = re.findall(r"^\| ([a-z-]+) \| ([0-9.]+) \| ([0-9,]+) \| ([0-9,]+) \| ([0-9,]+) \|$", text, re.M)
    return {(row[0], row[1]): [int(cell.replace(",", "")) for cell in row[2:]] for row in rows}


def _write(known: dict[tuple[str, str], list[int]]) -> None:
    rows = (
        f"| {case[0]} | {case[1]} | {runs:,} | {broken:,} | {events:,} |"
        for case, (runs, broken, events) in known.items()
    )
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    behind = text[text.index(BEHIND) :] if BEHIND in text else ""
    runs_in_all = f"\n\n{sum(row[0] for row in known.values()):,} runs in all.\n{behind}"
    PAGE.write_text(HEAD + "\n".join(rows) + runs_in_all, encoding="utf-8")


@pytest.mark.campaign
def test_no_invariant_is_broken():
    known = {case: [0, 0, 0] for case in CASES} | _known()
    left = int(os.environ.get("KAFKACTL_SIMULATED_RUNS") or ALL_RUNS - sum(row[0] for row in known.values()))
    failed = []
    while left > 0:
        for profile, release in CASES:
            asked = Asked(profile=profile, release=release)
            quorum, _ = quorum_of(asked)
            row = known[profile, release]
            for seed in range(row[0], row[0] + min(STEP, max(left, 0))):
                outcome = play(asked, quorum, seed, traced=False)
                row[0] += 1
                row[1] += not outcome.passed
                row[2] += outcome.events
                left -= 1
                failed += [] if outcome.passed else [(profile, release, seed)]
        _write(known)
    assert not failed
