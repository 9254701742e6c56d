"""The state machine against the released classes: the same calls, the same random numbers, equal to the last byte.

The campaign goes on behind the scripts that it wrote down last: KAFKACTL_JUDGED_SCRIPTS says how many more to run, and
without it, as many as make 10,000 of all releases.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.lab.judge.node import Disagreement, RaftJudge
from tests.lab.judge.scripts import RELEASES, generated, judged

SCRIPTS, ALL_SCRIPTS, STEP = 16, 10_002, 5
WITH_A_SNAPSHOT = 267  # a seed in which a leader gives a snapshot away
PAGE = Path(__file__).parents[3] / "docs" / "proof" / "simulator.md"
TITLE = "\n## Against Kafka's own classes\n"
HEAD = f"""{TITLE}
Written by `make lab` (`tests/lab/judge/test_judge.py`): generated scripts that run on the state machine and on
`KafkaRaftClient` of a release at once. Each call is made to both with the same random numbers; state, epoch, leader,
vote, high watermark, log, voters, deadline, every write and every byte sent are compared behind it.

| release | scripts | agree | calls compared | process faults |
|---|---|---|---|---|
"""


@pytest.fixture(scope="module", params=["3.9.2", "4.3.1", pytest.param("4.4.0", marks=pytest.mark.campaign)])
def judge(request: pytest.FixtureRequest) -> Iterator[RaftJudge]:
    with RaftJudge(request.param) as running:
        yield running


def test_each_call_has_the_outcome_of_the_released_class(judge: RaftJudge) -> None:
    calls = sum(judged(judge, generated(seed))[1].calls for seed in range(SCRIPTS))
    assert calls > 100 * SCRIPTS


def test_answers_with_a_piece_of_a_snapshot_are_compared(judge: RaftJudge) -> None:
    judged(judge, generated(WITH_A_SNAPSHOT))


@pytest.mark.campaign
def test_ten_thousand_scripts_agree() -> None:
    known = {release: [0, 0, 0, 0] for release in RELEASES} | _known()
    done = sum(row[0] for row in known.values())
    left = int(os.environ.get("KAFKACTL_JUDGED_SCRIPTS") or ALL_SCRIPTS - done)
    failed: list[str] = []
    with ExitStack() as stack:
        judges = {release: stack.enter_context(RaftJudge(release)) for release in RELEASES}
        while left > 0:
            for release, row in known.items():
                for seed in range(row[0], row[0] + min(STEP, max(left, 0))):
                    left -= 1
                    failed += _judged(judges[release], seed, row)
            _write(known)
    assert not failed, "\n\n".join(failed)


def _judged(judge: RaftJudge, seed: int, row: list[int]) -> list[str]:
    row[0] += 1
    try:
        _, case = judged(judge, generated(seed))
    except Disagreement as found:
        return [str(found)]
    row[1] += 1
    row[2] += case.calls
    row[3] += case.faults
    return []


def _known() -> dict[str, list[int]]:
    text = PAGE.read_text(encoding="utf-8").partition(TITLE)[2]
    rows = re.findall(r"^\| ([0-9.]+) \| ([0-9,]+) \| ([0-9,]+) \| ([0-9,]+) \| ([0-9,]+) \|$", text, re.M)
    return {row[0]: [int(cell.replace(",", "")) for cell in row[1:]] for row in rows}


def _write(known: dict[str, list[int]]) -> None:
    before, _, after = PAGE.read_text(encoding="utf-8").partition(TITLE)
    behind = after[after.index("\n## ") :] if "\n## " in after else ""
    rows = "\n".join(
        f"| {release} | " + " | ".join(f"{cell:,}" for cell in row) + " |" for release, row in known.items()
    )
    scripts = sum(row[0] for row in known.values())
    PAGE.write_text(f"{before}{HEAD}{rows}\n\n{scripts:,} scripts in all.\n{behind}", encoding="utf-8")
