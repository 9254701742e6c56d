"""Time and memory of a process with all processes below it: the JVM and the workers of Spark."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple


def timed(name: str, work: Callable[[], object]) -> tuple[dict[str, object], object]:
    """Seconds on the clock and of processors, and the result."""
    started, used = time.perf_counter(), _processor_s()
    found = work()
    wall, processor = time.perf_counter() - started, _processor_s() - used
    return {name: wall, f"{name} CPU": processor}, found


def _processor_s() -> float:
    """Of this process and of all below it that live."""
    ticks = os.sysconf("SC_CLK_TCK")
    tree, _ = _tree(os.getpid())
    return time.process_time() + sum(item.processor for pid, item in tree.items() if pid != os.getpid()) / ticks


class Peak:
    """The greatest memory of a process with all below it, by their resident pages."""

    def __init__(self, pid: int) -> None:
        self.mib = 0.0
        self._pid = pid
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._over.wait(0.5):
            self.mib = max(self.mib, _tree(self._pid)[1])

    def end(self) -> float:
        """In MiB."""
        self._over.set()
        self._thread.join()
        return self.mib


class _Process(NamedTuple):
    parent: int
    processor: int


def _tree(root: int) -> tuple[dict[int, _Process], float]:
    """The processes from `root` down with their ticks of a processor, those of children that ended included, and their
    resident memory in MiB."""
    found: dict[int, _Process] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            found[int(stat.parent.name)] = _Process(int(fields[1]), sum(int(field) for field in fields[11:15]))
    below = {root: found[root]} if root in found else {}
    while more := {pid: contents for pid, contents in found.items() if contents.parent in below and pid not in below}:
        below |= more
    mib = 0.0
    for pid in below:
        with suppress(OSError):
            mib += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 / 2**20
    return below, mib
