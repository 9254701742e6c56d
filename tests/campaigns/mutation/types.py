"""Type errors of mutants from `mypy --strict`, for many mutants of different modules in one run.

Annotations are not mutated, and strict mode requires them everywhere: a fault in one module changes no type in another,
but for a constant without an annotation. So an error belongs to the mutant of the module that it names; after an
error in a module without a mutant, the mutants are checked one by one.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.campaigns.mutation.mutants import ROOT, Mutant

MYPY = "mypy: "
CACHE = ROOT / ".bench" / "mutation-mypy"
_ERROR = ": error: "


def what_mypy_says(mutants: Iterable[Mutant]) -> Iterator[tuple[Mutant, str]]:
    """Yield each mutant with the first complaint of its module, which ends `make check`; empty if there is none."""
    left = list(mutants)
    while left:
        batch = {mutant.path: mutant for mutant in reversed(left)}
        left = [mutant for mutant in left if batch[mutant.path] is not mutant]
        complaints = _complaints(list(batch.values()))
        if set(complaints) <= set(batch):
            yield from ((mutant, complaints.get(path, "")) for path, mutant in batch.items())
            continue
        for mutant in batch.values():
            yield mutant, next(iter(_complaints([mutant]).values()), "")


def _complaints(mutants: list[Mutant]) -> dict[str, str]:
    """Return the first complaint of each file."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="kafkactl-mypy-") as folder:
        words = []
        for number, mutant in enumerate(mutants):
            shadow = Path(folder) / f"{number}.py"
            shadow.write_text(mutant.source or "", encoding="utf-8")
            words += ["--shadow-file", mutant.path, str(shadow)]
        command = [sys.executable, "-m", "mypy", "--cache-dir", str(CACHE), "--no-error-summary", *words]
        run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    first: dict[str, str] = {}
    for line in run.stdout.splitlines():
        place, found, words_of_mypy = line.partition(_ERROR)
        if found:
            first.setdefault(place.partition(":")[0], f"{MYPY}{words_of_mypy}")
    return first
