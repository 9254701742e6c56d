"""Mutants of a module, found with libcst, which is imported by nothing else here: half a second a process."""

from __future__ import annotations

import hashlib
from collections import Counter

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators

from tests.campaigns.mutation.mutants import Mutant

_OPERATOR = "operator_"
_CONTEXT = 24


def collected(source: str, path: str) -> list[Mutant]:
    """Return all mutants of the source of a file."""
    wrapper = MetadataWrapper(cst.parse_module(source))
    collector = _Collector(wrapper.module, path)
    wrapper.visit(collector)
    return collector.found


class _Collector(cst.CSTVisitor):
    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self, module: cst.Module, path: str) -> None:
        super().__init__()
        self.found: list[Mutant] = []
        self._module = module
        self._path = path
        self._lines = module.code.splitlines()
        self._names: list[str] = []
        self._seen: Counter[tuple[str, ...]] = Counter()

    def on_visit(self, node: cst.CSTNode) -> bool:
        if _never_changed(node):
            return False
        if isinstance(node, cst.FunctionDef | cst.ClassDef):
            self._names.append(node.name.value)
        for kind, operator in mutation_operators:
            if isinstance(node, kind):
                for changed in operator(node):
                    self._add(node, changed, operator.__name__.removeprefix(_OPERATOR))
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if isinstance(original_node, cst.FunctionDef | cst.ClassDef):
            self._names.pop()

    def _add(self, node: cst.CSTNode, changed: cst.CSTNode, operator: str) -> None:
        line = self.get_metadata(PositionProvider, node).start.line
        function = ".".join(self._names) or "(module)"
        was, now = _one_line(self._module.code_for_node(node)), _one_line(self._module.code_for_node(changed))
        # An operator alone says too little: its whole line is part of the key.
        around = self._lines[line - 1].strip()
        key = (function, operator, around, was, now)
        self._seen[key] += 1
        digest = hashlib.sha256("\0".join((self._path, *key, str(self._seen[key]))).encode()).hexdigest()
        was, now = _apart(was, now)
        if len(was) < 4:
            was = f"{was} in {around}"
        self.found.append(
            Mutant(digest[:8], self._path, function, line, operator, was, now, self._module, node, changed)
        )


def _never_changed(node: cst.CSTNode) -> bool:
    """Return True for what does not affect behaviour: annotations, imports, decorators, `__all__`, sentences (strings
    with a space)."""
    if isinstance(node, cst.SimpleString):
        return " " in node.value
    if isinstance(node, cst.Assign):
        target = node.targets[0].target
        return isinstance(target, cst.Name) and target.value == "__all__"
    return isinstance(node, cst.Annotation | cst.Import | cst.ImportFrom | cst.Decorator)


def _one_line(code: str) -> str:
    return " ".join(code.split())


def _apart(was: str, now: str) -> tuple[str, str]:
    """Return two long texts where they differ, with some characters around that."""
    before = _shared(was, now)
    after = _shared(was[before:][::-1], now[before:][::-1])
    start = max(0, before - _CONTEXT)
    parts = []
    for text in (was, now):
        end = min(len(text), len(text) - after + _CONTEXT)
        parts.append(("…" if start else "") + text[start:end] + ("…" if end < len(text) else ""))
    return parts[0], parts[1]


def _shared(was: str, now: str) -> int:
    """Return how many characters both begin with."""
    pairs = enumerate(zip(was, now, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(was), len(now)))
