"""Positions of the values in a usual batch, found without decoding its records.

Usual is what Kafka's controllers write: records without key and headers, whose time is that of their batch. Whatever
is written in another way is left to `record_batch.decode_records`, which reads it or says what is wrong with it.
"""

from __future__ import annotations

import struct
from typing import Final, TypeAlias

from kafkactl.protocol.compiled_runtime import IrregularError, longer_varint

Span: TypeAlias = tuple[int, int, int]
"""A record: how far its offset is from that of its batch, where its value begins, and where it ends."""

# Length of the record, attributes and time, offset, length of the key, length of the value: each of one byte.
_SHORT: Final = struct.Struct(">BHBBB").unpack_from
_FRAMING: Final = 6  # bytes before the value, in a short record
_ODD_OR_LONG: Final = 0x81


def plain_spans(data: bytes, position: int, end: int, count: int) -> list[Span]:
    """Return the `count` records from `position` to `end`. Raise IrregularError if one of them is irregular.

    Records shorter than 64 bytes, the majority in most logs, are read in one loop without calls.
    """
    spans: list[Span] = []
    add = spans.append
    p = position
    try:
        for _ in range(count):
            length, plain, offset, key, size = _SHORT(data, p)
            if length == size + 12 and plain == 0 and key == 1 and length < 128 and not (size | offset) & _ODD_OR_LONG:
                start = p + _FRAMING
                stop = start + (size >> 1)
            else:
                offset, start, stop = _longer(data, p)
            if data[stop]:
                raise IrregularError
            add((offset >> 1, start, stop))
            p = stop + 1
    except (struct.error, IndexError) as error:
        raise IrregularError from error
    if p != end:
        raise IrregularError
    return spans


def _longer(data: bytes, p: int) -> Span:
    """Return the value's place in a record with numbers of several bytes; the offset still doubled, as written."""
    length = data[p]
    p += 1
    if length > 127:
        if data[p] < 128:
            length += (data[p] - 1) << 7
            p += 1
        else:
            length, p = longer_varint(data, p, length)
    start, offset = p, data[p + 2]
    if data[p + 1] or data[p]:
        raise IrregularError
    p += 3
    if offset > 127:
        offset, p = longer_varint(data, p, offset)
    size = data[p + 1]
    if data[p] != 1:
        raise IrregularError
    p += 2
    if size > 127:
        if data[p] < 128:
            size += (data[p] - 1) << 7
            p += 1
        else:
            size, p = longer_varint(data, p, size)
    stop = p + (size >> 1)
    if (size | offset) & 1 or (stop + 1 - start) << 1 != length:
        raise IrregularError
    return offset, p, stop
