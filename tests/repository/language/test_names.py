"""Variables are named for what they hold."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.repository.tree import nodes, product_files, python_files, shown

BANNED = {"one"}


def badly_named(path: Path) -> Iterator[str]:
    """Yield where one file gives a value a name that says nothing of it."""
    for node in nodes(path, ast.Name, ast.arg):
        name = node.arg if isinstance(node, ast.arg) else node.id if isinstance(node.ctx, ast.Store) else ""
        if name in BANNED:
            yield f"{shown(path)}:{node.lineno}"


def test_variables_are_named_for_what_they_hold():
    paths = [*product_files(), *python_files("tests", "scripts", "bench")]
    found = [where for path in paths for where in badly_named(path)]
    assert not found, "name the variable for what it holds: finding, voter, path"


def test_a_bad_name_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.repository.language.test_names.shown", lambda path: path.name)
    path = tmp_path / "example.py"
    path.write_text("for one in voters:\n    print(one)\nids = [voter.id for voter in voters]\n"
                    "def first(one):\n    return one\nlast = max(voters, key=lambda one: one.id)\n")  # fmt: skip
    assert sorted(badly_named(path)) == ["example.py:1", "example.py:4", "example.py:6"]
