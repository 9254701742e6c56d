"""The campaign: every mutant of the sample is tried, and no fewer are caught than before; writes the proof page."""

from __future__ import annotations

from tests.campaigns.mutation.campaign import explained, packages, try_mutants, verdicts
from tests.campaigns.mutation.page import way_of, write

# The goal, which was reached, of the mutants that are not explained; this may only rise.
REACHED = 0.98


def test_no_fewer_mutants_are_caught_than_before():
    assert try_mutants(float("inf"))
    missed = write()
    reasons = explained()
    ways = [way_of(verdict, reasons) for package in packages() for verdict in verdicts(package).values()]
    caught = sum(way in ("tests", "mypy") for way in ways)
    assert caught + len(missed) >= 500
    assert caught / (caught + len(missed)) >= REACHED, "\n".join(mutant.shown for mutant in missed)


def test_explained_mutants_survived():
    assert try_mutants(float("inf"))
    known = {mutant: verdict.failed for package in packages() for mutant, verdict in verdicts(package).items()}
    assert {mutant: known.get(mutant, "not in the sample") for mutant in explained()} == dict.fromkeys(explained(), "")
