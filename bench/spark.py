"""The dry run's replay on Spark as a ratio to the local one and to the CRC pass, of one generated log.

python -m bench.spark [RECORDS [PARTITIONS [CORES]]]. Wall time, page cache warm, each engine in a process of its own;
of Spark the session's start is told apart, and the first replay in a session is the one that counts (a command has no
other).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from bench.log_generator import Shape
from bench.make_metadata_log import write_log
from bench.side_by_side import circumstances, record
from kafkactl.adapters.log_source import LogSource, open_source
from kafkactl.metadata.batch_runs import walk_runs
from kafkactl.metadata.image_json import image_sha256

GOALS = {1_000_000: 2.8, 10_000_000: 0.75}  # of Spark's time to that of the local replay
SEGMENT_BYTES = 256 * 1024 * 1024


def _crc_pass(log: LogSource) -> None:
    for segment in log.segments:
        for _ in walk_runs(segment.pieces(), file=segment.name):
            pass


def _local(log: LogSource) -> str:
    from kafkactl.dryrun.local import load

    return image_sha256(load(log.segments, log.checkpoints).image)


def _timed(work: Callable[[], object]) -> tuple[float, object]:
    started = time.perf_counter()
    found = work()
    return time.perf_counter() - started, found


def _measure(engine: str, path: str, cores: str) -> dict[str, object]:
    """In a process of its own: seconds by what was done, and the SHA-256 of the image."""
    log = open_source(path)
    if engine == "local":
        crc, _ = _timed(lambda: _crc_pass(log))
        seconds, sha = _timed(lambda: _local(log))
        return {"CRC pass": crc, "local": seconds, "sha": sha}
    from kafkactl.adapters.spark_session import spark_session
    from kafkactl.dryrun.spark_engine import load_logs
    from kafkactl.dryrun.spark_plan import ClusterLog

    started = time.perf_counter()
    with spark_session(f"local[{cores}]") as spark:
        start = time.perf_counter() - started
        wanted = [ClusterLog(segments=log.segments, checkpoints=log.checkpoints)]
        cold, sha = _timed(lambda: image_sha256(load_logs(spark, wanted)[0].image))
        return {"Spark, session": start, "Spark, cold": cold, "sha": sha}


class _Peak:
    """The greatest memory of a process with all below it, by their resident pages."""

    def __init__(self, pid: int) -> None:
        self.mib = 0.0
        self._pid = pid
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._over.wait(0.5):
            self.mib = max(self.mib, _tree_mib(self._pid))

    def end(self) -> float:
        """In MiB."""
        self._over.set()
        self._thread.join()
        return self.mib


def _tree_mib(pid: int) -> float:
    parents: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    todo, total = [pid], 0.0
    while todo:
        one = todo.pop()
        todo += parents.get(one, [])
        try:
            total += int(Path(f"/proc/{one}/statm").read_text().split()[1]) * 4096 / 2**20
        except OSError:
            continue
    return total


def _in_process(engine: str, path: Path, cores: str) -> dict[str, object]:
    asked = [sys.executable, "-m", "bench.spark", "--measure", engine, str(path), cores]
    with subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as run:
        peak = _Peak(run.pid)
        out, _ = run.communicate()
        if run.returncode:
            raise RuntimeError(f"the {engine} engine failed")
        return {**json.loads(out.splitlines()[-1]), f"{engine} MiB": peak.end()}


def main() -> None:
    """Measure, compare, print and record."""
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(_measure(*sys.argv[2:])))
        return
    records, partitions, cores = ([int(one) for one in sys.argv[1:]] + [1_000_000, 200_000, 2][len(sys.argv) - 1 :])[:3]
    with tempfile.TemporaryDirectory(prefix="kafkactl-bench-") as folder:
        shape = Shape(records=records, partitions=partitions, brokers=30, segment_bytes=SEGMENT_BYTES)
        expected = write_log(Path(folder) / "log", shape)
        found = [_in_process(engine, Path(folder) / "log", str(cores)) for engine in ("local", "spark")]
    if found[0]["sha"] != found[1]["sha"]:
        raise RuntimeError("the engines do not end in the same image")
    figures = {name: float(str(value)) for one in found for name, value in one.items() if name != "sha"}
    ratio, goal = figures["Spark, cold"] / figures["local"], GOALS.get(records)
    crc = figures["CRC pass"]
    rows = [f"| {name} | {value:.2f} | {value / crc:.1f} |" for name, value in figures.items() if "MiB" not in name]
    judged = "" if goal is None else f" Goal: at most {goal} ({'met' if ratio <= goal else 'missed'})."
    text = [
        f"{expected.records:,} records, {partitions:,} partitions, {expected.bytes / 1e6:.0f} MB; wall time, one round,"
        f" local[{cores}]; {circumstances()}.\n",
        "| work | s | × CRC pass |\n|---|---|---|",
        *rows,
        f"\nSpark without its session took {ratio:.2f} × the local replay.{judged}"
        f" Peak memory: {figures['local MiB']:.0f} MiB local, {figures['spark MiB']:.0f} MiB for Spark's processes.",
    ]
    record(f"Replay on Spark, {records // 1_000_000} M records", "\n".join(text))


if __name__ == "__main__":
    main()
