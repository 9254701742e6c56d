"""Record batches of magic 2: the form of every record in a log, a snapshot and a fetch.

Strict reading (`decode_batches`) raises at the first byte that is wrong; the tolerant walk over headers is in
`batch_scan.py`. The CRC-32C covers everything from the attributes on; base offset and leader epoch lie outside it.

Layout: the protocol guide's "Record Batch" and `clients/.../record/DefaultRecordBatch.java`, `DefaultRecord.java`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kafkactl.core.errors import DecodeError, EncodeError
from kafkactl.core.frozen import frozen
from kafkactl.protocol.batch_bounds import MOST_BATCH_RECORDS, MOST_COMPRESSED_RECORDS, MOST_TIMES_DECOMPRESSED
from kafkactl.protocol.compression import decompressed
from kafkactl.protocol.crc32c import crc32c
from kafkactl.protocol.primitives import Reader, Writer, base128

MAGIC = 2
LENGTH_END = 12  # base offset and length stand before what the length counts
CRC_START = 17
CRC_END = 21
HEADER_BYTES = 61
MAGIC_POSITION = 16
COUNT_POSITION = 57
LEAST_RECORD_BYTES = 7  # length, attributes, both deltas, no key, no value, no headers
NO_PRODUCER = -1

_HEADER = struct.Struct(">qiibIhiqqqhii")
_COMPRESSION_BITS = 0x07
_APPEND_TIME_BIT = 0x08
_CONTROL_BIT = 0x20


@frozen
class BatchHeader:
    """The first 61 bytes of a batch. `position` is where they begin in the file; timestamps are in milliseconds."""

    position: int
    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp_ms: int
    max_timestamp_ms: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size_bytes(self) -> int:
        """Return the size of the whole batch, header included."""
        return LENGTH_END + self.batch_length

    @property
    def end(self) -> int:
        """Return the position after the batch."""
        return self.position + self.size_bytes

    @property
    def last_offset(self) -> int:
        """Return the offset of the last record."""
        return self.base_offset + self.last_offset_delta

    @property
    def is_control(self) -> bool:
        """Return True if its records are control records."""
        return bool(self.attributes & _CONTROL_BIT)

    @property
    def has_append_time(self) -> bool:
        """Return True if all records carry the broker's time instead of their own."""
        return bool(self.attributes & _APPEND_TIME_BIT)


class Record(NamedTuple):
    """A record. A tuple rather than a dataclass, for logs have millions of them.

    The positions are those of the record, its key and its value in the file; in a compressed batch, in which records
    have no place of their own, they are that of the batch.
    """

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    attributes: int
    position: int
    key_position: int
    value_position: int


@frozen
class RecordBatch:
    """A batch and its records."""

    header: BatchHeader
    records: tuple[Record, ...]


def decode_batches(
    data: bytes, *, file: str | None = None, check_crc: bool = True, base: int = 0
) -> Iterator[RecordBatch]:
    """Yield the batches of `data`, one after the other; `base` is the place of `data[0]` in `file`.

    Raises DecodeError at the first batch that is cut, corrupt (with `check_crc`), not of magic 2, or compressed in a
    way that this installation cannot undo.
    """
    position = 0
    while position < len(data):
        header = decode_header(data, position, file=file, base=base)
        if check_crc:
            verify_crc(data, header, file=file, base=base)
        yield RecordBatch(header=header, records=decode_records(data, header, file=file, base=base))
        position += header.size_bytes


def decode_header(data: bytes, position: int, *, file: str | None = None, base: int = 0) -> BatchHeader:
    """Return the header of the batch at `position`, whole batch present, length and magic sound; the CRC is not looked
    at.

    Raises DecodeError `truncated-batch`, `invalid-batch-length`, `unsupported-magic`, `invalid-record-count`.
    """

    def refuse(message: str, error_id: str, at: int) -> DecodeError:
        return DecodeError(message, id=error_id, offset=base + position + at, path="RecordBatch", file=file)

    left = len(data) - position
    if left < CRC_START:
        raise refuse(f"{left} bytes left, a batch begins with {HEADER_BYTES}", "truncated-batch", 0)
    length = int.from_bytes(data[position + 8 : position + LENGTH_END], "big", signed=True)
    magic = data[position + MAGIC_POSITION]
    if length < HEADER_BYTES - LENGTH_END:
        raise refuse(f"the length is {length}; at least 49 expected", "invalid-batch-length", 8)
    if length > left - LENGTH_END:
        message = f"the length is {length}, but only {left - LENGTH_END} bytes follow"
        raise refuse(message, "truncated-batch", 8)
    if magic != MAGIC:
        raise refuse(f"the magic is {magic}; only {MAGIC} is known", "unsupported-magic", MAGIC_POSITION)
    header = _header(data, position, base)
    if header.record_count < 0:
        raise refuse(f"the record count is {header.record_count}", "invalid-record-count", COUNT_POSITION)
    return header


def _header(data: bytes, position: int, base: int) -> BatchHeader:
    values = _HEADER.unpack_from(data, position)
    return BatchHeader(
        position=base + position,
        base_offset=values[0],
        batch_length=values[1],
        partition_leader_epoch=values[2],
        magic=values[3],
        crc=values[4],
        attributes=values[5],
        last_offset_delta=values[6],
        base_timestamp_ms=values[7],
        max_timestamp_ms=values[8],
        producer_id=values[9],
        producer_epoch=values[10],
        base_sequence=values[11],
        record_count=values[12],
    )


def computed_crc(data: bytes, header: BatchHeader, *, base: int = 0) -> int:
    """Return the CRC-32C that the batch's bytes have."""
    start = header.position - base
    return crc32c(data[start + CRC_END : start + header.size_bytes])


def verify_crc(data: bytes, header: BatchHeader, *, file: str | None = None, base: int = 0) -> None:
    """Raise DecodeError `crc-mismatch` if the batch is not the one that was written."""
    computed = computed_crc(data, header, base=base)
    if computed != header.crc:
        raise DecodeError(
            f"the batch at offset {header.base_offset} says CRC {header.crc:#010x}, its bytes have {computed:#010x}",
            id="crc-mismatch",
            offset=header.position + CRC_START,
            path="RecordBatch",
            file=file,
        )


def decode_records(
    data: bytes,
    header: BatchHeader,
    *,
    file: str | None = None,
    base: int = 0,
    most_times_decompressed: int = MOST_TIMES_DECOMPRESSED,
) -> tuple[Record, ...]:
    """Return the records of a batch.

    Raises DecodeError if they are not what the header states, and `too-many-records`.
    """
    start = header.position - base
    end = start + header.size_bytes
    is_compressed = bool(header.attributes & _COMPRESSION_BITS)
    most = MOST_COMPRESSED_RECORDS if is_compressed else MOST_BATCH_RECORDS
    if header.record_count > most:
        raise _too_many(header, most, file)
    if not is_compressed:
        fast = _decode_plainly(data, start + HEADER_BYTES, end, header, base)
        if fast is not None:
            return fast
        return _read_records(Reader(data, file=file, base=base, position=start + HEADER_BYTES, end=end), header)
    content = decompressed(
        data[start + HEADER_BYTES : end],
        header.attributes & _COMPRESSION_BITS,
        file=file,
        position=header.position + HEADER_BYTES,
        most_times=most_times_decompressed,
    )
    return _read_records(Reader(content, file=file), header, place=header.position)


def _too_many(header: BatchHeader, most: int, file: str | None) -> DecodeError:
    what = "one" if most == MOST_BATCH_RECORDS else "one that is compressed"
    return DecodeError(
        f"the batch says that it has {header.record_count} records; at most {most} are read of {what}",
        id="too-many-records",
        offset=header.position + COUNT_POSITION,
        path="RecordBatch",
        file=file,
        next_step="No batch of Kafka's metadata log can have as many: check that this file is part of one.",
    )


def _read_records(reader: Reader, header: BatchHeader, *, place: int | None = None) -> tuple[Record, ...]:
    """Return the records as specified; every irregularity is an error.

    `place` is the position of all of them if they have none of their own.
    """
    reader.path.append("RecordBatch")
    reader.check_count(header.record_count, LEAST_RECORD_BYTES)
    records = []
    for index in range(header.record_count):
        reader.path.append(index)
        record = _read_record(reader, header)
        if place is not None:
            record = record._replace(position=place, key_position=place, value_position=place)
        records.append(record)
        reader.path.pop()
    if reader.remaining:
        message = f"{reader.remaining} bytes behind the last of {header.record_count} records"
        raise reader.error(message, id="record-count-mismatch")
    return tuple(records)


def _read_record(reader: Reader, header: BatchHeader) -> Record:
    start = reader.position
    length = reader.varint()
    if not 0 <= length <= reader.remaining:
        message = f"the record has the length {length}, {reader.remaining} bytes are left"
        raise reader.error(message, id="invalid-record-length", position=start)
    batch_end, reader.end = reader.end, reader.position + length
    attributes = reader.int8()
    timestamp_delta, offset_delta = reader.varlong(), reader.varint()
    key, key_position = _read_nullable(reader)
    value, value_position = _read_nullable(reader)
    headers = _read_headers(reader)
    if reader.remaining:
        message = f"{reader.remaining} bytes of the record are left over"
        raise reader.error(message, id="invalid-record-length")
    reader.end = batch_end
    return Record(
        header.base_offset + offset_delta,
        header.max_timestamp_ms if header.has_append_time else header.base_timestamp_ms + timestamp_delta,
        key,
        value,
        headers,
        attributes,
        reader.base + start,
        reader.base + key_position,
        reader.base + value_position,
    )


def _read_nullable(reader: Reader) -> tuple[bytes | None, int]:
    """Return a byte string led by a varint length, and where its content begins; -1 is null."""
    start = reader.position
    length = reader.varint()
    if length < -1:
        raise reader.error(f"the length {length}", id="invalid-length", position=start)
    at = reader.position
    return (None if length < 0 else reader.sized(length)), at


def _read_headers(reader: Reader) -> tuple[tuple[str, bytes | None], ...]:
    start = reader.position
    count = reader.varint()
    if count < 0:
        raise reader.error(f"the header count {count}", id="invalid-length", position=start)
    reader.check_count(count, 2)
    headers = []
    for _ in range(count):
        start = reader.position
        length = reader.varint()
        if length < 0:
            raise reader.error(f"a header key of the length {length}", id="invalid-length", position=start)
        headers.append((reader.text(length), _read_nullable(reader)[0]))
    return tuple(headers)


def _decode_plainly(data: bytes, position: int, end: int, header: BatchHeader, base: int) -> tuple[Record, ...] | None:
    """Return the records of the usual batch, fast: no headers, create time, numbers of a few bytes.

    None for anything unusual or wrong: the careful reader then says what it is. What this accepts, that accepts
    alike (a property test holds them to it).
    """
    if header.has_append_time or header.record_count > end - position:
        return None
    base_offset, base_timestamp = header.base_offset, header.base_timestamp_ms
    records = []
    try:
        for _ in range(header.record_count):
            start = position
            length, position = _short_varint(data, position)
            record_end = position + length
            attributes = data[position]
            timestamp_delta, position = _short_varint(data, position + 1)
            offset_delta, position = _short_varint(data, position)
            length, key_position = _short_varint(data, position)
            if length >= 0:
                key, position = data[key_position : key_position + length], key_position + length
            else:
                key, position = None, key_position
            length, value_position = _short_varint(data, position)
            position = value_position + max(length, 0)
            value = data[value_position:position] if length >= 0 else None
            if data[position] != 0 or position + 1 != record_end or attributes > 0x7F:
                return None
            position = record_end
            records.append(
                Record(
                    base_offset + offset_delta, base_timestamp + timestamp_delta, key, value, (), attributes,
                    base + start, base + key_position, base + value_position,
                )
            )  # fmt: skip
    except (IndexError, _UnusualError):
        return None
    return tuple(records) if position == end else None


class _UnusualError(Exception):
    """The fast path has met what it leaves to the careful one."""


def _short_varint(data: bytes, position: int) -> tuple[int, int]:
    """Return a zigzag varint of at most 4 bytes, not below -1, and the position after it."""
    byte = data[position]
    if byte < 0x80:
        value, position = byte, position + 1
    else:
        value, shift = byte & 0x7F, 7
        while True:
            position += 1
            byte = data[position]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift > 21:
                raise _UnusualError
        position += 1
    if value & 1 and value != 1:
        raise _UnusualError
    return (value >> 1) ^ -(value & 1), position


def encode_batch(
    records: Sequence[tuple[bytes | None, bytes | None]],
    *,
    base_offset: int,
    timestamp_ms: int,
    partition_leader_epoch: int = 0,
    is_control: bool = False,
) -> bytes:
    """Return a batch of (key, value) records as Kafka writes its metadata log: uncompressed, no producer, one create
    time.

    Source: `raft/.../BatchBuilder.java`. Raises EncodeError for an empty batch or a number that does not fit.
    """
    if not records:
        raise EncodeError("a batch without records", id="empty-batch", path="RecordBatch")
    body = b"".join(_encoded_record(index, key, value) for index, (key, value) in enumerate(records))
    writer = Writer()
    writer.path.append("RecordBatch")
    writer.number("int16", _CONTROL_BIT if is_control else 0)
    writer.number("int32", len(records) - 1)
    writer.number("int64", timestamp_ms)
    writer.number("int64", timestamp_ms)
    writer.number("int64", NO_PRODUCER)
    writer.number("int16", NO_PRODUCER)
    writer.number("int32", NO_PRODUCER)
    writer.number("int32", len(records))
    checked = writer.to_bytes() + body
    head = Writer()
    head.path.append("RecordBatch")
    head.number("int64", base_offset)
    head.number("int32", CRC_END - LENGTH_END + len(checked))
    head.number("int32", partition_leader_epoch)
    head.number("int8", MAGIC)
    head.number("uint32", crc32c(checked))
    return head.to_bytes() + checked


def _encoded_record(offset_delta: int, key: bytes | None, value: bytes | None) -> bytes:
    """Return one encoded record: attributes 0, timestamp delta 0, no headers."""
    head = b"\0\0" + base128(offset_delta << 1) + (b"\x01" if key is None else base128(len(key) << 1) + key)
    content = head + (b"\x01" if value is None else base128(len(value) << 1) + value) + b"\0"
    return base128(len(content) << 1) + content
