"""Ids of errors and findings: every one that the code can say is explained, and every explained one is said."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kafkactl.core.explanations import explanations
from tests.repository.tree import nodes, product_files, shown

ID_NAMES = ("id", "id_", "finding_id", "error_id")
KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def _said() -> dict[str, str]:
    """Return ids that the product gives to an error or finding, with the first place of each.

    An id is what is passed as `id` (or `id_`), by keyword or by position, to anything that is defined in the product.
    """
    found: dict[str, str] = {}
    parameters = _parameters()
    for path in product_files():
        for call in nodes(path, ast.Call):
            for value in _id_arguments(call, parameters):
                for literal in _strings(value):
                    found.setdefault(literal, f"{shown(path)}:{value.lineno}")
    return found


def _parameters() -> dict[str, list[str]]:
    """Return names of the positional parameters by function or class; for a class, its fields. A name with two
    different lists is left out."""
    found: dict[str, list[str]] = {}
    ambiguous = set()
    for path in product_files():
        for node in nodes(path, ast.FunctionDef, ast.ClassDef):
            if isinstance(node, ast.FunctionDef):
                names = [arg.arg for arg in node.args.args if arg.arg not in ("self", "cls")]
            else:
                names = [
                    field.target.id
                    for field in node.body
                    if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
                ]
            if found.setdefault(node.name, names) != names and ("id" in names) != ("id" in found[node.name]):
                ambiguous.add(node.name)
    return {name: names for name, names in found.items() if name not in ambiguous}


def _id_arguments(call: ast.Call, parameters: dict[str, list[str]]) -> Iterator[ast.expr]:
    yield from (keyword.value for keyword in call.keywords if keyword.arg in ID_NAMES)
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    for parameter, value in zip(parameters.get(name, ()), call.args, strict=False):
        if parameter in ID_NAMES:
            yield value


def _strings(node: ast.expr) -> list[str]:
    """Return the texts that this expression can be: a literal, or the arms of a condition."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.IfExp):
        return _strings(node.body) + _strings(node.orelse)
    return []


def _literals() -> set[str]:
    return {
        node.value
        for path in product_files()
        for node in nodes(path, ast.Constant)
        if isinstance(node.value, str) and KEBAB.fullmatch(node.value)
    }


def test_every_id_that_is_said_is_explained():
    unexplained = {id: where for id, where in _said().items() if id not in explanations()}
    assert not unexplained


def test_every_explained_id_is_said_somewhere():
    assert sorted(set(explanations()) - _literals()) == []


def test_ids_are_words_in_kebab_case():
    assert [id for id in explanations() if not KEBAB.fullmatch(id)] == []


def test_explanations_are_sentences():
    for explanation in explanations().values():
        for text in (explanation.cause, explanation.consequence, explanation.remedy):
            assert text == text.strip(), (explanation.id, text)
            assert text[0].isupper() or text.startswith(("kafkactl", "`", "'")), (explanation.id, text)
            assert text.rstrip()[-1] in ".`)?!", (explanation.id, text)
