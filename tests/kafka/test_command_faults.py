"""Command lines over a network that fails: some cases here, all of them in the campaign (docs/proof/faults.md).

The campaign is resumable, as the one of test_moments.py, and `KAFKACTL_CAMPAIGN_S` ends a piece of it.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.fakes.proxy import Fault
from tests.kafka.command_cases import (
    CONVERT,
    ENDS_WITHIN_S,
    EVERY_COMMAND,
    QUESTIONS,
    UNREGISTER,
    CommandCase,
    cases_of,
    requests_of,
    run_case,
)
from tests.kafka.fault_proof import COMMANDS, record
from tests.kafka.kept_cases import CaseEnd, KeptCases

LEAST_CASES = 1_000
_AT_ONCE = 6
_DESCRIBE, _FEATURES, _NODES, _VERIFY, _IMAGE, _RESTART, _REPORT = QUESTIONS
SAMPLE = [
    CommandCase(_DESCRIBE, "DescribeQuorum", 0, Fault.SILENCE),
    CommandCase(_VERIFY, "Fetch", 0, Fault.CUT_IN_ANSWER),
    CommandCase(_RESTART, "DescribeQuorum", 1, Fault.NEVER_ARRIVES),
    CommandCase(CONVERT, "UpdateFeatures", 1, Fault.CUT_AFTER),
    CommandCase(UNREGISTER, "UnregisterBroker", 0, Fault.RESET),
]


def run_all(cases: Sequence[CommandCase], folder: Path) -> list[CaseEnd]:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(run_case, cases, [folder / str(number) for number in range(len(cases))]))


@pytest.mark.slow
def test_command_ends_in_time_and_says_what_is_true(tmp_path: Path) -> None:
    ended = run_all(SAMPLE, tmp_path)
    assert [f"{end.case}: {end.wrong}" for end in ended if end.wrong] == []
    assert all(end.struck for end in ended)


@pytest.mark.campaign
@pytest.mark.timeout(7200)
def test_every_command_is_run_over_every_failure_of_the_network(tmp_path: Path) -> None:
    kept = KeptCases("commands")
    counted = {command.name: requests_of(command, tmp_path / command.name) for command in EVERY_COMMAND}
    cases = [case for command in EVERY_COMMAND for case in cases_of(command, counted[command.name])]
    ended = kept.run_left(cases, run_case, tmp_path, at_once=_AT_ONCE)
    record(COMMANDS, _proof(ended, len(cases)))
    assert [f"{end.case}: {end.wrong}" for end in ended if end.wrong] == []
    assert sum(end.struck for end in ended) >= LEAST_CASES


def _proof(ended: Sequence[CaseEnd], planned: int) -> str:
    hit = [end for end in ended if end.struck]
    wrong = [end for end in ended if end.wrong]
    limits = {command.name: command.timeout_s for command in EVERY_COMMAND}
    lines = [
        f"{datetime.now(UTC):%Y-%m-%d}: {len(ended)} of {planned} cases played, the fault struck in {len(hit)}; "
        f"{len(wrong)} with a command that ran more than {ENDS_WITHIN_S} s beyond its `--timeout`, a double effect, a "
        "claim that was not true, an empty answer with exit code 0, an error without a message or a next step, or a "
        "second run that did not reach the target.",
        "",
        "Each command is a process of its own (tests/kafka/command_process.py) against the fake quorum; the "
        "faults are those above, in the first request of a kind, one in the middle and the last, and in every request "
        "that changes something. Exit code 4: not reached; 5: partly done; 6: timed out or unknown; 7: problems found. "
        "Times are without what a command waited for a processor, because other work ran on the machine: "
        f"{statistics.median(end.starved_s for end in ended):.1f} s (median) to "
        f"{max(end.starved_s for end in ended):.1f} s.",
        "",
        "| command | --timeout, s | cases | exit 0 | 1 | 3 | 4 | 5 | 6 | 7 | slowest, s |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    rows: dict[str, list[CaseEnd]] = {command.name: [] for command in EVERY_COMMAND}
    for end in hit:
        rows[end.case.rpartition(", ")[0]].append(end)
    for name, ends in rows.items():
        counts = Counter(end.outcome for end in ends)
        cells = " | ".join(str(counts[word]) for word in ("done", *(f"exit {code}" for code in (1, 3, 4, 5, 6, 7))))
        slowest = max((end.seconds for end in ends), default=0.0)
        lines.append(f"| {name} | {limits[name]} | {len(ends)} | {cells} | {slowest:.1f} |")
    return "\n".join([*lines, "", *(f"- wrong: {end.case}: {'; '.join(end.wrong)}" for end in wrong)])
