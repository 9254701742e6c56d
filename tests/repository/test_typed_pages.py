"""Pages know what they show: an answer has its type from the operation to the page, so that mypy checks every name."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.repository.tree import nodes, python_files, shown

UNTYPED = {"Mapping[str, Any]", "dict[str, Any]"}

# Pages that still read an answer by names that nothing checks. The list only gets shorter.
LEFT = {
    f"commands/{name}.py"
    for name in """
    quorum/recover/collect quorum/recover/page quorum/recover/verify
    tiered/audit tiered/forecast
    tiered/leftovers tiered/observe tiered/report tiered/segments tiered/shown
    """.split()
}
OPTIONS = {"named", "given"}  # what click hands over, which is not an answer


def test_only_these_pages_read_answers_without_types() -> None:
    assert {shown(path) for path in python_files("commands") if _draws(path) and _reads_unchecked(path)} == LEFT


def _draws(path: Path) -> bool:
    return "rendering" not in path.parts and any(
        "Page" in _kinds(function).values() for function in nodes(path, ast.FunctionDef)
    )


def _reads_unchecked(path: Path) -> bool:
    """Whether a function looks up a literal name in a parameter of a type that does not know its names."""
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
