"""What a dump costs: `kafkactl log dump` against Kafka's DumpLogSegments on the same million records, end to end.

Both print every record as JSON; the output is thrown away. Goal: at least twice the records a second.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from bench.installed import installed_bin
from bench.log_shape import described, reference_shape
from bench.make_metadata_log import write_log
from bench.side_by_side import Figures, circumstances, interleaved, measure, record

RECORDS = 1_000_000
RUNS = 5
GOAL = 2.0
# As kafka-run-class.sh starts the tools.
JVM = ("-Xmx256M", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35")


def main(arguments: list[str]) -> None:
    """Measure, print and record; the number of records and of runs can be given."""
    records = int(arguments[0]) if arguments else RECORDS
    runs = int(arguments[1]) if len(arguments) > 1 else RUNS
    with tempfile.TemporaryDirectory(prefix="kafkactl-bench-") as folder:
        expected = write_log(Path(folder), reference_shape(records, max(records // 5, 100)))
        (segment,) = (Path(folder) / "__cluster_metadata-0").glob("*.log")
        figures = interleaved({name: partial(measure, words) for name, words in commands(segment).items()}, runs)
    rows = _rows(figures, expected.records)
    theirs, ours = (figures[name] for name in list(figures)[:2])
    ratio = theirs.wall_ms / ours.wall_ms
    text = [
        f"{described(expected)}; installed wheel, Kafka {_newest()}; medians of {runs} interleaved runs;"
        f" {circumstances()}.\n",
        "| command | wall s | CPU s | records/s (wall) | × DumpLogSegments |",
        "|---|---|---|---|---|",
        *rows,
        "",
        f"Goal: at least {GOAL} × its records a second. Measured: {ratio:.1f} × ({_verdict(ratio)}),"
        f" {theirs.cpu_ms / ours.cpu_ms:.1f} × by CPU time.",
    ]
    if records >= RECORDS:
        record("Dump of the metadata log", "\n".join(text))
    else:
        print("\n".join(text))


def commands(segment: Path) -> Mapping[str, list[str]]:
    """The command lines that are compared: Kafka's first, ours second."""
    from tests.lab.harness import java, maven, releases

    row = releases.release(_newest())
    tool = [str(java.java_binary()), *JVM, "-cp", maven.class_path(row.version), row.dump_class]
    program = str(installed_bin() / "kafkactl")
    return {
        "DumpLogSegments --cluster-metadata-decoder": [*tool, "--cluster-metadata-decoder", "--files", str(segment)],
        "kafkactl log dump": [program, "log", "dump", str(segment)],
        "kafkactl log dump --type TopicRecord": [program, "log", "dump", str(segment), "--type", "TopicRecord"],
        "kafkactl log verify": [program, "log", "verify", str(segment)],
    }


def _newest() -> str:
    from tests.lab.harness import releases

    return releases.NEWEST_WITH_TOOLS


def _rows(figures: Mapping[str, Figures], records: int) -> list[str]:
    base = next(iter(figures.values()))
    return [
        f"| `{name}` | {figure.wall_ms / 1000:.2f} | {figure.cpu_ms / 1000:.2f} |"
        f" {records / figure.wall_ms * 1000:,.0f} | {base.wall_ms / figure.wall_ms:.2f} |"
        for name, figure in figures.items()
    ]


def _verdict(ratio: float) -> str:
    return "met" if ratio >= GOAL else "missed"


if __name__ == "__main__":
    main(sys.argv[1:])
