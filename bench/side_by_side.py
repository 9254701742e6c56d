"""Runs of commands in turn, so that a slow minute of the machine hits all of them, and their figures: time and
memory of a process with all processes below it, such as the JVM and the workers of Spark."""

from __future__ import annotations

import os
import platform
import re
import statistics
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from bench.installed import ROOT

REPORT = ROOT / "docs" / "proof" / "bench.md"


@dataclass(frozen=True)
class Sample:
    """Costs of one process: CPU time of itself and its children, and time on the clock, in milliseconds."""

    cpu_ms: float
    wall_ms: float


@dataclass(frozen=True)
class Figures:
    """Medians of all samples of one command, and the least and greatest."""

    cpu_ms: float
    wall_ms: float
    runs: int
    cpu_range_ms: tuple[float, float]
    wall_range_ms: tuple[float, float]

    def spread(self) -> str:
        """Return how far apart the runs were: CPU and wall time from least to greatest, in percent of the medians."""
        cpu, wall = (
            f"{100 * (greatest - least) / median:.0f} %"
            for (least, greatest), median in (
                (self.cpu_range_ms, self.cpu_ms),
                (self.wall_range_ms, self.wall_ms),
            )
        )
        return f"{cpu} / {wall}"


SPREAD = "spread (CPU / wall)"
_EVERY_S: Final = 0.3


def measure(command: Sequence[str], *, environment: Mapping[str, str] | None = None) -> Sample:
    """Run a command to its end with its output thrown away. Raises RuntimeError if it fails."""
    devnull = os.open(os.devnull, os.O_RDWR)
    actions = [(os.POSIX_SPAWN_DUP2, devnull, number) for number in (0, 1, 2)]
    started = time.perf_counter()
    pid = os.posix_spawn(command[0], list(command), dict(environment or os.environ), file_actions=actions)
    _, status, usage = os.wait4(pid, 0)
    wall_ms = (time.perf_counter() - started) * 1000
    os.close(devnull)
    if status:
        raise RuntimeError(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return Sample((usage.ru_utime + usage.ru_stime) * 1000, wall_ms)


def interleaved(commands: Mapping[str, Callable[[], Sample]], runs: int) -> dict[str, Figures]:
    """Return medians by name; one round that is not counted warms the caches."""
    samples: dict[str, list[Sample]] = {name: [] for name in commands}
    for turn in range(runs + 1):
        for name, run in commands.items():
            sample = run()
            if turn:
                samples[name].append(sample)
    return {name: _figures(taken) for name, taken in samples.items()}


def _figures(taken: Sequence[Sample]) -> Figures:
    cpu, wall = [sample.cpu_ms for sample in taken], [sample.wall_ms for sample in taken]
    ranges = (min(cpu), max(cpu)), (min(wall), max(wall))
    return Figures(statistics.median(cpu), statistics.median(wall), len(taken), *ranges)


def record(section: str, text: str) -> None:
    """Put a section into docs/proof/bench.md, in place of the one of this name, and print it."""
    body = f"## {section}\n\n{text.strip()}\n"
    old = REPORT.read_text(encoding="utf-8") if REPORT.exists() else "# Benchmarks\n\nWritten by `make bench`.\n"
    head, *sections = re.split(r"(?m)^(?=## )", old)
    kept = [item.rstrip() for item in sections if not item.startswith(f"## {section}\n")]
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text("\n\n".join([head.rstrip(), *kept, body.rstrip()]) + "\n", encoding="utf-8")
    print(body)


def circumstances() -> str:
    """Return when and on what the figures were taken, and how many processes wanted a core in the last minute."""
    cores, load = os.cpu_count(), os.getloadavg()[0]
    machine = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return f"{time.strftime('%Y-%m-%d')}, {cores} cores, load {load:.0f}, {machine}"


def version_line(path: Path) -> str:
    """Return the first line of a file, for versions that are written down in one."""
    return path.read_text(encoding="utf-8").splitlines()[0]


def timed(name: str, work: Callable[[], object]) -> tuple[dict[str, object], object]:
    """Return seconds on the clock and of processors, and the result."""
    started, used = time.perf_counter(), _processor_s()
    found = work()
    wall, processor = time.perf_counter() - started, _processor_s() - used
    return {name: wall, f"{name} CPU": processor}, found


def _processor_s() -> float:
    """Return the processor time in s of this process and of its living descendants."""
    ticks = os.sysconf("SC_CLK_TCK")
    tree, _ = _tree(os.getpid())
    return time.process_time() + sum(item.processor for pid, item in tree.items() if pid != os.getpid()) / ticks


class Peak:
    """The greatest value of a measure that is taken again and again until `end`."""

    def __init__(self, measure: Callable[[], float]) -> None:
        self._measure = measure
        self._greatest = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._ended.wait(_EVERY_S):
            self._greatest = max(self._greatest, self._measure())

    def end(self) -> float:
        """Return the greatest value."""
        self._ended.set()
        self._thread.join()
        return self._greatest


def resident_mib(root: int) -> float:
    """Return the memory of a process with all below it, by their resident pages."""
    return _tree(root)[1]


def below(root: int) -> set[int]:
    """Return the processes from `root` down."""
    return set(_tree(root)[0])


class _Process(NamedTuple):
    parent: int
    processor: int


def _tree(root: int) -> tuple[dict[int, _Process], float]:
    """Return the processes from `root` down with their ticks of a processor, those of children that ended included, and
    their resident memory in MiB."""
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
