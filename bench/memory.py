"""The most memory that commands over a metadata log take, on logs of two shapes (`bench/log_shape.py`).

python -m bench.memory [RECORDS [PARTITIONS]]. Of each command the largest process counts. The goal is 350 MB for a
million partitions and 150 MB for all else, whatever the number of records.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.installed import ROOT
from bench.log_shape import Expected, described, diverse_shape, reference_shape
from bench.make_metadata_log import write_log
from bench.side_by_side import circumstances, record

RECORDS = 1_000_000
GOAL_MB = 150.0
GOAL_MB_A_PARTITION = 350 / 1_000_000
SHAPES = {"regular": reference_shape, "diverse": diverse_shape}
COMMANDS = (("log", "image"), ("dryrun", "replay"), ("log", "verify"), ("log", "dump"))
_WRITE = "--write"


def main(arguments: Sequence[str]) -> None:
    """Measure, print and record."""
    records = int(arguments[0]) if arguments else RECORDS
    partitions = int(arguments[1]) if len(arguments) > 1 else records // 5
    measured = {name: _measured(name, records, partitions) for name in SHAPES}
    goal = GOAL_MB + GOAL_MB_A_PARTITION * partitions
    text = [f"Peak memory of the largest process of each command, one run each; {circumstances()}.", ""]
    text += [f"{name}: {described}.\n" for name, (described, _) in measured.items()]
    text += [f"| command | {', MB | '.join(SHAPES)}, MB | goal {goal:.0f} MB |", f"|---|{'---|' * len(SHAPES)}---|"]
    for words in COMMANDS:
        peaks = [found[words] for _, found in measured.values()]
        shown = " | ".join(f"{peak:.0f}" for peak in peaks)
        text.append(f"| `kafkactl {' '.join(words)}` | {shown} | {_verdict(max(peaks) <= goal)} |")
    if records >= RECORDS:
        millions = f"{records / 1e6:g} M records, {partitions:,} partitions"
        record(f"Memory of commands over a metadata log, {millions}", "\n".join(text))
    else:
        print("\n".join(text))


def _measured(name: str, records: int, partitions: int) -> tuple[str, dict[tuple[str, str], float]]:
    """Return the description of a log of this shape, and the peak memory of each command in MB."""
    with tempfile.TemporaryDirectory(prefix="kafkactl-bench-") as scratch:
        # By a process of its own: a child's peak begins with what its parent had in memory.
        words = [sys.executable, "-m", "bench.memory", _WRITE, scratch, name, str(records), str(partitions)]
        subprocess.run(words, check=True, cwd=ROOT)
        expected = Expected(**json.loads((Path(scratch) / "expected.json").read_text()))
        log = str(Path(scratch) / "__cluster_metadata-0")
        peaks = {words: _peak_mb([*words, log]) for words in COMMANDS}
    return described(expected), peaks


def _peak_mb(words: Sequence[str]) -> float:
    """Return the peak in MB. Raise RuntimeError if the command fails."""
    command = [sys.executable, "-m", "kafkactl", *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return used.ru_maxrss * 1024 / 1e6


def _verdict(is_met: bool) -> str:
    return "met" if is_met else "missed"


if __name__ == "__main__":
    if sys.argv[1:2] == [_WRITE]:
        place, shape, count, most = sys.argv[2:]
        write_log(Path(place), SHAPES[shape](int(count), int(most)))
    else:
        main(sys.argv[1:])
