"""Kafka's own loader against the replay by columns: the same segment, read to the state at its end.

python -m bench.loader [RECORDS [PARTITIONS]]. Kafka's is `MetadataBatchLoader`, given batches as a starting node gives
them, 8 MiB at a time, in a JVM as kafka-server-start.sh starts it; ours is a process of its own as well. CPU time of
the work without the start of either, rounds interleaved.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.log_shape import described, reference_shape
from bench.make_metadata_log import write_log
from bench.side_by_side import circumstances, record

WORTH_RECORDING = 1_000_000
MANY = 10_000_000
GOAL = 10.0  # for so many
JVM = (
    "-Xmx1G",
    "-Xms1G",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
)
_OURS = """
import sys, time
from pathlib import Path
from bench.replay import replayed
import numpy
started = time.process_time()
found = replayed(Path(sys.argv[1]))
taken = time.process_time() - started
print(sum(found.counts.values()), found.image.partition_count(), round(taken * 1000))
"""


def main() -> None:
    """Measure, compare the answers, print and record."""
    records, partitions = ([int(value) for value in sys.argv[1:]] + [10_000_000, 200_000][len(sys.argv) - 1 :])[:2]
    with tempfile.TemporaryDirectory(prefix="kafkactl-bench-") as folder:
        expected = write_log(Path(folder), reference_shape(records, partitions))
        (file,) = (Path(folder) / "__cluster_metadata-0").glob("*.log")
        runs = 3 if records < MANY else 1
        taken = [(_kafkas(file, partitions), _ours(file, partitions)) for _ in range(runs)]
    kafkas, ours = (statistics.median(item) / 1000 for item in zip(*taken, strict=True))
    ratio = statistics.median(theirs / mine for theirs, mine in taken)
    from tests.lab.harness import releases

    text = [
        f"{described(expected)}; Kafka {releases.VERSIONS[-1]}; CPU time, medians"
        f" of {runs} interleaved runs; {circumstances()}.\n",
        "| loader | s | records/s |",
        "|---|---|---|",
        f"| `MetadataBatchLoader` | {kafkas:.1f} | {expected.records / kafkas:,.0f} |",
        f"| replay by columns | {ours:.1f} | {expected.records / ours:,.0f} |",
        f"\nMeasured: {ratio:.1f} × its records a second. {_goal(records, ratio)}",
    ]
    if records >= WORTH_RECORDING:
        record(f"Kafka's loader, {round(records / 1_000_000)} M records", "\n".join(text))
    else:
        print("\n".join(text))


def _goal(records: int, ratio: float) -> str:
    if records < MANY:
        return f"The goal, at least {GOAL:.0f} ×, is for ten million."
    return f"Goal: at least {GOAL:.0f} × ({'met' if ratio >= GOAL else 'missed'})."


def _kafkas(file: Path, partitions: int) -> int:
    from tests.lab.harness import java, maven, releases
    from tests.lab.harness.compiler import compiled
    from tests.lab.oracles.images import ImageOracle

    jars = maven.class_path(releases.VERSIONS[-1])
    classes = compiled(ImageOracle.source.stem, [ImageOracle.source], class_path=jars)
    command = [str(java.java_binary()), *JVM, "-cp", os.pathsep.join((jars, str(classes))), "kafkactl.lab.ImageOracle"]
    return _milliseconds(command, f"timed {file}\n", partitions)


def _ours(file: Path, partitions: int) -> int:
    return _milliseconds([sys.executable, "-c", _OURS, str(file)], "", partitions)


def _milliseconds(command: list[str], asked: str, partitions: int) -> int:
    """Return the last CPU time in the output, where at least so many partitions were found."""
    done = subprocess.run(command, input=asked, capture_output=True, text=True, check=True)
    words = done.stdout.removeprefix("OK ").split()
    if len(words) != 3 or int(words[1]) < partitions:
        raise RuntimeError(f"{command[0]}: {done.stdout} {done.stderr[-2000:]}")
    return int(words[2])


if __name__ == "__main__":
    main()
