"""The page docs/proof/liveness.md, written by the campaign: a row a kind of gate and release."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.proof_page import record_part

PAGE = Path(__file__).parents[3] / "docs" / "proof" / "liveness.md"
HEAD = """\
# Liveness: gates on real clusters while nodes fail

Repeat with `make lab` (tests/lab/quorum/test_liveness.py and test_liveness_nodes.py), which writes this page: a row a
kind of gate and release. Each node in turn is killed (SIGKILL), paused (SIGSTOP) or left alone, 0 to 5 s before the
command or while it observes. Commands of `quorum` run as an operator runs them, in a process of their own, and their
seconds include its start; those of `features` and `nodes` run in the process of the test. A command is as expected if
its outcome and exit code are (refused, planned, done), and the high watermark advances after it and after the return of
a node that had failed.
"""


class Row(NamedTuple):
    """Command: what was done to which node and when, what was asked, what was expected and found."""

    event: str
    seconds_before: str
    command: str
    expected: str
    found: str
    seconds: float
    commits_after: bool

    @property
    def is_right(self) -> bool:
        """Return True if the command did what it must, and the quorum goes on."""
        return self.expected == self.found and self.commits_after


def write_section(title: str, rows: Sequence[Row]) -> None:
    """Put the row of a gate and release in place of its last run."""
    right = sum(row.is_right for row in rows)
    slowest = max((row.seconds for row in rows), default=0)
    record_part(
        PAGE,
        HEAD,
        title,
        f"{right} of {len(rows)} as expected; at most {slowest:.1f} s",
        [_shown(row) for row in rows if not row.is_right],
    )


def _shown(row: Row) -> str:
    commits = "" if row.commits_after else "; nothing commits afterwards"
    moment = f"{row.event}, {row.seconds_before} s before `{row.command}`"
    return f"{moment}: expected {row.expected}, found {row.found}{commits}"
