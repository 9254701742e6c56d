"""Content of a metadata log or snapshot up to its first damage, read piece by piece as a node reads it.

A starting node goes through every segment of `__cluster_metadata-0` from its first byte, for the recovery point of
that log is always 0 (`KafkaMetadataLog.apply`). The first batch that is cut, impossible or of a wrong CRC ends the
log: it and everything after it, later segments included, is thrown away (`LogSegment.recover`,
`LogLoader.recoverLog`). A snapshot is read by the same walk, but there a wrong CRC is fatal and a cut batch silently
ends the file (`RecordsIterator`, `ByteBufferLogInputStream`).

`walk_batches` finds the batches and the stop, `Contents` folds what the batches hold. Memory is bounded by one batch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kafkactl.core.errors import DecodeError
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Uuid
from kafkactl.metadata.log.stored_settings import StoredSettings
from kafkactl.protocol.batch_bounds import MOST_BATCH_BYTES, MOST_BATCH_RECORDS
from kafkactl.protocol.compiled_runtime import IrregularError
from kafkactl.protocol.control_records import ControlRecord, ControlType, decode_control_record
from kafkactl.protocol.crc32c import crc32c
from kafkactl.protocol.log.frame import decode_record
from kafkactl.protocol.plain_records import Span, plain_spans
from kafkactl.protocol.record_batch import (
    CRC_END,
    CRC_START,
    HEADER_BYTES,
    LENGTH_END,
    BatchHeader,
    Record,
    decode_header,
    decode_records,
    verify_crc,
)

# A batch of an older format is possible in a data log; its overhead is 14 bytes (Records.LOG_OVERHEAD, LegacyRecord).
_SMALLEST_LENGTH = 14
_MAGIC_POSITION = 16
_ATTRIBUTES_END = 22  # the low byte of the attributes, which has the control bit
_CONTROL_BIT = 0x20

TOPIC, CONFIG, REMOVE_TOPIC = 2, 4, 9
FEATURE_LEVEL, SCRAM, REMOVE_SCRAM, ZK_MIGRATION = 12, 11, 22, 21
BEGIN_TRANSACTION, END_TRANSACTION, ABORT_TRANSACTION = 23, 24, 25
_TOPICS_AND_CONFIGS = frozenset({TOPIC, CONFIG, REMOVE_TOPIC})
_TRANSACTIONS = frozenset({BEGIN_TRANSACTION, END_TRANSACTION, ABORT_TRANSACTION})
_FOLDED = _TOPICS_AND_CONFIGS | _TRANSACTIONS | {FEATURE_LEVEL, SCRAM, REMOVE_SCRAM, ZK_MIGRATION}
_LARGEST_KNOWN_KEY = 29
_PARTITION_RECORDS = frozenset({b"\x01\x03", b"\x01\x05"})  # PartitionRecord and PartitionChangeRecord in their frames
_IDS_END = 3 + 4 + 16  # the partition and the topic id
_MOST_REMEMBERED = 200_000


@frozen
class Stop:
    """Place at which a walk ended before the end of the file.

    `reason` is one of: `cut` (fewer bytes than the batch states), `tiny` (fewer than 17 bytes left), `length` (an
    impossible length), `magic` (`magic` says which; `crc_matches` whether the CRC, which does not cover the magic, is
    right), `crc`. `position` is where the bad batch begins, and
    `lost_bytes` how much stands from there to the end of the file; `zeros` is True if all that was observed of it is
    zero, `control` if the cut batch states that it holds control records.
    """

    reason: str
    position: int
    lost_bytes: int
    message: str
    magic: int | None = None
    length: int | None = None
    zeros: bool = False
    crc_matches: bool = False
    control: bool = False


@frozen
class FoundBatch:
    """A batch and its bytes; `problem` is set if the CRC is wrong and the walk continues all the same."""

    header: BatchHeader
    data: bytes
    problem: DecodeError | None = None


def walk_batches(
    pieces: Iterable[bytes], size_bytes: int, *, file: str, check_crc: bool = True, start: int = 0
) -> Iterator[FoundBatch | Stop]:
    """Yield the batches of a file of `size_bytes` that arrives in pieces, then a `Stop` if it is not whole.

    Without `check_crc` a batch of a wrong CRC is given too, with its `problem`. `start` is the place of the first
    piece in the file. Never raises.
    """
    source, window = iter(pieces), b""
    position = start  # of the next batch; `start` is that of the window
    while position < size_bytes:
        at = position - start
        if len(window) - at < LENGTH_END + 5:
            window, start, at = _filled(window[at:], LENGTH_END + 5, source), position, 0
        if _early_stop(window[at : at + HEADER_BYTES], position, size_bytes) is not None:
            stop = _early_stop(window[at:], position, size_bytes)
            assert stop is not None
            yield stop
            return
        length = LENGTH_END + int.from_bytes(window[at + 8 : at + LENGTH_END], "big", signed=True)
        if len(window) - at < length:
            window, start, at = _filled(window[at:], length, source), position, 0
        if len(window) - at < length:
            yield _stop("cut", window[at:], position, size_bytes, "the file ended while it was read")
            return
        found = _examined(window[at : at + length], position, file, check_crc, size_bytes)
        yield found
        if isinstance(found, Stop):
            return
        position += length


def _filled(buffer: bytes, wanted: int, source: Iterator[bytes]) -> bytes:
    if len(buffer) >= wanted:
        return buffer
    parts, have = [buffer], len(buffer)
    for piece in source:
        parts.append(piece)
        have += len(piece)
        if have >= wanted:
            break
    return b"".join(parts)


def _early_stop(buffer: bytes, position: int, size_bytes: int) -> Stop | None:
    """Return the problem in front of a batch: too few bytes, or an impossible length; None without one."""
    left = size_bytes - position
    if left < LENGTH_END + 5 or len(buffer) < LENGTH_END + 5:
        return _stop("tiny", buffer, position, size_bytes, f"{left} bytes are left, too few for a batch")
    length = int.from_bytes(buffer[8:LENGTH_END], "big", signed=True)
    if length < _SMALLEST_LENGTH:
        return _stop("length", buffer, position, size_bytes, f"a batch of {length} bytes cannot be")
    if length > left - LENGTH_END:
        text = f"the batch says {length + LENGTH_END} bytes, {left} are left"
        return _stop("cut", buffer, position, size_bytes, text)
    if length < HEADER_BYTES - LENGTH_END or length > MOST_BATCH_BYTES:
        return _stop("crc", buffer, position, size_bytes, f"a batch of {length} bytes cannot be")
    return None


def _examined(data: bytes, position: int, file: str, check_crc: bool, size_bytes: int) -> FoundBatch | Stop:
    problem: DecodeError | None = None
    header: BatchHeader | None = None
    try:
        header = decode_header(data, 0, file=file, base=position)
        verify_crc(data, header, file=file, base=position)
    except DecodeError as error:
        problem = error
    if header is None or (problem is not None and check_crc):
        assert problem is not None
        return _bad_batch(data, position, size_bytes, problem)
    return FoundBatch(header=header, data=data, problem=problem)


def _bad_batch(data: bytes, position: int, size_bytes: int, problem: DecodeError) -> Stop:
    if problem.id != "unsupported-magic":
        return _stop("crc", data, position, size_bytes, problem.reason)
    stop = _stop("magic", data, position, size_bytes, problem.reason)
    stored = int.from_bytes(data[CRC_START:CRC_END], "big")
    return replace(stop, crc_matches=crc32c(data[CRC_END:]) == stored)


def _stop(reason: str, buffer: bytes, position: int, size_bytes: int, message: str) -> Stop:
    whole = len(buffer) >= LENGTH_END + 5
    return Stop(
        reason=reason,
        position=position,
        lost_bytes=size_bytes - position,
        message=message,
        magic=buffer[_MAGIC_POSITION] if whole else None,
        length=int.from_bytes(buffer[8:LENGTH_END], "big", signed=True) if whole else None,
        zeros=not any(buffer),
        control=len(buffer) > _ATTRIBUTES_END and bool(buffer[_ATTRIBUTES_END] & _CONTROL_BIT),
    )


@frozen
class FeatureChange:
    """A FeatureLevelRecord: at `offset` the feature `name` was set to `level` (0: removed)."""

    offset: int
    name: str
    level: int


@frozen
class VoterSeen:
    """A voter of a VotersRecord: node id, directory id (16 bytes) and the addresses it is reached at."""

    node_id: int
    directory_id: bytes
    endpoints: tuple[str, ...]


@frozen
class Undecodable:
    """A record, or with `whole_batch` the frame of a batch, that does not decode although it is all there."""

    offset: int
    position: int
    control: bool
    message: str
    reason: str
    whole_batch: bool = False


@dataclass(slots=True, kw_only=True)
class Contents:
    """Content of a file's records; filled by `add`, one batch after the other.

    With `decode_all` every record is decoded, else only those that say something about the whole cluster.

    `kinds` counts data records by (api key, version) and `first_offsets` says where each kind stands first. Offsets
    are those of the records; `end_offset` is one after the last, `data_end` one after the last data batch. `topics`
    are names by topic id, `settings` those of topics and brokers. `open_transaction` is the offset of a
    BeginTransactionRecord without an end, None if there is none.
    """

    decode_all: bool = False
    batches: int = 0
    end_offset: int = 0
    data_end: int = 0
    last_epoch: int | None = None
    kinds: Counter[tuple[int, int]] = field(default_factory=Counter)
    first_offsets: dict[tuple[int, int], int] = field(default_factory=dict)
    features: list[FeatureChange] = field(default_factory=list)
    scram: set[tuple[str, int]] = field(default_factory=set)
    topics: dict[Uuid, str] = field(default_factory=dict)
    settings: StoredSettings = field(default_factory=StoredSettings)
    zk_migration_state: int | None = None
    kraft_version: int | None = None
    voters: tuple[VoterSeen, ...] | None = None
    voters_offset: int | None = None
    control: Counter[str] = field(default_factory=Counter)
    first_control: str | None = None
    unknown_control: tuple[int, str] | None = None
    undecodable: Undecodable | None = None
    open_transaction: int | None = None
    sound: set[bytes] = field(default_factory=set, repr=False, compare=False)  # partition records without their ids

    @property
    def records(self) -> int:
        """Return the number of data records."""
        return self.kinds.total()

    @property
    def levels(self) -> dict[str, int]:
        """Return the level of every feature after the last record, by name; a level of 0 is left out."""
        levels = {change.name: change.level for change in self.features}
        return {name: level for name, level in levels.items() if level}

    def add(self, batch: FoundBatch, *, file: str) -> None:
        """Take in a batch. What does not decode is kept as `undecodable` (the first of them); nothing raises."""
        header = batch.header
        self.batches += 1
        spans = _plain(batch)
        if spans:
            self._add_plain(batch, spans, file)
            self.end_offset = header.last_offset + 1
            self.data_end = max(self.data_end, self.end_offset)
            self.last_epoch = header.partition_leader_epoch
            return
        try:
            records = decode_records(batch.data, header, file=file, base=header.position)
        except DecodeError as error:
            self._remember(error, header.base_offset, header.is_control, whole_batch=True)
            records = ()
        if header.record_count == 0:
            empty = DecodeError(
                "a batch without records", id="record-count-mismatch", offset=header.position, file=file
            )
            self._remember(empty, header.base_offset, header.is_control, whole_batch=True)
        for record in records:
            if header.is_control:
                self._add_control(record, file)
            else:
                self._add_data(record, file)
        self.end_offset = header.last_offset + 1
        self.data_end = self.data_end if header.is_control else max(self.data_end, self.end_offset)
        self.last_epoch = header.partition_leader_epoch

    def add_record(self, record: Record, *, file: str) -> None:
        """Take in a data record of a batch that is counted by `pass_over`."""
        self._add_data(record, file)

    def pass_over(
        self, counts: Mapping[tuple[int, int], int], *, batches: int, end_offset: int, data_end: int, epoch: int
    ) -> None:
        """Take in batches without reading them: what `counts` says is in them is sound, and of kinds met before."""
        for kind, count in counts.items():
            self.kinds[kind] += count
        self.batches += batches
        self.end_offset, self.last_epoch = end_offset, epoch
        self.data_end = max(self.data_end, data_end)

    def _add_plain(self, batch: FoundBatch, spans: list[Span], file: str) -> None:
        """Add the data records of a usual batch. Most are about partitions and equal to others, so that none is
        decoded."""
        data, header, sound = batch.data, batch.header, self.sound
        counts: dict[bytes, int] = {}
        for delta, start, stop in spans:
            frame = data[start : start + 3]
            if stop - start < _IDS_END or frame + data[start + _IDS_END : stop] not in sound or not self.decode_all:
                self._add_data(_plain_record(header, data, delta, start, stop), file)
            elif frame in counts:
                counts[frame] += 1
            else:
                counts[frame] = 1
                self.first_offsets.setdefault((frame[1], frame[2]), header.base_offset + delta)
        for frame, count in counts.items():
            self.kinds[frame[1], frame[2]] += count

    def _remember(self, error: DecodeError, offset: int, control: bool, *, whole_batch: bool = False) -> None:
        if self.undecodable is None:
            self.undecodable = Undecodable(
                offset=offset,
                position=error.offset,
                control=control,
                message=str(error),
                reason=error.id,
                whole_batch=whole_batch,
            )

    def _add_control(self, record: Record, file: str) -> None:
        try:
            decoded = decode_control_record(
                record.key, record.value, file=file, key_base=record.key_position, value_base=record.value_position
            )
        except DecodeError as error:
            if error.id == "unknown-control-record" and self.unknown_control is None:
                self.unknown_control = (record.offset, str(error))
            elif error.id != "unknown-control-record":
                self._remember(error, record.offset, True)
            self.first_control = self.first_control or "unknown"
            return
        self.control[decoded.type.name] += 1
        self.first_control = self.first_control or decoded.type.name
        self._apply_control(decoded, record.offset)

    def _apply_control(self, record: ControlRecord, offset: int) -> None:
        if record.type is ControlType.KRAFT_VERSION:
            self.kraft_version = record.data["KRaftVersion"]
        elif record.type is ControlType.KRAFT_VOTERS:
            self.voters = tuple(_voter(voter) for voter in record.data["Voters"])
            self.voters_offset = offset

    def _add_data(self, record: Record, file: str) -> None:
        value = record.value
        kind = None if value is None else _kind(value)
        if self.decode_all or kind is None or kind[0] in _FOLDED or kind[0] > _LARGEST_KNOWN_KEY:
            self._decode_data(record, file)
        if kind is not None:
            self.kinds[kind] += 1
            self.first_offsets.setdefault(kind, record.offset)

    def _decode_data(self, record: Record, file: str) -> None:
        """Decode what says something about the whole cluster; of the rest the frame is enough.

        What stands after the ids of a partition record decodes or does not, whichever partition it is about, and a
        log has few different ones.
        """
        value, body = record.value or b"", b""
        if value[:2] in _PARTITION_RECORDS and len(value) >= _IDS_END:
            body = value[:3] + value[_IDS_END:]
            if body in self.sound:
                return
        try:
            decoded = decode_record(value, file=file, base=record.value_position)
        except DecodeError as error:
            if error.id != "invalid-utf8":  # Java reads such a string with replacement characters
                self._remember(error, record.offset, False)
            return
        if body and len(self.sound) < _MOST_REMEMBERED:
            self.sound.add(body)
        self._apply_data(decoded.api_key, decoded.data, record.offset)

    def _apply_data(self, api_key: int, data: Mapping[str, Any], offset: int) -> None:
        if api_key == FEATURE_LEVEL:
            self.features.append(FeatureChange(offset=offset, name=data["Name"], level=data["FeatureLevel"]))
        elif api_key == SCRAM:
            self.scram.add((data["Name"], data["Mechanism"]))
        elif api_key == REMOVE_SCRAM:
            self.scram.discard((data["Name"], data["Mechanism"]))
        elif api_key == TOPIC:
            self.topics[data["TopicId"]] = data["Name"]
        elif api_key == REMOVE_TOPIC:
            self.settings.remove_topic(data["TopicId"], self.topics.pop(data["TopicId"], None))
        elif api_key == CONFIG:
            self.settings.add(data)
        elif api_key == ZK_MIGRATION:
            self.zk_migration_state = data["ZkMigrationState"]
        elif api_key == BEGIN_TRANSACTION:
            self.open_transaction = offset
        elif api_key in (END_TRANSACTION, ABORT_TRANSACTION):
            self.open_transaction = None


def _plain(batch: FoundBatch) -> list[Span] | None:
    """Return the places of the values of a usual data batch; None for any other batch."""
    header = batch.header
    if header.attributes or header.record_count > MOST_BATCH_RECORDS:
        return None
    try:
        return plain_spans(batch.data, HEADER_BYTES, len(batch.data), header.record_count)
    except IrregularError:
        return None


def _plain_record(header: BatchHeader, data: bytes, delta: int, start: int, stop: int) -> Record:
    place = header.position + start
    return Record(
        offset=header.base_offset + delta,
        timestamp_ms=header.base_timestamp_ms,
        key=None,
        value=data[start:stop],
        headers=(),
        attributes=0,
        position=place,
        key_position=place,
        value_position=place,
    )


def _kind(value: bytes) -> tuple[int, int] | None:
    """Return api key and version of a framed record whose frame is the usual three bytes; None for any other."""
    if len(value) < 3 or value[0] != 1 or value[1] >= 0x80 or value[2] >= 0x80:
        return None
    return value[1], value[2]


def _voter(data: Mapping[str, Any]) -> VoterSeen:
    endpoints = tuple(f"{endpoint['Host']}:{endpoint['Port']}" for endpoint in data["Endpoints"])
    return VoterSeen(node_id=data["VoterId"], directory_id=data["VoterDirectoryId"].raw, endpoints=endpoints)
