"""Partitions as columns: a row for each, those of a topic side by side, so that topic and number tell the row.

A topic that is in the table is in it whole, and what the `State` holds of it is out of date until `flush`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from kafkactl.metadata.image.model import DIRECTORIES_AT, PartitionState
from kafkactl.metadata.replay.columns import lists as placed
from kafkactl.metadata.replay.columns.bytes import Array, IdNumbers, fresh, places_of, spread
from kafkactl.metadata.replay.columns.topics import DIRECTORIES, LISTS, PLAIN, ColumnTopics, Rows
from kafkactl.metadata.replay.state import State

_FLUSHED_AT_ONCE: Final = 20_000  # rows: their copies while they become tuples
_LOADED_AT_ONCE: Final = 20_000  # rows, and those of one topic
_LEAST_WORDS: Final = 6 << 20  # fewer are not worth to look which of them are still needed
_FORMS: Final[Mapping[str, type[Any]]] = {
    **dict.fromkeys((*LISTS, DIRECTORIES, "leader"), np.int32),
    "recovery": np.int8,
    "leader_epoch": np.int64,
    "epoch": np.int64,
    "present": np.bool_,
}


def are_sparse(numbers: Collection[int]) -> bool:
    """Return True if a topic with partitions of these numbers, at least one, has no place in a table."""
    return min(numbers) < 0 or max(numbers) >= 2 * len(numbers) + 64


class PartitionTable:
    """The table. Columns are attributes by name; `present` marks which rows are partitions."""

    replicas: Array
    isr: Array
    removing: Array
    adding: Array
    elr: Array
    last_known: Array
    directories: Array
    leader: Array
    recovery: Array
    leader_epoch: Array
    epoch: Array
    present: Array

    def __init__(self, state: State) -> None:
        self._state = state
        self.lists = placed.Lists()
        self._most_words = _LEAST_WORDS
        self._scratch: Array = np.zeros(0, np.int32)
        self.topics = IdNumbers(self._new_topics)
        self._raws: list[bytes] = []
        for name, form in _FORMS.items():
            setattr(self, name, np.zeros(1024, form))
        self.used = 0
        self._base, self._room = np.zeros(256, np.int64), np.zeros(256, np.int64)
        self.is_live = np.zeros(256, bool)  # topics that the state has
        self._is_sparse: set[int] = set()
        self._is_shared = False  # an image has the columns, too

    def _new_topics(self, raws: Sequence[bytes]) -> None:
        """Take topics that are new to the table, with their partitions in the state."""
        rows: list[int] = []
        states: list[PartitionState] = []
        for number, raw in enumerate(raws, len(self._raws)):
            self._raws.append(raw)
            if number == len(self._base):
                self._double_topics()
            topic = self._state.topics.get(raw)
            self.is_live[number] = topic is not None
            if topic is None or not topic.partitions:
                continue
            held = topic.partitions
            if are_sparse(held):
                self._is_sparse.add(number)
                continue
            self._allot(number, max(held) + 1)
            base = int(self._base[number])
            rows += [base + at for at in held]
            states += held.values()
            if len(rows) > _LOADED_AT_ONCE:
                self.put(np.array(rows), states)
                rows, states = [], []
        if rows:
            self.put(np.array(rows), states)

    def _double_topics(self) -> None:
        self._base, self._room = (np.concatenate([item, np.zeros_like(item)]) for item in (self._base, self._room))
        self.is_live = np.concatenate([self.is_live, np.zeros_like(self.is_live)])

    def topic_made(self, raw: bytes) -> None:
        """Follow the creation of a topic."""
        self.is_live[self.topics.number(raw)] = True

    def topic_gone(self, raw: bytes) -> None:
        """Follow the removal of a topic."""
        number = self.topics.number(raw)
        self.own()
        self.is_live[number] = False
        self.present[self._rows_of(number)] = False

    def _rows_of(self, topic: int) -> slice:
        return slice(int(self._base[topic]), int(self._base[topic] + self._room[topic]))

    def rows(self, topics: Array, numbers: Array) -> Array | None:
        """Return the rows of these partitions, with room for new ones; None if their numbers are too far apart."""
        if self._is_sparse or int(numbers.min(initial=0)) < 0:
            return None
        over = places_of(numbers >= self._room[topics])
        if len(over) and not self._make_room(topics[over], numbers[over]):
            return None
        found: Array = self._base[topics] + numbers
        return found

    def _make_room(self, topics: Array, numbers: Array) -> bool:
        greatest = np.full(len(self._raws), -1)
        np.maximum.at(greatest, topics, numbers)
        met = np.bincount(topics, minlength=len(self._raws))
        widened = places_of(met)
        for topic in widened[greatest[widened] >= 2 * met[widened] + 64].tolist():
            old, wanted = self._rows_of(topic), int(greatest[topic]) + 1
            if wanted > 2 * (int(met[topic]) + int(self.present[old].sum())) + 64:
                return False
        self._widen(widened, greatest + 1)
        return True

    def _widen(self, topics: Array, wanted: Array) -> None:
        """Make room for so many partitions (`wanted` is by topic) of topics whose room is too small, and move the
        partitions of these topics there."""
        old, sizes = self._base[topics], self._room[topics]
        rooms = np.maximum(wanted[topics], sizes + sizes // 2)
        ends = self.used + np.cumsum(rooms)
        self._use(int(ends[-1]) if len(topics) else self.used)
        self._base[topics], self._room[topics] = ends - rooms, rooms
        _, source = spread(old, sizes)
        if len(source):
            _, place = spread(ends - rooms, sizes)
            for name in _FORMS:
                column = getattr(self, name)
                column[place] = column[source]
            self.present[source] = False

    def _allot(self, topic: int, size: int) -> None:
        self._base[topic], self._room[topic] = self.used, size
        self._use(self.used + size)

    def _use(self, used: int) -> None:
        """Use the rows up to this one."""
        self.used = used
        if self.used > len(self.present):
            held, size = len(self.present), 1 << self.used.bit_length()
            for name, form in _FORMS.items():
                column = fresh(size, form)
                column[:held] = getattr(self, name)
                setattr(self, name, column)

    def last(self, rows: Array, which: Array) -> Array:
        """Return, of some of the rows, the last of each partition: earlier values are not needed."""
        if len(self._scratch) < self.used:
            self._scratch = np.zeros(len(self.present), np.int32)
        own = rows[which]
        self._scratch[own] = which
        found: Array = which[places_of(self._scratch[own] == which)]
        return found

    def tidy(self) -> None:
        """Copy the live lists to another array if many were replaced."""
        if self.lists.used < self._most_words:
            return
        rows, lists = places_of(self.present[: self.used]), placed.Lists()
        is_one = self.isr[rows] == self.replicas[rows]  # then it stays one
        for name in (*LISTS, DIRECTORIES):
            column, width = getattr(self, name), placed.DIRECTORIES if name == DIRECTORIES else placed.IDS
            own = rows[~is_one] if name == "isr" else rows
            column[own] = self.lists.moved(lists, column[own], width)
        self.isr[rows[is_one]] = self.replicas[rows[is_one]]
        self.lists, self._most_words = lists, max(_LEAST_WORDS, 2 * lists.used)

    def own(self) -> None:
        """Copy the columns before a change if an image shares them."""
        if self._is_shared:
            self._is_shared = False
            for name in _FORMS:
                setattr(self, name, getattr(self, name).copy())

    def put(self, rows: Array, states: Iterable[PartitionState]) -> None:
        """Write these partitions into these rows."""
        self.own()
        fields = list(zip(*states, strict=True))
        for name, at in LISTS.items():
            getattr(self, name)[rows] = self.lists.put(fields[at])
        for name, at in PLAIN.items():
            getattr(self, name)[rows] = fields[at]
        self.directories[rows] = self.lists.put_directories(fields[DIRECTORIES_AT])
        self.present[rows] = True

    def states(self, rows: Any) -> list[PartitionState]:
        """Return the partitions in these rows."""
        return self._taken(rows).states()

    def _taken(self, rows: Any) -> Rows:
        columns = {name: getattr(self, name)[rows] for name in _FORMS if name != "present"}
        return Rows(columns, self.lists.words)

    def topics_of_state(self) -> ColumnTopics | None:
        """Return all topics of the state as they are now; None if the table lacks some of their partitions."""
        heads = sorted((topic.name, raw) for raw, topic in self._state.topics.items())
        known = {raw: number for number, raw in enumerate(self._raws)}
        topics = np.array([known.get(raw, -1) for _, raw in heads], np.int64)
        rooms = np.where(topics >= 0, np.append(self._room[: len(known)], 0)[topics], 0)
        for topic in places_of(rooms == 0).tolist():
            if self._state.topics[heads[topic][1]].partitions:
                return None
        bases = np.append(self._base[: len(known)], 0)[topics]
        ends = np.cumsum(rooms)
        numbers = np.arange(int(rooms.sum()))
        numbers -= np.repeat(ends - rooms, rooms)
        rows = np.repeat(bases, rooms)
        rows += numbers
        there = self.present[rows]
        if not bool(there.all()):
            ends = np.append(0, np.cumsum(there))[ends]
            numbers, rows = numbers[there], rows[there]
        counts = np.diff(ends, prepend=0)
        if bool((numbers == np.arange(len(numbers)) - np.repeat(ends - counts, counts)).all()):
            self._order(rows)
            self._base[: len(known)] = self._room[: len(known)] = 0
            named = topics >= 0
            self._base[topics[named]], self._room[topics[named]] = (ends - counts)[named], counts[named]
            return ColumnTopics(heads, ends, numbers.astype(np.int32), self._taken(slice(None)))
        return ColumnTopics(heads, ends, numbers.astype(np.int32), self._taken(rows))

    def _order(self, rows: Array) -> None:
        """Keep only these rows, in this order.

        An image takes these columns without a copy, which would be most of its cost.
        """
        for name in _FORMS:
            column = getattr(self, name)[rows]
            column.flags.writeable = False
            setattr(self, name, column)
        self.used, self._scratch, self._is_shared = len(rows), np.zeros(0, np.int32), True

    def flush(self) -> None:
        """Write everything into the state. The table stays unchanged."""
        live = places_of(self.is_live[: len(self._raws)] & (self._room[: len(self._raws)] > 0))
        live = live[np.argsort(self._base[live])]
        base = self._base[live]
        rows = places_of(self.present[: self.used])  # only rows of live topics are present
        ends = np.searchsorted(rows, base + self._room[live])
        first = begin = 0
        while first < len(live):
            behind = max(first + 1, int(np.searchsorted(ends, begin + _FLUSHED_AT_ONCE)))
            part, end = slice(first, behind), int(ends[behind - 1])
            self._into_state(live[part].tolist(), base[part].tolist(), (ends[part] - begin).tolist(), rows[begin:end])
            first, begin = behind, end

    def _into_state(self, topics: list[int], bases: list[int], ends: list[int], rows: Array) -> None:
        """Write some topics with their rows into the state; `ends` has the end of each topic's rows."""
        numbers, states, begin = rows.tolist(), self.states(rows), 0
        for topic, base, end in zip(topics, bases, ends, strict=True):
            held = self._state.topics[self._raws[topic]]
            held.shared = False
            own = [row - base for row in numbers[begin:end]]
            held.partitions = dict(zip(own, states[begin:end], strict=True))
            begin = end

    def clear_elr(self, raw: bytes | None) -> None:
        """Apply a ClearElrRecord, of one topic or of all (`topics.clear_elr`)."""
        self.own()
        rows = slice(0, self.used) if raw is None else self._rows_of(self.topics.number(raw))
        held = self.present[rows] & ((self.elr[rows] != placed.EMPTY) | (self.last_known[rows] != placed.EMPTY))
        self.epoch[rows] += held
        self.elr[rows] = self.last_known[rows] = placed.EMPTY
