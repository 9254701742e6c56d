"""The fold of partition records by columns, a stretch of the log at a time.

`ColumnFold.read` reads a whole stretch without changing anything. It returns None if a record contradicts the state, or
if a result depends on more than the columns hold; then `log_replay` replays the stretch record by record. A stretch
that was read can be folded without any finding about a partition.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, Final, NamedTuple

import numpy as np

from kafkactl.core.errors import DecodeError
from kafkactl.metadata.image.model import PartitionState
from kafkactl.metadata.replay.columns import tagged_fields
from kafkactl.metadata.replay.columns.bytes import Array, Window, places_of
from kafkactl.metadata.replay.columns.frame import Records
from kafkactl.metadata.replay.columns.partition_rows import (
    PartitionChangeRows,
    PartitionRows,
    change,
    changes_of,
    make,
    partitions_of,
)
from kafkactl.metadata.replay.columns.table import PartitionTable
from kafkactl.metadata.replay.state import ContradictionError, State
from kafkactl.metadata.replay.topics import CHANGE, NEWEST, PARTITION, merged, registered
from kafkactl.protocol.log.frame import FRAME_VERSION, MetadataRecord, decode_record, expect

TOPIC, REMOVE_TOPIC, BEGIN, END, ABORT, CLEAR_ELR = 2, 9, 23, 24, 25, 28
_HEAD_END: Final = 3 + tagged_fields.IDS_BYTES
NO_OP: Final = 0x00001401  # frame, api key, version, no tagged fields; little-endian
NO_OP_BYTES: Final = 4
NEVER: Final = 1 << 60
_MOST_FREE: Final = 400_000  # rows of partitions that are gone
FOLLOWED: Final = frozenset({TOPIC, REMOVE_TOPIC, CLEAR_ELR})
_TRANSACTIONS: Final = frozenset({-1, PARTITION, CHANGE, BEGIN, END, ABORT})


class Others(NamedTuple):
    """The records that are about no partition: their places among all, what they are with their api keys (-1 of one
    that cannot be read), and whether they are of an aborted transaction, between its begin and its abort."""

    places: list[int]
    records: list[MetadataRecord | DecodeError]
    keys: list[int]
    aborted: list[bool]

    def of(self, keys: Set[int]) -> Iterator[tuple[int, int, Any]]:
        """Yield place, key and record of the records of some types that take effect."""
        for at, item, key, aborted in zip(*self, strict=True):
            if key in keys and not aborted:
                yield at, key, item


class Stretch(NamedTuple):
    """Content of a stretch. Rows are those of the table; places count the records of the stretch.

    `aborted` are first and last place of transactions; `careful` the partitions that were replayed record by record,
    with what they came to. `open_at` is the place of a transaction's begin whose end is not there, -1 for none: then
    nothing else is said.
    """

    others: Others
    aborted: list[tuple[int, int]]
    open_at: int
    changes: int = 0
    partitions: int = 0
    no_ops: int = 0
    made: PartitionRows | None = None
    changed: PartitionChangeRows | None = None
    careful: Mapping[int, PartitionState] = {}

    def clears(self) -> list[int]:
        """Return the places of ClearElrRecords."""
        return [at for at, _, _ in self.others.of({CLEAR_ELR})] if CLEAR_ELR in self.others.keys else []

    def counts(self) -> Counter[str]:
        """Count the records of the stretch, except the others that take effect."""
        aborted = zip(self.others.records, self.others.aborted, strict=True)
        counts = Counter(item.type for item, is_aborted in aborted if is_aborted)  # type: ignore[union-attr]
        counts["PartitionRecord"] += self.partitions
        counts["PartitionChangeRecord"] += self.changes
        counts["NoOpRecord"] += self.no_ops
        return +counts

    def withheld(self, window: Window, found: Records, abort: int, offset: int) -> list[tuple[int, bytes]]:
        """Return the records that the abort at a place removes; `offset` is that of the stretch."""
        begin = next(first for first, last in self.aborted if last == abort)
        return [(offset + at, window.data[int(found.start[at]) : int(found.end[at])]) for at in range(begin + 1, abort)]


class _OddError(Exception):
    """Piece that cannot be folded as columns."""


class ColumnFold:
    """A state with its partitions as columns."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.table = PartitionTable(state)

    @property
    def is_full(self) -> bool:
        """Return True if so many rows belong to removed partitions that a new table is due."""
        table = self.table
        live = int(table.present.sum()) if table.used > _MOST_FREE else table.used
        return table.used > 3 * live + _MOST_FREE

    def read(self, window: Window, found: Records, kept_aborts: Set[int] = frozenset()) -> Stretch | None:
        """Read a stretch; return None if it is odd. `kept_aborts` are the places of aborts whose transactions take
        effect."""
        self.table.own()
        self.table.tidy()
        try:
            return self._read(window, found, kept_aborts)
        except _OddError:
            return None

    def _read(self, window: Window, found: Records, kept_aborts: Set[int]) -> Stretch:
        size = found.end - found.start
        head = window.u4[found.start]
        kind = head & 0xFFFF
        is_change = kind == FRAME_VERSION | CHANGE << 8
        is_row = is_change | (kind == FRAME_VERSION | PARTITION << 8)
        is_no_op = (head == NO_OP) & (size == NO_OP_BYTES)
        others = _others(window, found, places_of(~(is_row | is_no_op)).tolist())
        aborted, open_at = _transactions(others, kept_aborts)
        for first, last in aborted:
            begin, end = bisect_right(others.places, first), bisect_left(others.places, last)
            others.aborted[begin:end] = [True] * (end - begin)
        stretch = Stretch(others, aborted, open_at, no_ops=int(is_no_op.sum()))
        place = places_of(is_row)
        del kind, is_row, is_no_op  # what is made of the partition records takes the most memory
        if open_at >= 0:
            return stretch
        lives = self._lives(others)
        if not len(place):
            return stretch
        if bool((((head[place] >> 16) & 0xFF) > NEWEST).any()) or bool((size[place] < _HEAD_END).any()):
            raise _OddError
        del head, size
        is_change = is_change[place]
        heads = tagged_fields.heads(window, found.start[place], found.end[place])
        rows = self._rows(heads, place, lives, aborted)
        changed, irregular = changes_of(window, heads, place, rows, places_of(is_change))
        made, also = partitions_of(window, heads, place, rows, places_of(~is_change))
        stretch = stretch._replace(
            changes=len(changed.place),
            partitions=len(made.place),
            made=_kept(made, aborted),
            changed=_kept(changed, aborted),
        )
        alone = np.concatenate([changed.row[places_of(irregular)], made.row[places_of(also)]])
        if bool((alone < 0).any()):  # of an aborted transaction, and perhaps wrong
            raise _OddError
        return self._sorted_out(window, found, stretch, alone)

    def _lives(self, others: Others) -> dict[bytes, tuple[int, int]]:
        """Return for each created or removed topic the place after which and the place before which it exists."""
        lives: dict[bytes, tuple[int, int]] = {}
        for at, key, item in others.of({TOPIC, REMOVE_TOPIC}):
            raw = item.data["TopicId"].raw
            begin, end = lives.get(raw, (-1 if raw in self._state.topics else NEVER, NEVER))
            if (key == TOPIC and (begin != NEVER or end != NEVER)) or (key == REMOVE_TOPIC and end != NEVER):
                raise _OddError
            lives[raw] = (at, end) if key == TOPIC else (begin, at)
        return lives

    def _rows(
        self,
        heads: tagged_fields.Heads,
        place: Array,
        lives: Mapping[bytes, tuple[int, int]],
        aborted: Sequence[tuple[int, int]],
    ) -> Array:
        """Return the table rows of partition records, -1 for a record of an aborted transaction.

        Every one has to be about a topic that is there at its place.
        """
        withheld = np.zeros(len(place) if aborted else 0, bool)
        for first, last in aborted:
            withheld[slice(*np.searchsorted(place, (first, last)).tolist())] = True
        kept = places_of(~withheld) if aborted else slice(None)
        topics = self.table.topics.numbers(heads.first[kept], heads.second[kept])
        self._check_lives(place[kept], topics, lives)
        rows = self.table.rows(topics, heads.number[kept])
        if rows is None:
            raise _OddError
        if not aborted:
            return rows
        spread = np.full(len(withheld), -1)
        spread[kept] = rows
        return spread

    def _check_lives(self, place: Array, topics: Array, lives: Mapping[bytes, tuple[int, int]]) -> None:
        """Raise _OddError if a partition record is at a place where its topic does not exist."""
        changing = [self.table.topics.number(raw) for raw in lives]
        is_live = self.table.is_live
        begin = np.where(is_live, -1, NEVER)
        end = np.full(len(is_live), NEVER)
        if changing:
            begin[changing], end[changing] = np.array(list(lives.values()), np.int64).T
        if not bool(((begin[topics] < place) & (place < end[topics])).all()):
            raise _OddError

    def _sorted_out(self, window: Window, found: Records, stretch: Stretch, alone: Array) -> Stretch:
        """Separate partitions that columns can fold from those whose records must be replayed one after the other."""
        made, changed = stretch.made, stretch.changed
        assert made is not None
        assert changed is not None
        careful = np.zeros(self.table.used, bool)
        careful[alone] = True
        careful[made.row[self.table.present[made.row]]] = True
        ordered = np.sort(made.row)
        careful[ordered[1:][ordered[1:] == ordered[:-1]]] = True
        fresh = places_of(~self.table.present[changed.row])
        if len(fresh):
            begins = np.full(self.table.used, NEVER)
            begins[made.row[::-1]] = made.place[::-1]
            if bool((changed.place[fresh] < begins[changed.row[fresh]]).any()):
                raise _OddError
        if not bool(careful.any()):
            return stretch
        if stretch.clears():
            raise _OddError
        apart_made, apart_changed = careful[made.row], careful[changed.row]
        places = np.concatenate([made.place[apart_made], changed.place[apart_changed]])
        rows = np.concatenate([made.row[apart_made], changed.row[apart_changed]])
        order = np.argsort(places)
        values = [window.data[found.start[at] : found.end[at]] for at in places[order].tolist()]
        return stretch._replace(
            made=made.only(places_of(~apart_made)),
            changed=changed.only(places_of(~apart_changed)),
            careful=self._replayed(rows[order], values),
        )

    def _replayed(self, rows: Array, values: Iterable[bytes]) -> dict[int, PartitionState]:
        """Replay the records of some partitions one by one."""
        is_known = np.zeros(self.table.used, bool)
        is_known[rows] = self.table.present[rows]
        known = places_of(is_known)
        found = dict(zip(known.tolist(), self.table.states(known), strict=True))
        for row, value in zip(rows.tolist(), values, strict=True):
            old = found.get(row)
            try:
                record = decode_record(value)
                if record.api_key == PARTITION:
                    found[row] = registered(self._state, record.data, "")
                elif old is None:
                    raise _OddError
                else:
                    found[row] = merged(self._state, old, record.data, "")
            except (ContradictionError, DecodeError) as error:
                raise _OddError from error
        return found

    def followed(self, record: MetadataRecord) -> None:
        """Follow a record, not about a partition, that the state has applied."""
        if record.api_key == TOPIC:
            self.table.topic_made(record.data["TopicId"].raw)
        elif record.api_key == REMOVE_TOPIC:
            self.table.topic_gone(record.data["TopicId"].raw)
        elif record.api_key == CLEAR_ELR:
            name = record.data["TopicName"]
            if not name:
                self.table.clear_elr(None)
            elif name in self._state.topic_ids:
                self.table.clear_elr(self._state.topic_ids[name])

    def fold(self, window: Window, stretch: Stretch, begin: int = -1, end: int = NEVER) -> None:
        """Fold the partition records of a stretch, or those between two places."""
        made, changed = stretch.made, stretch.changed
        if made is not None and len(made.place):
            make(self.table, window, _between(made, begin, end))
        if changed is not None and len(changed.place):
            change(self.table, window, _between(changed, begin, end))
        if stretch.careful and end == NEVER:
            self.table.put(np.fromiter(stretch.careful, np.int64), stretch.careful.values())


def _kept(rows: Any, aborted: Sequence[tuple[int, int]]) -> Any:
    kept = places_of(rows.row >= 0) if aborted else ()
    return rows.only(kept) if aborted and len(kept) < len(rows.row) else rows


def _between(rows: Any, begin: int, end: int) -> Any:
    if begin < 0 and end == NEVER:
        return rows
    return rows.only(slice(*np.searchsorted(rows.place, (begin + 1, end)).tolist()))


def _others(window: Window, found: Records, places: list[int]) -> Others:
    starts, ends = found.start[places].tolist(), found.end[places].tolist()
    values = [window.data[start:end] for start, end in zip(starts, ends, strict=True)]
    expect(values)
    try:
        records: list[MetadataRecord | DecodeError] = list(map(decode_record, values))
    except DecodeError:
        records = list(map(_decoded, values))
    keys = [record.api_key if isinstance(record, MetadataRecord) else -1 for record in records]
    return Others(places, records, keys, [False] * len(values))


def _decoded(value: bytes) -> MetadataRecord | DecodeError:
    try:
        return decode_record(value)
    except DecodeError as error:
        return error


def _transactions(others: Others, kept_aborts: Set[int]) -> tuple[list[tuple[int, int]], int]:
    """Return the places of aborted transactions, first and last, and of a begin without an end (-1 for none)."""
    aborted: list[tuple[int, int]] = []
    begin, unreadable = -1, False
    for at, key, _ in others.of(_TRANSACTIONS):
        unreadable = unreadable or key < 0
        if key in (PARTITION, CHANGE):  # in a frame that is longer than need be
            raise _OddError
        if key == BEGIN:
            if begin >= 0:
                raise _OddError
            begin, unreadable = at, False
        elif key in (END, ABORT):
            if begin < 0 or unreadable:
                raise _OddError
            if key == ABORT and at not in kept_aborts:
                aborted.append((begin, at))
            begin = -1
    return aborted, begin
