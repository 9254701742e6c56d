"""Mutants of a module: one small fault each, made by mutmut's operators, and a sample of them that stays the same.

mutmut's own runner changes only functions without decorators; here tables, properties and the fields of dataclasses
are changed as well, because many of kafkactl's rules are in them.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import islice, zip_longest
from pathlib import Path

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators

ROOT = Path(__file__).parents[2]
_OPERATOR = "operator_"
_CONTEXT = 24


@dataclass(frozen=True)
class Mutant:
    """One fault: `id` depends on the function, the code and the change, and not on what stands elsewhere."""

    id: str
    path: str
    function: str
    line: int
    operator: str
    was: str
    now: str
    _tree: cst.Module = field(repr=False, compare=False)
    _node: cst.CSTNode = field(repr=False, compare=False)
    _changed: cst.CSTNode = field(repr=False, compare=False)

    @cached_property
    def source(self) -> str | None:
        """The whole module with this fault; None if that is not valid Python."""
        tree = self._tree.deep_replace(self._node, self._changed)
        assert isinstance(tree, cst.Module)
        try:
            compile(tree.code, self.path, "exec")
        except SyntaxError:
            return None
        return tree.code

    @property
    def module(self) -> str:
        """The module's name for an import."""
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @property
    def shown(self) -> str:
        """One line for a person."""
        return f"{self.id} {self.path}:{self.line} {self.function}: {self.was} -> {self.now}"


@cache
def sample(path: str, count: int) -> tuple[Mutant, ...]:
    """At most `count` mutants of a file: the operators take turns, and each picks by the mutants' ids: hashes.

    So a change of one function leaves the mutants of the others in the sample, and a larger sample holds the smaller.
    """
    by_operator = defaultdict(list)
    for mutant in mutants_of(path):
        by_operator[mutant.operator].append(mutant)
    # Another order for each file, or few operators would have all of the first turn.
    names = sorted(by_operator, key=lambda operator: hashlib.sha256(f"{path} {operator}".encode()).digest())
    columns = [sorted(by_operator[name], key=lambda mutant: mutant.id) for name in names]
    turns = (mutant for turn in zip_longest(*columns) for mutant in turn)
    return tuple(islice((mutant for mutant in turns if mutant and mutant.source), count))


@cache
def mutants_of(path: str) -> tuple[Mutant, ...]:
    """All mutants of a file of the repository."""
    wrapper = MetadataWrapper(cst.parse_module((ROOT / path).read_text(encoding="utf-8")))
    collector = _Collector(wrapper.module, path)
    wrapper.visit(collector)
    return tuple(collector.found)


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
    """What does not affect behaviour: annotations, imports, decorators, `__all__`, sentences (strings with a space)."""
    if isinstance(node, cst.SimpleString):
        return " " in node.value
    if isinstance(node, cst.Assign):
        target = node.targets[0].target
        return isinstance(target, cst.Name) and target.value == "__all__"
    return isinstance(node, cst.Annotation | cst.Import | cst.ImportFrom | cst.Decorator)


def _one_line(code: str) -> str:
    return " ".join(code.split())


def _apart(was: str, now: str) -> tuple[str, str]:
    """Two long texts where they differ, with some characters around that."""
    before = _shared(was, now)
    after = _shared(was[before:][::-1], now[before:][::-1])
    start = max(0, before - _CONTEXT)
    parts = []
    for text in (was, now):
        end = min(len(text), len(text) - after + _CONTEXT)
        parts.append(("…" if start else "") + text[start:end] + ("…" if end < len(text) else ""))
    return parts[0], parts[1]


def _shared(was: str, now: str) -> int:
    """How many characters both begin with."""
    pairs = enumerate(zip(was, now, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(was), len(now)))
