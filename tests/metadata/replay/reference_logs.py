"""Logs as bytes, and what the reference makes of them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence

from bench.log_generator import LogGenerator, Shape
from kafkactl.core.errors import DecodeError
from kafkactl.metadata.image.model import EMPTY, Image, LogRecord
from kafkactl.metadata.replay.log_replay import LogReplay
from kafkactl.metadata.replay.reference import Replay, replay
from kafkactl.protocol.control_records import decode_control_record
from kafkactl.protocol.log.batch_runs import BatchRun, walk_runs
from kafkactl.protocol.log.frame import MetadataRecord, decode_record, encode_record
from kafkactl.protocol.record_batch import decode_batches, decode_records, encode_batch
from kafkactl.protocol.schema.definitions import message


class RecordByRecord(LogReplay):
    """A replay that gives every record to the reference, and says of damage and gaps what a `LogReplay` says."""

    def take_run(self, data: bytes, positions: Sequence[int], base: int = 0) -> None:
        """Take batches by the codecs."""
        for at in positions:
            if not self._take_batch(data, at, base):
                return


def by_the_record(pieces: Iterable[bytes], start: Image = EMPTY, **options: object) -> Replay:
    """Return what the reference makes of a log."""
    replaying = RecordByRecord(start, **options)  # type: ignore[arg-type]
    for run in walk_runs(pieces):
        if isinstance(run, BatchRun):
            replaying.take_run(run.data, run.positions, run.base)
        else:
            replaying.take_damage(run)
    return replaying.result()


def carefully(data: bytes, start: Image = EMPTY, first: int = -1, end: int = 1 << 62) -> Replay:
    """Return what the reference makes of a log without damage, of which some offsets are replayed."""

    def records() -> Iterator[LogRecord]:
        for batch in decode_batches(data):
            for framed in decode_records(data, batch.header):
                decoded: object
                try:
                    decoded = (
                        decode_control_record(framed.key, framed.value)
                        if batch.header.is_control
                        else decode_record(framed.value or b"")
                    )
                except DecodeError as error:
                    decoded = error
                if first <= framed.offset < end:
                    yield LogRecord(framed.offset, batch.header.partition_leader_epoch, framed.timestamp_ms, decoded)

    return replay(records(), start)


def value_of(record: MetadataRecord) -> bytes:
    """Return the bytes of a record."""
    return encode_record(message(record.type), record.version, record.data)


def log_of(values: Iterable[bytes], rng: random.Random) -> bytes:
    """Return batches of 1 to 20 records."""
    rest, offset, batches = list(values), 0, []
    while rest:
        count = rng.randint(1, 20)
        part, rest = rest[:count], rest[count:]
        batches.append(encode_batch([(None, item) for item in part], base_offset=offset, timestamp_ms=offset))
        offset += len(part)
    return b"".join(batches)


def generated(seed: int, records: int = 3_000, **shape: int) -> bytes:
    """Return a log of the generator."""
    return b"".join(LogGenerator(Shape(records=records, partitions=records // 5, seed=seed, **shape)).batches())


def in_pieces(data: bytes, size: int) -> list[bytes]:
    """Return a log in pieces of one size."""
    return [data[at : at + size] for at in range(0, len(data), size)]
