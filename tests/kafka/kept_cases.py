"""Cases of a campaign that ran already: one that ended well is not run again while the sources stay as they are."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

_ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class CaseEnd:
    """End of a case; `wrong` is what must not be. `seconds` is without `starved_s`, the wait for a processor."""

    case: str
    outcome: str
    seconds: float
    struck: bool
    wrong: tuple[str, ...]
    starved_s: float = 0.0


_Case = TypeVar("_Case")


class KeptCases:
    """The cases of a campaign that ran with these sources, by their names, in a file outside of the tree."""

    def __init__(self, campaign: str) -> None:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        self.file = cache / "kafkactl-campaigns" / f"{campaign}-{_sources()}.jsonl"
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self.ends: dict[str, CaseEnd] = {}
        lines = self.file.read_text(encoding="utf-8").splitlines() if self.file.exists() else []
        for line in lines:
            found = json.loads(line)
            end = CaseEnd(**{**found, "wrong": tuple(found["wrong"])})
            if not end.wrong:
                self.ends[end.case] = end

    def add(self, end: CaseEnd) -> None:
        """Remember how a case ended."""
        with self._lock, self.file.open("a", encoding="utf-8") as out:
            self.ends[end.case] = end
            out.write(json.dumps(dataclasses.asdict(end)) + "\n")

    def run_left(
        self, cases: Sequence[_Case], run_case: Callable[[_Case, Path], CaseEnd], folder: Path, *, at_once: int
    ) -> list[CaseEnd]:
        """Run the cases that are left, for KAFKACTL_CAMPAIGN_S seconds at most; how all ended so far, by name."""
        left = [case for case in cases if str(case) not in self.ends]
        random.Random(1).shuffle(left)  # a piece has something of everything
        until = time.monotonic() + float(os.environ.get("KAFKACTL_CAMPAIGN_S", "inf"))

        def run_next(number: int) -> None:
            if time.monotonic() < until:
                self.add(run_case(left[number], folder / str(number)))

        with ThreadPoolExecutor(at_once) as pool:
            list(pool.map(run_next, range(len(left))))
        return [self.ends[name] for name in sorted(self.ends)]


def _sources() -> str:
    """Return what the cases depend on: all of the library, its commands, and the fakes."""
    digest = hashlib.sha256()
    for folder in ("kafkactl", "commands", "tests/fakes", "tests/kafka"):
        for path in sorted((_ROOT / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
