"""The campaign: every sampled mutant is tried once; what became of it is kept, so that a run goes on where one ended.

`python -m tests.campaigns.mutation.campaign [SECONDS]` tries mutants for that long (all of them without it), then
lists what survived. The record is `record.jsonl` in this folder; a mutant is tried again when its module, the test
that caught it or, if it survived, any of the tests changed.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import tomli

from tests.campaigns.mutation.mutants import ROOT, Mutant, sample
from tests.campaigns.mutation.types import what_mypy_says

FOLDER = Path(__file__).parent
RECORD = FOLDER / "record.jsonl"
# Far more than the tests of any package need: only a loop without an end takes as long.
MOST_SECONDS = 120


@dataclass(frozen=True)
class Package:
    """A row of guarded.toml."""

    name: str
    about: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]
    mutants: int

    def sampled(self) -> list[Mutant]:
        """Return the mutants that are tried, module by module."""
        return [mutant for path in self.modules for mutant in sample(path, self.mutants)]


@dataclass(frozen=True)
class Verdict:
    """Fate of a mutant; `failed` is the first test that failed, or what mypy said, empty if nothing did.

    `typed`: mypy was asked, as it is if no test failed.
    """

    mutant: str
    failed: str
    tests: int
    seconds: float
    digest: str
    typed: bool = False


def packages() -> list[Package]:
    """Return the table, its patterns as the files that they name."""
    rows = tomli.loads((FOLDER / "guarded.toml").read_text(encoding="utf-8"))["package"]
    return [
        Package(
            name=row["name"],
            about=row["about"],
            modules=tuple(path for path in _files(row["modules"]) if not path.endswith("__init__.py")),
            tests=tuple(path for path in _files(row["tests"]) if path not in row.get("without", ())),
            mutants=row["mutants"],
        )
        for row in rows
    ]


def explained() -> dict[str, dict[str, str]]:
    """Return mutants that may survive, by id: what they are, and why no test catches them."""
    rows = tomli.loads((FOLDER / "explained.toml").read_text(encoding="utf-8")).get("mutant", [])
    return {row["id"]: row for row in rows}


def verdicts(package: Package) -> dict[str, Verdict]:
    """Return what the record says of this package's mutants and is still true."""
    kept = recorded()
    known = {}
    for mutant in package.sampled():
        verdict = kept.get(mutant.id)
        if verdict and verdict.digest == _digest_of(mutant, package, verdict.failed):
            known[mutant.id] = verdict
    return known


def try_mutants(seconds: float) -> bool:
    """Try what has not been tried; False if the time was over before all were."""
    end = time.monotonic() + seconds
    tried_all = True
    for package in packages():
        if time.monotonic() >= end:
            tried_all = False
            break
        known = verdicts(package)
        left = [mutant for mutant in package.sampled() if mutant.id not in known]
        if left:
            with Runner(package) as runner:
                left = _tried(runner, _tried(runner, left, end, afresh=False), end, afresh=True)
        tried_all = tried_all and not left
    ask_mypy()
    return tried_all


def _tried(runner: Runner, mutants: list[Mutant], end: float, *, afresh: bool) -> list[Mutant]:
    """Return those that are left to try: if an import is needed it takes longest, so it comes last."""
    left = []
    for mutant in mutants:
        verdict = runner.verdict(mutant, afresh=afresh) if time.monotonic() < end else None
        if verdict is None:
            left.append(mutant)
        else:
            record(verdict)
    return left


def ask_mypy() -> None:
    """Ask mypy of the mutants on which no test failed."""
    asked = {}
    for package in packages():
        known = verdicts(package)
        for mutant in package.sampled():
            if mutant.id in known and _is_open(known[mutant.id]):
                asked[mutant] = known[mutant.id], package
    for mutant, said in what_mypy_says(asked):
        verdict, package = asked[mutant]
        record(replace(verdict, failed=said, typed=True, digest=_digest_of(mutant, package, said)))


def compact() -> None:
    """Leave the last row of each mutant that is still in a sample, in the order of their ids."""
    sampled = {mutant.id for package in packages() for mutant in package.sampled()}
    rows = sorted((row for row in recorded().values() if row.mutant in sampled), key=lambda row: row.mutant)
    RECORD.write_text("".join(f"{json.dumps(vars(row))}\n" for row in rows), encoding="utf-8")


class Runner:
    """Runner of mutants of a package: `forked` if a function changed, else `runner` of this folder.

    Both run the tests on the code as it is first, and they have to pass.
    """

    def __init__(self, package: Package) -> None:
        self._package = package
        self._forked: subprocess.Popen[str] | None = None
        self._fresh: subprocess.Popen[str] | None = None

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_: object) -> None:
        for process in filter(None, (self._forked, self._fresh)):
            process.communicate()

    def verdict(self, mutant: Mutant, *, afresh: bool = True) -> Verdict | None:
        """Run the tests on this mutant until one fails; None if that takes an import, and not `anew`."""
        answer = self.ask_forked(mutant.path, mutant.source or "")
        if answer["code"] is None and not afresh:
            return None
        return self.verdict_again(mutant) if answer["code"] is None else self._verdict(mutant, answer)

    def verdict_again(self, mutant: Mutant) -> Verdict:
        """Return the same in a process that imports the module with the fault."""
        own = f"test_{Path(mutant.path).name}"
        order = {"own": own, "module": mutant.module, "path": mutant.path, "source": mutant.source}
        answer = self.ask(order | {"tests": self._package.tests})
        assert answer["code"] is not None, f"nothing is known of {mutant.shown}: {answer}"
        return self._verdict(mutant, answer)

    def _verdict(self, mutant: Mutant, answer: dict[str, Any]) -> Verdict:
        failed = answer["failed"] or (f"exit code {answer['code']}" if answer["code"] else "")
        digest = _digest_of(mutant, self._package, failed)
        return Verdict(mutant.id, failed, answer["tests"], round(answer["seconds"], 2), digest)

    def ask_forked(self, path: str, source: str) -> dict[str, Any]:
        """Return how the tests end that call the functions which are others in `source`; `code` None if that is
        none."""
        if self._forked is None:
            modules = (name.removesuffix(".py").replace("/", ".") for name in self._package.modules)
            self._forked = self._started("forked", *modules, "--", *self._package.tests)
            self._passed(json.loads(self._line_of(self._forked)))
        return self._asked(self._forked, {"path": path, "was": (ROOT / path).read_text("utf-8"), "source": source})

    def ask(self, order: dict[str, Any]) -> dict[str, Any]:
        """Return one order for tests.campaigns.mutation.runner and its answer."""
        if self._fresh is None:
            self._fresh = self._started("runner")
            words = {"own": "", "tests": self._package.tests, "most_seconds": MOST_SECONDS}
            self._passed(self._asked(self._fresh, words))
        return self._asked(self._fresh, {"most_seconds": MOST_SECONDS} | order)

    def _passed(self, answer: dict[str, Any]) -> None:
        if answer["code"] != 0:
            self.__exit__()
            raise AssertionError(f"the tests of {self._package.name} fail without a mutant: {answer}")

    def _started(self, module: str, *words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", f"tests.campaigns.mutation.{module}", *words]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)

    def _asked(self, process: subprocess.Popen[str], order: dict[str, Any]) -> dict[str, Any]:
        print(json.dumps(order), file=process.stdin, flush=True)
        answer: dict[str, Any] = json.loads(self._line_of(process))
        return answer

    def _line_of(self, process: subprocess.Popen[str]) -> str:
        assert process.stdout
        return process.stdout.readline()


def _is_open(verdict: Verdict) -> bool:
    return not verdict.failed and not verdict.typed


def record(verdict: Verdict) -> None:
    """Keep what became of a mutant."""
    with RECORD.open("a", encoding="utf-8") as rows:
        print(json.dumps(vars(verdict)), file=rows)


def recorded() -> dict[str, Verdict]:
    """Return the last row of each mutant, whether it is still true or not."""
    lines = RECORD.read_text(encoding="utf-8").splitlines() if RECORD.exists() else []
    return {row["mutant"]: Verdict(**row) for row in map(json.loads, lines)}


def _files(patterns: list[str]) -> Iterator[str]:
    for pattern in patterns:
        for path in sorted(ROOT.glob(pattern)):
            yield path.relative_to(ROOT).as_posix()


def _digest_of(mutant: Mutant, package: Package, failed: str) -> str:
    """Return the digest of what a verdict depends on: the module, and the file of the test that failed, or all tests
    if none did."""
    file = failed.partition("::")[0].removesuffix(" (at import)")
    tests = (file,) if (ROOT / file).is_file() else () if failed else package.tests
    return hashlib.sha256("".join(_digest(path) for path in (mutant.path, *tests)).encode()).hexdigest()[:12]


@cache
def _digest(path: str) -> str:
    whole = ROOT / path
    files = [whole] if whole.is_file() else sorted(each for each in whole.rglob("*") if each.suffix in (".py", ".txt"))
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def main() -> None:
    """Try mutants, then list the survivors that nothing explains."""
    done = try_mutants(float(sys.argv[1]) if len(sys.argv) > 1 else float("inf"))
    compact()
    reasons = explained()
    for package in packages():
        known = verdicts(package)
        found = {mutant.id: mutant for mutant in package.sampled() if mutant.id in known}
        survived = [mutant for mutant in found.values() if not known[mutant.id].failed]
        cpu_seconds = sum(verdict.seconds for verdict in known.values())
        sampled = len(package.sampled())
        print(f"{package.name}: {len(found)} of {sampled} tried, {len(survived)} survived, {cpu_seconds:.0f} s")
        for mutant in survived:
            if mutant.id not in reasons:
                print(f"  {mutant.shown}")
    print("all tried" if done else "not all tried: run it again")


if __name__ == "__main__":
    main()
