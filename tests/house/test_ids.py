"""Ids of errors and findings: every one that the code can say is explained, and every explained one is said."""

from __future__ import annotations

import ast
import re

from kafkactl.schema.explanations import explanations
from tests.house.tree import parsed, product_files, shown

KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def _said() -> dict[str, str]:
    """Ids given by keyword `id=` anywhere in the product, with the first place of each."""
    found: dict[str, str] = {}
    for path in product_files():
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.keyword) and node.arg == "id":
                for literal in _strings(node.value):
                    found.setdefault(literal, f"{shown(path)}:{node.value.lineno}")
    return found


def _strings(node: ast.expr) -> list[str]:
    """The texts that this expression can be: a literal, or the arms of a condition."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.IfExp):
        return _strings(node.body) + _strings(node.orelse)
    return []


def _literals() -> set[str]:
    return {
        node.value
        for path in product_files()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and KEBAB.fullmatch(node.value)
    }


def test_every_id_that_is_said_is_explained():
    unexplained = {id: where for id, where in _said().items() if id not in explanations()}
    assert not unexplained


def test_every_explained_id_is_said_somewhere():
    assert sorted(set(explanations()) - _literals()) == []


def test_ids_are_words_in_kebab_case():
    assert [id for id in explanations() if not KEBAB.fullmatch(id)] == []


def test_explanations_are_sentences():
    for one in explanations().values():
        for text in (one.cause, one.consequence, one.remedy):
            assert text == text.strip(), (one.id, text)
            assert text[0].isupper() or text.startswith(("kafkactl", "`", "'")), (one.id, text)
            assert text.rstrip()[-1] in ".`)?!", (one.id, text)
