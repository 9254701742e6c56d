"""The fold of partition records by columns, a stretch of the log at a time.

`ColumnFold.read` looks at a whole stretch and says what there is in it, without changing anything; where something
contradicts the state, or depends on more than a column can tell, it gives None and the stretch is replayed record by
record (`replay_fast`). What it gives can be folded without any finding about a partition.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, Final, NamedTuple

import numpy as np

from kafkactl.errors import DecodeError
from kafkactl.metadata.image.model import PartitionState
from kafkactl.metadata.log.frame import FRAME_VERSION, MetadataRecord, decode_record
from kafkactl.metadata.replay.columns import meaning as meant
from kafkactl.metadata.replay.columns.bytes import Array, Window
from kafkactl.metadata.replay.columns.frame import Records
from kafkactl.metadata.replay.columns.meaning import Meanings
from kafkactl.metadata.replay.columns.table import PartitionTable
from kafkactl.metadata.replay.state import ContradictionError, State
from kafkactl.metadata.replay.topics import merged, registered

TOPIC, REMOVE_TOPIC, BEGIN, END, ABORT, CLEAR_ELR = 2, 9, 23, 24, 25, 28
_HEAD_END: Final = 3 + meant.IDS_BYTES
_NO_OP: Final = 0x00001401  # frame, api key, version, no tagged fields; little-endian
NEVER: Final = 1 << 60
_NEVER_THERE: Final = (NEVER, NEVER)
_MOST_REMEMBERED: Final = 400_000
FOLLOWED: Final = frozenset({TOPIC, REMOVE_TOPIC, CLEAR_ELR})
_TRANSACTIONS: Final = frozenset({-1, meant.PARTITION, meant.CHANGE, BEGIN, END, ABORT})


class Others(NamedTuple):
    """The records that are about no partition: their places among all, what they are with their api keys (-1 of one
    that cannot be read), and whether they are of an aborted transaction, between its begin and its abort."""

    places: list[int]
    records: list[MetadataRecord | DecodeError]
    keys: list[int]
    aborted: list[bool]

    def of(self, keys: Set[int]) -> Iterator[tuple[int, int, Any]]:
        """Place, key and record of those of some types that take effect."""
        for at, one, key, aborted in zip(*self, strict=True):
            if key in keys and not aborted:
                yield at, key, one


class Stretch(NamedTuple):
    """What a stretch holds. Rows are those of the table; places count the records of the stretch.

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
    made: Made | None = None
    changed: Changed | None = None
    careful: Mapping[int, PartitionState] = {}

    def clears(self) -> list[int]:
        """The places of ClearElrRecords."""
        return [at for at, _, _ in self.others.of({CLEAR_ELR})] if CLEAR_ELR in self.others.keys else []

    def counts(self) -> Counter[str]:
        """How many records were met, beside the others that take effect."""
        aborted = zip(self.others.records, self.others.aborted, strict=True)
        counts = Counter(one.type for one, is_aborted in aborted if is_aborted)  # type: ignore[union-attr]
        counts["PartitionRecord"] += self.partitions
        counts["PartitionChangeRecord"] += self.changes
        counts["NoOpRecord"] += self.no_ops
        return +counts

    def withheld(self, window: Window, found: Records, abort: int, offset: int) -> list[tuple[int, bytes]]:
        """The records that the abort at a place takes away; `offset` is that of the stretch."""
        begin = next(first for first, last in self.aborted if last == abort)
        return [(offset + at, window.data[int(found.start[at]) : int(found.end[at])]) for at in range(begin + 1, abort)]


class Made(NamedTuple):
    """PartitionRecords."""

    place: Array
    row: Array
    four: Array
    rest: Array
    epochs: Array  # where leader, leader epoch and partition epoch stand


class Changed(NamedTuple):
    """PartitionChangeRecords."""

    place: Array
    row: Array
    change: Array


class _OddError(Exception):
    """Not for columns."""


class ColumnFold:
    """A state with its partitions as columns."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.meanings = Meanings(state)
        self.table = PartitionTable(state, self.meanings)

    @property
    def is_full(self) -> bool:
        """Whether so much is remembered of the past that it is time to begin anew."""
        table = self.table
        live = int(table.present.sum()) if table.used > _MOST_REMEMBERED else table.used
        return len(self.meanings) > _MOST_REMEMBERED or table.used > 3 * live + _MOST_REMEMBERED

    # --- reading --------------------------------------------------------------------------------------------------

    def read(self, window: Window, found: Records) -> Stretch | None:
        """What these records do, or None."""
        try:
            return self._read(window, found)
        except _OddError:
            return None

    def _read(self, window: Window, found: Records) -> Stretch:
        size = found.end - found.start
        head = window.u4[found.start]
        kind = head & 0xFFFF
        is_change = kind == FRAME_VERSION | meant.CHANGE << 8
        is_row = is_change | (kind == FRAME_VERSION | meant.PARTITION << 8)
        is_no_op = (head == _NO_OP) & (size == 4)
        others = _others(window, found, np.flatnonzero(~(is_row | is_no_op)).tolist())
        aborted, open_at = _transactions(others)
        for first, last in aborted:
            begin, end = bisect_right(others.places, first), bisect_left(others.places, last)
            others.aborted[begin:end] = [True] * (end - begin)
        stretch = Stretch(others, aborted, open_at, no_ops=int(is_no_op.sum()))
        place = np.flatnonzero(is_row)
        if open_at >= 0:
            return stretch
        lives = self._lives(others)
        if not len(place):
            return stretch
        if bool((((head[place] >> 16) & 0xFF) > meant.NEWEST).any()) or bool((size[place] < _HEAD_END).any()):
            raise _OddError
        is_change = is_change[place]
        rows = self._rows(window, found, place, lives, aborted)
        changed = self._changed(window, found, place, rows, is_change)
        made = self._made(window, found, place, rows, ~is_change)
        stretch = stretch._replace(changes=len(changed.place), partitions=len(made.place))
        return self._sorted_out(window, found, stretch, _kept(made, aborted), _kept(changed, aborted))

    def _lives(self, others: Others) -> dict[bytes, tuple[int, int]]:
        """Of the topics that are made or removed: behind which place they are there, and before which."""
        lives: dict[bytes, tuple[int, int]] = {}
        for at, key, one in others.of({TOPIC, REMOVE_TOPIC}):
            raw = one.data["TopicId"].raw
            begin, end = lives.get(raw, (-1 if raw in self._state.topics else NEVER, NEVER))
            if (key == TOPIC and (begin != NEVER or end != NEVER)) or (key == REMOVE_TOPIC and end != NEVER):
                raise _OddError
            lives[raw] = (at, end) if key == TOPIC else (begin, at)
        return lives

    def _rows(
        self,
        window: Window,
        found: Records,
        place: Array,
        lives: Mapping[bytes, tuple[int, int]],
        aborted: Sequence[tuple[int, int]],
    ) -> Array:
        """The rows of the table that partition records are about; those of an aborted transaction get -1.

        Every one has to be about a topic that is there at its place.
        """
        withheld = np.zeros(len(place) if aborted else 0, bool)
        for first, last in aborted:
            withheld[slice(*np.searchsorted(place, (first, last)).tolist())] = True
        kept = np.flatnonzero(~withheld) if aborted else slice(None)
        start, place = found.start[place[kept]], place[kept]
        topics = self.table.topics.numbers(window, start + 7, 16)
        self._check_lives(place, topics, lives)
        rows = self.table.rows(topics, window.i4[start + 3].astype(np.int64))
        if rows is None:
            raise _OddError
        if not aborted:
            return rows
        spread = np.full(len(withheld), -1)
        spread[kept] = rows
        return spread

    def _check_lives(self, place: Array, topics: Array, lives: Mapping[bytes, tuple[int, int]]) -> None:
        """Whether the topics of partition records are there at their places."""
        changing = {self.table.topics.number(raw): life for raw, life in lives.items()}
        is_sure = self.table.is_live.copy()  # there from before the stretch until behind it
        is_sure[list(changing)] = False
        unsure = np.flatnonzero(~is_sure[topics])
        for at, topic in zip(place[unsure].tolist(), topics[unsure].tolist(), strict=True):
            begin, end = changing.get(topic, _NEVER_THERE)
            if not begin < at < end:
                raise _OddError

    def _changed(self, window: Window, found: Records, place: Array, rows: Array, which: Array) -> Changed:
        own = np.flatnonzero(which)
        start, end = found.start[place[own]], found.end[place[own]]
        versions = window.u1[start + 2].astype(np.int64)
        tags: Any = versions if len(versions) and int(versions.min()) != int(versions.max()) else _only(versions)
        change = self.meanings.changes.numbers(window, start + _HEAD_END, end - start - _HEAD_END, tags)
        if bool((self.meanings.change[meant.KIND][change] == meant.WRONG).any()):
            raise _OddError
        return Changed(place[own], rows[own], change)

    def _made(self, window: Window, found: Records, place: Array, rows: Array, which: Array) -> Made:
        own = np.flatnonzero(which)
        start, end = found.start[place[own]], found.end[place[own]]
        at = start + _HEAD_END
        for _ in range(4):
            count = window.u1[at].astype(np.int64)
            at = at + 4 * count - 3
            if bool(((count == 0) | (count > 0x7F) | (at + 12 >= end)).any()):
                raise _OddError
        four = self.meanings.fours.numbers(window, start + _HEAD_END, at - start - _HEAD_END)
        versions = window.u1[start + 2].astype(np.int64)
        rest = self.meanings.rests.numbers(window, at + 12, end - at - 12, versions)
        directories = self.meanings.rest[4][rest]
        fits = (directories == meant.ANY_COUNT) | (directories == self.meanings.four[4][four])
        if not bool(fits.all()):
            raise _OddError
        return Made(place[own], rows[own], four, rest, at)

    def _sorted_out(self, window: Window, found: Records, stretch: Stretch, made: Made, changed: Changed) -> Stretch:
        """Partitions that columns can fold, and those that have to be replayed one record after the other."""
        careful = np.zeros(self.table.used, bool)
        careful[made.row[self.table.present[made.row]]] = True
        ordered = np.sort(made.row)
        careful[ordered[1:][ordered[1:] == ordered[:-1]]] = True
        kinds = self.meanings.change[meant.KIND]
        careful[changed.row[kinds[changed.change] == meant.DEPENDENT]] = True
        fresh = np.flatnonzero(~self.table.present[changed.row])
        if len(fresh):
            begins = np.full(self.table.used, NEVER)
            begins[made.row[::-1]] = made.place[::-1]
            if bool((changed.place[fresh] < begins[changed.row[fresh]]).any()):
                raise _OddError
        if not bool(careful.any()):
            return stretch._replace(made=made, changed=changed)
        if stretch.clears():
            raise _OddError
        apart_made, apart_changed = careful[made.row], careful[changed.row]
        places = np.concatenate([made.place[apart_made], changed.place[apart_changed]])
        rows = np.concatenate([made.row[apart_made], changed.row[apart_changed]])
        order = np.argsort(places)
        values = [window.data[found.start[at] : found.end[at]] for at in places[order].tolist()]
        return stretch._replace(
            made=_where(made, ~apart_made),
            changed=_where(changed, ~apart_changed),
            careful=self._replayed(rows[order].tolist(), values),
        )

    def _replayed(self, rows: Iterable[int], values: Iterable[bytes]) -> dict[int, PartitionState]:
        """Partitions by the words of their records."""
        found: dict[int, PartitionState] = {}
        for row, value in zip(rows, values, strict=True):
            record = decode_record(value)
            old = found.get(row)
            if old is None and self.table.present[row]:
                (old,) = self.table.states(np.array([row]))
            try:
                if record.api_key == meant.PARTITION:
                    found[row] = registered(self._state, record.data, "")
                elif old is None:
                    raise _OddError
                else:
                    found[row] = merged(self._state, old, record.data, "")
            except ContradictionError as error:
                raise _OddError from error
        return found

    def followed(self, record: MetadataRecord) -> None:
        """The state has taken in a record that is not about a partition."""
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

    # --- folding --------------------------------------------------------------------------------------------------

    def fold(self, window: Window, stretch: Stretch, begin: int = -1, end: int = NEVER) -> None:
        """The partition records of a stretch, or those between two places."""
        made, changed = stretch.made, stretch.changed
        if made is not None and len(made.place):
            self._make(window, _between(made, begin, end))
        if changed is not None and len(changed.place):
            self._change(_between(changed, begin, end))
        if stretch.careful and end == NEVER:
            self.table.put(np.fromiter(stretch.careful, np.int64), stretch.careful.values())

    def _make(self, window: Window, made: Made) -> None:
        table, row, four, rest = self.table, made.row, self.meanings.four, self.meanings.rest
        for at, name in enumerate(("replicas", "isr", "removing", "adding")):
            getattr(table, name)[row] = four[at][made.four]
        directories = rest[0][made.rest]
        unknown = np.flatnonzero(rest[4][made.rest] == meant.ANY_COUNT)
        if len(unknown):  # as many unknown ones as there are replicas, whatever the record says
            counts = four[4][made.four[unknown]]
            most = int(counts.max())
            nothing = np.array([self.meanings.directory_number(bytes(16 * count)) for count in range(most + 1)])
            directories[unknown] = nothing[counts]
        table.directories[row] = directories
        for at, name in ((1, "recovery"), (2, "elr"), (3, "last_known")):
            getattr(table, name)[row] = rest[at][made.rest]
        for at, name in ((0, "leader"), (4, "leader_epoch"), (8, "epoch")):
            getattr(table, name)[row] = window.i4[made.epochs + at]
        table.present[row] = True

    def _change(self, changed: Changed) -> None:
        """Where a row stands twice in an assignment, numpy keeps the last."""
        table, row, number, meaning = self.table, changed.row, changed.change, self.meanings.change
        np.add.at(table.epoch, row, 1)
        _assign(table.isr, row, meaning[meant.ISR][number])
        leader = meaning[meant.LEADER][number]
        named = np.flatnonzero(~meant.leaves_leader(leader))
        table.leader[row[named]] = leader[named]
        np.add.at(table.leader_epoch, row[named], 1)
        full = np.flatnonzero(meaning[meant.KIND][number] != meant.SIMPLE)
        row, number = row[full], number[full]
        for name, at in _FULL.items():
            _assign(getattr(table, name), row, meaning[at][number])


_FULL: Final = {
    "elr": meant.ELR,
    "last_known": meant.LAST_KNOWN,
    "removing": meant.REMOVING,
    "adding": meant.ADDING,
    "recovery": meant.RECOVERY,
    "replicas": meant.REPLICAS,
    "directories": meant.DIRECTORIES,
}


def _assign(column: Array, row: Array, value: Array) -> None:
    given = np.flatnonzero(value != meant.STAYS)
    column[row[given]] = value[given]


def _only(values: Array) -> int:
    return int(values[0]) if len(values) else 0


def _where(rows: Any, which: Array | slice) -> Any:
    return type(rows)(*(column[which] for column in rows))


def _kept(rows: Any, aborted: Sequence[tuple[int, int]]) -> Any:
    return _where(rows, rows.row >= 0) if aborted else rows


def _between(rows: Any, begin: int, end: int) -> Any:
    if begin < 0 and end == NEVER:
        return rows
    return _where(rows, slice(*np.searchsorted(rows.place, (begin + 1, end)).tolist()))


def _others(window: Window, found: Records, places: list[int]) -> Others:
    starts, ends = found.start[places].tolist(), found.end[places].tolist()
    values = [window.data[start:end] for start, end in zip(starts, ends, strict=True)]
    records = list(map(_decoded, values))
    keys = [one.api_key if isinstance(one, MetadataRecord) else -1 for one in records]
    return Others(places, records, keys, [False] * len(values))


def _decoded(value: bytes) -> MetadataRecord | DecodeError:
    try:
        return decode_record(value)
    except DecodeError as error:
        return error


def _transactions(others: Others) -> tuple[list[tuple[int, int]], int]:
    """First and last place of those that were aborted, and where one begins that does not end (-1: nowhere)."""
    aborted: list[tuple[int, int]] = []
    begin, unreadable = -1, False
    for at, key, _ in others.of(_TRANSACTIONS):
        unreadable = unreadable or key < 0
        if key in (meant.PARTITION, meant.CHANGE):  # in a frame that is longer than need be
            raise _OddError
        if key == BEGIN:
            if begin >= 0:
                raise _OddError
            begin, unreadable = at, False
        elif key in (END, ABORT):
            if begin < 0 or unreadable:
                raise _OddError
            if key == ABORT:
                aborted.append((begin, at))
            begin = -1
    return aborted, begin
