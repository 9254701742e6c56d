"""The dry run's replay on Spark as a ratio to the local one by columns and to the CRC pass, of logs of two shapes.

python -m bench.spark [RECORDS [PARTITIONS [CORES [FOLDER]]]]. Page cache warm; the plain path, the local engine and
Spark each in a process of its own, which has loaded its modules and nothing else. Of Spark the session's start is
measured apart, and after it that of its Python workers, for which a command does not wait (it looks at the log
meanwhile); the first replay in a session is the one reported (a command has no other). Replays with twice as many
workers as cores show what of the work is shared by all. Processor time is that of all processes of the engine, the
JVM's compiler included. Up to a million records there are three rounds in turn, and medians are printed. FOLDER holds a
log, which is measured alone; of the diverse shape where its name begins so.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple
from unittest import mock

from bench.log_shape import Expected, Shape, described, diverse_shape, reference_shape
from bench.make_metadata_log import write_log
from bench.side_by_side import SPREAD, circumstances, record
from kafkactl.metadata.image.digest import image_sha256
from kafkactl.metadata.io.source import LogSource, open_source
from kafkactl.metadata.log.batch_runs import walk_runs
from tests.metadata.replay.reference_logs import RecordByRecord

GOALS = {1_000_000: 1.5, 10_000_000: 1.2}  # of Spark's time to that of the local replay by columns
MOST_MIB = 1.5e9 / 2**20  # of Spark's processes
FEW_RECORDS = 1_000_000  # up to which three rounds are affordable
SEGMENT_BYTES = 256 * 1024 * 1024


def _crc_pass(log: LogSource) -> None:
    for segment in log.segments:
        for _ in walk_runs(segment.pieces(), file=segment.name):
            pass


def _plain(log: LogSource) -> str:
    """The local engine with the fold that everything is checked against."""
    from kafkactl.dryrun.engine import local

    with mock.patch.object(local.SegmentReplay, "REPLAYING", RecordByRecord):
        return image_sha256(local.load(log.segments, log.checkpoints).image)


def _local(log: LogSource) -> str:
    from kafkactl.dryrun.engine.local import load

    return image_sha256(load(log.segments, log.checkpoints).image)


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


def _measure(engine: str, path: str, cores: str) -> dict[str, object]:
    """In a process of its own: seconds by what was done, and the SHA-256 of the image."""
    log = open_source(path)
    if engine == "plain":
        crc, _ = timed("CRC pass", lambda: _crc_pass(log))
        plain, sha = timed("local, plain", lambda: _plain(log))
        return {**crc, **plain, "sha": sha}
    if engine == "local":
        import_module("kafkactl.dryrun.engine.local")
        import_module("kafkactl.metadata.replay.columns.fold")
        columns, sha = timed("local, by columns", lambda: _local(log))
        return {**columns, "sha": sha}
    from kafkactl.dryrun.engine.local import Loaded
    from kafkactl.dryrun.engine.spark.engine import load_logs
    from kafkactl.dryrun.engine.spark.plan import ClusterLog
    from kafkactl.spark.session import results_folder, spark_context

    def loaded(spark: Any) -> str:
        wanted = [ClusterLog(segments=log.segments, checkpoints=log.checkpoints)]
        with results_folder(spark) as results:
            (found,) = load_logs(spark, wanted, results=results)
        assert isinstance(found, Loaded)
        return image_sha256(found.image)

    parts: dict[str, float] = {}
    with ExitStack() as stack:
        for patched in _timed_parts(parts):
            stack.enter_context(patched)
        start, spark = timed("Spark, session", lambda: stack.enter_context(spark_context(f"local[{cores}]")))
        start |= timed("Spark, its workers", lambda: _job_of_nothing(spark, int(cores)))[0]
        cold, sha = timed("Spark, cold", lambda: loaded(spark))
        return {**start, **cold, **parts, "sha": sha}


# What a cold replay is made of: rows of a table of their own.
_PARTS: Final = {
    "plan": "part: the driver walks headers and plans",
    "job": "part: the job, its tasks and what comes back",
}
_REST: Final = "part: the driver merges, replays the other records, and digests"


def _timed_parts(taken: dict[str, float]) -> Iterator[Any]:
    """Patches that add up in `taken` what parts of the engine take on the clock."""
    from kafkactl.dryrun.engine.spark import engine
    from kafkactl.dryrun.engine.spark.fold import Fold

    def watched(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any) -> Any:
            started = time.perf_counter()
            try:
                return work(*given)
            finally:
                taken[name] = taken.get(name, 0.0) + time.perf_counter() - started

        return run

    yield mock.patch.object(Fold, "_plan", watched(_PARTS["plan"], Fold._plan))
    for name in ("_packed", "_merged"):
        yield mock.patch.object(engine, name, watched(_PARTS["job"], getattr(engine, name)))


def _job_of_nothing(spark: Any, cores: int) -> object:
    """As the engine's job, with workers that load what they need and read nothing."""
    from functools import partial

    from kafkactl.dryrun.engine.spark.read import Job, packed_rows

    nothing = Job(stretches=(), windows=()).to_json()
    return spark.parallelize([()] * cores, cores).mapPartitions(partial(packed_rows, nothing)).collect()


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


def _in_process(engine: str, path: Path, cores: str) -> dict[str, object]:
    asked = [sys.executable, "-m", "bench.spark", "--measure", engine, str(path), cores]
    with subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as run:
        peak = Peak(run.pid)
        out, _ = run.communicate()
        if run.returncode:
            raise RuntimeError(f"the {engine} engine failed")
        return {**json.loads(out.splitlines()[-1]), f"{engine} MiB": peak.end()}


def _median(rounds: list[dict[str, object]]) -> dict[str, float]:
    """Of each figure over the rounds; of memory the greatest."""
    named = {name: [float(str(item[name])) for item in rounds] for name in rounds[0] if name != "sha"}
    return {name: max(found) if "MiB" in name else statistics.median(found) for name, found in named.items()}


def main() -> None:
    """Measure, compare, print and record."""
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(_measure(*sys.argv[2:])))
        return
    asked = [int(item) for item in sys.argv[1:4]]
    records, partitions, cores = (asked + [1_000_000, 200_000, 2][len(asked) :])[:3]
    section = f"Replay on Spark, {records // 1_000_000} M records"
    if len(sys.argv) > 4:
        folder = Path(sys.argv[4])
        section += ", diverse" if folder.name.startswith("diverse") else ""
        _measured(section, folder, Expected(**json.loads((folder / "expected.json").read_text())), records, cores)
        return
    shapes: dict[str, Shape] = {
        section: reference_shape(records, partitions, segment_bytes=SEGMENT_BYTES),
        f"{section}, diverse": diverse_shape(records, partitions * 3 // 4, segment_bytes=SEGMENT_BYTES),
    }
    for name, shape in shapes.items():
        with tempfile.TemporaryDirectory(prefix="kafkactl-bench-") as scratch:
            folder = Path(scratch) / "log"
            _measured(name, folder, write_log(folder, shape), records, cores)


def _measured(section: str, folder: Path, log: Expected, records: int, cores: int) -> None:
    """A log by both engines in turn."""
    rounds = 3 if records <= FEW_RECORDS else 1
    loads = [f"{os.getloadavg()[0]:.0f}"]
    found: dict[str, list[dict[str, object]]] = {"plain": [], "local": [], "spark": []}
    for _ in range(rounds):
        for engine, taken in found.items():
            taken.append(_in_process(engine, folder, str(cores)))
        loads.append(f"{os.getloadavg()[0]:.0f}")
    more = _in_process("spark", folder, str(2 * cores))
    if (
        more["sha"] != found["spark"][0]["sha"]
        or len({entry["sha"] for taken in found.values() for entry in taken}) != 1
    ):
        raise RuntimeError("the engines do not end in the same image")
    how = f"medians of {rounds} rounds in turn" if rounds > 1 else "one round"
    circumstance = f"{how}, local[{cores}], load {', '.join(loads)} around the rounds; {circumstances()}"
    rows = [plain | local | spark for plain, local, spark in zip(*found.values(), strict=True)]
    wall, processor = more["Spark, cold"], more["Spark, cold CPU"]
    many = f"With {2 * cores} workers, one run: {wall:.2f} s, {processor:.2f} s of processor time."
    record(section, f"{described(log)}; {circumstance}.\n\n{_report_of(rows, GOALS.get(records))} {many}")


def _report_of(rounds: list[dict[str, object]], goal: float | None) -> str:
    figures = _median(rounds)
    ratios = [figures[f"Spark, cold{unit}"] / figures[f"local, by columns{unit}"] for unit in ("", " CPU")]
    names = [name for name in figures if not any(word in name for word in ("MiB", "CPU", "part: "))]
    rows = [
        f"| {name} | {figures[name]:.2f} | {figures[name + ' CPU']:.2f} | {figures[name] / figures['CRC pass']:.1f}"
        f" | {_spread(rounds, name + ' CPU')} / {_spread(rounds, name)} |"
        for name in names
    ]
    memory = figures["spark MiB"]
    with_workers = (figures["Spark, its workers"] + figures["Spark, cold"]) / figures["local, by columns"]
    judged = "" if goal is None else f" Goal: at most {goal} ({_judged(with_workers, ratios[0], goal)})."
    whole = sum(figures[name] for name in ("Spark, session", "Spark, its workers", "Spark, cold"))
    text = [
        f"| work | wall s | CPU s | × CRC pass | {SPREAD} |\n|---|---|---|---|---|",
        *rows,
        f"\nSpark without its session took {with_workers:.2f} × the local replay by columns; without the start of its"
        f" workers, which a command does not await, {ratios[0]:.2f} × ({ratios[1]:.2f} × its processor time).{judged}"
        f" All of Spark took {whole:.2f} s. Peak memory: {figures['local MiB']:.0f} MiB local, {memory:.0f} MiB for"
        f" Spark's processes. Goal: at most {MOST_MIB:.0f} MiB ({'met' if memory <= MOST_MIB else 'missed'}).",
    ]
    parts = {name.removeprefix("part: "): figures[name] for name in _PARTS.values() if name in figures}
    rest = figures["Spark, cold"] - sum(figures[_PARTS[name]] for name in ("plan", "job"))
    taken = "; ".join(f"{name} {wall:.2f} s" for name, wall in {_REST.removeprefix("part: "): rest, **parts}.items())
    return "\n".join([*text, f"Of Spark, cold: {taken}."])


def _judged(whole: float, without_workers: float, goal: float) -> str:
    if whole <= goal:
        return "met"
    return f"missed; {'met' if without_workers <= goal else 'missed'} without that start"


def _spread(rounds: list[dict[str, object]], name: str) -> str:
    """From the least to the greatest, in percent of the median."""
    taken = [float(str(entry[name])) for entry in rounds]
    return f"{100 * (max(taken) - min(taken)) / statistics.median(taken):.0f} %" if len(taken) > 1 else "one run"


if __name__ == "__main__":
    main()
