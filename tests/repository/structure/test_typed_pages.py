"""Pages know what they show: an answer has its type from the operation to the page, so that mypy checks every name."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.repository.tree import nodes, python_files, shown

UNTYPED = {"Mapping[str, Any]", "dict[str, Any]"}
OPTIONS = {"named", "given"}  # what click hands over, which is not an answer


def test_no_page_reads_an_answer_without_types() -> None:
    pages = [path for path in python_files("commands") if _draws(path)]
    assert len(pages) > 40
    assert {shown(path) for path in pages if _reads_unchecked(path)} == set()


def _draws(path: Path) -> bool:
    return "rendering" not in path.parts and any(
        "Page" in _kinds(function).values() for function in nodes(path, ast.FunctionDef)
    )


def _reads_unchecked(path: Path) -> bool:
    """Return True if a function looks up a literal name in a parameter of a type that does not know its names."""
    aliases = {
        ast.unparse(alias.targets[0]) for alias in nodes(path, ast.Assign) if ast.unparse(alias.value) in UNTYPED
    }
    for function in nodes(path, ast.FunctionDef):
        untyped = {name for name, kind in _kinds(function).items() if kind in UNTYPED | aliases and name not in OPTIONS}
        for node in ast.walk(function):
            match node:
                case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant()) if name in untyped:
                    return True
    return False


def _kinds(function: ast.FunctionDef) -> dict[str, str]:
    return {
        argument.arg: ast.unparse(argument.annotation)
        for argument in (*function.args.args, *function.args.kwonlyargs)
        if argument.annotation is not None
    }
