"""The figures of the simulator's campaigns, kept in figures.json and added up from run to run.

A campaign that is stopped continues where its row ends. docs/proof/simulator.md has a section for each table, with the
releases of a row added up.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "proof" / "simulator.md"
FIGURES = Path(__file__).parent / "figures.json"
HEAD = """# Simulated quorums

Repeat with `make lab`; each campaign continues where its figures end (`tests/campaigns/simulator/figures.json`), so it
can be run in slices. All invariants are checked after every event.
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
        "are made until an invariant breaks.",
        ("bug", "profile", "release", "found by run"),
        3,
    ),
}


class Figures:
    """Table of the page: `row` gives the numbers of a row, to be counted up, and `write` writes the page."""

    def __init__(self, table: str) -> None:
        self.table = table
        self.rows = _read(table)

    def row(self, *names: str) -> list[int]:
        """Return the numbers behind these names; zeros for a row that is new."""
        _, _, columns, keys = TABLES[self.table]
        assert len(names) == keys
        return self.rows.setdefault(names, [0] * (len(columns) - keys))

    def write(self) -> None:
        """Write the rows of this table, and the section of the page; all others stay as they are."""
        title, about, columns, _ = TABLES[self.table]
        rows = {names: numbers for names, numbers in self.rows.items() if numbers[0]}
        kept = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
        kept[self.table] = [[*names, *numbers] for names, numbers in rows.items()]
        _replace(FIGURES, json.dumps(kept).replace("], [", "],\n[").replace("]], ", "]],\n") + "\n")
        shown = _bugs(rows) if self.table == "bugs" else table(columns, _by_release(rows, columns.index("release")))
        write_section(title, f"{about}\n\n{shown}{_total(self.table, rows)}")


def _by_release(rows: Mapping[tuple[str, ...], list[int]], at: int) -> list[tuple[object, ...]]:
    """Return a row for the names without the release: the releases, and the sums of the numbers."""
    groups: dict[tuple[str, ...], list[tuple[str, list[int]]]] = {}
    for names, numbers in rows.items():
        groups.setdefault(names[:at] + names[at + 1 :], []).append((names[at], numbers))
    return [
        (*names[:at], ", ".join(release for release, _ in found), *names[at:], *_sums(numbers for _, numbers in found))
        for names, found in groups.items()
    ]


def _sums(rows: Iterable[list[int]]) -> list[int]:
    return [sum(column) for column in zip(*rows, strict=True)]


def _bugs(rows: Mapping[tuple[str, ...], list[int]]) -> str:
    """Return the bugs as a sentence, each with the run that found it."""
    found = "; ".join(f"{bug} ({profile}, {release}: run {run})" for (bug, profile, release), [run] in rows.items())
    return f"{len(rows)} bugs: {found}.\n"


def write_section(title: str, text: str) -> None:
    """Put a section in the place of the one of this title, or at the end of the page."""
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else HEAD
    section = f"## {title}\n\n{text.rstrip()}\n"
    known = _section(title).search(page)
    before, behind = (page[: known.start()], page[known.end() :]) if known else (f"{page.rstrip()}\n\n", "")
    _replace(PAGE, f"{before}{section}{behind}")


def _replace(path: Path, text: str) -> None:
    """Replace a file at once: a campaign that is ended meanwhile leaves the earlier one."""
    whole = path.with_suffix(".new")
    whole.write_text(text, encoding="utf-8")
    whole.replace(path)


def _section(title: str) -> re.Pattern[str]:
    return re.compile(rf"^## {re.escape(title)}\n.*?(?=\n## |\Z)", re.M | re.S)


def _total(name: str, rows: dict[tuple[str, ...], list[int]]) -> str:
    return "" if name == "bugs" else f"\n{sum(numbers[0] for numbers in rows.values()):,} in all.\n"


def table(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table of the page; numbers have commas."""
    names = list(columns)
    return "".join(map(_line, [names, ["---"] * len(names), *rows]))


def _line(cells: Iterable[object]) -> str:
    return f"| {' | '.join(f'{cell:,}' if isinstance(cell, int) else str(cell) for cell in cells)} |\n"


def _read(table: str) -> dict[tuple[str, ...], list[int]]:
    keys = TABLES[table][3]
    kept = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
    return {tuple(row[:keys]): row[keys:] for row in kept.get(table, [])}
