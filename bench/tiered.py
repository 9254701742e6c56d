"""The audit of tiered storage as a ratio to a CRC pass over the same metadata logs, in one process and on Spark.

python -m bench.tiered [SEGMENTS [SHAPE...]]       both engines in turn; shapes of bench.tiered_generator
python -m bench.tiered --listing SEGMENTS          five objects for each segment of a listing, read and joined

Page cache warm, each engine in a process of its own, rounds interleaved, medians. What an audit says is compared with
the generator's books. The ratio of one process is by processor time; of Spark the session is measured apart. How far
the rounds lie apart shows how busy the machine was.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from bench.side_by_side import Peak, circumstances, record, resident_mib, timed
from bench.tiered_generator import SHAPES, Expected, found_by, write_logs
from kafkactl.protocol.crc32c import crc32c
from kafkactl.protocol.log.batch_runs import walk_runs
from kafkactl.tiered.api.verbs import Audit, Loaded, Request, audit, each_segment, load
from kafkactl.tiered.audit.object_findings import object_findings
from kafkactl.tiered.bucket import Bucket
from kafkactl.tiered.io.listing import read_listing
from kafkactl.tiered.io.sources import open_sources

MOST_RATIO = 8.0  # of an audit to a CRC pass
MOST_MIB_OF_A_MILLION, MOST_MIB_ON_TOP = 500.0, 150.0
MOST_MIB_OF_DELETED = 400.0
MOST_OF_SPARK = 0.75  # of its time to that of one process, with ten million records
MOST_SPARK_MIB = 2_500.0
MOST_JOIN = 4.0  # of joining a listing to reading it
ROUNDS = 3
MOST_APART = 1.15  # rounds of one work on a machine that does nothing else
FEW_SEGMENTS = 200_000  # up to which several rounds are affordable
CORES = 2
_LOCAL_SUFFIXES = ("log", "index", "timeindex", "snapshot", "leader_epoch_checkpoint")


def crc_pass(folder: Path) -> None:
    """Walk headers and CRCs of all batches, as every reader walks them."""
    for replica in open_sources([str(folder)]).replicas:
        for file in replica.files:
            for _ in walk_runs(file.pieces(), file=file.path):
                pass


def checked(answer: Audit, folder: Path) -> None:
    """Raise RuntimeError if an audit does not find what was generated."""
    expected = Expected(**json.loads((folder / "expected.json").read_text()))
    if found_by(answer) != replace(expected, bytes=0):
        raise RuntimeError("the audit does not find what was generated")


def measured(engine: str, folder: Path) -> dict[str, float]:
    """Return seconds by what was done, in a process of its own."""
    crc32c(bytes(1 << 16))  # loads the library
    if engine == "local":
        crc, _ = timed("CRC pass", lambda: crc_pass(folder))
        found, answer = timed("audit", lambda: audit(load(Request(sources=(str(folder),), engine="local"))))
        peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
        checked(_answer(answer), folder)
        return _numbers({**crc, **found, "MiB": peak})
    from kafkactl.jobs.session import spark_session

    with ExitStack() as stack:
        master = f"local[{CORES}]"
        start, _ = timed("session", lambda: stack.enter_context(spark_session(master, "bench")))
        request = Request(sources=(str(folder),), engine="spark", master=master)
        found, answer = timed("Spark", lambda: audit(load(request)))  # workers live on, and their time counts
        checked(_answer(answer), folder)
        return _numbers({**start, **found})


def _answer(found: object) -> Audit:
    assert isinstance(found, Audit)
    return found


def _numbers(found: dict[str, object]) -> dict[str, float]:
    return {name: float(str(value)) for name, value in found.items()}


def in_process(engine: str, folder: Path) -> dict[str, float]:
    """Return the same, and the peak of the memory of the process with all below it."""
    asked = [sys.executable, "-m", "bench.tiered", "--measure", engine, str(folder)]
    with subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as run:
        peak = Peak(partial(resident_mib, run.pid))
        out, _ = run.communicate()
        if run.returncode:
            raise RuntimeError(f"the {engine} engine failed")
        return {**json.loads(out.splitlines()[-1]), "tree MiB": peak.end()}


def _side_by_side(shape: str, segments: int) -> str:
    with tempfile.TemporaryDirectory(prefix="kafkactl-bench-") as scratch:
        folder = Path(scratch) / "logs"
        expected = write_logs(folder, SHAPES[shape](segments))
        crc_pass(folder)
        rounds = [
            {engine: in_process(engine, folder) for engine in ("local", "spark")} for _ in range(_rounds(segments))
        ]
    works = {"CRC pass": "local", "audit": "local", "session": "spark", "Spark": "spark"}
    crc = statistics.median(each["local"]["CRC pass CPU"] for each in rounds)
    titles = {
        "CRC pass": "CRC pass",
        "audit": "audit, one process",
        "session": "Spark's session",
        "Spark": "audit on it",
    }
    lines = [
        f"{shape}: {expected.records:,} records, {expected.bytes:,} bytes, {expected.segments:,} segments that are not"
        f" deleted, {expected.partitions:,} partitions.\n",
    ]
    taken = []
    for name, engine in works.items():
        wall = statistics.median(each[engine][name] for each in rounds)
        cpu = statistics.median(each[engine][f"{name} CPU"] for each in rounds)
        taken.append(f"{titles[name]} {wall:.2f} s, {cpu:.2f} s CPU ({cpu / crc:.1f} × the CRC pass)")
    lines.append(f"- {'; '.join(taken)}.")
    apart = max(
        max(each[engine][f"{name} CPU"] for each in rounds) / min(each[engine][f"{name} CPU"] for each in rounds)
        for name, engine in works.items()
    )
    ratio = statistics.median(each["local"]["audit CPU"] / each["local"]["CRC pass CPU"] for each in rounds)
    spark = statistics.median(each["spark"]["Spark"] / each["local"]["audit"] for each in rounds)
    memory = max(each["local"]["MiB"] for each in rounds)
    tree = max(each["spark"]["tree MiB"] for each in rounds)
    most = MOST_MIB_ON_TOP + MOST_MIB_OF_A_MILLION * expected.segments / 1_000_000
    most = MOST_MIB_OF_DELETED if shape == "deleting" else most
    if len(rounds) > 1:
        doubt = ": too far to set the constants of `auto` by" if apart > MOST_APART else ""
        lines.append(f"- CPU time of one work differs by up to {apart:.1f} times between rounds{doubt}.")
    lines += [
        _goal("One process to a CRC pass", ratio, MOST_RATIO),
        _goal("Its peak memory in MiB", memory, most),
        _goal("Spark's time to that of one process", spark, MOST_OF_SPARK if expected.records >= 10_000_000 else None),
        _goal("Peak memory of Spark's processes in MiB", tree, MOST_SPARK_MIB),
    ]
    return "\n".join(lines)


def _rounds(segments: int) -> int:
    return ROUNDS if segments <= FEW_SEGMENTS else 1


def _goal(what: str, found: float, most: float | None) -> str:
    judged = "" if most is None else f"; at most {most:g} ({'met' if found <= most else 'missed'})"
    return f"- {what}: {found:.2f}{judged}."


def _listing(segments: int) -> None:
    with tempfile.TemporaryDirectory(prefix="kafkactl-bench-") as scratch:
        folder, listing = Path(scratch) / "logs", Path(scratch) / "listing.txt"
        write_logs(folder, SHAPES["regular"](segments))
        loaded = load(Request(sources=(str(folder),)))
        with listing.open("w", encoding="utf-8") as file:
            file.writelines(_keys(loaded))
        rounds = [_joined(loaded, listing) for _ in range(ROUNDS)]
    read, join = (statistics.median(each[at] for each in rounds) for at in (0, 1))
    text = (
        f"{rounds[0][2]:,} objects of {segments:,} segments; CPU time, medians of {ROUNDS} rounds; "
        f"{circumstances()}.\n\n"
        f"Reading took {read:.2f} s, naming the objects and judging them by the segments {join:.2f} s.\n\n"
        f"{_goal('Joining to reading', join / read, MOST_JOIN)}"
    )
    record("Tiered storage, a listing of the store", text)


def _keys(loaded: Loaded) -> Iterator[str]:
    for segment in each_segment(loaded):
        place = f"tiered/{segment.topic}-{segment.partition}-{segment.topic_id}"
        for suffix in _LOCAL_SUFFIXES:
            size = segment.bytes if suffix == "log" else 100
            yield f"{place}/{segment.start_offset:020}-{segment.segment_id}.{suffix} {size} 1700000000000\n"


def _joined(loaded: Loaded, listing: Path) -> tuple[float, float, int]:
    found, read = _cpu(lambda: read_listing(str(listing)))

    def join() -> None:
        case = loaded.case
        case.bucket = Bucket(found, None)
        case.ledger.named = set(case.bucket.segments)
        if list(object_findings(case)):
            raise RuntimeError("objects that were listed are not found")

    _, seconds = _cpu(join)
    return read, seconds, len(found.objects)


def _cpu(work: Callable[[], Any]) -> tuple[Any, float]:
    started = time.process_time()
    found = work()
    return found, time.process_time() - started


def main() -> None:
    """Measure, compare with what was generated, print and record."""
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measured(sys.argv[2], Path(sys.argv[3]))))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("segments", type=int, nargs="?", default=1_000_000)
    parser.add_argument("shapes", nargs="*", default=["regular", "diverse"])
    parser.add_argument("--listing", action="store_true")
    asked = parser.parse_args()
    if asked.listing:
        _listing(asked.segments)
    else:
        load_before = os.getloadavg()[0]
        parts = [_side_by_side(shape, asked.segments) for shape in asked.shapes]
        rounds = _rounds(asked.segments)
        how = f"Medians of {rounds} rounds in turn" if rounds > 1 else "One round"
        how += f", local[{CORES}], load {load_before:.0f} before; {circumstances()}."
        title = f"Tiered storage, {asked.segments:,} segments: {', '.join(asked.shapes)}"
        record(title, "\n\n".join([how, *parts]))


if __name__ == "__main__":
    main()
