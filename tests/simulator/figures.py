"""The figures of the simulator's campaigns, kept in docs/proof/simulator.md and added up from run to run.

A campaign that is stopped goes on where its row of the table ends; each table has a heading of its own.
"""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "proof" / "simulator.md"
HEAD = """# Simulated quorums

Written by `make lab`; each campaign goes on where its figures end, so that it can be run in slices. All invariants are
checked after every event.
"""
TABLES = {
    "profiles": (
        "Runs with random faults",
        "`tests/simulator/test_campaign.py`: runs of 60 simulated seconds, each with a seed of its own\n"
        "(`KAFKACTL_SIMULATED_RUNS`: how many more). In every second run a node without a leader asks for one each\n"
        "200 ms only, in the others as often as Kafka does. Events that were passed over are not counted.\n"
        "A run is broken by Kafka if it breaks an invariant, and does not with a known fault of Kafka's mended\n"
        "(`tests/simulator/kafka_faults.py`): voters that are not read after a truncation, and a log that is\n"
        "not synced when a process starts.",
        ("profile", "release", "voters", "runs", "broken", "by Kafka", "events"),
        3,
    ),
    "measured": (
        "Against what was measured on released Kafka",
        "`tests/simulator/test_scenarios.py`: the scripts whose outcome was measured, with a seed for\n"
        "each run, and how many came out so.",
        ("what", "measured", "release", "runs", "so"),
        3,
    ),
    "journeys": (
        "Changes of voters with a fault in the middle",
        "`tests/quorum/test_journeys_in_simulator.py`: the change engine makes each journey on a simulated quorum,\n"
        "and one node is killed, paused or cut off when an event is over: each event between a request and its end,\n"
        "and as many others. Wrong is a majority that is lost and was not announced, and a goal that is not reached\n"
        "once the fault is mended (`KAFKACTL_SIMULATED_JOURNEYS`: how many more).",
        ("journey", "release", "faults", "wrong", "of"),
        2,
    ),
    "bugs": (
        "Planted bugs",
        "`tests/simulator/test_planted.py`: each bug is planted into the nodes, and runs with random faults are made\n"
        "until an invariant breaks; the issue allows 100,000 runs.",
        ("bug", "profile", "release", "found by run"),
        3,
    ),
}


class Figures:
    """One table of the page: `row` gives the numbers of a row, to be counted up, and `write` writes the page."""

    def __init__(self, table: str) -> None:
        self.table = table
        self.rows = {name: _read(name) for name in TABLES}

    def row(self, *names: str) -> list[int]:
        """The numbers behind these names; zeros for a row that is new."""
        _, _, columns, keys = TABLES[self.table]
        assert len(names) == keys
        return self.rows[self.table].setdefault(names, [0] * (len(columns) - keys))

    def write(self) -> None:
        """The whole page: this table as it is now, the others as they are on it by now."""
        parts = [HEAD]
        for name, (title, about, columns, _) in TABLES.items():
            known = self.rows[name] if name == self.table else _read(name)
            rows = {names: numbers for names, numbers in known.items() if numbers[0]}
            if rows:
                parts.append(f"\n## {title}\n\n{about}\n\n{_line(columns)}{_line(['---'] * len(columns))}")
                parts += [_line([*names, *(f"{number:,}" for number in numbers)]) for names, numbers in rows.items()]
                parts += _total(name, rows)
        whole = PAGE.with_suffix(".new")
        whole.write_text("".join([*parts, *_of_others()]), encoding="utf-8")
        whole.replace(PAGE)  # at once: a campaign that is ended here leaves the page as it was


def _of_others() -> list[str]:
    """The sections that other campaigns write on the page, such as that of tests/lab/judge."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    ours = {title for title, *_ in TABLES.values()}
    sections = re.findall(r"^## [^\n]*\n.*?(?=^## |\Z)", text, re.M | re.S)
    return [f"\n{section.rstrip()}\n" for section in sections if section[3:].partition("\n")[0] not in ours]


def _total(name: str, rows: dict[tuple[str, ...], list[int]]) -> list[str]:
    if name == "bugs":
        return []
    return [f"\n{sum(numbers[0] for numbers in rows.values()):,} in all.\n"]


def _line(cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |\n"  # type: ignore[call-overload]


def _read(table: str) -> dict[tuple[str, ...], list[int]]:
    title, _, columns, keys = TABLES[table]
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    rows = {}
    for line in found[1].splitlines() if found else ():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == len(columns) and cells[-1].replace(",", "").isdigit():
            rows[tuple(cells[:keys])] = [int(cell.replace(",", "")) for cell in cells[keys:]]
    return rows
