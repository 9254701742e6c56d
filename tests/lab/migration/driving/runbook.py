"""The command lines of a runbook, docs/migration.md for example, and which of them were run.

::

    runbook = Runbook()
    for line in runbook.section("1."):
        …
        runbook.ran(line)
    assert runbook.left == []
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[4] / "docs" / "migration.md"


@dataclass(frozen=True, slots=True)
class Line:
    """Command line unchanged, under the first word or words of its heading."""

    section: str
    text: str

    def words(self, names: Mapping[str, str]) -> list[str]:
        """Return the arguments without the program's name; placeholders for the reader's values are in `names`."""
        return [names.get(part, part) for part in shlex.split(self.text)[1:]]

    @property
    def verb(self) -> str:
        """Return `status`, `run`, `rollback` …"""
        return shlex.split(self.text)[2]


class Runbook:
    """The lines in the page's order, and which of them were run."""

    def __init__(self, page: Path = PAGE) -> None:
        text = page.read_text(encoding="utf-8")
        parts = [(part.splitlines()[0].strip(), part) for part in re.split(r"(?m)^## ", text)[1:]]
        self.lines = [
            Line(section=name, text=text)
            for name, part in parts
            for text in re.findall(r"(?m)^ {4,}(kafkactl .+)$", part)
        ]
        self._ran: Counter[Line] = Counter()

    def section(self, begins: str) -> list[Line]:
        """Return the lines under the heading that begins so. Raises KeyError if there is none, or none has lines."""
        found = [line for line in self.lines if line.section.startswith(begins)]
        if not found:
            raise KeyError(begins)
        return found

    def ran(self, line: Line) -> None:
        """Record that a line was run, and ended as it should."""
        self._ran[line] += 1

    @property
    def left(self) -> list[str]:
        """Return what is in the runbook and was not run."""
        wanted = Counter(self.lines)
        return [line.text for line in self.lines if self._ran[line] < wanted[line]]
