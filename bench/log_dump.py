"""Benchmark of `kafkactl log dump` against Kafka's DumpLogSegments on the same million records, end to end.

Both print every record as JSON; the output is thrown away. Two shapes of logs (`bench/log_shape.py`). Goals, in
records a second on the clock: three times as many for the dump and for `log verify`. By CPU time, which a busy
machine changes least, the same ratios are printed next to them.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from bench.installed import installed_bin
from bench.log_shape import Shape, described, diverse_shape, reference_shape
from bench.make_metadata_log import write_log
from bench.side_by_side import Figures, circumstances, interleaved, measure, record

RECORDS = 1_000_000
RUNS = 5
# As kafka-run-class.sh starts the tools.
JVM = ("-Xmx256M", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35")
THEIRS, DUMP, VERIFY = "DumpLogSegments --cluster-metadata-decoder", "kafkactl log dump", "kafkactl log verify"
GOALS = {DUMP: 3.0, VERIFY: 3.0}


def main(arguments: list[str]) -> None:
    """Measure, print and record; the number of records and of runs can be given."""
    records = int(arguments[0]) if arguments else RECORDS
    runs = int(arguments[1]) if len(arguments) > 1 else RUNS
    head = f"Installed wheel, Kafka {_newest()}; medians of {runs} interleaved runs"
    text = [f"{head}; {circumstances()}."]
    text += _measured("regular", reference_shape(records, max(records // 5, 100)), runs)
    text += _measured("diverse", diverse_shape(records, max(records * 3 // 20, 100)), runs)
    if records >= RECORDS:
        record("Dump of the metadata log", "\n".join(text))
    else:
        print("\n".join(text))


def _measured(name: str, shape: Shape, runs: int) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="kafkactl-bench-") as folder:
        expected = write_log(Path(folder), shape)
        (segment,) = (Path(folder) / "__cluster_metadata-0").glob("*.log")
        load = os.getloadavg()[0]
        figures = interleaved({name: partial(measure, words) for name, words in commands(segment).items()}, runs)
    base = figures[THEIRS]
    ratios = {name: base.wall_ms / figures[name].wall_ms for name in GOALS}
    return [
        "",
        f"{name}: {described(expected)}; load {load:.0f} before.",
        "",
        "| command | wall s | least to most | CPU s | records/s (wall) | × (wall) | × (CPU) |",
        "|---|---|---|---|---|---|---|",
        *(_row(name, figure, base, expected.records) for name, figure in figures.items()),
        "",
        *(
            f"- `{name}`: at least {goal:g} × its records a second; {ratios[name]:.1f} ×"
            f" ({'met' if ratios[name] >= goal else 'missed'}), {base.cpu_ms / figures[name].cpu_ms:.1f} × by CPU time."
            for name, goal in GOALS.items()
        ),
    ]


def commands(segment: Path) -> Mapping[str, list[str]]:
    """Return the command lines that are compared, Kafka's first."""
    from tests.lab.harness import java, maven, releases

    row = releases.release(_newest())
    tool = [str(java.java_binary()), *JVM, "-cp", maven.class_path(row.version), row.dump_class]
    program = str(installed_bin() / "kafkactl")
    return {
        THEIRS: [*tool, "--cluster-metadata-decoder", "--files", str(segment)],
        DUMP: [program, "log", "dump", str(segment)],
        f"{DUMP} --type TopicRecord": [program, "log", "dump", str(segment), "--type", "TopicRecord"],
        VERIFY: [program, "log", "verify", str(segment)],
    }


def _newest() -> str:
    from tests.lab.harness import releases

    return releases.NEWEST_WITH_TOOLS


def _row(name: str, figure: Figures, base: Figures, records: int) -> str:
    least, greatest = figure.wall_range_ms
    ratios = f"{base.wall_ms / figure.wall_ms:.2f} | {base.cpu_ms / figure.cpu_ms:.2f}"
    return (
        f"| `{name}` | {figure.wall_ms / 1000:.2f} | {least / 1000:.2f} to {greatest / 1000:.2f}"
        f" | {figure.cpu_ms / 1000:.2f} | {records / figure.wall_ms * 1000:,.0f} | {ratios} |"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
