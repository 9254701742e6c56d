"""The dry run's replay on Spark as a ratio to the local one and to the CRC pass, of one generated log.

python -m bench.spark [RECORDS [PARTITIONS [CORES [FOLDER]]]]. Page cache warm, each engine in a process of its own; of
Spark the session's start is told apart, and the first replay in a session is the one that counts (a command has no
other). Processor time is that of all processes of the engine, the JVM's compiler included. Up to a million records
there are three rounds of both engines in turn, and the medians are told. FOLDER holds a log of the reference shape.
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
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from bench.log_shape import Expected, described, reference_shape
from bench.make_metadata_log import write_log
from bench.side_by_side import circumstances, record
from kafkactl.adapters.logs.source import LogSource, open_source
from kafkactl.metadata.image.digest import image_sha256
from kafkactl.metadata.log.batch_runs import walk_runs
from kafkactl.metadata.replay.batches import BatchReplaying

GOALS = {1_000_000: 2.8, 10_000_000: 0.75}  # of Spark's time to that of the local replay
FEW_RECORDS = 1_000_000  # up to which three rounds are affordable
SEGMENT_BYTES = 256 * 1024 * 1024


def _crc_pass(log: LogSource) -> None:
    for segment in log.segments:
        for _ in walk_runs(segment.pieces(), file=segment.name):
            pass


def _plain(log: LogSource) -> str:
    """The local engine with the fold that everything is checked against."""
    from kafkactl.dryrun.engine import local

    with mock.patch.object(local.Reading, "REPLAYING", BatchReplaying):
        return image_sha256(local.load(log.segments, log.checkpoints).image)


def _local(log: LogSource) -> str:
    from kafkactl.dryrun.engine.local import load

    return image_sha256(load(log.segments, log.checkpoints).image)


def timed(name: str, work: Callable[[], object]) -> tuple[dict[str, object], object]:
    """Seconds of the wall and of processors, and what came of it."""
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
    if engine == "local":
        crc, _ = timed("CRC pass", lambda: _crc_pass(log))
        plain, sha = timed("local, plain", lambda: _plain(log))
        columns, again = timed("local, by columns", lambda: _local(log))
        assert sha == again
        return {**crc, **plain, **columns, "sha": sha}
    from kafkactl.adapters.spark.session import spark_context
    from kafkactl.dryrun.engine.local import Loaded
    from kafkactl.dryrun.engine.spark.engine import load_logs
    from kafkactl.dryrun.engine.spark.plan import ClusterLog

    def loaded(spark: Any) -> str:
        (found,) = load_logs(spark, [ClusterLog(segments=log.segments, checkpoints=log.checkpoints)])
        assert isinstance(found, Loaded)
        return image_sha256(found.image)

    with ExitStack() as stack:
        start, spark = timed("Spark, session", lambda: stack.enter_context(spark_context(f"local[{cores}]")))
        cold, sha = timed("Spark, cold", lambda: loaded(spark))
        return {**start, **cold, "sha": sha}


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


def _log(scratch: Path, records: int, partitions: int) -> tuple[Path, str]:
    """A generated log and what it is like; with FOLDER among the arguments that one."""
    if len(sys.argv) > 4:
        folder = Path(sys.argv[4])
        return folder, described(Expected(**json.loads((folder / "expected.json").read_text())))
    shape = reference_shape(records, partitions, segment_bytes=SEGMENT_BYTES)
    return scratch / "log", described(write_log(scratch / "log", shape))


def _median(rounds: list[dict[str, object]]) -> dict[str, float]:
    """Of each figure over the rounds; of memory the greatest."""
    named = {name: [float(str(item[name])) for item in rounds] for name in rounds[0] if name != "sha"}
    return {name: max(found) if "MiB" in name else statistics.median(found) for name, found in named.items()}


def main() -> None:
    """Measure, compare, print and record."""
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(_measure(*sys.argv[2:])))
        return
    records, partitions, cores = ([int(item) for item in sys.argv[1:4]] + [1_000_000, 200_000, 2][len(sys.argv) - 1 :])[
        :3
    ]
    rounds = 3 if records <= FEW_RECORDS else 1
    with tempfile.TemporaryDirectory(prefix="kafkactl-bench-") as scratch:
        folder, like = _log(Path(scratch), records, partitions)
        loads = [f"{os.getloadavg()[0]:.0f}"]
        found: dict[str, list[dict[str, object]]] = {"local": [], "spark": []}
        for _ in range(rounds):
            for engine, taken in found.items():
                taken.append(_in_process(engine, folder, str(cores)))
            loads.append(f"{os.getloadavg()[0]:.0f}")
    if len({entry["sha"] for taken in found.values() for entry in taken}) != 1:
        raise RuntimeError("the engines do not end in the same image")
    figures = {name: value for taken in found.values() for name, value in _median(taken).items()}
    how = f"medians of {rounds} rounds in turn" if rounds > 1 else "one round"
    circumstance = f"{how}, local[{cores}], load {', '.join(loads)}; {circumstances()}"
    text = f"{like}; {partitions:,} partitions; {circumstance}.\n\n{_told(figures, GOALS.get(records))}"
    record(f"Replay on Spark, {records // 1_000_000} M records", text)


def _told(figures: Mapping[str, float], goal: float | None) -> str:
    ratios = [figures[f"Spark, cold{unit}"] / figures[f"local, plain{unit}"] for unit in ("", " CPU")]
    names = [name for name in figures if "MiB" not in name and "CPU" not in name]
    rows = [
        f"| {name} | {figures[name]:.2f} | {figures[name + ' CPU']:.2f} | {figures[name] / figures['CRC pass']:.1f} |"
        for name in names
    ]
    judged = "" if goal is None else f" Goal: at most {goal} ({'met' if ratios[0] <= goal else 'missed'})."
    text = [
        "| work | wall s | CPU s | × CRC pass |\n|---|---|---|---|",
        *rows,
        f"\nSpark without its session took {ratios[0]:.2f} × the plain local replay, {ratios[1]:.2f} × its processor"
        f" time.{judged} Peak memory: {figures['local MiB']:.0f} MiB local, {figures['spark MiB']:.0f} MiB for Spark's"
        " processes.",
    ]
    return "\n".join(text)


if __name__ == "__main__":
    main()
