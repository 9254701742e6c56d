"""The records of one large batch by columns: all of them are found at once, by their offset deltas.

A snapshot has batches of up to 8 MiB, and the creation of a large topic is one batch. Where a record begins depends on
the one before, so that they can only be walked through one by one; but the deltas of a usual batch are known before
(0, 1, 2...), and the bytes around a delta of three bytes are met by chance in few places. So every place that looks
like the head of a record is read, each delta names its record, and the walk from one record to the next is checked
afterwards for all of them. What does not come out is left to `framing.framed`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from kafkactl.metadata.replay.columns.bytes import Array, Window
from kafkactl.metadata.replay.framing import LONG, SHORTEST

THREE_BYTES: Final = 8192  # offset deltas from this on take three bytes
_HEAD_BYTES: Final = 6  # attributes, timestamp delta, offset delta, no key
_U8: Final = np.uint64


class Found(NamedTuple):
    """Where the values of records lie."""

    start: Array
    end: Array


def behind_two_bytes(window: Window, at: int, end: int, first: int, count: int) -> Found | None:
    """The records of a batch from the one with delta `first` on, which begins at a place; None where one is unusual.

    `count` is that of the whole batch, `end` the place behind it. `first` is at least THREE_BYTES.
    """
    heads = _heads(window.u1[at:end]) + at
    word = window.u8[heads]
    delta = (word >> _U8(16) & _U8(0x7F)) | (word >> _U8(17) & _U8(0x3F80)) | (word >> _U8(18) & _U8(0x1FC000))
    number = (delta >> _U8(1)).astype(np.int64)
    usual = np.flatnonzero((delta & _U8(1) == 0) & (number >= first) & (number < count))
    heads, number = heads[usual], number[usual]
    size, more = _varint(window, heads + _HEAD_BYTES)
    value = heads + _HEAD_BYTES + 1 + more
    value_end = np.minimum(value + (size >> 1), end)
    length = 2 * (value_end + 1 - heads)
    begin = heads - 1 - (length >= 0x80)
    written_length, _ = _varint(window, begin)
    right = (written_length == length) & (size & 1 == 0) & (size < LONG) & (size >= SHORTEST) & (length < LONG)
    right &= (window.u1[value_end] == 0) & (begin >= at)
    usual = np.flatnonzero(right)
    place = np.full(count - first, -1)
    place[number[usual] - first] = usual
    if bool((place < 0).any()):
        return None
    begin, value, value_end = begin[place], value[place], value_end[place]
    follows = begin[0] == at and value_end[-1] + 1 == end and bool((begin[1:] == value_end[:-1] + 1).all())
    return Found(value, value_end) if follows else None


def _heads(u1: Array) -> Array:
    """The places that look like the attributes of a record, with its timestamp delta, its offset delta and no key."""
    size = len(u1) - _HEAD_BYTES
    if size <= 0:
        return np.zeros(0, np.int64)
    found = u1[5 : 5 + size] == 1
    for behind in (0, 1):
        found &= u1[behind : behind + size] == 0
    for behind in (2, 3):
        found &= u1[behind : behind + size] >= 0x80
    found &= u1[4 : 4 + size] < 0x80
    return np.flatnonzero(found)


def _varint(window: Window, at: Array) -> tuple[Array, Array]:
    """The unsigned varint of one or two bytes at each place, and how many bytes beyond one."""
    low, high = window.u1[at].astype(np.int64), window.u1[at + 1].astype(np.int64)
    more = low >> 7
    return low + more * ((high - 1) << 7), more
