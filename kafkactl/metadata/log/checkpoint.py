"""Checkpoints (snapshots of the metadata log), as format makes them and as any node leaves them.

All have one shape (`raft/.../RecordsSnapshotWriter.java`, KIP-630, KIP-853): a control batch with the snapshot header,
then perhaps KRaftVersion and Voters; data batches; a control batch with the footer. Offsets run from 0 in each file.
Reading gives everything that is wrong and everything that can be read: for a damaged file an operator needs both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from kafkactl.cluster.quorum.voter_sets import Voter, voters_data, voters_of
from kafkactl.core.errors import DecodeError, EncodeError
from kafkactl.core.frozen import frozen
from kafkactl.protocol.control_records import (
    ControlRecord,
    ControlType,
    decode_control_record,
    encode_control_record,
)
from kafkactl.protocol.log.frame import MetadataRecord, decode_record, encode_record
from kafkactl.protocol.record_batch import (
    HEADER_BYTES,
    BatchHeader,
    Record,
    decode_records,
    encode_batch,
    verify_crc,
)
from kafkactl.protocol.record_size import record_size, value_record_size
from kafkactl.protocol.schema.definitions import message

MAX_BATCH_BYTES = 8 * 1024 * 1024  # raft/.../KafkaRaftClient.java, MAX_BATCH_SIZE_BYTES


@frozen
class SnapshotHeader:
    """Header of a snapshot: its version, and the time of the last log record in it (milliseconds)."""

    version: int
    last_contained_log_timestamp_ms: int


@frozen
class Checkpoint:
    """Content of a checkpoint. `None` means absent (a static quorum has no voters in its snapshots).

    `problems` lists all that is wrong, in the order of the file; `records` are those that could be read, with their
    offsets. `epoch` is the leader epoch of the first batch.
    """

    header: SnapshotHeader | None
    kraft_version: int | None
    voters: tuple[Voter, ...] | None
    records: tuple[tuple[int, MetadataRecord], ...] = field(repr=False)
    footer: bool
    epoch: int | None
    batches: tuple[BatchHeader, ...] = field(repr=False)
    problems: tuple[DecodeError, ...]

    @property
    def is_complete(self) -> bool:
        """Return True if nothing is wrong: header first, footer last, everything readable."""
        return not self.problems


def decode_checkpoint(data: bytes, *, file: str | None = None) -> Checkpoint:
    """Read a checkpoint, whatever its state; never raises.

    A batch whose CRC is wrong is a problem (`crc-mismatch`) and is read all the same if it can be: Kafka does not
    check the CRCs of bootstrap.checkpoint, but does check those of `*.checkpoint` in the metadata log.
    """
    from kafkactl.protocol.batch_scan import Damage, scan_batches  # not needed to format

    reader = _CheckpointReader(data, file)
    for piece in scan_batches(data, file=file, check_crc=False):
        if isinstance(piece, Damage):
            reader.take_damage(piece.error)
        else:
            reader.take_batch(piece)
    reader.take_end()
    return reader.checkpoint()


class _CheckpointReader:
    """A checkpoint while it is read."""

    def __init__(self, data: bytes, file: str | None) -> None:
        self._data = data
        self._file = file
        self._header: SnapshotHeader | None = None
        self._kraft_version: int | None = None
        self._voters: tuple[Voter, ...] | None = None
        self._records: list[tuple[int, MetadataRecord]] = []
        self._batches: list[BatchHeader] = []
        self._footer_end: int | None = None
        self._next_offset: int | None = 0
        self.problems: list[DecodeError] = []

    def checkpoint(self) -> Checkpoint:
        return Checkpoint(
            header=self._header,
            kraft_version=self._kraft_version,
            voters=self._voters,
            records=tuple(self._records),
            footer=self._footer_end is not None,
            epoch=self._batches[0].partition_leader_epoch if self._batches else None,
            batches=tuple(self._batches),
            problems=tuple(self.problems),
        )

    def take_damage(self, error: DecodeError) -> None:
        self.problems.append(error)
        self._next_offset = None  # the offsets of the bytes skipped are unknown

    def take_batch(self, batch: BatchHeader) -> None:
        self._check_place(batch)
        self._batches.append(batch)
        try:
            verify_crc(self._data, batch, file=self._file)
        except DecodeError as error:
            self.problems.append(error)
        try:
            records = decode_records(self._data, batch, file=self._file)
        except DecodeError as error:
            self.problems.append(error)
            return
        for record in records:
            try:
                self._take_record(batch, record)
            except DecodeError as error:
                self.problems.append(error)

    def _check_place(self, batch: BatchHeader) -> None:
        """Check that a batch follows the one before it, and that nothing follows the footer."""
        if self._footer_end is not None:
            self._problem(batch.position, "a batch behind the snapshot footer", "data-after-footer")
        if self._next_offset is not None and batch.base_offset != self._next_offset:
            text = f"the batch begins with offset {batch.base_offset}; expected {self._next_offset}"
            self._problem(batch.position, text, "offset-gap")
        self._next_offset = batch.last_offset + 1

    def _take_record(self, batch: BatchHeader, record: Record) -> None:
        if batch.is_control:
            self._take_control(batch, record)
        elif record.key is not None or record.value is None:
            text = "a metadata record has a value and no key"
            self._problem(record.position, text, "not-a-metadata-record")
        else:
            decoded = decode_record(record.value, file=self._file, base=record.value_position)
            self._records.append((record.offset, decoded))

    def _take_control(self, batch: BatchHeader, record: Record) -> None:
        control = decode_control_record(
            record.key,
            record.value,
            file=self._file,
            key_base=record.key_position,
            value_base=record.value_position,
        )
        if control.type not in self._expected(batch, record):
            text = f"a {control.type.name} record does not belong here"
            self._problem(record.position, text, "misplaced-control-record")
        if control.type is ControlType.SNAPSHOT_FOOTER:
            self._footer_end = batch.end
        else:
            self._take_head(control)

    def _expected(self, batch: BatchHeader, record: Record) -> frozenset[ControlType]:
        """Return the control records that are allowed at this place."""
        if len(self._batches) > 1:
            return frozenset({ControlType.SNAPSHOT_FOOTER})
        if record.offset == batch.base_offset:
            return frozenset({ControlType.SNAPSHOT_HEADER})
        return frozenset({ControlType.KRAFT_VERSION, ControlType.KRAFT_VOTERS})

    def _take_head(self, control: ControlRecord) -> None:
        data = control.data
        if control.type is ControlType.SNAPSHOT_HEADER:
            self._header = SnapshotHeader(
                version=data["Version"], last_contained_log_timestamp_ms=data["LastContainedLogTimestamp"]
            )
        elif control.type is ControlType.KRAFT_VERSION:
            self._kraft_version = data["KRaftVersion"]
        elif control.type is ControlType.KRAFT_VOTERS:
            self._voters = voters_of(data)

    def take_end(self) -> None:
        """Check what only the end of the file shows."""
        if self._header is None:
            self._problem(0, "no snapshot header at the beginning", "no-snapshot-header")
        if self._footer_end is None:
            self._problem(len(self._data), "no snapshot footer at the end", "no-snapshot-footer")
        if self._voters is not None and not self._kraft_version:
            text = "the snapshot has voters, which need kraft.version 1 or more"
            self._problem(0, text, "voters-without-kraft-version")

    def _problem(self, position: int, text: str, error_id: str) -> None:
        self.problems.append(DecodeError(text, id=error_id, offset=position, path="Checkpoint", file=self._file))


def encode_bootstrap_checkpoint(records: Sequence[MetadataRecord], now_ms: int) -> bytes:
    """Return the bytes of `bootstrap.checkpoint` as Kafka 3.3 to 4.3 write it.

    The header's timestamp is 0, as in `BatchFileWriter.java`; the batches carry `now_ms` (milliseconds).
    """
    header = encode_control_record(ControlType.SNAPSHOT_HEADER, {"LastContainedLogTimestamp": 0})
    return _encoded([header], _framed(records), now_ms)


def encode_first_checkpoint(
    *,
    now_ms: int,
    kraft_version: int | None = None,
    voters: Sequence[Voter] | None = None,
    records: Sequence[MetadataRecord] = (),
) -> bytes:
    """Return the bytes of the checkpoint at offset 0, epoch 0.

    Kafka 3.9 to 4.3 write it for a dynamic quorum: `kraft_version` 1, `voters`, no `records`. Kafka 4.4 writes it for
    every controller, with the bootstrap `records` (KIP-1170); a static quorum then has no `kraft_version`, and a
    controller that is to join one has a `kraft_version` but no `voters`. Voters are written in the order given.

    Raises EncodeError `records-too-large` for records that do not fit into one batch of 8 MiB: Kafka 4.4.0 ends with
    a RecordBatchTooLargeException there, while it spreads those of bootstrap.checkpoint over several (both tried).
    """
    framed = _framed(records)
    if len(list(batch_values(framed))) > 1:
        text = f"the bootstrap records take more than the {MAX_BATCH_BYTES} bytes of one batch"
        raise EncodeError(text, id="records-too-large", path="Checkpoint")
    head = [encode_control_record(ControlType.SNAPSHOT_HEADER, {"LastContainedLogTimestamp": now_ms})]
    if kraft_version:
        head.append(encode_control_record(ControlType.KRAFT_VERSION, {"KRaftVersion": kraft_version}))
    if voters is not None:
        head.append(encode_control_record(ControlType.KRAFT_VOTERS, voters_data(voters)))
    return _encoded(head, framed, now_ms)


def _encoded(head: Sequence[tuple[bytes | None, bytes | None]], values: Sequence[bytes], now_ms: int) -> bytes:
    batches = [encode_batch(head, base_offset=0, timestamp_ms=now_ms, is_control=True)]
    offset = len(head)
    for chunk in batch_values(values):
        batches.append(encode_batch([(None, value) for value in chunk], base_offset=offset, timestamp_ms=now_ms))
        offset += len(chunk)
    footer = encode_control_record(ControlType.SNAPSHOT_FOOTER, {})
    batches.append(encode_batch([footer], base_offset=offset, timestamp_ms=now_ms, is_control=True))
    return b"".join(batches)


def _framed(records: Sequence[MetadataRecord]) -> list[bytes]:
    return [encode_record(message(record.type), record.version, record.data) for record in records]


def batch_values(values: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield the records of each batch of a snapshot: as many as fit into Kafka's largest batch."""
    chunk: list[bytes] = []
    size = HEADER_BYTES
    for value in values:
        taken = record_size(len(chunk), None, value)
        if chunk and size + taken > MAX_BATCH_BYTES:
            yield chunk
            chunk, size = [], HEADER_BYTES
            taken = record_size(0, None, value)
        chunk.append(value)
        size += taken
    if chunk:
        yield chunk


def batch_sizes(values: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the bytes and the records of each such batch, from the sizes of the values."""
    count, size = 0, HEADER_BYTES
    for value in values:
        taken = value_record_size(count, value)
        if count and size + taken > MAX_BATCH_BYTES:
            yield size, count
            count, size = 0, HEADER_BYTES
            taken = value_record_size(0, value)
        count += 1
        size += taken
    if count:
        yield size, count
