"""Batches and the records in them by columns: the n-th records of all batches are read at once.

A batch is usual if Kafka's controllers write it so: not compressed, no key, no headers, one timestamp, offsets without
a gap. `record_batch.decode_records` reads the same records in it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from kafkactl.metadata.replay.columns.bytes import Array, Window
from kafkactl.protocol.batch_bounds import MOST_BATCH_RECORDS
from kafkactl.protocol.compiled_runtime import IrregularError
from kafkactl.protocol.log.batch_runs import UNUSUAL_BITS
from kafkactl.protocol.plain_records import plain_spans
from kafkactl.protocol.record_batch import HEADER_BYTES, LEAST_RECORD_BYTES, LENGTH_END

_STEP: Final = 60  # records that are walked through one by one in the time of a step over the n-th of all batches
_ONE_BYTE: Final = 64  # offset deltas below this take one byte
_TWO_BYTES: Final = 8192  # offset deltas below this take at most two bytes
_LONG: Final = 1 << 14  # a zigzag varint of three bytes
_LEAST_VALUE_BYTES: Final = 3  # the frame of a record
_U8: Final = np.uint64
CONTROL_BIT: Final = 0x20
_NOT_USUAL: Final = ~(_LONG - 2)  # bits of a size below it that is not negative: the lowest is the sign


class Heads(NamedTuple):
    """Headers of batches as columns. `end` is the place after the batch; `is_usual` speaks of the header alone."""

    at: Array
    offset: Array
    last: Array
    epoch: Array
    timestamp: Array
    counts: Array
    end: Array
    is_usual: Array
    is_control: Array

    def since(self, first: int) -> Heads:
        """Return the batches from `first` on."""
        return Heads(*(column[first:] for column in self))

    def only(self, which: Array) -> Heads:
        """Return some of the batches."""
        return Heads(*(column[which] for column in self))


def heads(window: Window, positions: Sequence[int]) -> Heads:
    """Read the headers of the batches at these places, which are whole."""
    at = np.array(positions, np.int64)
    offset, length = window.i8[at].astype(np.int64), window.i4[at + 8].astype(np.int64)
    delta, counts = window.i4[at + 23].astype(np.int64), window.i4[at + 57].astype(np.int64)
    attributes = window.u1[at + 22]
    return Heads(
        at=at,
        offset=offset,
        last=offset + delta,
        epoch=window.i4[at + 12].astype(np.int64),
        timestamp=window.i8[at + 27].astype(np.int64),
        counts=counts,
        end=at + LENGTH_END + length,
        # A count is a claim: rows are made for as many records as there is room for, and no more.
        is_usual=(attributes & UNUSUAL_BITS == 0)
        & (delta == counts - 1)
        & (counts > 0)
        & (counts <= MOST_BATCH_RECORDS)
        & (counts * LEAST_RECORD_BYTES <= length),
        is_control=attributes & CONTROL_BIT != 0,
    )


class Records(NamedTuple):
    """Places of the values of records, batch by batch; `first` is the row of each batch's first record."""

    start: Array
    end: Array
    first: Array

    def part(self, row: int, stop: int) -> Records:
        """Return the records from one row to below another."""
        return Records(self.start[row:stop], self.end[row:stop], self.first)


def side_by_side(values: Sequence[bytes]) -> Records:
    """Return the records of values side by side, as of a single batch."""
    sizes = np.fromiter(map(len, values), np.int64, len(values))
    ends = np.cumsum(sizes)
    return Records(ends - sizes, ends, np.zeros(1, np.int64))


class Batches(NamedTuple):
    """Batches with what is in them. `row` is that of a batch's first record in `records`, `is_usual` marks which have
    any there; `breaks` are the batches that do not follow on the one before, or are not usual."""

    heads: Heads
    records: Records
    row: Array
    is_usual: Array
    breaks: list[int]

    def usual_until(self, first: int, next_offset: int | None) -> int:
        """Return the batch after those from `first` on that are usual and follow on each other; `first` itself if it is
        not usual, or does not begin with `next_offset` (None: with any offset)."""
        if not self.is_usual[first] or next_offset not in (None, int(self.heads.offset[first])):
            return first
        at = bisect_right(self.breaks, first)
        return self.breaks[at] if at < len(self.breaks) else len(self.heads.at)

    def rows(self, first: int, behind: int) -> tuple[int, int]:
        """Return the rows of usual batches next to each other: the first, and the one after the last."""
        return int(self.row[first]), int(self.row[behind - 1] + self.heads.counts[behind - 1])

    def batch_of(self, row: int, first: int, behind: int) -> int:
        """Return the batch of a row among usual batches next to each other."""
        return first + int(np.searchsorted(self.row[first:behind], row, "right")) - 1


def batches(window: Window, taken: Heads, *, first: int, end: int) -> Batches:
    """Read the batches of a piece; usual are those within the offsets from `first` on and below `end`."""
    is_usual = taken.is_usual & (taken.offset >= first) & (taken.last < end)
    usual = np.flatnonzero(is_usual)
    found, bad = records(window, taken.only(usual))
    row = np.full(len(is_usual), -1)
    row[usual] = found.first
    is_usual[usual[bad]] = False
    breaks = ~is_usual
    breaks[1:] |= (taken.offset[1:] != taken.last[:-1] + 1) | (taken.epoch[1:] < taken.epoch[:-1])
    return Batches(taken, found, row, is_usual, np.flatnonzero(breaks).tolist())


def records(window: Window, taken: Heads) -> tuple[Records, Array]:
    """Find the records of batches whose heads are usual, and the batches whose content is not usual."""
    first = np.cumsum(taken.counts) - taken.counts
    total = int(taken.counts.sum())
    found = Records(np.zeros(total, np.int64), np.zeros(total, np.int64), first)
    order = np.argsort(-taken.counts, kind="stable")
    bad = np.zeros(len(order), bool)
    counts = taken.counts[order]
    steps = min(_steps(counts), _TWO_BYTES)
    alone = int(np.searchsorted(-counts, -steps))  # batches with more records than are read together
    for index in order[:alone].tolist():
        bad[index] = not _one(window, taken, found, index)
    rest = order[alone:]
    bad[rest] = _together(window, taken.only(rest), first[rest], found)
    return found, bad


def _steps(counts: Array) -> int:
    """Return the number of steps that takes the least time, if batches with more records are walked through; the
    largest come first."""
    costs = np.cumsum(counts) - counts + _STEP * counts
    best = int(costs.argmin()) if len(counts) else 0
    return int(counts[best]) if len(counts) and costs[best] < counts.sum() else 0


def _one(window: Window, taken: Heads, found: Records, index: int) -> bool:
    """Find the records of a single batch; return False if the batch is not usual."""
    count, row = int(taken.counts[index]), int(found.first[index])
    try:
        spans = plain_spans(window.data, int(taken.at[index]) + HEADER_BYTES, int(taken.end[index]), count)
    except IrregularError:
        return False
    delta, start, end = np.array(spans, np.int64).T
    found.start[row : row + count], found.end[row : row + count] = start, end
    return bool((delta == np.arange(count)).all() and (end - start >= _LEAST_VALUE_BYTES).all())


def _together(window: Window, taken: Heads, rows: Array, found: Records) -> Array:
    """Find the records of batches, which stand in the order of their counts, the largest first; return which batches
    are wrong."""
    at, end, counts = taken.at + HEADER_BYTES, taken.end, taken.counts
    bad, ascending = np.zeros(len(at), bool), -counts
    active = len(at)
    for number in range(int(counts[0]) if active else 0):
        active = int(ascending.searchsorted(-number))
        place, limit, row = at[:active], end[:active], rows[:active] + number
        value, value_end, wrong = _step(window, place, number)
        found.start[row] = value
        found.end[row] = value_end
        bad[:active] |= wrong | (value_end >= limit)
        np.minimum(value_end + 1, limit, out=place)
    bad |= at != end
    return bad


def _step(window: Window, place: Array, number: int) -> tuple[Array, Array, Array]:
    """Find the record `number` of each batch: begin and end of its value; mark unusual ones."""
    word = window.u8[place]
    length, two = _varint(word)
    inner = place + two
    inner += 1
    if number < _ONE_BYTE:
        wide, delta = 1, 2 * number
        rest = word >> ((two << 3) + 8).view(_U8)
    else:
        wide, delta = 2, (2 * number & 0x7F | 0x80) | (2 * number >> 7) << 8
        rest = window.u8[inner]
    expected = delta << 8 | 1 << 8 + 8 * wide  # timestamp delta 0, offset delta, no key
    head = (rest >> _U8(8)) & _U8((1 << 8 * (2 + wide)) - 1)
    size, more = _varint(rest >> _U8(24 + 8 * wide))
    value = inner + more
    value += 4 + wide
    value_end = value + (size >> 1)
    inner += length >> 1
    wrong = (head != _U8(expected)) | (((length | size) & _NOT_USUAL) != 0) | (size < 2 * _LEAST_VALUE_BYTES)
    wrong |= value_end + 1 != inner
    np.minimum(value_end, len(window.u1) - 1, out=value_end)
    wrong |= window.u1[value_end] != 0
    return value, value_end, wrong


def _varint(word: Array) -> tuple[Array, Array]:
    """Return the unsigned varint of one or two bytes at the low end, and how many bytes it has beyond one.

    A varint of more bytes is not less than _LONG.
    """
    two = (word >> _U8(7)) & _U8(1)
    found = (word >> _U8(1)) & _U8(0x7F80)
    found *= two
    found |= word & _U8(0x7F)
    return found.view(np.int64), two.view(np.int64)
