"""The replay of every kind of log: processor time a record, and the most memory.

python -m bench.shapes [RECORDS]. Each run is a process of its own: processor time from the import of the replay, numpy
with it, to the image, and the most memory of the process. Medians of some rounds.
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
from kafkactl.protocol.crc32c import crc32c
from kafkactl.protocol.log.batch_runs import walk_runs
from kafkactl.protocol.record_batch import CRC_END, CRC_START, HEADER_BYTES, LENGTH_END

RECORDS = 200_000
ROUNDS = 3
MOST_US = 14.0  # a record, of logs that Kafka writes
NOT_OF_KAFKA = frozenset({"compressed batches"})
_GZIP = 1
Make = Callable[[int], Iterator[bytes]]


def _generated(shape: Shape) -> Iterator[bytes]:
    return LogGenerator(shape).batches()


def _plain_shape(records: int, **more: int | bool) -> Iterator[bytes]:
    values = {"partitions": records // 5, "brokers": 30, "configured_percent": 67, "no_op_permille": 25, **more}
    return _generated(Shape(records=records, **values))  # type: ignore[arg-type]


def compressed(batches: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the same batches with gzip, which Kafka never uses for its metadata log."""
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
    """Yield a snapshot of what the first nine tenths of a log lead to, with the rest behind it."""
    from kafkactl.metadata.replay.log_replay import replay_runs

    batches = list(_generated(reference_shape(records, records // 5)))
    cut = len(batches) * 9 // 10
    image = replay_runs(walk_runs([b"".join(batches[:cut])])).image
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
    """Replay in a process of its own."""

    cpu_s: float
    load_s: float
    peak_mib: float
    records: int


def main(arguments: Sequence[str]) -> None:
    """Measure all shapes, print and record."""
    records = int(arguments[0]) if arguments else RECORDS
    rows, missed = [], []
    for name in SHAPES:
        with tempfile.TemporaryDirectory(prefix="kafkactl-bench-") as folder:
            file = Path(folder) / "log"
            subprocess.run([sys.executable, "-m", "bench.shapes", "--write", str(file), name, str(records)], check=True)
            size = file.stat().st_size
            taken = [_run(file) for _ in range(ROUNDS)]
        cpu_s, peak_mib = (statistics.median(getattr(run, what) for run in taken) for what in ("cpu_s", "peak_mib"))
        load_s = statistics.median(run.load_s for run in taken)
        count = taken[0].records
        us = (cpu_s - load_s) / count * 1e6
        missed += [name] if us > MOST_US and name not in NOT_OF_KAFKA else []
        rows.append(
            f"| {name} | {size / 1e6:.1f} | {count:,} | {cpu_s * 1000:,.0f} | {load_s * 1000:,.0f} | {us:.1f} "
            f"| {peak_mib:.0f} |"
        )
        print(rows[-1], flush=True)
    head = (
        f"Processor time of the replay with what it loads, peak memory of its process; medians of {ROUNDS} rounds; "
        f"{circumstances()}.\n"
    )
    table = [
        "| log | MB | records | ms | of them to load numpy and the rest | µs a record, loaded | MiB |",
        "|---|---|---|---|---|---|---|",
    ]
    verdict = "met" if not missed else f"missed: {', '.join(missed)}"
    goal = f"Goal: at most {MOST_US:g} µs a record of any log that Kafka writes ({verdict})."
    record("Replay, by shape", "\n".join([head, *table, *rows, "", goal]))


def _run(file: Path) -> Run:
    words = [sys.executable, "-m", "bench.shapes", "--replay", str(file)]
    return Run(**json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout))


def _replayed(file: Path) -> None:
    import time

    started = time.process_time()
    from bench import replay

    loaded = time.process_time()
    found = replay.replayed(file)
    ended = time.process_time()
    peak_kib = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
    shown = {"cpu_s": ended - started, "load_s": loaded - started, "peak_mib": peak_kib / 1024}
    print(json.dumps({**shown, "records": sum(found.counts.values())}))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        Path(sys.argv[2]).write_bytes(b"".join(SHAPES[sys.argv[3]](int(sys.argv[4]))))
    elif sys.argv[1:2] == ["--replay"]:
        _replayed(Path(sys.argv[2]))
    else:
        main(sys.argv[1:])
