"""Docstrings of functions begin with a verb in the imperative."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.repository.tree import ROOT, nodes, product_files, shown

NO_VERB = re.compile(
    r"(A|All|An|Any|As|Both|By|Each|Every|Everything|False|For|From|How|In|It|Its|No|None|Nothing|Of|On|One|Only|Same"
    r"|Some|That|The|These|This|Those|To|True|Two|What|When|Where|Whether|Which|Who|Whose|Why|With)\b"
)
# Docstrings left to correct, by package: a number may only fall, and a package with none left has no row.
LEFT = {
    "commands": 1,  # the help of `kafkactl`, which click shows
    "dryrun": 98,
    "metadata": 4,
    "migration": 515,
    "spark": 22,
}


def without_verb(path: Path) -> list[str]:
    """Return the places of functions in one file whose docstring begins with another word than a verb."""
    return [
        f"{shown(path)}:{node.lineno}"
        for node in nodes(path, ast.FunctionDef, ast.AsyncFunctionDef)
        if NO_VERB.match(ast.get_docstring(node) or "")
    ]


def _package(path: Path) -> str:
    parts = path.relative_to(ROOT).parts
    return parts[0] if parts[0] != "kafkactl" else parts[1].removesuffix(".py")


def test_no_package_has_more_docstrings_without_a_verb_than_before():
    places = {path: without_verb(path) for path in product_files()}
    counts = Counter({_package(path): 0 for path in places})
    for path, found in places.items():
        counts[_package(path)] += len(found)
    more = {package: count for package, count in counts.items() if count > LEFT.get(package, 0)}
    found = [place for path, rows in places.items() if _package(path) in more for place in rows]
    assert not more, f"begin with a verb (Return, Read, Report, Check, Yield …): {found}"


@pytest.mark.parametrize(
    ("docstring", "is_found"),
    [("Whether it leads.", True), ("The leader.", True), ("Return the leader.", False), ("Theme the page.", False)],
)
def test_docstring_without_a_verb_is_found(tmp_path, monkeypatch, docstring, is_found):
    monkeypatch.setattr("tests.repository.language.test_docstrings.shown", lambda path: path.name)
    path = tmp_path / "example.py"
    path.write_text(f'def leader():\n    """{docstring}"""\n\n\nclass Leader:\n    """The leader."""\n')
    assert without_verb(path) == (["example.py:1"] if is_found else [])
