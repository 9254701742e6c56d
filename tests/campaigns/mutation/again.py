"""Tries again what a change of tests made stale, with few tests: quick, and it records only what is caught.

`python -m tests.campaigns.mutation.again FILE…` takes the mutants whose verdict no longer holds and those that
survived, and runs those of the given files that guard their package. One that no test of these fails on keeps its old
verdict, so only the campaign, which runs all tests, can say that a mutant survives.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace

from tests.campaigns.mutation.campaign import Package, Runner, Verdict, compact, explained, packages, record, verdicts
from tests.campaigns.mutation.mutants import Mutant


def caught(package: Package, mutants: Iterable[Mutant], files: tuple[str, ...]) -> Iterator[Verdict]:
    """Yield the verdicts of those on which a test of these files fails."""
    with Runner(replace(package, tests=files)) as runner:
        for mutant in mutants:
            verdict = runner.verdict_again(mutant)
            if verdict.failed.startswith(files):
                yield verdict


def left_over(package: Package) -> list[Mutant]:
    """Return mutants without a verdict that holds, and those that survived and are not explained."""
    known, reasons = verdicts(package), explained()
    return [
        mutant
        for mutant in package.sampled()
        if mutant.id not in known or not (known[mutant.id].failed or mutant.id in reasons)
    ]


def guarding(package: Package, files: Iterable[str]) -> tuple[str, ...]:
    """Return those of the files that are tests of the package."""
    return tuple(file for file in files if any(file == path or file.startswith(f"{path}/") for path in package.tests))


def main() -> None:
    """Try what is left over in every package, then list what is not caught."""
    for package in packages():
        left = {mutant.id: mutant for mutant in left_over(package)}
        files = guarding(package, sys.argv[1:])
        for verdict in caught(package, list(left.values()), files) if left and files else ():
            record(verdict)
            del left[verdict.mutant]
        for mutant in left.values():
            print(f"{package.name}: {mutant.shown}", flush=True)
    compact()


if __name__ == "__main__":
    main()
