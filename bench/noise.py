"""Measure of the machine's noise before a benchmark: processor time of other processes, and spread of equal runs.

python -m bench.noise. Ends with 1 where others take more than a tenth of the cores, unless BENCH_ANYWAY is set; the
figures then say so in docs/proof/bench.md.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
import zlib
from pathlib import Path

from bench.side_by_side import circumstances, record

MOST_BUSY = 0.1
WATCHED_S = 5.0
RUNS = 25
_WORK = bytes(range(256)) * 40_000


def busy_share(seconds: float) -> float:
    """Return which share of all cores is in use while this process only waits."""
    before = _ticks()
    time.sleep(seconds)
    after = _ticks()
    total, idle = (sum(after) - sum(before)), (after[3] + after[4]) - (before[3] + before[4])
    return 1 - idle / total if total else 0.0


def _ticks() -> list[int]:
    """Return the ticks of all cores: user, nice, system, idle, iowait, irq, softirq, steal."""
    return [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]


def spread_of_runs(runs: int) -> tuple[float, float]:
    """Return the greatest less the least of equal runs, as shares of the median: by CPU time and on the clock."""
    taken = []
    for _ in range(runs):
        cpu, wall = time.process_time(), time.perf_counter()
        zlib.crc32(_WORK)
        taken.append((time.process_time() - cpu, time.perf_counter() - wall))
    cpus, walls = zip(*taken, strict=True)
    cpu_share, wall_share = ((max(times) - min(times)) / statistics.median(times) for times in (cpus, walls))
    return cpu_share, wall_share


def main() -> None:
    """Measure, print and record."""
    busy = busy_share(WATCHED_S)
    cpu, wall = spread_of_runs(RUNS)
    is_quiet = busy <= MOST_BUSY
    text = (
        f"Other processes took {100 * busy:.0f} % of the cores before the first benchmark; {RUNS} equal runs of a"
        f" fixed piece of work differed by {100 * cpu:.0f} % in CPU time and by {100 * wall:.0f} % on the clock, from"
        f" the least to the greatest; {circumstances()}. Figures of a machine that is not quiet (more than"
        f" {100 * MOST_BUSY:.0f} %) are to be taken by CPU time, and with their spread."
    )
    if not is_quiet and not os.environ.get("BENCH_ANYWAY"):
        print(text)
        print("The machine is not quiet: stop what else runs, or set BENCH_ANYWAY=1 to measure all the same.")
        sys.exit(1)
    record("Noise", text)


if __name__ == "__main__":
    main()
