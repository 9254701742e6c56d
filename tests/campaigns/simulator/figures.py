"""The figures of the simulator's campaigns, kept in docs/proof/simulator.md and added up from run to run.

A campaign that is stopped goes on where its row of the table ends; each table has a heading of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "proof" / "simulator.md"
HEAD = """# Simulated quorums

Written by `make lab`; each campaign goes on where its figures end, so that it can be run in slices. All invariants are
checked after every event.
"""
TABLES = {
    "measured": (
        "Against what was measured on released Kafka",
        "`tests/campaigns/simulator/test_measured.py`: the scripts whose outcome was measured, with a seed for\n"
        "each run, and how many came out so.",
        ("what", "measured", "release", "runs", "so"),
        3,
    ),
    "journeys": (
        "Changes of voters with a fault in the middle",
        "`tests/campaigns/simulator/test_journeys.py`: the change engine makes each journey on a simulated quorum,\n"
        "and one node fails when an event is over: each event between a request and its end, and as many others.\n"
        "It is killed, stopped or paused, its host crashes, it is cut off, hears nothing, or says nothing. Wrong is\n"
        "a majority that is lost and was not announced, and a goal that is not reached once the fault is mended\n"
        "(`KAFKACTL_SIMULATED_JOURNEYS`: how many more).",
        ("journey", "release", "faults", "wrong", "of"),
        2,
    ),
    "bugs": (
        "Planted bugs",
        "`tests/campaigns/simulator/test_bugs.py`: each bug is planted into the nodes, and runs with random faults\n"
        "are made until an invariant breaks; the issue allows 100,000 runs.",
        ("bug", "profile", "release", "found by run"),
        3,
    ),
}


class Figures:
    """One table of the page: `row` gives the numbers of a row, to be counted up, and `write` writes the page."""

    def __init__(self, table: str) -> None:
        self.table = table
        self.rows = _read(table)

    def row(self, *names: str) -> list[int]:
        """The numbers behind these names; zeros for a row that is new."""
        _, _, columns, keys = TABLES[self.table]
        assert len(names) == keys
        return self.rows.setdefault(names, [0] * (len(columns) - keys))

    def write(self) -> None:
        """The section of this table; all others stay as they are."""
        title, about, columns, _ = TABLES[self.table]
        rows = {names: numbers for names, numbers in self.rows.items() if numbers[0]}
        lines = table(columns, ((*names, *numbers) for names, numbers in rows.items()))
        write_section(title, f"{about}\n\n{lines}{_total(self.table, rows)}")


def write_section(title: str, text: str) -> None:
    """Put a section in the place of the one of this title, or at the end of the page."""
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else HEAD
    section = f"## {title}\n\n{text.rstrip()}\n"
    known = _section(title).search(page)
    before, behind = (page[: known.start()], page[known.end() :]) if known else (f"{page.rstrip()}\n\n", "")
    whole = PAGE.with_suffix(".new")
    whole.write_text(f"{before}{section}{behind}", encoding="utf-8")
    whole.replace(PAGE)  # at once: a campaign that is ended here leaves the page as it was


def _section(title: str) -> re.Pattern[str]:
    return re.compile(rf"^## {re.escape(title)}\n.*?(?=\n## |\Z)", re.M | re.S)


def _total(name: str, rows: dict[tuple[str, ...], list[int]]) -> str:
    return "" if name == "bugs" else f"\n{sum(numbers[0] for numbers in rows.values()):,} in all.\n"


def table(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A table of the page; numbers have commas."""
    names = list(columns)
    return "".join(map(_line, [names, ["---"] * len(names), *rows]))


def _line(cells: Iterable[object]) -> str:
    return f"| {' | '.join(f'{cell:,}' if isinstance(cell, int) else str(cell) for cell in cells)} |\n"


def _read(table: str) -> dict[tuple[str, ...], list[int]]:
    title, _, columns, keys = TABLES[table]
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    found = _section(title).search(text)
    rows = {}
    for line in found[0].splitlines() if found else ():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == len(columns) and cells[-1].replace(",", "").isdigit():
            rows[tuple(cells[:keys])] = [int(cell.replace(",", "")) for cell in cells[keys:]]
    return rows
