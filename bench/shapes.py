"""The replay by columns against the plain path, on every kind of log: never slower, never more than 1.5 x its memory.

python -m bench.shapes [RECORDS]. Each run is a process of its own, in which numpy is loaded where the columns need it:
processor time from the first byte to the image, and the most memory of the process. Rounds in turn, medians.
"""

from __future__ import annotations

import gzip
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.log_generator import LogGenerator
from bench.log_shape import Shape, diverse_shape, reference_shape
from bench.side_by_side import circumstances, record
from kafkactl.metadata.image.snapshot_writer import snapshot_batches
from kafkactl.metadata.log.batch_runs import walk_runs
from kafkactl.metadata.replay.fast import replay_fast
from kafkactl.protocol.crc32c import crc32c
from kafkactl.protocol.record_batch import CRC_END, CRC_START, HEADER_BYTES, LENGTH_END

RECORDS = 200_000
ROUNDS = 3
MOST_TIME, MOST_MEMORY = 1.0, 1.5
NOISE = 0.03  # of the time: how far apart two equal processes are at least
_WAYS = ("plainly", "by_columns")
_GZIP = 1
Make = Callable[[int], Iterator[bytes]]


def _generated(shape: Shape) -> Iterator[bytes]:
    return LogGenerator(shape).batches()


def _plain_shape(records: int, **more: int | bool) -> Iterator[bytes]:
    values = {"partitions": records // 5, "brokers": 30, "configured_percent": 67, "no_op_permille": 25, **more}
    return _generated(Shape(records=records, **values))  # type: ignore[arg-type]


def compressed(batches: Iterator[bytes]) -> Iterator[bytes]:
    """The same batches with gzip, which Kafka never uses for its metadata log."""
    for batch in batches:
        records = batch if batch[22] & 0x20 else gzip.compress(batch[HEADER_BYTES:], 1)
        if records is batch:  # a control batch stays as it is
            yield batch
            continue
        behind_crc = (
            batch[CRC_END : CRC_END + 1] + bytes([batch[CRC_END + 1] | _GZIP]) + batch[CRC_END + 2 : HEADER_BYTES]
        )
        body = behind_crc + records
        length = HEADER_BYTES - LENGTH_END + len(records)
        crc = crc32c(body).to_bytes(4, "big")
        yield batch[:8] + length.to_bytes(4, "big") + batch[LENGTH_END:CRC_START] + crc + body


def snapshot_and_tail(records: int) -> Iterator[bytes]:
    """A snapshot of what the first nine tenths of a log lead to, with the rest behind it."""
    batches = list(_generated(reference_shape(records, records // 5)))
    cut = len(batches) * 9 // 10
    image = replay_fast(walk_runs([b"".join(batches[:cut])])).image
    yield from snapshot_batches(image, epoch=1, last_contained_log_timestamp_ms=0, now_ms=0)
    yield from batches[cut:]


SHAPES: Mapping[str, Make] = {
    "regular": lambda records: _generated(reference_shape(records, records // 5)),
    "diverse": lambda records: _generated(diverse_shape(records, records * 3 // 20)),
    "few topics of many partitions": lambda records: _plain_shape(
        records, partitions_of_topic=5_000, partitions=40_000
    ),
    "many topics of one or two partitions": lambda records: _plain_shape(records, partitions_of_topic=1),
    "few partitions, changed often": lambda records: _plain_shape(records, partitions=100),
    "partitions are made, and hardly changed": lambda records: _plain_shape(records, partitions=records),
    "without ELR": lambda records: _plain_shape(records, elr=False),
    "transactions, a third aborted": lambda records: _plain_shape(records, transaction_percent=65),
    "a leader every 200 records": lambda records: _plain_shape(records, epochs=records // 200),
    "configs, ACLs, SCRAM users, quotas": lambda records: _plain_shape(records, settings_percent=90, partitions=1_000),
    "half of them": lambda records: _plain_shape(records, settings_percent=40),
    "one or two records a batch": lambda records: _plain_shape(records, batch_records=1, partitions_of_topic=1),
    "batches of thousands of records": lambda records: _plain_shape(records, batch_records=5_000),
    "every second record a no-op": lambda records: _plain_shape(records, no_op_permille=500),
    "compressed batches": lambda records: compressed(_generated(reference_shape(records, records // 5))),
    "a snapshot and a tail": snapshot_and_tail,
    "a twentieth of the records": lambda records: _generated(reference_shape(records // 20, records // 100)),
    "a fiftieth of the records": lambda records: _generated(reference_shape(records // 50, records // 250)),
    "1,000 records": lambda _: _generated(reference_shape(1_000, 200)),
}


@dataclass(frozen=True)
class Run:
    """One replay in a process of its own."""

    cpu_s: float
    peak_mib: float


def main(arguments: Sequence[str]) -> None:
    """Measure all shapes, print and record."""
    records = int(arguments[0]) if arguments else RECORDS
    rows, missed = [], []
    for name in SHAPES:
        with tempfile.TemporaryDirectory(prefix="kafkactl-bench-") as folder:
            file = Path(folder) / "log"
            subprocess.run([sys.executable, "-m", "bench.shapes", "--write", str(file), name, str(records)], check=True)
            size = file.stat().st_size
            taken = [{way: _run(way, file) for way in _WAYS} for _ in range(ROUNDS)]
        plain, columns = ([entry[way] for entry in taken] for way in _WAYS)
        time_ratio = statistics.median(c.cpu_s / p.cpu_s for c, p in zip(columns, plain, strict=True))
        memory_ratio = statistics.median(c.peak_mib / p.peak_mib for c, p in zip(columns, plain, strict=True))
        good = time_ratio <= MOST_TIME + NOISE and memory_ratio <= MOST_MEMORY
        missed += [] if good else [name]
        figures = [
            statistics.median(getattr(run, what) for run in runs)
            for what in ("cpu_s", "peak_mib")
            for runs in (plain, columns)
        ]
        rows.append(
            f"| {name} | {size / 1e6:.1f} | {figures[0] * 1000:,.0f} | {figures[1] * 1000:,.0f} | {time_ratio:.2f} "
            f"| {figures[2]:.0f} | {figures[3]:.0f} | {memory_ratio:.2f} |"
        )
        print(rows[-1], flush=True)
    head = (
        f"{records:,} records unless said otherwise; processor time of the fold with what it loads, peak memory of its "
        f"process; medians of {ROUNDS} rounds in turn; {circumstances()}.\n"
    )
    table = [
        "| log | MB | plain, ms | columns, ms | × | plain, MiB | columns, MiB | × |",
        "|---|---|---|---|---|---|---|---|",
    ]
    verdict = "met" if not missed else f"missed: {', '.join(missed)}"
    goal = f"Goal: never slower (but for {NOISE:.0%} of noise), never more than {MOST_MEMORY} × the memory ({verdict})."
    record("Replay by columns against the plain path, by shape", "\n".join([head, *table, *rows, "", goal]))


def _run(way: str, file: Path) -> Run:
    words = [sys.executable, "-m", "bench.shapes", "--replay", str(file), way]
    return Run(**json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout))


def _replayed(way: str, file: Path) -> None:
    import time

    from bench import replay

    started = time.process_time()
    getattr(replay, way)(file)
    taken = time.process_time() - started
    peak_kib = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
    print(json.dumps({"cpu_s": taken, "peak_mib": peak_kib / 1024}))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        Path(sys.argv[2]).write_bytes(b"".join(SHAPES[sys.argv[3]](int(sys.argv[4]))))
    elif sys.argv[1:2] == ["--replay"]:
        _replayed(sys.argv[3], Path(sys.argv[2]))
    else:
        main(sys.argv[1:])
