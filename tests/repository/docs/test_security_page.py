"""docs/proof/security.md: every attack of the review is on it, and every test that it names is there."""

from __future__ import annotations

import ast
import re

import pytest

from tests.repository.tree import ROOT

PAGE = (ROOT / "docs" / "proof" / "security.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(tests/[\w/]+\.py)((?:::\w+)+)`")
ROW = re.compile(r"^\| ([\d, -]+) \|", re.MULTILINE)
ATTACKS, DEFECTS = 116, 15


def names(path: str) -> set[str]:
    """Return `::test` and `::Class::test` of a file."""
    found: set[str] = set()
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            found.add(f"::{node.name}")
        elif isinstance(node, ast.ClassDef):
            found |= {f"::{node.name}::{member.name}" for member in node.body if isinstance(member, ast.FunctionDef)}
    return found


@pytest.mark.slow
def test_every_test_that_it_names_is_there() -> None:
    found = NAMED.findall(PAGE)
    assert len(found) > ATTACKS
    assert [path + name for path, name in found if name not in names(path)] == []


def test_every_row_of_the_review_is_on_it() -> None:
    rows: list[int] = []
    for text in ROW.findall(PAGE):
        for part in text.split(","):
            first, _, last = part.strip().partition("-")
            rows += range(int(first), int(last or first) + 1)
    assert sorted(rows) == list(range(1, ATTACKS + 1))
    assert [f"| S{number} |" in PAGE for number in range(1, DEFECTS + 1)] == [True] * DEFECTS
