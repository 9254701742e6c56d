"""A million runs with random faults and no broken invariant but by Kafka's own faults, to docs/proof/simulator.md."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kafkactl.simulator.campaign import Asked, outcome_of, plan_for, quorum_of
from tests.simulator import campaign as campaigns
from tests.simulator import ledger
from tests.simulator.campaign import campaign
from tests.simulator.campaign_page import counts, write
from tests.simulator.ledger import (
    ALL_RUNS,
    CELLS,
    LEDGER,
    Cell,
    Order,
    Row,
    judge,
    orders,
    quorum_for,
    read_ledger,
    run_slice,
    write_ledger,
)


@pytest.mark.campaign
def test_no_invariant_is_broken() -> None:
    rows = campaign(float("inf"), os.cpu_count() or 1)
    write(rows)
    runs, *_, broken, _ = counts(rows.values())
    assert runs >= ALL_RUNS
    assert broken == 0


def test_the_next_slice_is_of_the_cell_that_is_most_behind() -> None:
    rows = {cell: Row(runs=cell.goal // 2) for cell in CELLS}
    behind = CELLS[5]
    rows[behind].runs = behind.goal // 3
    assert next(orders(rows, float("inf"))) == Order(behind, rows[behind].runs, rows[behind].runs + behind.length.slice)


def test_the_slices_end_with_all_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "ALL_RUNS", 100_000)
    made: dict[Cell, list[Order]] = {cell: [] for cell in CELLS}
    for order in orders({cell: Row() for cell in CELLS}, float("inf")):
        made[order.cell].append(order)
    for cell, of_it in made.items():
        assert [order.first for order in of_it] == [0, *(order.behind for order in of_it[:-1])]
        assert of_it[-1].behind == cell.goal
    assert 100_000 <= sum(cell.goal for cell in CELLS) < 100_000 + len(CELLS)


@pytest.mark.slow
def test_a_campaign_goes_on_where_it_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two parts in one process are what one part in two processes is."""
    few = [cell for cell in CELLS if cell[:3] == ("rolling-restart", "3.9", 3)]
    monkeypatch.setattr(campaigns, "CELLS", few)
    monkeypatch.setattr(ledger, "ALL_RUNS", 28 * 6)
    whole = campaign(float("inf"), 2, tmp_path / "whole.jsonl")
    first = few[0]
    write_ledger(tmp_path / "parts.jsonl", {first: run_slice(Order(first, 0, 2))})
    parts = campaign(float("inf"), 1, tmp_path / "parts.jsonl")
    assert parts == whole == read_ledger(tmp_path / "parts.jsonl")
    assert sum(row.runs for row in parts.values()) == sum(cell.goal for cell in few)


def test_a_run_that_breaks_by_a_fault_of_kafka_is_counted_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = next(cell for cell in CELLS if cell[:3] == ("voter-change", "3.9", 3) and cell.length.seconds == 60)
    row = run_slice(Order(cell, 185, 186))
    assert (row.runs, row.broken, row.by_kafka) == (1, [], {185: "voters not read after a truncation"})
    monkeypatch.setattr(ledger, "causes_of", lambda *_run: [])
    assert run_slice(Order(cell, 185, 186)).broken == [185]


def test_runs_that_broke_are_judged_again() -> None:
    """One breaks by a fault of Kafka's that was not known then, the other breaks no more."""
    cell = next(cell for cell in CELLS if cell[:3] == ("voter-change", "3.9", 3) and cell.length.seconds == 60)
    row = Row(runs=200, broken=[184, 185])
    judge(cell, row)
    assert (row.runs, row.broken, list(row.by_kafka)) == (200, [], [185])


def test_a_process_that_ends_while_a_quorum_settles_is_started_again() -> None:
    """Without node 3, nodes 4 and 5 elect no leader: node 2, which was removed, has a longer log than they."""
    cell = next(cell for cell in CELLS if cell[:3] == ("voter-change", "3.9", 4) and cell.length.seconds == 5)
    quorum = quorum_for(quorum_of(cell.asked)[0], 51)
    outcome = outcome_of(cell.asked, quorum, 51, traced=True)
    settling = [row.text for row in outcome.happenings if row.time_us >= cell.asked.duration_us and row.node == 3]
    ended = settling.index("the process ends: Expected to be Follower, but the current state is Unattached")
    assert "started" in settling[ended:]
    assert outcome.passed


@pytest.mark.parametrize(
    ("profile", "release", "voters", "seconds", "seed"),
    [
        ("chaos", "3.7", 3, 5, 10_256),  # an observer cuts what a newer epoch committed, of which it does not know
        ("chaos", "3.7", 3, 5, 26_282),
        ("chaos", "3.9", 4, 10, 4_691),  # two processes end within a second of the time in which the quorum settles
    ],
)
def test_runs_in_which_the_nodes_were_right(profile: str, release: str, voters: int, seconds: int, seed: int) -> None:
    (cell,) = [cell for cell in CELLS if cell[:3] == (profile, release, voters) and cell.length.seconds == seconds]
    quorum = quorum_for(quorum_of(cell.asked)[0], seed)
    assert outcome_of(cell.asked, quorum, seed, traced=False).violations == ()


@pytest.mark.parametrize("profile", ["chaos", "voter-change"])
def test_a_dense_run_has_the_plan_of_a_longer_one(profile: str) -> None:
    long, short = (
        Asked(profile=profile, duration_us=seconds * ledger.SECOND_US, density=density)
        for seconds, density in ((60, 1), (5, 12))
    )
    quorum, _ = quorum_of(long)
    slow, quick = plan_for(long, quorum, 7), plan_for(short, quorum, 7)
    assert [timed.step for timed in quick] == [timed.step for timed in slow]
    assert [timed.at_us for timed in quick] == [timed.at_us // 12 for timed in slow]
    assert quick[-1].step.verb == "settle"


def test_no_line_of_the_ledger_has_a_run_that_the_nodes_broke() -> None:
    rows = read_ledger(LEDGER)
    assert {cell: row.broken for cell, row in rows.items() if row.broken} == {}
    assert all(row.runs <= cell.goal for cell, row in rows.items())
