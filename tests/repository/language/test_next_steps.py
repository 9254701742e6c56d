"""Next steps of ids are written once, in schemas/explain: code gives one only if it knows more."""

from __future__ import annotations

import ast
import difflib
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkactl.core.explanations import explanations
from tests.repository.language.test_ids import ID_NAMES, _parameters
from tests.repository.tree import nodes, product_files, shown

LIKE = 0.8
INFORMING = {"note", "informs", "tell"}  # a finding that only informs shows no remedy of its own accord


@functools.cache
def _parameters_of_all() -> dict[str, list[str]]:
    return _parameters()


def repeated(path: Path) -> Iterator[str]:
    """Yield the calls of one file whose literal next step is the remedy of their id, or nearly."""
    constants = _constants(path)
    for call in nodes(path, ast.Call):
        given = _arguments(call)
        id, step = given.get("id"), _text(given.get("next_step"), constants)
        if step is None or not isinstance(id, ast.Constant) or id.value not in explanations() or _informs(call):
            continue
        if alike(step, explanations()[id.value].remedy):
            yield f"{shown(path)}:{call.lineno}: {id.value}: {step}"


def alike(step: str, remedy: str) -> bool:
    """Return True if two texts say nearly the same in nearly the same words."""
    match = difflib.SequenceMatcher(None, step.lower(), remedy.lower())
    return match.real_quick_ratio() > LIKE and match.quick_ratio() > LIKE and match.ratio() > LIKE


def _arguments(call: ast.Call) -> dict[str, ast.expr]:
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    given = dict(zip(_parameters_of_all().get(name, ()), call.args, strict=False))
    given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    return {"id" if name in ID_NAMES else name: value for name, value in given.items()}


def _constants(path: Path) -> dict[str, str]:
    return {
        node.targets[0].id: node.value.value
        for node in nodes(path, ast.Assign)
        if isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    }


def _text(node: ast.expr | None, constants: dict[str, str]) -> str | None:
    if isinstance(node, ast.Name):
        return constants.get(node.id)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _informs(call: ast.Call) -> bool:
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    words = {node.attr if isinstance(node, ast.Attribute) else node.id for node in ast.walk(call)
             if isinstance(node, ast.Attribute | ast.Name)}  # fmt: skip
    return name in INFORMING or bool(words & {"INFO", "_INFO"})


def test_no_next_step_repeats_the_remedy_of_its_id():
    found = [where for path in product_files() for where in repeated(path)]
    assert not found, "leave next_step out: the remedy in schemas/explain is shown"


def test_repeated_remedy_is_found(tmp_path, monkeypatch):
    remedy = explanations()["zookeeper-mode-node"].remedy
    path = tmp_path / "example.py"
    path.write_text(
        f"STEP = {remedy!r}\n"
        "blocker('zookeeper-mode-node', 'node 1', 'text', STEP)\n"
        f"InputError('text', id='zookeeper-mode-node', next_step={remedy.lower()!r})\n"
        "blocker('zookeeper-mode-node', 'node 1', 'text', 'Format node 3 with the id on its disk.')\n"
        "note('zookeeper-mode-node', 'node 1', 'text', STEP)\n"
    )
    monkeypatch.setattr("tests.repository.language.test_next_steps.shown", lambda path: path.name)
    assert [where.split(": ")[0] for where in repeated(path)] == ["example.py:2", "example.py:3"]


@pytest.mark.parametrize(("step", "expected"), [("Set log.dirs.", True), ("Set log.dirs", True), ("Mount it.", False)])
def test_similar_steps_are_found(step, expected):
    assert alike(step, "Set log.dirs.") is expected
