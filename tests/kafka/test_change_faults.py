"""Changes over a network that fails: one of each kind here, all of them in the campaign (docs/proof/faults.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.fakes.proxy import Fault
from tests.kafka.fault_cases import EVERY_CHANGE, Case, Change, Ended, cases_of, requests_of, run_case
from tests.kafka.fault_proof import record_head

LEAST_CASES = 300
_AT_ONCE = 4
SAMPLE = {
    "levels raised in two steps": (("UpdateFeatures", 2), ("Fetch", 0)),
    "the leader replaced": (("RemoveRaftVoter", 0), ("AddRaftVoter", 0)),
}


def run_all(cases: Sequence[Case], folder: Path) -> list[Ended]:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(run_case, cases, [folder / str(number) for number in range(len(cases))]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "change", [change for change in EVERY_CHANGE if change.name in SAMPLE], ids=lambda change: change.name
)
def test_change_over_a_network_that_fails(change: Change, tmp_path: Path) -> None:
    faults = (Fault.CUT_AFTER, Fault.CUT_IN_ANSWER, Fault.RESET, Fault.AGAIN)
    cases = [Case(change, name, at, fault) for name, at in SAMPLE[change.name] for fault in faults]
    ended = run_all(cases, tmp_path)
    assert [f"{end.case}: {end.wrong}" for end in ended if end.wrong] == []
    assert {end.struck for end in ended} == {1}


@pytest.mark.campaign
@pytest.mark.timeout(7200)
def test_every_change_is_run_over_every_failure_of_the_network(tmp_path: Path) -> None:
    counted = {change.name: requests_of(change, tmp_path / change.name) for change in EVERY_CHANGE}
    cases = [case for change in EVERY_CHANGE for case in cases_of(change, counted[change.name])]
    ended = run_all(cases, tmp_path / "cases")
    record_head(_proof(ended))
    assert [f"{end.case}: {end.wrong}" for end in ended if end.wrong] == []
    assert sum(end.struck for end in ended) >= LEAST_CASES


def _proof(ended: Sequence[Ended]) -> str:
    hit = [end for end in ended if end.struck]
    wrong = [end for end in ended if end.wrong]
    lines = [
        "# Changes over a network that fails",
        "",
        "Repeat with `make lab` (tests/kafka/test_change_faults.py), which writes this page.",
        "",
        f"{datetime.now(UTC):%Y-%m-%d}: {len(hit)} cases in which a fault struck, {len(wrong)} with a double effect, "
        "an effect that was not reported, a claim that was not true, an unknown that was known, or a second run that "
        f"did not reach the target. The slowest took {max((end.seconds for end in ended), default=0):.0f} s.",
        "",
        "The quorum is simulated over real sockets (commands/demo/quorum.py; "
        "tests/lab/quorum/test_fake_quorum.py compares it with a real one), "
        "behind a proxy a node, in whose network one request meets one fault.",
        "",
        "| change | requests | cases | done | failed | partly done | unknown | not begun | slowest, s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for change in EVERY_CHANGE:
        rows = [ended for ended in hit if ended.case.change is change]
        counted = Counter(ended.outcome for ended in rows)
        known = [counted.pop(outcome, 0) for outcome in ("done", "failed", "partial", "unknown")]
        cells = " | ".join(map(str, [len(rows), *known, sum(counted.values())]))
        requests = ", ".join(sorted({ended.case.request for ended in rows}))
        slowest = max((ended.seconds for ended in rows), default=0.0)
        lines.append(f"| {change.name} | {requests} | {cells} | {slowest:.1f} |")
    lines += ["", "The faults:", "", *(f"- `{fault.name.lower()}`: {fault.value}" for fault in Fault), ""]
    lines += [f"- wrong: {ended.case}: {'; '.join(ended.wrong)}" for ended in wrong]
    return "\n".join(lines)
