"""Blocks of a page for the field `simulation` of an answer: figures of the simulated quorum."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from kafkactl.commands.rendering.page import Page, Word

if TYPE_CHECKING:
    from kafkactl.simulator.page.rows import SimulatedRow


def show_simulation(page: Page, simulation: Mapping[str, Any] | None) -> None:
    """Draw the times of elections and what a second failure does; nothing if nothing was simulated."""
    if simulation is None:
        return
    from kafkactl.simulator.page.rows import ELECTIONS, FAILURES, election_rows, failure_rows, seeds_of

    page.line(Word(seeds_of(simulation), "strong"))
    page.table(ELECTIONS, _rows(election_rows(simulation)))
    page.table(FAILURES, _rows(failure_rows(simulation)))


def _rows(rows: Iterable[SimulatedRow]) -> Iterable[tuple[Word, ...]]:
    return [tuple(Word(text, row.tone) for text in row.cells) for row in rows]
