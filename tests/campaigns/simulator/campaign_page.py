"""The section of docs/proof/simulator.md that is written from the ledger of the campaign."""

from __future__ import annotations

from collections.abc import Iterable

from tests.campaigns.simulator.figures import table, write_section
from tests.campaigns.simulator.ledger import ALL_RUNS, CELLS, Cell, Row

TITLE = "Runs with random faults"
SHOWN = list(dict.fromkeys(cell.length.shown for cell in CELLS))
ABOUT = """{runs:,} runs, {all_runs:,} a campaign: {hours:,.0f} simulated hours with {faults:,} faults and requests.
{broken} of them break an invariant by the nodes, {by_kafka} by what Kafka does as well.

Written by `python -m tests.campaigns.simulator.campaign [SECONDS [PROCESSES]]`, which `make lab` runs to its end;
`tests/campaigns/simulator/ledger.jsonl` has what is done, and the seeds of each of its lines begin at 0. Faults come
for the length of a run. Then all are mended, and a record has to be committed within a minute; that time is not in
the hours. Where no voter set of any log has a majority left that has its disks, no node is elected any more: such a
run ends after 5 s. Where faults are 12 times as dense, they come 12 times as fast as in `kafkactl simulate`, and each
lasts a twelfth: 5 s have the plan of a minute. In every second run a node without a leader asks for one each 200 ms
only, in the others as often as Kafka does. Runs up to 2026-11-28 were made by a simulator that passed over stretches
in which nodes only wait or repeat questions, with the same histories; events that were passed over are not counted.

A run is broken by Kafka if it breaks an invariant, and does not with a known fault of Kafka's mended
(`tests/campaigns/simulator/kafka_faults.py`).

A million runs were made before: up to 2026-11-27, when all nodes chose the servers that they ask from one stream of
random numbers, 1,000,048 runs of the same cells (3,848 simulated hours, 46,170,423 faults and requests). 0 of them
broke an invariant by the nodes, 169 by what Kafka does. Each host has a stream of its own since, so a seed gives
another run, and the figures here start from zero.
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
    """Runs, faults, events, runs that the nodes broke, and that Kafka broke."""
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
    for case in dict.fromkeys(cell[:3] for cell in rows):
        of_it = {cell.length.shown: row for cell, row in rows.items() if cell[:3] == case}
        runs = [of_it[shown].runs if shown in of_it else 0 for shown in SHOWN]
        lines.append((*case, *runs, *counts(of_it.values())))
    lengths = [shown.partition(" times")[0].replace(", ", ", x") for shown in SHOWN]
    return table(
        ("profile", "release", "voters", *lengths, "runs", "faults", "events", "broken", "by Kafka"), lines
    )  # fmt: skip


def _broken(rows: dict[Cell, Row]) -> str:
    """Each run that broke: what it takes to make it again, and by what."""
    lines = [
        (cell.profile, cell.release, cell.voters, cell.length.shown, str(seed), why)
        for cell, row in rows.items()
        for seed, why in [*((seed, "the nodes") for seed in row.broken), *row.by_kafka.items()]
    ]
    return table(("profile", "release", "voters", "length", "seed", "broken by"), lines) if lines else ""


def _hours(rows: dict[Cell, Row]) -> float:
    return sum(cell.length.seconds * row.runs for cell, row in rows.items()) / 3600
