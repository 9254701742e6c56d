"""Comparison of a generated page with what its generator writes now."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff
from itertools import islice
from pathlib import Path
from types import ModuleType

import pytest

MOST_LINES = 20
_MOST_COLUMNS = 160  # A line of a picture or table may have thousands of characters.


def check_page(path: Path, made: str, generator: ModuleType) -> None:
    """Fail with the command to run and the first lines of the difference unless the file has the text `made`."""
    found = path.read_text(encoding="utf-8") if path.exists() else ""
    if found != made:
        command = f"python -m {generator.__name__}"
        pytest.fail(
            "\n".join([f"{path} is stale. Run `make docs` or `{command}`.", *_diff(found, made)]), pytrace=False
        )


def _diff(found: str, made: str) -> Iterator[str]:
    lines = unified_diff(found.splitlines(), made.splitlines(), "in the tree", "generated", n=1, lineterm="")
    yield from (
        line if len(line) <= _MOST_COLUMNS else f"{line[:_MOST_COLUMNS]} …" for line in islice(lines, MOST_LINES - 1)
    )
    rest = sum(1 for _ in lines)
    if rest:
        yield f"… and {rest} more lines"
