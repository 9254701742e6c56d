"""Small and shallow: files fit on a few screens, functions on one."""

from __future__ import annotations

import ast
from collections import Counter

from tests.repository.tree import ROOT, nodes, parsed, product_files, python_files, shown, text_of

FILE_LINES = 450
TEST_FILE_LINES = 600  # a table of cases is read from top to bottom once
FUNCTION_LINES = 70
FOLDER_FILES = 25
VAGUE = {"utils.py", "util.py", "helpers.py", "common.py", "manager.py", "base.py", "misc.py"}


def _ours() -> list:
    return product_files() + python_files("scripts", "bench", "tests")


def test_files_are_small():
    lines = {shown(path): len(text_of(path).splitlines()) for path in _ours()}
    assert not {name: size for name, size in lines.items() if size > _limit(name)}


def _limit(name: str) -> int:
    return TEST_FILE_LINES if name.startswith("tests/") else FILE_LINES


def test_folders_are_small():
    files = Counter(shown(path.parent) for path in _ours() if path.name != "__init__.py")
    assert not {folder: count for folder, count in files.items() if count > FOLDER_FILES}


def test_functions_are_small():
    too_long = {
        f"{shown(path)}:{node.lineno} {node.name}": node.end_lineno - node.lineno + 1
        for path in _ours()
        for node in nodes(path, ast.FunctionDef, ast.AsyncFunctionDef)
        if (node.end_lineno or 0) - node.lineno + 1 > FUNCTION_LINES
    }
    assert not too_long


def test_files_have_names_that_say_something():
    assert [shown(path) for path in _ours() if path.name in VAGUE] == []


def test_modules_say_what_they_are():
    without = [shown(path) for path in product_files() if not ast.get_docstring(parsed(path))]
    assert not without


def test_nothing_is_left_to_do():
    marks = ("TO" + "DO", "FIX" + "ME", "X" * 3, "NotImplemented" + "Error")
    found = [
        f"{shown(path)}: {mark}" for path in _ours() for mark in marks if mark in text_of(path) and path.parent != ROOT
    ]
    assert not found
