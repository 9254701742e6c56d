"""Where the records of a batch are, as Kafka writes them into its metadata log."""

from __future__ import annotations

from typing import Final

from kafkactl.protocol.batch_bounds import MOST_BATCH_RECORDS

LONG: Final = 1 << 14  # a zigzag varint of three bytes
SHORTEST: Final = 2 * 3  # the frame of a value, in zigzag
_NO_KEY: Final = 1  # -1 in zigzag


def framed(data: bytes, at: int, end: int, count: int) -> list[int] | None:
    """Start and end of every value of a usual batch, by turns; None for anything else.

    Usual is what Kafka writes into this log: no key, no headers, one timestamp, offsets without a gap, values below
    4 KiB.
    """
    if count > MOST_BATCH_RECORDS:
        return None
    places = framed_first(data, at, count)
    return places if places and places[-1] + 1 == end else None


def framed_first(data: bytes, at: int, count: int) -> list[int] | None:
    """As `framed`, of the first records of a batch that may have more; the last one ends a byte behind its value."""
    places: list[int] = []
    add = places.append
    try:
        for expected in range(0, 2 * count, 2):  # offset deltas, in zigzag
            length = data[at]
            at += 1
            if length >= 0x80:
                length += (data[at] - 1) << 7
                at += 1
            delta, value = data[at + 2], at + 3
            if delta >= 0x80:
                delta += (data[value] - 1) << 7
                value += 1
                if delta >= LONG:
                    delta += (data[value] - 1) << 14
                    value += 1
            key, size = data[value], data[value + 1]
            value += 2
            if size >= 0x80:
                size += (data[value] - 1) << 7
                value += 1
            value_end = value + (size >> 1)
            if (length | size) & 1 or length >= LONG or size >= LONG or size < SHORTEST:
                return None
            if delta != expected or key != _NO_KEY or data[at + 1] or data[value_end]:
                return None
            if value_end + 1 != at + (length >> 1):
                return None
            add(value)
            add(value_end)
            at = value_end + 1
    except IndexError:
        return None
    return places
