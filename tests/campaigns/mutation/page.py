"""Page docs/proof/mutation.md, from the record of the campaign."""

from __future__ import annotations

import os
import platform
from collections import Counter
from datetime import UTC, datetime

from tests.campaigns.mutation.campaign import Package, Verdict, explained, packages, verdicts
from tests.campaigns.mutation.forked import MOST_SECONDS_OF_TESTS
from tests.campaigns.mutation.mutants import ROOT, Mutant, mutants_of
from tests.campaigns.mutation.types import MYPY

GOAL = 0.98
PAGE = ROOT / "docs" / "proof" / "mutation.md"
HEAD = """# Mutation testing

Repeat with `make lab` (`tests/campaigns/mutation/test_campaign.py`), or in pieces: `python -m
tests.campaigns.mutation.campaign SECONDS`, which lists the survivors as well, and then `python -m
tests.campaigns.mutation.page`. `python -m tests.campaigns.mutation.again FILE…` is the quick way after a change of
tests: it runs these files alone, and records only what they catch.

**{tried} of {sampled} sampled mutants tried, {share} of them caught{goal}.**

A mutant is a module with one small fault, made by the operators of mutmut {mutmut}: another comparison, another number,
an argument that is missing or None, a branch that is always taken, a word in capitals. The tests are run on it until
the first one fails. A mutant that no test fails on is a fault that could come in unseen. Not changed are annotations,
imports, decorators, and strings with a space in them: messages to people.

`tests/campaigns/mutation/guarded.toml` says which modules are mutated, how many mutants of each are tried, and which
tests run: those of the package alone, none that needs a node, none marked `slow`. Of the tests that call a changed
function the quickest run, {seconds_of_tests} s of them by CPU; what they let through survived, though a slower test
may catch it. The mutants are chosen by a hash of the changed code, with the operators in turns, so they are the same
in every run as long as the code is the same. `tests/campaigns/mutation/record.jsonl` keeps what became of each; a
mutant is tried again when its module, the test that caught it or, if it survived, any of the tests changed.

{date}, {cores} cores, {system}, Python {python}; {seconds:,.0f} s of processes for the tests, mypy not counted.
"""
COUNTED = """
- **made**: what the operators make of these modules; **sample**: how many of them are to be tried; **tried**: so far.
- **tests**: a test failed; **mypy**: all tests passed, and `mypy --strict`, a part of `make check`, refuses the module.
- **same**: the mutant behaves as the original, or the difference is none that is promised: `explained.toml` says why.
- **open**: survived, and neither is true: tests are missing.
- **caught**: by tests and mypy, of those tried without the ones that are the same.
"""
COLUMNS = (
    "package",
    "what it protects",
    "modules",
    "made",
    "sample",
    "tried",
    "tests",
    "mypy",
    "same",
    "open",
    "caught",
)


def write() -> list[Mutant]:
    """Write the page; returns the survivors that nothing explains."""
    reasons = explained()
    rows, open_mutants, seconds = [], [], 0.0
    for package in packages():
        known = verdicts(package)
        ways: Counter[str] = Counter()
        for mutant in package.sampled():
            if mutant.id not in known:
                continue
            verdict = known[mutant.id]
            way = way_of(verdict, reasons)
            ways[way] += 1
            seconds += verdict.seconds
            open_mutants += [mutant] if way == "open" else []
        rows.append(_row(package, ways))
    total = _total(rows)
    parts = [_head(seconds, total), _table(COLUMNS, [*rows, total]), COUNTED, _list("Open", open_mutants)]
    PAGE.write_text("".join(parts), encoding="utf-8")
    return open_mutants


def way_of(verdict: Verdict, reasons: dict[str, dict[str, str]]) -> str:
    """Return the column of a mutant."""
    if verdict.failed:
        return "mypy" if verdict.failed.startswith(MYPY) else "tests"
    return "same" if verdict.mutant in reasons else "open"


def _row(package: Package, ways: Counter[str]) -> tuple[object, ...]:
    made = sum(len(mutants_of(path)) for path in package.modules)
    return package.name, package.about, len(package.modules), made, len(package.sampled()), *_numbers(ways)


def _numbers(ways: Counter[str]) -> tuple[object, ...]:
    counts = [ways[way] for way in ("tests", "mypy", "same", "open")]
    return sum(counts), *counts, _share(ways["tests"] + ways["mypy"], ways["open"])


def _share(caught: int, missed: int) -> str:
    return f"{100 * caught / (caught + missed):.1f} %" if caught + missed else ""


def _total(rows: list[tuple[object, ...]]) -> tuple[object, ...]:
    sums = [sum(int(str(row[column])) for row in rows) for column in range(2, 10)]
    return "all", "", *sums, _share(sums[4] + sums[5], sums[7])


def _head(seconds: float, total: tuple[object, ...]) -> str:
    from importlib.metadata import version

    tests, mypy, missed = (int(str(total[column])) for column in (6, 7, 9))
    is_reached = tests + mypy >= GOAL * (tests + mypy + missed)
    return HEAD.format(
        tried=total[5],
        sampled=total[4],
        share=total[10],
        goal="" if is_reached else f"; the goal is {GOAL:.0%}",
        seconds_of_tests=MOST_SECONDS_OF_TESTS,
        mutmut=version("mutmut"),
        date=datetime.now(UTC).date(),
        cores=os.cpu_count(),
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        seconds=seconds,
    )


def _table(columns: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n" * (columns is COLUMNS) + "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _list(title: str, mutants: list[Mutant]) -> str:
    if not mutants:
        return ""
    lines = []
    for mutant in mutants:
        place = f"{mutant.path.removeprefix('kafkactl/')}, {mutant.function}"
        lines.append(f"- `{mutant.id}` {place}: `` {mutant.was} `` → `` {mutant.now} ``")
    return f"\n## {title}\n\n" + "\n".join(lines) + "\n"


if __name__ == "__main__":
    write()
