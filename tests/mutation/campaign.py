"""The campaign: every sampled mutant is tried once; what became of it is kept, so that a run goes on where one ended.

`python -m tests.mutation.campaign [SECONDS]` tries mutants for that long (all of them without it), then lists what
survived. The record is `.bench/mutation.jsonl`; a mutant is tried again when its module, the test that caught it or, if
it survived, any of the tests changed.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import tomli

from tests.mutation.mutants import ROOT, Mutant, sample

FOLDER = Path(__file__).parent
RECORD = ROOT / ".bench" / "mutation.jsonl"
CACHE = ROOT / ".bench" / "mutation-mypy"
MYPY = "mypy: "
# Far more than the tests of any package need: only a loop without an end takes as long.
MOST_SECONDS = 120


@dataclass(frozen=True)
class Package:
    """A row of guarded.toml."""

    name: str
    about: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]
    wider: tuple[str, ...]
    mutants: int

    def sampled(self) -> list[Mutant]:
        """The mutants that are tried, module by module."""
        return [mutant for path in self.modules for mutant in sample(path, self.mutants)]


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant; `failed` is the first test that failed, or what mypy said, empty where nothing did."""

    mutant: str
    failed: str
    tests: int
    seconds: float
    digest: str


def packages() -> list[Package]:
    """The table, its patterns as the files that they name."""
    rows = tomli.loads((FOLDER / "guarded.toml").read_text(encoding="utf-8"))["package"]
    return [
        Package(
            name=row["name"],
            about=row["about"],
            modules=tuple(path for path in _files(row["modules"]) if not path.endswith("__init__.py")),
            tests=tuple(path for path in _files(row["tests"]) if path not in row.get("without", ())),
            wider=tuple(_files(row["wider"])),
            mutants=row["mutants"],
        )
        for row in rows
    ]


def explained() -> dict[str, dict[str, str]]:
    """Mutants that may survive, by id: what they are, and why no test catches them."""
    rows = tomli.loads((FOLDER / "explained.toml").read_text(encoding="utf-8")).get("mutant", [])
    return {row["id"]: row for row in rows}


def verdicts(package: Package) -> dict[str, Verdict]:
    """What the record says of this package's mutants and is still true."""
    kept = {}
    if RECORD.exists():
        for line in RECORD.read_text(encoding="utf-8").splitlines():
            verdict = Verdict(**json.loads(line))
            kept[verdict.mutant] = verdict
    known = {}
    for mutant in package.sampled():
        verdict = kept.get(mutant.id)
        if verdict and verdict.digest == _digest_of(mutant, package, verdict.failed):
            known[mutant.id] = verdict
    return known


def try_mutants(seconds: float) -> bool:
    """Try what has not been tried; False where the time was over before all were."""
    end = time.monotonic() + seconds
    RECORD.parent.mkdir(exist_ok=True)
    for package in packages():
        known = verdicts(package)
        left = [mutant for mutant in package.sampled() if mutant.id not in known]
        if left and time.monotonic() < end:
            with Runner(package) as runner, RECORD.open("a", encoding="utf-8") as record:
                while left and time.monotonic() < end:
                    verdict = runner.verdict(left.pop(0))
                    print(json.dumps(vars(verdict)), file=record, flush=True)
        if left:
            return False
    return True


class Runner:
    """A process of tests.mutation.runner, whose tests pass on the code as it is."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.mutation.runner"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
        )  # fmt: skip

    def __enter__(self) -> Runner:
        # Once to import what mutants share, and once more under the conditions of a mutant.
        for _ in range(2):
            answer = self.ask({"own": "", "tests": self._package.tests + self._package.wider})
            if answer["code"] != 0:
                self.__exit__()
                raise AssertionError(f"the tests of {self._package.name} fail without a mutant: {answer}")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def verdict(self, mutant: Mutant) -> Verdict:
        """Run the quick tests on this mutant, then the wider ones, then mypy, until something fails."""
        own = f"test_{Path(mutant.path).name}"
        order = {"own": own, "module": mutant.module, "path": mutant.path, "source": mutant.source}
        failed, tests, seconds = "", 0, 0.0
        for words in filter(None, (self._package.tests, self._package.wider)):
            answer = self.ask(order | {"tests": words})
            assert answer["code"] is not None, f"the runner failed, which says nothing of {mutant.shown}: {answer}"
            failed = answer["failed"] or (f"exit code {answer['code']}" if answer["code"] else "")
            tests, seconds = tests + answer["tests"], seconds + answer["seconds"]
            if failed:
                break
        failed = failed or what_mypy_says(mutant)
        return Verdict(mutant.id, failed, tests, round(seconds, 2), _digest_of(mutant, self._package, failed))

    def ask(self, order: dict[str, Any]) -> dict[str, Any]:
        """One order and its answer."""
        assert self._process.stdin and self._process.stdout
        print(json.dumps({"most_seconds": MOST_SECONDS} | order), file=self._process.stdin, flush=True)
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer


def what_mypy_says(mutant: Mutant) -> str:
    """Its first complaint, which ends `make check`; empty where it has none."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", suffix=".py", encoding="utf-8") as shadow:
        shadow.write(mutant.source or "")
        shadow.flush()
        command = [sys.executable, "-m", "mypy", "--cache-dir", str(CACHE), "--no-error-summary"]
        command += ["--shadow-file", mutant.path, shadow.name]
        run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    complaints = [line for line in run.stdout.splitlines() if ": error: " in line]
    return f"{MYPY}{complaints[0].partition(': error: ')[2]}" if complaints else ""


def _files(patterns: list[str]) -> Iterator[str]:
    for pattern in patterns:
        for path in sorted(ROOT.glob(pattern)):
            yield path.relative_to(ROOT).as_posix()


def _digest_of(mutant: Mutant, package: Package, failed: str) -> str:
    """Of what a verdict depends on: the module, and the file of the test that failed, or all tests where none did."""
    file = failed.partition("::")[0].removesuffix(" (at import)")
    tests = (file,) if (ROOT / file).is_file() else () if failed else package.tests + package.wider
    return hashlib.sha256("".join(_digest(path) for path in (mutant.path, *tests)).encode()).hexdigest()[:12]


@cache
def _digest(path: str) -> str:
    whole = ROOT / path
    files = [whole] if whole.is_file() else sorted(each for each in whole.rglob("*") if each.suffix in (".py", ".txt"))
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def main() -> None:
    """Try mutants, then list the survivors that nothing explains."""
    done = try_mutants(float(sys.argv[1]) if len(sys.argv) > 1 else float("inf"))
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
