"""Regular expressions of the product: their time grows linearly with the text, whatever the text repeats.

Expressions are found in the code, as they are used there (`fullmatch`, `search` …), and tried with texts of 20,000
characters that repeat what expressions are made of. What takes longer than 10 ms is tried with a text of 4 times the
length: it may take 4 times as long, and not 16 times.
"""

from __future__ import annotations

import ast
import functools
import importlib
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.repository.tree import nodes, product_files, shown, text_of

LENGTH, TIMES = 20_000, 4
SUSPICIOUS_SECONDS = 0.01  # of the processor
GROWTH = 8  # linear is 4 times as long for a text of 4 times the length, quadratic 16 times
METHODS = ("match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer")
FIRST = ("match", "fullmatch")
_RE = ("compile", *METHODS)
# Repeated: what a part of an expression may match many times, and then fail at the end.
PIECES = (
    "a", "A", "0", "_", ".", "-", " ", "\t", "\n", "\\", "/", ":", ";", ",", "=", "@", "%", "$", "#", "\"", "'", "(",
    "[", "{", "}", "]", "\x00", "ä", "\u202e", "a.", "a-", "a=", "a,", "1.", "0-", ":0", "://", "a@", "://a@", "${",
    "{a}",
    "password=", "token ", "-----BEGIN A-----\n", "\"a\"", "\\\"", "\"\"\"", "'''", "a:1,", "1@h:1,", "a b",
    "bearer ",
)  # fmt: skip
END = "\x01"


def module_of(path: Path) -> str:
    name = shown(path).removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    return f"kafkactl.{name}" if name.partition(".")[0] in ("commands", "schemas") else name


def expressions() -> Iterator[tuple[str, re.Pattern[str], frozenset[str]]]:
    """Yield where an expression stands, what it is, and how it is used."""
    for path in product_files():
        names = {
            target.id: node.lineno
            for node in nodes(path, ast.Assign, ast.AnnAssign)
            if node.value is not None and _compiles(node.value)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
        }
        text = text_of(path)
        module = importlib.import_module(module_of(path)) if names else None
        for name, line in names.items():
            pattern = getattr(module, name, None)
            if isinstance(pattern, re.Pattern):
                used = frozenset(re.findall(rf"\b{name}\.({'|'.join(METHODS)})\b", text)) or frozenset(FIRST)
                yield f"{shown(path)}:{line} {name}", pattern, used
        for node in nodes(path, ast.Call):
            if _is_re(node.func) and node.args and isinstance(node.args[0], ast.Constant):
                method = node.func.attr  # type: ignore[attr-defined] # it is one of re's
                pattern = node.args[0].value
                yield f"{shown(path)}:{node.lineno}", re.compile(pattern), frozenset({method} - {"compile"})


def _compiles(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and _is_re(value.func) and value.func.attr == "compile"  # type: ignore[attr-defined]


def _is_re(function: ast.expr) -> bool:
    return (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id == "re"
        and function.attr in _RE
    )


@functools.cache
def found() -> tuple[tuple[str, re.Pattern[str], frozenset[str]], ...]:
    return tuple(expression for expression in expressions() if expression[2])


def too_slow(pattern: re.Pattern[str], used: frozenset[str]) -> str | None:
    """Return a piece that an expression takes too long for."""
    for piece in PIECES:
        texts = [piece * (length // len(piece)) + END for length in (LENGTH, TIMES * LENGTH)]
        given = texts if isinstance(pattern.pattern, str) else [text.encode() for text in texts]
        if (first := _seconds(pattern, used, given[0])) < SUSPICIOUS_SECONDS:
            continue
        if all(_once(pattern, used, given[1]) > GROWTH * first for _ in range(3)):
            return piece
    return None


def _seconds(pattern: re.Pattern[str], used: frozenset[str], text: str | bytes) -> float:
    """Return seconds of the processor; the least of three if it is suspicious, because other work makes a
    measurement longer."""
    first = _once(pattern, used, text)
    return min(first, *(_once(pattern, used, text) for _ in range(2))) if first >= SUSPICIOUS_SECONDS else first


def _once(pattern: re.Pattern[str], used: frozenset[str], text: str | bytes) -> float:
    began = time.process_time()
    if used & {"match"}:
        pattern.match(text)  # type: ignore[arg-type] # as the expression is
    if used & {"fullmatch"}:
        pattern.fullmatch(text)  # type: ignore[arg-type]
    if used - set(FIRST):
        for _ in pattern.finditer(text):  # type: ignore[arg-type]
            pass
    return time.process_time() - began


@pytest.mark.slow
def test_every_expression_is_linear() -> None:
    assert len(found()) > 80
    assert {method for _, _, used in found() for method in used} >= {"match", "fullmatch", "search", "sub"}
    assert {place: piece for place, pattern, used in found() if (piece := too_slow(pattern, used))} == {}


def test_slow_expression_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    # The long text takes 16 or 256 times as long, whatever the machine does meanwhile.
    for name, value in {"LENGTH": 2_500, "TIMES": 16, "GROWTH": 64, "SUSPICIOUS_SECONDS": 0.0001}.items():
        monkeypatch.setattr(sys.modules[__name__], name, value)
    assert too_slow(re.compile(r"\$\{[^}]*:"), frozenset({"search"})) == "${"
    assert too_slow(re.compile(r"\$\{[^}$]*:"), frozenset({"search"})) is None
