"""Constants of test files, read without imports: tables whose rows are next to the tests of their subject."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent


def merged_constant(name: str, *patterns: str) -> dict[str, Any]:
    """Return the dictionaries of this name in the test files of some patterns, as one that is sorted by key."""
    found: dict[str, Any] = {}
    for file, value in _constants(name, patterns):
        twice = sorted(found.keys() & value)
        assert not twice, f"{file} and another file have {name} of {twice}"
        found |= value
    return dict(sorted(found.items()))


def _constants(name: str, patterns: tuple[str, ...]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield each test file with the constant, and its value: a literal that a blank line ends."""
    for file in sorted(file for pattern in patterns for file in TESTS.glob(pattern)):
        _, constant, rest = file.read_text().partition(f"\n{name} = ")
        if constant:
            yield file.relative_to(TESTS.parent), ast.literal_eval(rest.partition("\n\n")[0])
