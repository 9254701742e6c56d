"""Writes the table of checks in docs/migration-checks.md from the rows of the checks: `make docs`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from kafkactl.migration.checks.case import UNFINISHED, Stage
from kafkactl.migration.checks.registry import ROWS, check_numbers

PAGE: Final = Path(__file__).resolve().parents[1] / "docs" / "migration-checks.md"
_TABLE: Final = re.compile(r"(?s)(?<=\| check \| about \| states \|\n\|---\|---\|---\|\n).*?(?=\n\n)")
_STATES: Final = {
    Stage.BEFORE: "M0–M2",
    Stage.QUORUM: "M3–M4L",
    Stage.COPY: "M5",
    Stage.DUAL: "M6–M9",
    Stage.FINAL: "M10, M11",
    Stage.BURNT: "quorum without the flag",
}
# Numbers of what the reading of the tree finds; these have no row of their own.
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
    """The page with the table that the rows give."""
    lines = "\n".join(f"| {number} | {', '.join(_titles(number))} | {_asked(number)} |" for number in check_numbers())
    return _TABLE.sub(lambda _: lines, PAGE.read_text(encoding="utf-8"), count=1)


def _titles(number: str) -> list[str]:
    more = (_OF_THE_TREE.get(number), _OF_THE_WHOLE.get(number))
    return [title for title in more if title] + [row.title for row in ROWS if row.check == number]


def _asked(number: str) -> str:
    stages = {stage for row in ROWS if row.check == number for stage in row.stages}
    stages |= UNFINISHED if number in _OF_THE_TREE else set(Stage) if number in _OF_THE_WHOLE else set()
    if stages == set(Stage):
        return "always"
    return "until M9" if stages == UNFINISHED else ", ".join(_STATES[stage] for stage in Stage if stage in stages)


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
