"""Benchmark of `kafkactl dryrun report --html` over the log of a cluster of 200,000 partitions.

python -m bench.report [PARTITIONS]. Time on the clock, processor time of all its processes, and the peak memory of
the largest of them, of three runs.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.installed import ROOT
from bench.log_shape import Expected, described
from bench.side_by_side import circumstances, record

PARTITIONS = 200_000
RUNS = 3
GOAL_S = 15.0
GOAL_MB = 500.0
_HARM_FOUND = 7  # the report's exit code: some brokers of such a cluster cannot be lost without harm


def main() -> None:
    """Measure, print and record."""
    partitions = int(sys.argv[1]) if len(sys.argv) > 1 else PARTITIONS
    with tempfile.TemporaryDirectory(prefix="kafkactl-bench-") as scratch:
        folder = Path(scratch)
        expected = _written(folder, partitions)
        log, page = folder / "__cluster_metadata-0", folder / "report.html"
        command = [sys.executable, "-m", "kafkactl", "dryrun", "report", str(log), "--html", str(page)]
        load = os.getloadavg()[0]
        runs = [_run(command) for _ in range(RUNS)]
        size = page.stat().st_size
    walls = sorted(wall for wall, _, _ in runs)
    seconds, peak_mb = statistics.median(walls), max(peak for _, _, peak in runs)
    text = [
        f"{described(expected)}, {partitions:,} partitions on 40 brokers; {RUNS} runs, load {load:.0f} before;"
        f" {circumstances()}.\n",
        f"{seconds:.1f} s ({walls[0]:.1f} to {walls[-1]:.1f}), {statistics.median(cpu for _, cpu, _ in runs):.1f} s of"
        f" processor time, {peak_mb:.0f} MB in the largest process; a page of {size / 1e6:.1f} MB."
        f" Goal: {GOAL_S:.0f} s ({_verdict(seconds <= GOAL_S)}) and {GOAL_MB:.0f} MB ({_verdict(peak_mb <= GOAL_MB)}).",
    ]
    if partitions >= PARTITIONS:
        record("Dry-run report", "\n".join(text))
    else:
        print("\n".join(text))


def _run(command: list[str]) -> tuple[float, float, float]:
    """Return seconds on the clock and of the processors, and megabytes. Raises RuntimeError for another end than is
    right."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != _HARM_FOUND:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6


def _written(folder: Path, partitions: int) -> Expected:
    """Return the log, by a process of its own: a child's peak begins with what its parent had in memory."""
    sizes = {"--records": 3 * partitions, "--partitions": partitions, "--brokers": 40}
    options = [text for name, size in sizes.items() for text in (name, str(size))]
    subprocess.run([sys.executable, "-m", "bench.make_metadata_log", str(folder), *options], check=True, cwd=ROOT)
    return Expected(**json.loads((folder / "expected.json").read_text()))


def _verdict(is_met: bool) -> str:
    return "met" if is_met else "missed"


if __name__ == "__main__":
    main()
