"""A million runs with random faults and no broken invariant but by Kafka's own faults, to docs/proof/simulator.md."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.campaigns.simulator import campaign as campaigns
from tests.campaigns.simulator import ledger
from tests.campaigns.simulator.campaign import campaign
from tests.campaigns.simulator.campaign_page import counts, write
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


def test_no_invariant_is_broken() -> None:
    rows = campaign(float("inf"), os.cpu_count() or 1)
    write(rows)
    runs, *_, broken, _ = counts(rows.values())
    assert runs >= ALL_RUNS
    assert broken == 0


def test_next_slice_is_of_the_cell_that_is_most_behind() -> None:
    rows = {cell: Row(runs=cell.goal // 2) for cell in CELLS}
    behind = CELLS[5]
    rows[behind].runs = behind.goal // 3
    assert next(orders(rows, float("inf"))) == Order(behind, rows[behind].runs, rows[behind].runs + behind.length.slice)


def test_slices_end_with_all_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "ALL_RUNS", 100_000)
    made: dict[Cell, list[Order]] = {cell: [] for cell in CELLS}
    for order in orders({cell: Row() for cell in CELLS}, float("inf")):
        made[order.cell].append(order)
    for cell, of_it in made.items():
        assert [order.first for order in of_it] == [0, *(order.behind for order in of_it[:-1])]
        assert of_it[-1].behind == cell.goal
    assert 100_000 <= sum(cell.goal for cell in CELLS) < 100_000 + len(CELLS)


def test_campaign_goes_on_where_it_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Two parts in one process are what one part in two processes is.
    few = [cell for cell in CELLS if cell[:3] == ("rolling-restart", "3.9", 3)]
    monkeypatch.setattr(campaigns, "CELLS", few)
    monkeypatch.setattr(ledger, "ALL_RUNS", 28 * 6)
    whole = campaign(float("inf"), 2, tmp_path / "whole.jsonl")
    first = few[0]
    write_ledger(tmp_path / "parts.jsonl", {first: run_slice(Order(first, 0, 2))})
    parts = campaign(float("inf"), 1, tmp_path / "parts.jsonl")
    assert parts == whole == read_ledger(tmp_path / "parts.jsonl")
    assert sum(row.runs for row in parts.values()) == sum(cell.goal for cell in few)


BROKEN_BY_KAFKA = 1491


def _cell_with_a_fault_of_kafka() -> Cell:
    (cell,) = [cell for cell in CELLS if cell[:3] == ("voter-change", "3.9", 5) and cell.length.seconds == 5]
    return cell


def test_run_that_breaks_by_a_fault_of_kafka_is_counted_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    order = Order(_cell_with_a_fault_of_kafka(), BROKEN_BY_KAFKA, BROKEN_BY_KAFKA + 1)
    row = run_slice(order)
    assert (row.runs, row.broken, row.by_kafka) == (1, [], {BROKEN_BY_KAFKA: "voters not read after a truncation"})
    monkeypatch.setattr(ledger, "causes_of", lambda *_run: [])
    assert run_slice(order).broken == [BROKEN_BY_KAFKA]


def test_runs_that_broke_are_judged_again() -> None:
    # One breaks by a fault of Kafka's that was not known then, the other breaks no more.
    row = Row(runs=1500, broken=[BROKEN_BY_KAFKA - 1, BROKEN_BY_KAFKA])
    judge(_cell_with_a_fault_of_kafka(), row)
    assert (row.runs, row.broken, list(row.by_kafka)) == (1500, [], [BROKEN_BY_KAFKA])


def test_no_line_of_the_ledger_has_a_run_that_the_nodes_broke() -> None:
    rows = read_ledger(LEDGER)
    assert {cell: row.broken for cell, row in rows.items() if row.broken} == {}
