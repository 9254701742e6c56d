"""Mutants of a module: one small fault each, made by mutmut's operators, and a sample of them that stays the same.

mutmut's own runner changes only functions without decorators; here tables, properties and the fields of dataclasses
are changed as well, because many of kafkactl's rules are in them.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import libcst as cst

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Mutant:
    """Fault: `id` depends on the function, the code and the change, and not on what stands elsewhere."""

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
        """Return the whole module with this fault; None if that is not valid Python."""
        code = self._tree.deep_replace(self._node, self._changed).code
        try:
            compile(code, self.path, "exec")
        except SyntaxError:
            return None
        return code

    @property
    def module(self) -> str:
        """Return the module's name for an import."""
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @property
    def shown(self) -> str:
        """Return one line for a person."""
        return f"{self.id} {self.path}:{self.line} {self.function}: {self.was} -> {self.now}"


@cache
def sample(path: str, count: int) -> tuple[Mutant, ...]:
    """Choose at most `count` mutants of a file: the operators take turns, and each picks by the mutants' hashes.

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
    """Return all mutants of a file of the repository."""
    from tests.campaigns.mutation.collector import collected  # libcst: half a second

    return tuple(collected((ROOT / path).read_text(encoding="utf-8"), path))
