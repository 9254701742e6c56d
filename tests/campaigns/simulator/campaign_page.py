"""The section of docs/proof/simulator.md that is written from the ledger of the campaign."""

from __future__ import annotations

from collections.abc import Iterable

from tests.campaigns.simulator.figures import table, write_section
from tests.campaigns.simulator.ledger import ALL_RUNS, CELLS, Cell, Row

TITLE = "Runs with random faults"
SHOWN = list(dict.fromkeys(cell.length.shown for cell in CELLS))
ABOUT = """{runs:,} runs, {all_runs:,} a campaign: {hours:,.0f} simulated hours with {faults:,} faults and requests.
{broken} of them break an invariant by the nodes, {by_kafka} by what Kafka does as well.

Repeat with `python -m tests.campaigns.simulator.campaign [SECONDS [PROCESSES]]`, which `make lab` runs to its end;
`tests/campaigns/simulator/ledger.jsonl` has what is done and the seeds of runs that broke. Faults come for the length
of a run. Then all are repaired, and a record has to be committed within a minute; that time is not in the hours. A
quorum that no voter set can recover ends after 5 s. Where faults are 12 times as dense, they come 12 times as fast as
in `kafkactl simulate`, and each lasts a twelfth. In every second run a node without a leader pauses for 200 ms between
requests, in the others it asks as often as Kafka does. A run is broken by Kafka if it breaks an invariant, and does
not with a known fault of Kafka's repaired (`tests/campaigns/simulator/kafka_faults.py`, [decision
25](../decisions/0025-simulator.md)). Runs up to 2026-11-28 were made by a simulator that skipped idle stretches, with
the same histories; skipped events are not counted. Another 1,000,048 runs up to 2026-11-27, with one stream of random
numbers for all nodes, had the same result: 0 broken by the nodes, 169 by Kafka.
"""


def write(rows: dict[Cell, Row]) -> None:
    """Write the section."""
    made = {cell: row for cell, row in rows.items() if row.runs}
    runs, faults, _, broken, by_kafka = counts(made.values())
    hours = _hours(made)
    head = ABOUT.format(runs=runs, all_runs=ALL_RUNS, hours=hours, faults=faults, broken=broken, by_kafka=by_kafka)
    parts = [head, _by_length(made), _by_case(made), _broken(made)]
    write_section(TITLE, "\n".join(part for part in parts if part))


def counts(rows: Iterable[Row]) -> tuple[int, int, int, int, int]:
    """Return runs, faults, events, runs that the nodes broke, and that Kafka broke."""
    each = [(row.runs, row.faults, row.events, len(row.broken), len(row.by_kafka)) for row in rows]
    runs, faults, events, broken, by_kafka = (sum(column) for column in zip(*each, strict=True)) if each else [0] * 5
    return runs, faults, events, broken, by_kafka


def _by_length(rows: dict[Cell, Row]) -> str:
    lines: list[tuple[object, ...]] = []
    for shown in SHOWN:
        of_it = {cell: row for cell, row in rows.items() if cell.length.shown == shown}
        goal = sum(cell.goal for cell in CELLS if cell.length.shown == shown)
        runs, *others = counts(of_it.values())
        lines.append((shown, f"{goal / ALL_RUNS:.0%}", runs, round(_hours(of_it)), *others))
    columns = ("length", "of a campaign", "runs", "simulated hours", "faults", "events", "broken", "by Kafka")
    return table(columns, lines)


def _by_case(rows: dict[Cell, Row]) -> str:
    lines: list[tuple[object, ...]] = []
    for profile, release in dict.fromkeys((cell.profile, cell.release) for cell in rows):
        of_it = {cell: row for cell, row in rows.items() if (cell.profile, cell.release) == (profile, release)}
        voters = ", ".join(str(number) for number in sorted({cell.voters for cell in of_it}))
        lines.append((profile, release, voters, *counts(of_it.values())))
    return table(("profile", "release", "voters", "runs", "faults", "events", "broken", "by Kafka"), lines)


def _broken(rows: dict[Cell, Row]) -> str:
    """Return the table of runs that broke, by cause, with what makes one of them again; the ledger has all seeds."""
    broken: dict[tuple[str, str, str], list[tuple[Cell, int]]] = {}
    for cell, row in rows.items():
        for seed, why in [*((seed, "the nodes") for seed in row.broken), *row.by_kafka.items()]:
            broken.setdefault((why, cell.profile, cell.release), []).append((cell, seed))
    lines = [
        (*cause, len(runs), f"{runs[0][0].voters} voters, {runs[0][0].length.shown}, seed {runs[0][1]}")
        for cause, runs in sorted(broken.items())
    ]
    return table(("broken by", "profile", "release", "runs", "the first of them"), lines) if lines else ""


def _hours(rows: dict[Cell, Row]) -> float:
    return sum(cell.length.seconds * row.runs for cell, row in rows.items()) / 3600
