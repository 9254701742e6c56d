"""Differences between releases of Kafka are rows of a table in schemas/, not numbers in code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

import pytest

from tests.repository.tree import ROOT, nodes

# Which releases the simulator and the demonstration run is their own choice, and no rule; the table of node settings
# names the release that its rows begin with.
WITHOUT_RULES = (
    "kafkactl/cluster/node_settings.py", "commands/demo/scenes.py", "kafkactl/simulator/raft/",
    "kafkactl/simulator/", "commands/simulate.py",
)  # fmt: skip
MAJORS = (3, 4)  # of the releases that kafkactl knows
NAME = re.compile(r"[34]\.\d{1,2}(\.\d+)?")
FILES = [
    path
    for folder in ("kafkactl", "commands")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if not str(path.relative_to(ROOT)).startswith(WITHOUT_RULES)
]


def release_numbers(found: Iterable[ast.AST]) -> Iterator[str]:
    """Yield releases that code has as constants: `(3, 9)` that is compared or kept, `KafkaVersion(3, 9)`, and "3.9"
    alone."""
    for node in found:
        if isinstance(node, ast.Compare):
            yield from map(_line, filter(_is_release, (node.left, *node.comparators)))
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            yield from map(_line, filter(_is_release, _kept(node)))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "KafkaVersion":
            yield from map(_line, [node] if any(isinstance(given, ast.Constant) for given in node.args) else [])
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and NAME.fullmatch(node.value):
            yield _line(node)


def _kept(node: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    if isinstance(node.value, ast.Tuple) and any(isinstance(target, ast.Tuple) for target in targets):
        return node.value.elts
    return [] if node.value is None else [node.value]


def _is_release(node: ast.expr) -> bool:
    if not isinstance(node, ast.Tuple) or len(node.elts) not in (2, 3):
        return False
    values = [each.value for each in node.elts if isinstance(each, ast.Constant) and type(each.value) is int]
    return len(values) == len(node.elts) and values[0] in MAJORS


def _line(node: ast.expr) -> str:
    return f"{node.lineno}: {ast.unparse(node)}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FIRST = (3, 9)", ["1: (3, 9)"]),
        ("OLDEST, NEWEST = (3, 4, 0), (3, 6, 2)", ["1: (3, 4, 0)", "1: (3, 6, 2)"]),
        ("is_new = release >= (4, 0)", ["1: (4, 0)"]),
        ("SINCE: KafkaVersion = KafkaVersion(4, 0, 0)", ["1: KafkaVersion(4, 0, 0)"]),
        ("is_old = release.name == '3.9'", ["1: '3.9'"]),
        ("is_old = version.startswith('3.4')", ["1: '3.4'"]),
        ("PARTITION, CHANGE = 3, 5", []),
        ("REPLICAS = ((4, 5, 6), (5, 6, 4))", []),
        ("version = KafkaVersion(*numbers)", []),
        ("text = 'Kafka 3.9 does so'", []),
    ],
)
def test_release_in_code_is_found(text: str, expected: list[str]) -> None:
    assert list(release_numbers(ast.walk(ast.parse(text)))) == expected


def test_no_rule_asks_for_a_release_number() -> None:
    kinds = (ast.Compare, ast.Assign, ast.AnnAssign, ast.Call, ast.Constant)
    found = [f"{path.relative_to(ROOT)}:{line}" for path in FILES for line in release_numbers(nodes(path, *kinds))]
    assert found == [], "make it a named field of a table in schemas/ (kafkactl/protocol/schema/release_table.py)"
