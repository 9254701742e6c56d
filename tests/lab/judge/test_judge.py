"""The state machine against the released classes: the same calls, the same random numbers, equal to the last byte.

The campaign goes on behind the scripts that it wrote down last: KAFKACTL_JUDGED_SCRIPTS says how many more to run, and
without it, as many as make 10,000 of all releases.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.lab.judge.node import Disagreement, RaftJudge
from tests.lab.judge.scripts import RELEASES, generated, judged

SCRIPTS, ALL_SCRIPTS, STEP = 16, 10_002, 5
WITH_A_SNAPSHOT = 267  # a seed in which a leader gives a snapshot away
WITH_A_QUICK_RESTART = 1005  # a seed in which a fetch is answered whose process ended, and the next one waits
PAGE = Path(__file__).parents[3] / "docs" / "proof" / "simulator.md"
TITLE = "\n## Against Kafka's own classes\n"
HEAD = f"""{TITLE}
Written by `make lab` (`tests/lab/judge/test_judge.py`): generated scripts that run on the state machine and on
`KafkaRaftClient` of a release at once. Each call is made to both with the same random numbers; state, epoch, leader,
vote, high watermark, log, voters, deadline, every write and every byte sent are compared behind it.

| release | scripts | agree | calls compared | process faults | seeds that disagree |
|---|---|---|---|---|---|
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


def test_answer_to_an_ended_process_does_not_reach_the_next(judge: RaftJudge) -> None:
    judged(judge, generated(WITH_A_QUICK_RESTART))


@dataclass
class Figures:
    """The row of a release: of the seeds below `scripts`, all agree but those of `disagreeing`."""

    scripts: int = 0
    calls: int = 0
    faults: int = 0
    disagreeing: list[int] = field(default_factory=list)

    def cells(self) -> str:
        agree = self.scripts - len(self.disagreeing)
        seeds = ", ".join(map(str, self.disagreeing)) or "none"
        return f"{self.scripts:,} | {agree:,} | {self.calls:,} | {self.faults:,} | {seeds}"


@pytest.mark.campaign
def test_ten_thousand_scripts_agree() -> None:
    # Seeds that disagreed are judged again before all others.
    known = {release: Figures() for release in RELEASES} | _known()
    left = int(os.environ.get("KAFKACTL_JUDGED_SCRIPTS") or ALL_SCRIPTS - sum(row.scripts for row in known.values()))
    failed: list[str] = []
    with ExitStack() as stack:
        judges = {release: stack.enter_context(RaftJudge(release)) for release in RELEASES}
        for release, row in known.items():
            again, row.disagreeing = row.disagreeing, []
            failed += [text for seed in again for text in _judged(judges[release], seed, row)]
        _write(known)
        while left > 0:
            for release, row in known.items():
                for _ in range(min(STEP, max(left, 0))):
                    left -= 1
                    failed += _judged(judges[release], row.scripts, row)
                    row.scripts += 1
            _write(known)
    assert not failed, "\n\n".join(failed)


def _judged(judge: RaftJudge, seed: int, row: Figures) -> list[str]:
    try:
        _, case = judged(judge, generated(seed))
    except Disagreement as found:
        row.disagreeing.append(seed)
        return [str(found)]
    row.calls += case.calls
    row.faults += case.faults
    return []


def _known() -> dict[str, Figures]:
    text = PAGE.read_text(encoding="utf-8").partition(TITLE)[2]
    rows = re.findall(r"^\| ([0-9.]+) \| ([0-9,]+) \| [0-9,]+ \| ([0-9,]+) \| ([0-9,]+) \| (.+) \|$", text, re.M)
    return {
        release: Figures(
            *(int(number.replace(",", "")) for number in numbers), [int(seed) for seed in re.findall("[0-9]+", seeds)]
        )
        for release, *numbers, seeds in rows
    }


def _write(known: dict[str, Figures]) -> None:
    before, _, after = PAGE.read_text(encoding="utf-8").partition(TITLE)
    behind = after[after.index("\n## ") :] if "\n## " in after else ""
    rows = "\n".join(f"| {release} | {row.cells()} |" for release, row in known.items())
    scripts = sum(row.scripts for row in known.values())
    PAGE.write_text(f"{before}{HEAD}{rows}\n\n{scripts:,} scripts in all.\n{behind}", encoding="utf-8")
