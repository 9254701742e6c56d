"""Fields of an answer are written once: those of a class are its JSON, without a method that copies them.

docs/decisions/0004-output.md has the rule, and why there is an exception.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.repository.tree import nodes, python_files, shown

# One answer may have thousands of them, and a method of its own is five times as fast.
FOR_SPEED = {"kafkactl/core/findings.py Finding"}


def test_no_method_copies_the_fields_of_its_class() -> None:
    copies = {name for name, _, method in _methods() if _only_copies(method)}
    assert copies == FOR_SPEED


def test_no_class_has_a_typed_dictionary_in_addition() -> None:
    assert {name for name, _, method in _methods() if _is_typed(method)} == set()


def test_json_is_made_of_what_the_class_has() -> None:
    calls = list(_calls())
    assert len(calls) > 20
    unknown = {
        f"{name}: {entry}"
        for name, declared, call in calls
        for entry in map(_text, call.args)
        if _first(entry) not in _members(declared)
    }
    assert unknown == set()


@pytest.mark.parametrize(
    ("body", "copies"),
    [
        ('return {"id": self.id, "mode": self.mode.value, "parts": [part.to_dict() for part in self.parts]}', True),
        ('seen = self.seen\n    return {"id": seen.id, "log": None if seen.log is None else seen.log.to_dict()}', True),
        ("return asdict(self)", True),
        ('return {"id": self.id, "count": len(self.parts)}', False),
        ('return {"id": self.id, "kind": "log"}', False),
        ('return {"ids": sorted(self.ids)}', False),
    ],
)
def test_method_that_only_copies_fields_is_found(body: str, copies: bool) -> None:
    method = ast.parse(f"def to_dict(self):\n    {body}\n").body[0]
    assert isinstance(method, ast.FunctionDef)
    assert _only_copies(method) is copies


def _methods() -> Iterator[tuple[str, ast.ClassDef, ast.FunctionDef]]:
    for path in python_files("kafkactl"):
        for declared in nodes(path, ast.ClassDef):
            for method in declared.body:
                if isinstance(method, ast.FunctionDef) and method.name == "to_dict":
                    yield f"{shown(path)} {declared.name}", declared, method


def _calls() -> Iterator[tuple[str, ast.ClassDef, ast.Call]]:
    for path in python_files("kafkactl"):
        for declared in nodes(path, ast.ClassDef):
            for statement in declared.body:
                match statement:
                    case ast.Assign(value=ast.Call(func=ast.Name(id="json_of")) as call):
                        yield f"{shown(path)} {declared.name}", declared, call


def _only_copies(method: ast.FunctionDef) -> bool:
    """Return True if each entry is a field, or a part of one, in its JSON type, in a method without parameters."""
    arguments = method.args
    if len(arguments.args) > 1 or arguments.kwonlyargs:
        return False
    known = {"self"}
    for statement in method.body:
        match statement:
            case ast.Expr(value=ast.Constant()):
                continue
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_path(value, known):
                known.add(name)
            case ast.Return(value=ast.Dict(values=values)):
                return all(_is_copy(value, known) for value in values)
            case ast.Return(value=ast.Call(func=ast.Name(id="asdict"))):
                return True
            case _:
                return False
    return False


def _is_copy(value: ast.expr, known: set[str]) -> bool:
    match value:
        case ast.Call(func=ast.Name(id="list" | "dict" | "str"), args=[inner], keywords=[]):
            return _is_path(inner, known)
        case ast.Call(func=ast.Attribute(value=inner, attr="to_dict"), args=[], keywords=[]):
            return _is_path(inner, known)
        case ast.ListComp(elt=element, generators=[ast.comprehension(target=ast.Name(id=name), iter=inner, ifs=[])]):
            return _is_path(inner, known) and ast.unparse(element) in (f"{name}.to_dict()", f"{name}.value")
        case ast.IfExp(test=ast.Compare(left=left, ops=[ast.Is()]), body=ast.Constant(value=None), orelse=inner) if (
            _is_path(left, known)
        ):
            return _is_copy(inner, known)
    return _is_path(value, known)


def _is_path(value: ast.expr, known: set[str]) -> bool:
    while isinstance(value, ast.Attribute):
        value = value.value
    return isinstance(value, ast.Name) and value.id in known


def _is_typed(method: ast.FunctionDef) -> bool:
    return method.returns is not None and not ast.unparse(method.returns).startswith("dict[")


def _text(argument: ast.expr) -> str:
    assert isinstance(argument, ast.Constant)
    return str(argument.value)


def _first(entry: str) -> str:
    """Return the attribute of the class that an entry of `json_of` begins with."""
    return entry.removeprefix("**").rpartition("=")[2].partition(".")[0]


def _members(declared: ast.ClassDef) -> set[str]:
    fields = {ast.unparse(field.target) for field in declared.body if isinstance(field, ast.AnnAssign)}
    return fields | {method.name for method in declared.body if isinstance(method, ast.FunctionDef)}
