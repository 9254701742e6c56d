"""Commands to whose cluster something happens: a few cases here, all of them in the campaign (docs/proof/faults.md).

The campaign is resumable: a case that ran without a fault of ours is kept in a file outside the tree and not run
again while the sources stay as they are. `KAFKACTL_CAMPAIGN_S` ends a piece of it after so many seconds; the page then
says how many cases of all were run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.fakes.proxy import Fault
from tests.fakes.troubled_quorum import Moment
from tests.kafka.fault_cases import EVERY_CHANGE
from tests.kafka.fault_proof import MOMENTS, record
from tests.kafka.kept_cases import CaseEnd, KeptCases
from tests.kafka.moment_cases import QUESTIONS, MomentCase, every_case, run_case

LEAST_CASES = 2_000
_AT_ONCE = 12
_UP, _DOWN, _GROW, _REPLACE = EVERY_CHANGE
_DESCRIBE = QUESTIONS[0]
SAMPLE = [
    MomentCase(_UP, "UpdateFeatures", 2, Moment.OTHER_CLUSTER),
    MomentCase(_DOWN, "UpdateFeatures", 1, Moment.PAUSED_A_WHILE),
    MomentCase(_GROW, "DescribeCluster", 2, Moment.HALF_OPEN),
    MomentCase(_REPLACE, "DescribeQuorum", 9, Moment.FORMER_LEADER),
    MomentCase(_REPLACE, "DescribeConfigs", 4, Moment.KILLED_2_S_AGO),
    MomentCase(_DESCRIBE, "DescribeQuorum", 1, Moment.ELECTION),
    MomentCase(QUESTIONS[3], "Fetch", 0, Moment.OTHER_CLUSTER_A_WHILE),
]


def run_all(cases: Sequence[MomentCase], folder: Path) -> list[CaseEnd]:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(run_case, cases, [folder / str(number) for number in range(len(cases))]))


@pytest.mark.slow
def test_something_happens_to_a_node_in_the_middle(tmp_path: Path) -> None:
    ended = run_all(SAMPLE, tmp_path)
    assert [f"{end.case}: {end.wrong}" for end in ended if end.wrong] == []
    missed = [case for case, end in zip(SAMPLE, ended, strict=True) if not end.struck]
    # A slow machine may make fewer requests in the time that a command watches: those cases are run again alone.
    assert all(end.struck and not end.wrong for end in run_all(missed, tmp_path / "again"))


@pytest.mark.campaign
@pytest.mark.timeout(7200)
def test_something_happens_at_every_request_of_every_command(tmp_path: Path) -> None:
    kept = KeptCases("moments")
    cases = every_case(tmp_path / "counted")
    ended = kept.run_left(cases, run_case, tmp_path, at_once=_AT_ONCE)
    tried = {end.case for end in ended}
    record(MOMENTS, _proof(ended, sum(str(case) not in tried for case in cases)))
    assert [f"{end.case}: {end.wrong}" for end in ended if end.wrong] == []
    assert sum(end.struck for end in ended) >= LEAST_CASES


def _proof(ended: Sequence[CaseEnd], left: int) -> str:
    hit = [end for end in ended if end.struck]
    wrong = [end for end in ended if end.wrong]
    lines = [
        f"{datetime.now(UTC):%Y-%m-%d}: {len(ended)} cases played, {left} left; in {len(hit)} of them it came to "
        f"pass; {len(wrong)} with a double effect, a change in another cluster, a claim that was not true, an "
        "empty answer that was called a success, or a second run "
        f"that did not reach the target. The slowest took {max((end.seconds for end in hit), default=0):.0f} s; one "
        "call of the client may take 5 s in these cases, a change 12 s, and the wait for a new voter that does not "
        "catch up (`--catch-up-timeout`, 10 minutes) 60 s, because such waits pass ten times as fast.",
        "",
        "At one request, in each phase between the first of its kind and the last, something happens to the node that "
        "would get it. For changes the cluster is sound again before the second run. Commands that only read meet the "
        "faults of a single request, too.",
        "",
        "| command | cases | done or answered | refused | not begun or not answered | partly done | failed "
        "| unknown | slowest, s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    rows: dict[str, list[CaseEnd]] = {}
    for end in hit:
        rows.setdefault(end.case.rpartition(", ")[0], []).append(end)
    for command, ends in rows.items():
        counted = Counter(_COLUMN.get(end.outcome, "exit") for end in ends)
        cells = " | ".join(str(counted[word]) for word in ("done", "refused", "exit", "partial", "failed", "unknown"))
        slowest = max(end.seconds for end in ends)
        lines.append(f"| {command} | {len(ends)} | {cells} | {slowest:.1f} |")
    lines += ["", "What happens:", "", *(f"- `{moment.name.lower()}`: {moment.value}" for moment in Moment), ""]
    lines += [f"- wrong: {end.case}: {'; '.join(end.wrong)}" for end in wrong]
    counts = Counter(end.case.rpartition(": ")[2] for end in hit)
    named = [*Moment, *Fault]
    lines.append("Cases by what happened: " + ", ".join(f"{counts[n.name.lower()]} {n.name.lower()}" for n in named))
    return "\n".join(lines)


_COLUMN = {
    "done": "done",
    "answered": "done",
    "nothing-to-do": "done",
    "refused": "refused",
    "exit 3": "refused",
    "partial": "partial",
    "failed": "failed",
    "exit 1": "failed",
    "unknown": "unknown",
    "exit 6": "unknown",
}
