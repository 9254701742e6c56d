"""Result of a quorum simulation, as rows for a page or a report: `simulation` of an answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from kafkactl.core.wording import counted

ELECTIONS: Final = ("release", "the leader ends by", "p50", "p90", "p99", "longest", "elected")
FAILURES: Final = ("step", "fails in the middle", "goes on", "longest pause", "only once it is back", "stays without")
_CAUSES: Final = {
    "host-lost": "loss of its host",
    "process-killed": "kill of its process",
    "graceful-stop": "graceful stop",
}


class SimulatedRow(NamedTuple):
    """A row of texts, and its tone."""

    cells: tuple[str, ...]
    tone: str


def seeds_of(simulation: Mapping[str, Any]) -> str:
    """Return the number of runs behind a row, and their seeds."""
    return f"simulated: {counted(simulation['runs'], 'run')} each, from seed {simulation['seed']} on"


def election_rows(simulation: Mapping[str, Any]) -> Iterator[SimulatedRow]:
    """Yield the durations of elections, by release and by the end of the leader."""
    for row in simulation["elections"]:
        times = (_ms(row[name]) for name in ("p50_ms", "p90_ms", "p99_ms", "longest_ms"))
        shown = f"{row['elected']:,} of {row['runs']:,}"
        tone = "plain" if row["elected"] == row["runs"] else "bad"
        yield SimulatedRow((row["release"], _CAUSES[row["cause"]], *times, shown), tone)


def failure_rows(simulation: Mapping[str, Any]) -> Iterator[SimulatedRow]:
    """Yield the outcome of each step if one more node fails during it, and of all steps without a second failure."""
    for row in simulation["second_failures"]:
        what = f"{row['step']}: {row['action']}" + ("" if row["id"] is None else f" {row['id']}")
        failed = "nothing" if row["failed"] is None else f"controller {row['failed']}"
        tone = "bad" if row["stuck"] else "warn" if row["recovers"] else "plain"
        counts = (f"{row['goes_on']:,}", _ms(row["longest_gap_ms"]), f"{row['recovers']:,}", f"{row['stuck']:,}")
        yield SimulatedRow((what, failed, *counts), tone)


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f} ms"
