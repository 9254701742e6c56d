"""Pages of docs/proof that campaigns write: a row for each part of a campaign, with date and build of its last run.

A run replaces the row and the disagreements of its own part, so that a campaign can be run in parts.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

_ROW = re.compile(r"^\| (.+?) \| (\d{4}-\d\d-\d\d) \| (\w+) \| (.*) \|$", re.MULTILINE)
_DISAGREEMENT = re.compile(r"^- \*\*(.+?)\*\*: (.*)$", re.MULTILINE)
_COUNTED = re.compile(r"\b(\d+) of (\d+)\b")
_MOST_OF_A_DISAGREEMENT = 400  # characters


def record_part(page: Path, head: str, part: str, result: str, disagreements: Sequence[str] = ()) -> None:
    """Put the row and the disagreements of one part in place of its last run."""
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    rows = {found[1]: found[0] for found in _ROW.finditer(text)}
    rows[part] = f"| {part} | {datetime.now(UTC):%Y-%m-%d} | {_build()} | {_on_one_line(result)} |"
    others = [found for found in _DISAGREEMENT.findall(text) if found[0] != part]
    own = [(part, _on_one_line(each)[:_MOST_OF_A_DISAGREEMENT]) for each in disagreements]
    page.write_text(_page(head, rows, sorted([*others, *own])), encoding="utf-8")


def last_result(page: Path, part: str) -> str:
    """Return the result of the last run of a part; empty if it never ran."""
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    return next((found[4] for found in _ROW.finditer(text) if found[1] == part), "")


def _page(head: str, rows: Mapping[str, str], disagreements: Sequence[tuple[str, str]]) -> str:
    parts = [head.rstrip(), "", *_total(list(rows.values())), "| part | date | build | result |", "|---|---|---|---|"]
    parts += [rows[part] for part in sorted(rows)]
    if disagreements:
        parts += ["", "## Disagreements", "", *(f"- **{part}**: {text}" for part, text in disagreements)]
    return "\n".join(parts) + "\n"


def _total(rows: Sequence[str]) -> list[str]:
    """Return the sum of all parts as a paragraph, if each result begins with `N of M`."""
    counted = [_COUNTED.match(row.split(" | ", 3)[3]) for row in rows]
    numbers = [(int(found[1]), int(found[2])) for found in counted if found is not None]
    if len(numbers) < len(rows):
        return []
    right, total = (sum(column) for column in zip(*numbers, strict=True))
    return [f"In all: {right:,} of {total:,}.", ""]


def _on_one_line(text: str) -> str:
    return " ".join(text.replace("|", "/").split())


def _build() -> str:
    """Return the commit that is checked out; `unknown` outside of a repository."""
    command = ["git", "rev-parse", "--short=8", "HEAD"]
    found = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return found.stdout.strip() if found.returncode == 0 else "unknown"
