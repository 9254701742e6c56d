"""Writer of the table of checks in docs/migration-checks.md from the rows of the checks: `make docs`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kafkactl.migration.checks.case import ALWAYS, UNFINISHED, Stage
from kafkactl.migration.checks.registry import ROWS, check_numbers

PAGE: Final = Path(__file__).resolve().parents[1] / "docs" / "migration-checks.md"
_TABLE: Final = re.compile(
    r"(?s)(?<=\| check \| about \| states \| id if unknown \|\n\|---\|---\|---\|---\|\n).*?(?=\n\n)"
)
_STATES: Final = {
    Stage.BEFORE: "M0–M2",
    Stage.QUORUM: "M3–M4L",
    Stage.COPY: "M5",
    Stage.DUAL: "M6–M9",
    Stage.FINAL: "M10, M11",
    Stage.BURNT: "quorum without the flag",
}
# Checks whose findings come from the reading of the tree; these have no row of their own.
_OF_THE_TREE: Final = {
    "C-37": "topic ids",
    "C-38": "states of partitions",
    "C-52": "quotas",
    "C-53": "SCRAM credentials",
    "C-55": "ACLs",
    "C-60": "configs of what is not there",
}
_OF_THE_WHOLE: Final = {
    "X-SEEN": "what the observation itself could not see or read: nodes, places, logs, ZooKeeper",
    "X-STATE": "the situation as a whole, where no step leads to it",
}


def page() -> str:
    """Return the page with the table that the rows give."""
    lines = "\n".join(line for number in check_numbers() for line in _lines(number))
    return _TABLE.sub(lambda _: lines, PAGE.read_text(encoding="utf-8"), count=1)


def _lines(number: str) -> Iterator[str]:
    """Yield a line for each question of the check, after one for its findings that have no question."""
    if number in _OF_THE_TREE:
        yield f"| {number} | {_OF_THE_TREE[number]} | {_states(UNFINISHED)} | |"
    if number in _OF_THE_WHOLE:
        yield f"| {number} | {_OF_THE_WHOLE[number]} | {_states(ALWAYS)} | |"
    for row in ROWS:
        if row.check == number:
            yield f"| {number} | {row.title} | {_states(row.stages)} | `{row.question}` |"


def _states(stages: frozenset[Stage]) -> str:
    if stages == ALWAYS:
        return "always"
    return "until M9" if stages == UNFINISHED else ", ".join(_STATES[stage] for stage in Stage if stage in stages)


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
