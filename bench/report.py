"""What a dry-run report costs: `kafkactl dryrun report --html` over the log of a cluster of 200,000 partitions.

python -m bench.report [PARTITIONS]. CPU time and peak memory of the whole command, one run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.installed import ROOT
from bench.log_shape import Expected, described
from bench.side_by_side import circumstances, record

PARTITIONS = 200_000
GOAL_S = 30.0
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
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=ROOT)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        size = page.stat().st_size
    if process.returncode != _HARM_FOUND:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    seconds, peak_mb = used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6
    text = [
        f"{described(expected)}, {partitions:,} partitions on 40 brokers; one run, load {os.getloadavg()[0]:.0f};"
        f" {circumstances()}.\n",
        f"{seconds:.0f} s of CPU time, {peak_mb:.0f} MB; a page of {size / 1e6:.1f} MB."
        f" Goal: {GOAL_S:.0f} s ({_verdict(seconds <= GOAL_S)}) and {GOAL_MB:.0f} MB ({_verdict(peak_mb <= GOAL_MB)}).",
    ]
    if partitions >= PARTITIONS:
        record("Dry-run report", "\n".join(text))
    else:
        print("\n".join(text))


def _written(folder: Path, partitions: int) -> Expected:
    """The log, by a process of its own: what this one has in memory counts as the peak of those that it starts."""
    sizes = {"--records": 3 * partitions, "--partitions": partitions, "--brokers": 40}
    options = [text for name, size in sizes.items() for text in (name, str(size))]
    subprocess.run([sys.executable, "-m", "bench.make_metadata_log", str(folder), *options], check=True, cwd=ROOT)
    return Expected(**json.loads((folder / "expected.json").read_text()))


def _verdict(is_met: bool) -> str:
    return "met" if is_met else "missed"


if __name__ == "__main__":
    main()
