"""Batches of a metadata log as columns: partition records into patches, every other record unchanged.

Nearly all records are PartitionRecords and PartitionChangeRecords. They are framed, parsed and folded by the columns of
`metadata.replay.columns`. Any other record, and one that is not encoded as Kafka encodes it, keeps its bytes and its
position and is replayed one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from kafkactl.core.errors import DecodeError
from kafkactl.core.frozen import frozen
from kafkactl.dryrun.engine.before import UNDECODABLE, record_types
from kafkactl.dryrun.engine.patches import Patches, PatchTable
from kafkactl.metadata.log.frame import FRAME_VERSION, decode_record
from kafkactl.metadata.replay.columns import tagged
from kafkactl.metadata.replay.columns.bytes import Array
from kafkactl.metadata.replay.columns.bytes import Window as Bytes
from kafkactl.metadata.replay.columns.fold import NO_OP, NO_OP_BYTES
from kafkactl.metadata.replay.columns.frame import Heads, Records, heads, records
from kafkactl.metadata.replay.columns.lists import Lists
from kafkactl.metadata.replay.columns.tagged import IDS_BYTES
from kafkactl.metadata.replay.reference import ABORT, BEGIN, END
from kafkactl.metadata.replay.topics import CHANGE, NEWEST, PARTITION
from kafkactl.protocol.record_batch import LENGTH_END

VALUE, BATCH = 0, 1  # kinds of `others`: the value of a record, a whole batch that is unusual
_HEAD_END: Final = 3 + IDS_BYTES
_MOST_WORDS: Final = 6 << 20  # of lists; from here on those that were replaced are left behind
_MARKERS: Final = (BEGIN, END, ABORT)
NEVER: Final = 1 << 62  # behind every offset


@frozen
class Window:
    """Which records are replayed: offsets from `first` on and below `end`; earlier ones are counted.

    Partition records within the `withheld` ranges of offsets (first and last), and those of `exact` topics (raw ids),
    are not folded but kept as records; with `all_exact` all of them are.
    """

    first: int
    end: int
    withheld: tuple[tuple[int, int], ...] = ()
    exact: frozenset[bytes] = frozenset()
    all_exact: bool = False


class Other(NamedTuple):
    """The bytes of a record, or of a batch. `position` is that of its batch in the file, `number` its index in it."""

    position: int
    number: int
    kind: int
    offset: int
    epoch: int
    timestamp_ms: int
    content: bytes


class Columns:
    """What was decoded of a stretch of the log, piece by piece; `eras` are the ascending offsets at which one ends.

    `partitions` and `changes` count the records in the patches, `before` the types of those before the window;
    `no_ops` counts NoOpRecords, which are not kept where they have no effect, and `first_no_op` is the offset of the
    first, NEVER for none; `aborted` are the offsets (first and last) of transactions that were seen to be aborted and
    kept out of the patches.
    """

    def __init__(self, window: Window, eras: Sequence[int] = ()) -> None:
        self.others: list[Other] = []
        self.before: Counter[str] = Counter()
        self.aborted: list[tuple[int, int]] = []
        self.partitions = self.changes = self.no_ops = 0
        self.first_no_op = NEVER
        self._window = window
        self._eras = eras
        self._bytes = Bytes()
        self._lists = Lists()
        self._most_words = _MOST_WORDS
        self._tables: dict[int, PatchTable] = {}

    def patches(self) -> list[Patches]:
        """Those of each era."""
        found = [table.patches(era) for era, table in sorted(self._tables.items())]
        return [patches for patches in found if len(patches.keys)]

    def words(self) -> bytes:
        """The lists that the patches name by their places (`Lists.content`); before them `patches` is out of date."""
        self._tidy()
        return self._lists.content()

    def _tidy(self) -> None:
        """Leave the lists behind that were replaced."""
        kept = Lists()
        for table in self._tables.values():
            table.move(kept)
        self._lists, self._most_words = kept, max(_MOST_WORDS, 2 * kept.used)

    def take(self, data: bytes, positions: Sequence[int], base: int, *, is_last: bool = True) -> int:
        """The next batches, at these positions of `data`, whole and of a right CRC; `base` is the place of `data` in
        the file. Returns how much of `data` was taken: all, but from a transaction on that goes on behind it, which is
        to be read again with what follows (unless it begins here, or this is the last piece).
        """
        window = self._bytes
        window.show(data)
        taken = heads(window, positions)
        self._take_before(window, taken.only(taken.last < self._window.first), base)
        taken = taken.only((taken.last >= self._window.first) & (taken.offset < self._window.end))
        whole = (taken.offset >= self._window.first) & (taken.last < self._window.end) & taken.is_usual
        usual = taken.only(whole)
        found, bad = records(window, usual)
        piece = _Piece(window, usual, found, ~bad, base)
        aborted, open_at = piece.transactions()
        stop = None
        if open_at is not None and not is_last and int(usual.at[open_at]) > positions[0]:
            stop = int(usual.at[open_at])
        odd = np.sort(np.concatenate([taken.at[~whole], usual.at[bad]]))
        self._batches(window, odd if stop is None else odd[odd < stop], base)
        self._take_usual(piece, aborted, stop)
        if stop is not None:
            return stop
        return positions[-1] + LENGTH_END + int(window.i4[positions[-1] + 8])

    def _take_before(self, window: Bytes, taken: Heads, base: int) -> None:
        found, bad = records(window, taken.only(taken.is_usual))
        odd = np.concatenate([taken.at[~taken.is_usual], taken.at[taken.is_usual][bad]])
        self._batches(window, np.sort(odd), base)
        piece = _Piece(window, taken.only(taken.is_usual), found, ~bad, base)
        start = found.start[piece.sound]
        known = (window.u1[start] == FRAME_VERSION) & (found.end[piece.sound] - start >= 3)
        names = record_types()
        for kind, count in enumerate(np.bincount(window.u1[start[known] + 1], minlength=1).tolist()):
            if count:
                self.before[names.get(kind, UNDECODABLE)] += count
        if wrong := int((~known).sum()):
            self.before[UNDECODABLE] += wrong

    def _batches(self, window: Bytes, places: Array, base: int) -> None:
        """Batches that have to be looked at by the codecs."""
        for at in places.tolist():
            offset, epoch = int(window.i8[at]), int(window.i4[at + 12])
            end = at + LENGTH_END + int(window.i4[at + 8])
            timestamp = int(window.i8[at + 27])
            self.others.append(Other(base + at, 0, BATCH, offset, epoch, timestamp, window.data[at:end]))

    def _take_usual(self, piece: _Piece, aborted: list[tuple[int, int]], stop: int | None) -> None:
        """Fold partition records into patches, except those that have to be kept; keep all other records."""
        rows = piece.sound if stop is None else piece.sound[piece.batch_at(piece.sound) < stop]
        self.aborted += aborted
        is_row = piece.is_partition(rows)
        staying = [self._without_no_ops(piece, rows[~is_row], aborted)]
        rows = rows[is_row]
        keeps = self._keeps(piece, rows, aborted)
        staying += [rows[keeps], self._fold(piece, rows[~keeps])]
        self.others += piece.others(np.sort(np.concatenate(staying)))

    def _without_no_ops(self, piece: _Piece, rows: Array, aborted: Sequence[tuple[int, int]]) -> Array:
        """Rows without the NoOpRecords that are not withheld: of those a count is all that there is to know."""
        own = rows[piece.is_no_op(rows)]
        dropped = own[~self._keeps_any(piece, own, aborted)]
        if len(dropped):
            self.no_ops += len(dropped)
            self.first_no_op = min(self.first_no_op, int(piece.offsets(dropped[:1])[0]))
        return np.setdiff1d(rows, dropped, assume_unique=True)

    def _fold(self, piece: _Piece, rows: Array) -> Array:
        """Fold partition records into patches; returns the rows of those that have to be kept as records."""
        offsets = piece.offsets(rows)
        heads = tagged.heads(piece.window, piece.found.start[rows], piece.found.end[rows])
        odd = np.zeros(len(rows), bool)
        bounds = np.searchsorted(offsets, np.asarray(self._eras, np.int64)).tolist()
        for era, (begin, end) in enumerate(zip([0, *bounds], [*bounds, len(rows)], strict=True)):
            if begin == end:
                continue
            if era not in self._tables:
                self._tables[era] = PatchTable(self._lists)
            own = slice(begin, end)
            made, changed, odd[own] = self._tables[era].take(piece.window, heads.only(own), offsets[own])
            self.partitions += made
            self.changes += changed
        if self._lists.used > self._most_words:
            self._tidy()
        return rows[odd]

    def _keeps(self, piece: _Piece, rows: Array, aborted: Sequence[tuple[int, int]]) -> Array:
        """Which of the rows are withheld, or of topics that are exact."""
        window, keeps = self._window, self._keeps_any(piece, rows, aborted)
        if window.exact and not window.all_exact:
            start = piece.found.start[rows].tolist()
            keeps |= np.array([piece.window.data[at + 7 : at + _HEAD_END] in window.exact for at in start], bool)
        return keeps

    def _keeps_any(self, piece: _Piece, rows: Array, aborted: Sequence[tuple[int, int]]) -> Array:
        """Which of the rows are withheld, whatever they are about."""
        window = self._window
        if window.all_exact:
            return np.ones(len(rows), bool)
        keeps = np.zeros(len(rows), bool)
        for ranges in (window.withheld, aborted):
            keeps |= _within(piece.offsets(rows), ranges)
        return keeps


class _Piece:
    """Records of the usual batches of a piece. `sound` are the numbers of those that were read."""

    def __init__(self, window: Bytes, heads: Heads, found: Records, is_sound: Array, base: int) -> None:
        self.window = window
        self.found = found
        self._heads = heads
        self._base = base
        self._batch = np.repeat(np.arange(len(heads.at)), heads.counts)
        self.sound = np.flatnonzero(is_sound[self._batch])

    def offsets(self, rows: Array) -> Array:
        """Of some records."""
        batch = self._batch[rows]
        found: Array = self._heads.offset[batch] + (rows - self.found.first[batch])
        return found

    def batch_at(self, rows: Array) -> Array:
        """Where the batches of some records begin."""
        found: Array = self._heads.at[self._batch[rows]]
        return found

    def is_partition(self, rows: Array) -> Array:
        """Which records are partition records by their beginning and size."""
        start = self.found.start[rows]
        kind = self.window.u4[start] & 0xFFFF
        is_kind = (kind == FRAME_VERSION | PARTITION << 8) | (kind == FRAME_VERSION | CHANGE << 8)
        found: Array = is_kind & (self.window.u1[start + 2] <= NEWEST) & (self.found.end[rows] - start >= _HEAD_END)
        return found

    def is_no_op(self, rows: Array) -> Array:
        """Which records are NoOpRecords as Kafka writes them."""
        start = self.found.start[rows]
        found: Array = (self.window.u4[start] == NO_OP) & (self.found.end[rows] - start == NO_OP_BYTES)
        return found

    def transactions(self) -> tuple[list[tuple[int, int]], int | None]:
        """Offsets of transactions that are aborted in this piece, and the batch in which one begins that does not end
        in it (`outline` reads the same)."""
        start = self.found.start[self.sound]
        kind = self.window.u4[start] & 0xFFFF
        marks = self.sound[(kind >= FRAME_VERSION | BEGIN << 8) & (kind <= FRAME_VERSION | ABORT << 8)]
        aborted: list[tuple[int, int]] = []
        begun: int | None = None
        for row, offset in zip(marks.tolist(), self.offsets(marks).tolist(), strict=True):
            value = self.window.data[int(self.found.start[row]) : int(self.found.end[row])]
            if value[1] not in _MARKERS or not _is_sound(value):
                continue
            if value[1] == BEGIN:
                begun = row if begun is None else begun
            else:
                if begun is not None and value[1] == ABORT:
                    aborted.append((int(self.offsets(np.array([begun]))[0]), offset))
                begun = None
        return aborted, None if begun is None else int(self._batch[begun])

    def others(self, rows: Array) -> Iterator[Other]:
        """The records of these rows, unchanged."""
        heads, data = self._heads, self.window.data
        batch = self._batch[rows]
        columns = (
            heads.at[batch] + self._base, rows - self.found.first[batch], self.offsets(rows), heads.epoch[batch],
            heads.timestamp[batch], self.found.start[rows], self.found.end[rows],
        )  # fmt: skip
        for position, number, offset, epoch, timestamp, start, end in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            yield Other(position, number, VALUE, offset, epoch, timestamp, data[start:end])


def _within(offset: Array, ranges: Sequence[tuple[int, int]]) -> Array:
    """Which offsets lie in one of the ranges, which ascend and do not overlap."""
    if not ranges:
        return np.zeros(len(offset), bool)
    first, last = (np.array(bounds, np.int64) for bounds in zip(*ranges, strict=True))
    at = np.searchsorted(first, offset, "right") - 1
    found: Array = (at >= 0) & (offset <= last[at])
    return found


def _is_sound(value: bytes) -> bool:
    try:
        decode_record(value)
    except DecodeError:
        return False
    return True
