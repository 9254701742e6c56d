"""The records in the bytes of a metadata partition's segment, and what in them cannot be read.

The topic is an ordinary one: batches may be compressed and hold several records. Control batches belong to
transactions; the consumer of a broker reads without regard to them (`ConsumerManager.java` leaves `isolation.level` at
its default, read_uncommitted), so their records are passed over and all others count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from kafkactl.core.errors import DecodeError
from kafkactl.core.frozen import frozen
from kafkactl.protocol.batch_scan import Damage
from kafkactl.protocol.log.batch_runs import walk_runs
from kafkactl.protocol.log.frame import MetadataRecord
from kafkactl.protocol.record_batch import BatchHeader, decode_header, decode_records
from kafkactl.tiered.plain_records import PlainReader, PlainRecords
from kafkactl.tiered.records import RemoteRecord, decode_frame, remote_record

# A record has some 40 bytes that no other has (ids, times), and takes 155: no more than this is gained by compression.
MOST_TIMES_DECOMPRESSED = 256
_OURS = frozenset({"unsupported-compression", "decompressed-too-large", "too-many-records"})


class PlacedRecord(NamedTuple):
    """A record and its place. `frame` is what its bytes say, `record` what a broker makes of it; `error` why it cannot
    be read by a broker (`frame` may still be there). Offsets up to, and without, `end_offset` are its own."""

    offset: int
    epoch: int
    timestamp_ms: int
    file: str
    frame: MetadataRecord | None
    record: RemoteRecord | None
    error: DecodeError | None
    end_offset: int


@frozen
class Unread:
    """Offsets of a file that could not be read: damaged bytes, or a batch that this installation cannot decompress.

    `first_offset` is the first that is missing, `is_tail` says that nothing follows in the file, as where a running
    broker is writing its last batch. `is_damage` is False if the batch is sound and kafkactl is the limit.
    """

    file: str
    position: int
    first_offset: int
    error: DecodeError
    is_damage: bool
    is_tail: bool = False

    @property
    def is_cut(self) -> bool:
        """Return True if a part of a batch is there; zero bytes up to the end are room that was reserved."""
        return self.error.id != "zero-tail"


class SkippedOffsets(NamedTuple):
    """A batch without records of ours, or the end of one with: it takes offsets up to, and without, `end_offset`."""

    first_offset: int
    end_offset: int


class CleanedOffsets(NamedTuple):
    """Offsets within a file, up to and without `end_offset`, of which the log cleaner removed at least one record."""

    end_offset: int


Read: TypeAlias = PlacedRecord | Unread | SkippedOffsets | CleanedOffsets
FastRead: TypeAlias = Read | PlainRecords


def read_records(pieces: Iterable[bytes], *, file: str, first_offset: int = 0) -> Iterator[Read]:
    """Yield every record of a file in its order, and unreadable parts in their place. Raise only what `pieces`
    raises."""
    for found in _read(pieces, file, first_offset, None):
        assert not isinstance(found, PlainRecords)
        yield found


def read_fast(
    pieces: Iterable[bytes], *, file: str, first_offset: int = 0, reader: PlainReader | None = None
) -> Iterator[FastRead]:
    """Yield the reads for a fold, which needs less of plain records; with one `reader` for all files of a partition."""
    return _read(pieces, file, first_offset, reader or PlainReader())


def _read(pieces: Iterable[bytes], file: str, first_offset: int, reader: PlainReader | None) -> Iterator[FastRead]:
    next_offset = first_offset
    pending: Unread | None = None
    is_sound = True
    for run in walk_runs(pieces, file=file):
        if isinstance(run, Damage):
            if pending is not None and not pending.is_tail:
                yield pending
            pending = Unread(
                file=file,
                position=run.position,
                first_offset=next_offset,
                error=run.error,
                is_damage=True,
                is_tail=run.may_be_tail,
            )
            is_sound = False
            continue
        if pending is not None:
            yield Unread(
                file=pending.file,
                position=pending.position,
                first_offset=pending.first_offset,
                error=pending.error,
                is_damage=True,
            )
            pending = None
        at = 0
        while at < len(run.positions):
            if reader is not None:
                plain, at = reader.take(run.data, run.positions, at)
                if plain is not None:
                    if is_sound and plain.first_offset > next_offset:
                        yield CleanedOffsets(plain.first_offset)
                    is_sound = True
                    yield plain
                    next_offset = plain.end_offset
                if at == len(run.positions):
                    break
            header = decode_header(run.data, run.positions[at], file=file, base=run.base)
            if is_sound and header.base_offset > next_offset:
                yield CleanedOffsets(header.base_offset)
            is_sound = True
            if header.record_count <= header.last_offset_delta:
                yield CleanedOffsets(header.last_offset + 1)
            yield from _of_batch(run.data, header, run.base, file, reader)
            next_offset = header.last_offset + 1
            at += 1
    if pending is not None:
        yield pending


def _of_batch(data: bytes, header: BatchHeader, base: int, file: str, reader: PlainReader | None) -> Iterator[Read]:
    if header.is_control:
        yield SkippedOffsets(header.base_offset, header.last_offset + 1)
        return
    epoch = header.partition_leader_epoch
    try:
        records = decode_records(data, header, file=file, base=base, most_times_decompressed=MOST_TIMES_DECOMPRESSED)
    except DecodeError as error:
        if error.id in _OURS:
            yield Unread(
                file=file, position=header.position, first_offset=header.base_offset, error=error, is_damage=False
            )
        else:
            end, time_ms = header.last_offset + 1, header.max_timestamp_ms
            yield PlacedRecord(header.base_offset, epoch, time_ms, file, None, None, error, end)
        return
    for record in records:
        frame = made = problem = None
        try:
            frame = decode_frame(record.value, file=file, base=record.value_position)
            made = remote_record(frame, file=file, base=record.value_position)
            if reader is not None:
                reader.learn(record.value, made)
        except DecodeError as error:
            problem = error
        end = record.offset + 1
        yield PlacedRecord(record.offset, epoch, record.timestamp_ms, file, frame, made, problem, end)
