"""200,000 runs with random faults; `make lab` ends it. By hand:

    python -m tests.campaigns.simulator.campaign [SECONDS [PROCESSES]]

It goes on where it was interrupted: `ledger.jsonl` in this folder has how many seeds of each case and length are done,
and what they came to; docs/proof/simulator.md is written from it. No run breaks an invariant but by a fault of Kafka's
own (`kafka_faults.py`). One that does is listed on the page with its seed, ends the campaign with an error, and is made
again before all others the next time.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from tests.campaigns.simulator.campaign_page import write
from tests.campaigns.simulator.ledger import (
    ALL_RUNS,
    CELLS,
    LEDGER,
    Cell,
    Order,
    Row,
    judge,
    orders,
    read_ledger,
    run_slice,
    write_ledger,
)

WRITTEN_EVERY_S = 20.0


def results(wanted: Iterable[Order], processes: int) -> Iterator[tuple[Order, Row]]:
    """Yield the slices in their order, from this process or from as many others as are wanted."""
    if processes == 1:
        yield from ((order, run_slice(order)) for order in wanted)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("fork")) as pool:
        yield from _in_turn(wanted, pool, run_slice, processes)


def _in_turn(
    wanted: Iterable[Order], pool: Executor, run: Callable[[Order], Row], processes: int
) -> Iterator[tuple[Order, Row]]:
    under_way: deque[tuple[Order, Future[Row]]] = deque()
    for order in wanted:
        under_way.append((order, pool.submit(run, order)))
        if len(under_way) > 2 * processes:
            first, future = under_way.popleft()
            yield first, future.result()
    yield from ((order, future.result()) for order, future in under_way)


def campaign(seconds: float, processes: int, ledger: Path = LEDGER) -> dict[Cell, Row]:
    """Continue for so long, or until all runs are made. Return all rows of the ledger, which is written on the way."""
    rows = {cell: Row() for cell in CELLS} | read_ledger(ledger)
    for cell, row in rows.items():
        judge(cell, row)
    written = time.monotonic()
    wanted = orders(rows, written + seconds)
    for order, row in results(wanted, processes):
        assert rows[order.cell].runs == order.first
        rows[order.cell].add(row)
        if time.monotonic() > written + WRITTEN_EVERY_S:
            write_ledger(ledger, rows)
            written = time.monotonic()
    write_ledger(ledger, rows)
    return rows


def main(arguments: list[str]) -> None:
    """Run, write the page, and list the runs that broke."""
    seconds = float(arguments[0]) if arguments else float("inf")
    processes = int(arguments[1]) if len(arguments) > 1 else os.cpu_count() or 1
    rows = campaign(seconds, processes)
    write(rows)
    broken = [f"{' '.join(map(str, cell))}: seeds {row.broken}" for cell, row in rows.items() if row.broken]
    print(f"{sum(row.runs for row in rows.values()):,} of {ALL_RUNS:,} runs", *broken, sep="\n")
    sys.exit(bool(broken))


if __name__ == "__main__":
    main(sys.argv[1:])
