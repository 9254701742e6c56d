"""docs/proof/liveness.md: what gates did about nodes that were killed, paused or alive, written by the campaign itself.

A section a kind of gate and release; `write_section` puts one in place of the one that is there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parents[3] / "docs" / "proof" / "liveness.md"
HEAD = """\
# Who is alive: gates on real clusters while nodes fail

Written by the run of `make lab` (tests/lab/quorum/test_liveness.py and test_liveness_nodes.py), a section a kind of
gate and release. A node is killed (SIGKILL), paused (SIGSTOP) or left alone, so many seconds before the command, or
while it observes ("during"). Commands of `quorum` run as an operator runs them, in a process of their own, and their
seconds include its start; those of `features` and `nodes` run in the process of the test. "expected" is what must come
of it; "commits after" says whether the high watermark advanced after the command and, where it was gone, the node's
return.
"""


class Row(NamedTuple):
    """One command: what was done to which node and when, what was asked, what was expected and found."""

    event: str
    seconds_before: str
    command: str
    expected: str
    found: str
    seconds: float
    commits_after: bool

    @property
    def is_right(self) -> bool:
        """Whether the command did what it must, and the quorum goes on."""
        return self.expected == self.found and self.commits_after


def write_section(title: str, rows: Sequence[Row]) -> None:
    """Put the rows of a gate and release in place of those that are there."""
    right = sum(row.is_right for row in rows)
    lines = [
        "",
        f"{right} of {len(rows)} as expected.",
        "",
        "| event | s before | command | expected | found | s | commits after |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        found = row.found if row.found == row.expected else f"**{row.found}**"
        commits = "yes" if row.commits_after else "**no**"
        lines.append(
            f"| {row.event} | {row.seconds_before} | {row.command} | {row.expected} | {found} | {row.seconds:.1f} "
            f"| {commits} |"
        )
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    sections = dict(re.findall(r"(?ms)^## ([^\n]+)\n(.*?)(?=^## |\Z)", text))
    sections[title] = "\n".join(lines) + "\n"
    bodies = [f"## {name}\n{body.rstrip()}\n" for name, body in sorted(sections.items())]
    PAGE.write_text("\n".join([HEAD, *bodies]), encoding="utf-8")
