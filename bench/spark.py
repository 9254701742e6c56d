"""Processor time and memory of `predictions` for many clusters on Spark, next to the local engine for the same.

python -m bench.spark [CLUSTERS [PARTITIONS [CORES]]]. Each cluster has a log with so many partitions and three times as
many records (five different logs, linked under other cluster ids). Three scenarios; the local engine reads the context
of a cluster, predicts three times and renders the answers as JSON, in one process. Of Spark the session and an empty
Arrow job are measured apart. Processor time is that of all processes, the JVM's compiler included. Spark runs a second
time with a quarter of the clusters, for its memory. The figures go to docs/proof/spark.md, those of another size to
the terminal alone.

python -m bench.spark --one [RECORDS] measures one log of so many records (10 million) in one task of `local[1]`, next
to the local engine, one after the other; its section of the page is written alone, and only for 10 million.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from bench.installed import ROOT
from bench.log_shape import Shape, reference_shape
from bench.make_metadata_log import write_log
from bench.side_by_side import Peak, below, circumstances, resident_mib, timed

REPORT = ROOT / "docs" / "proof" / "spark.md"
GOAL: Final = 1.3
SCENARIOS: Final = (
    {"name": "broker-loss", "brokers": [1]},
    {"name": "broker-loss", "brokers": [1, 2]},
    {"name": "rolling-restart"},
)
Scenarios = Sequence[Mapping[str, object]]
_DIFFERENT: Final = 5
_FLEET: Final = (200, 20_000, 2)  # clusters, partitions of each, cores
_RECORDS: Final = 10_000_000
_ONE: Final = "## One large log"


def write_fleet(folder: Path, clusters: int, partitions: int) -> None:
    """Write a folder with a log for each cluster."""
    made = []
    for seed in range(1, min(clusters, _DIFFERENT) + 1):
        place = folder / f"cluster-{seed:03}"
        write_log(place, Shape(records=partitions * 3, partitions=partitions, seed=seed))
        made.append(place / "__cluster_metadata-0")
    for number in range(1, clusters + 1):
        place = folder / f"cluster-{number:03}"
        log = place / "__cluster_metadata-0"
        if not log.exists():
            log.mkdir(parents=True)
            for file in made[number % len(made)].iterdir():
                os.link(file, log / file.name)
        (place / "meta.properties").write_text(f"version=1\ncluster.id=fleet-{number:03}\nnode.id=1\n")


def _local(folder: Path, scenarios: Scenarios) -> int:
    from kafkactl.core.answers import plain_values
    from kafkactl.dryrun.api import predict, read_context
    from kafkactl.dryrun.api.outputs import answer_of

    size = 0
    for log in sorted(folder.glob("*/__cluster_metadata-0")):
        context = read_context(str(log))
        for scenario in scenarios:
            name = str(scenario["name"])
            inputs = {field: value for field, value in scenario.items() if field != "name"}
            found = predict(context, name, **inputs)
            size += len(json.dumps(plain_values(answer_of(found, with_records=False, facts=context.facts))))
    return size


def _unchanged(batches: Iterable[Any]) -> Iterator[Any]:
    yield from batches


def _measure(engine: str, folder: Path, cores: str, scenarios: Scenarios) -> dict[str, object]:
    """Return seconds and memory by what was done, in a process of its own. `spark-twice` does it in one worker again.

    An empty job and the first task do not import pandas before the log is folded: pyarrow does so for the result.
    """
    if engine == "local":
        start = {"start MiB": _peak_mib("self")}
        found = timed("local", lambda: _local(folder, scenarios))[0]
        return {**start, **found, "local MiB": _peak_mib("self")}
    import kafkactl.spark as metadata
    from kafkactl.jobs.session import spark_session

    session: Any = None

    def begin() -> None:
        nonlocal session
        session = held.__enter__()

    held = spark_session(f"local[{cores}]", "bench")
    start, _ = timed("session", begin)
    job = session.range(0, int(cores), 1, int(cores)).mapInArrow(_unchanged, "id long")
    start |= {**timed("an empty Arrow job", job.collect)[0], "empty MiB": _worker_mib(os.getpid())}

    def work() -> int:
        rows = metadata.predictions(session, str(folder), scenarios)
        return int(rows.where("error is null").selectExpr("sum(length(answer))").first()[0])

    found, size = timed("spark", work)
    found |= {"size": size, "worker MiB": _worker_mib(os.getpid())}
    if engine == "spark-twice":
        work()
        found["second MiB"] = _worker_mib(os.getpid())
    held.__exit__(None, None, None)
    return start | found


def _in_process(engine: str, folder: Path, cores: int, scenarios: int = len(SCENARIOS)) -> dict[str, float]:
    asked = [sys.executable, "-m", "bench.spark", "--measure", engine, str(folder), str(cores), str(scenarios)]
    with subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as run:
        peak = Peak(partial(resident_mib, run.pid))
        out, _ = run.communicate()
        if run.returncode:
            raise RuntimeError(f"the {engine} engine failed")
        return {**json.loads(out.splitlines()[-1]), "MiB": peak.end()}


def _worker_mib(root: int) -> float:
    """Return the greatest memory that a Python worker of Spark below a process ever had, as the kernel reports it."""
    greatest = 0.0
    for pid in below(root) - {root}:
        with suppress(OSError):
            program, *words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if b"java" not in program and any(b"pyspark" in word for word in (program, *words)):
                greatest = max(greatest, _peak_mib(pid))
    return greatest


def _peak_mib(pid: int | str) -> float:
    """Return the greatest memory of a process since its program began: `ru_maxrss` begins with that of its parent."""
    found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return 0.0 if found is None else int(found[1]) / 1024


def _one_log(records: int) -> None:
    with tempfile.TemporaryDirectory(prefix="kafkactl-bench-") as scratch:
        folder = Path(os.environ.get("KAFKACTL_BENCH_LOG") or scratch)
        if not any(folder.iterdir()):
            write_log(folder / "one", reference_shape(records, 200_000))
        size = sum(file.stat().st_size for file in folder.rglob("*.log"))
        local = _in_process("local", folder, 1, 1)
        spark = _in_process("spark-twice", folder, 1, 1)
    text = _one_report(f"{records:,} records and 200,000 partitions ({size / 1e6:.0f} MB)", local, spark)
    if records == _RECORDS:
        REPORT.write_text(f"{REPORT.read_text().partition(_ONE)[0].rstrip()}\n\n{text}", encoding="utf-8")
    print(text)


def _one_report(log: str, local: dict[str, float], spark: dict[str, float]) -> str:
    time_ratio, ratio = spark["spark CPU"] / local["local CPU"], spark["worker MiB"] / local["local MiB"]
    return "\n".join(
        (
            _ONE,
            "",
            f"`python -m bench.spark --one`: the loss of one broker for one log of {log}, in one task of"
            " `local[1]`. Memory is the greatest resident memory of the Python process that folds the log, before it"
            " reads the log and at the end.",
            "",
            f"{circumstances()}.",
            "",
            "| work | wall s | processor s | MiB before | peak MiB |",
            "|---|---|---|---|---|",
            f"| local engine, one process | {local['local']:.1f} | {local['local CPU']:.1f} |"
            f" {local['start MiB']:.0f} | {local['local MiB']:.0f} |",
            f"| Spark: session and an empty Arrow job | {spark['session'] + spark['an empty Arrow job']:.1f} |"
            f" {spark['session CPU'] + spark['an empty Arrow job CPU']:.1f} | | {spark['empty MiB']:.0f} |",
            f"| Spark: one task | {spark['spark']:.1f} | {spark['spark CPU']:.1f} | {spark['empty MiB']:.0f} |"
            f" {spark['worker MiB']:.0f} |",
            f"| Spark: a second task of the same worker | | | | {spark['second MiB']:.0f} |",
            "",
            f"Spark took {time_ratio:.2f} x the processor time of the local engine (goal: at most {GOAL}:"
            f" {_verdict(time_ratio)}) and {ratio:.2f} x its memory ({_verdict(ratio)}). The log added"
            f" {spark['worker MiB'] - spark['empty MiB']:.0f} MiB to the worker, and"
            f" {local['local MiB'] - local['start MiB']:.0f} MiB to the local process; the rest of the difference is"
            " pyspark, which a worker compiles from Spark's zip, and pyarrow. pyarrow imports pandas for a result,"
            " after the log's state is freed; a second task has pandas from the beginning. All processes, the JVM of"
            f" the driver included, had {spark['MiB']:.0f} MiB.",
            "",
        )
    )


def _verdict(ratio: float) -> str:
    return "met" if ratio <= GOAL else "missed"


def main() -> None:
    """Measure, compare and write the report."""
    if sys.argv[1:2] == ["--one"]:
        _one_log(int(sys.argv[2]) if sys.argv[2:] else _RECORDS)
        return
    if sys.argv[1:2] == ["--measure"]:
        engine, folder, cores_text, count = sys.argv[2:]
        print(json.dumps(_measure(engine, Path(folder), cores_text, SCENARIOS[: int(count)])))
        return
    asked = [int(item) for item in sys.argv[1:4]]
    clusters, partitions, cores = (*asked, *_FLEET[len(asked) :])
    with tempfile.TemporaryDirectory(prefix="kafkactl-bench-") as scratch:
        write_fleet(Path(scratch) / "all", clusters, partitions)
        write_fleet(Path(scratch) / "few", max(clusters // 4, 1), partitions)
        local = _in_process("local", Path(scratch) / "all", cores)
        few = _in_process("spark", Path(scratch) / "few", cores)
        spark = _in_process("spark", Path(scratch) / "all", cores)
    _report((clusters, partitions, cores), local, few, spark)


def _report(
    fleet: tuple[int, int, int], local: dict[str, float], few: dict[str, float], spark: dict[str, float]
) -> None:
    clusters, partitions, cores = fleet
    ratio = spark["spark CPU"] / local["local CPU"]
    rows = [
        ("local engine, one process", local["local"], local["local CPU"], local["MiB"]),
        ("Spark: session", spark["session"], spark["session CPU"], None),
        ("Spark: an empty Arrow job", spark["an empty Arrow job"], spark["an empty Arrow job CPU"], None),
        (f"Spark: {clusters} clusters", spark["spark"], spark["spark CPU"], spark["MiB"]),
        (f"Spark: {max(clusters // 4, 1)} clusters", few["spark"], few["spark CPU"], few["MiB"]),
    ]
    lines = [
        f"| {name} | {wall:.1f} | {cpu:.1f} | {'' if mib is None else f'{mib:.0f}'} |" for name, wall, cpu, mib in rows
    ]
    text = "\n".join(
        (
            "# Predictions for a fleet on Spark",
            "",
            "Repeat with `python -m bench.spark`, which writes this page. `kafkactl.spark.predictions` of three"
            f" scenarios for {clusters} clusters of {partitions:,} partitions each on `local[{cores}]`, next to the"
            " local engine in one process: one read of a log, three predictions, answers as JSON. Memory is that of"
            " all processes, the JVM of the driver included.",
            "",
            f"{circumstances()}.",
            "",
            "| work | wall s | processor s | peak MiB |",
            "|---|---|---|---|",
            *lines,
            "",
            f"Spark took {ratio:.2f} x the processor time of the local engine, session and empty job apart (goal: at"
            f" most {GOAL}: {'met' if ratio <= GOAL else 'missed'}).",
            "",
        )
    )
    if fleet == _FLEET:
        _, section, rest = REPORT.read_text().partition(_ONE)
        REPORT.write_text(f"{text}\n{section}{rest}" if section else text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
