"""The topics of an image while their partitions are columns still: tuples are made when a topic is asked for.

What a command asks first, how many partitions there are and what their canonical text is, the columns tell themselves,
in a fraction of the time.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, Sequence, ValuesView
from typing import Any, Final

import numpy as np

from kafkactl.core.values import Uuid
from kafkactl.metadata.image import digest
from kafkactl.metadata.image.health import KINDS, NAMED_OF_EACH, NOT_KNOWN, PartitionHealth, health_of
from kafkactl.metadata.image.json import Renders, state_texts, topics_text
from kafkactl.metadata.image.model import (
    ADDING_AT,
    DIRECTORIES_AT,
    ELR_AT,
    ISR_AT,
    LAST_KNOWN_ELR_AT,
    LEADER_AT,
    LEADER_EPOCH_AT,
    PARTITION_EPOCH_AT,
    RECOVERY_AT,
    REMOVING_AT,
    REPLICAS_AT,
    Broker,
    PackedTopics,
    Partition,
    Partitions,
    PartitionState,
    Suspects,
    Topic,
)
from kafkactl.metadata.replay.columns.bytes import Array
from kafkactl.metadata.replay.columns.healthy_partitions import LEADERLESS, SUSPECT, Soundness
from kafkactl.metadata.replay.columns.lists import DIRECTORIES as DIRECTORY_WORDS
from kafkactl.metadata.replay.columns.lists import IDS, Tuples, elements

# The columns, by the field of a PartitionState that they are: places of lists, of directory lists, and numbers.
LISTS: Final = {
    "replicas": REPLICAS_AT,
    "isr": ISR_AT,
    "removing": REMOVING_AT,
    "adding": ADDING_AT,
    "elr": ELR_AT,
    "last_known": LAST_KNOWN_ELR_AT,
}
PLAIN: Final = {
    "leader": LEADER_AT,
    "recovery": RECOVERY_AT,
    "leader_epoch": LEADER_EPOCH_AT,
    "epoch": PARTITION_EPOCH_AT,
}
DIRECTORIES: Final = "directories"
_NAMES: Final = {at: name for name, at in (LISTS | PLAIN).items()}
_AT_ONCE: Final = 20_000  # rows: their copies while they become tuples
_JUDGED_AT_ONCE: Final = 100_000  # rows: their lists side by side


class Rows:
    """Partitions as columns by name; those of lists have places in `words` (`lists.Lists`)."""

    def __init__(self, columns: Mapping[str, Array], words: Array) -> None:
        self.columns = columns
        self.words = words

    def states(self, rows: Any = slice(None), tuples: Tuples | None = None) -> list[PartitionState]:
        """Return the partitions in these rows."""
        tuples = tuples or Tuples(self.words)
        fields: list[list[Any]] = [[]] * len(Partition._fields)
        for name, at in LISTS.items():
            fields[at] = tuples.ids(self.columns[name][rows])
        for name, at in PLAIN.items():
            fields[at] = self.columns[name][rows].tolist()
        fields[DIRECTORIES_AT] = tuples.directories(self.columns[DIRECTORIES][rows])
        return list(zip(*fields, strict=True))


class ColumnTopics(PackedTopics):
    """Topics in the order of their names and ids; the partitions of each end with the row before `ends`, in the order
    of their `numbers`."""

    def __init__(self, heads: Sequence[tuple[str, bytes]], ends: Array, numbers: Array, rows: Rows) -> None:
        self._heads = heads
        self._ends = ends
        self._numbers = numbers
        self._rows = rows
        self._made: dict[Uuid, Topic] | None = None

    def _all(self) -> dict[Uuid, Topic]:
        if self._made is None:
            self._made = {}
            tuples = Tuples(self._rows.words)
            for first, behind, rows in self._parts(_AT_ONCE):
                numbers, states = self._numbers[rows].tolist(), self._rows.states(rows, tuples)
                for name, raw, own in self._slices(first, behind, rows.start):
                    held = dict(zip(numbers[own], states[own], strict=True))
                    id = Uuid(raw)
                    self._made[id] = Topic(name=name, id=id, partitions=Partitions(held))
        return self._made

    def _parts(self, size: int) -> Iterator[tuple[int, int, slice]]:
        """Yield some topics at a time: the first, the one after the last, and their rows, about as many as `size`."""
        first = begin = 0
        while first < len(self._heads):
            behind = max(first + 1, int(np.searchsorted(self._ends, begin + size)))
            end = int(self._ends[behind - 1])
            yield first, behind, slice(begin, end)
            first, begin = behind, end

    def _slices(self, first: int, behind: int, begin: int) -> Iterator[tuple[str, bytes, slice]]:
        """Name and id of some topics, and which of the rows from `begin` on are theirs."""
        at = 0
        ends = (self._ends[first:behind] - begin).tolist()
        for (name, raw), end in zip(self._heads[first:behind], ends, strict=True):
            yield name, raw, slice(at, end)
            at = end

    def __getitem__(self, id: Uuid) -> Topic:
        return self._all()[id]

    def __iter__(self) -> Iterator[Uuid]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._heads)

    def items(self) -> ItemsView[Uuid, Topic]:
        """Implement `Mapping.items` at once instead of one by one."""
        return self._all().items()

    def values(self) -> ValuesView[Topic]:
        """Implement `Mapping.values` at once."""
        return self._all().values()

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (self._all(),)

    def partition_count(self) -> int:
        """Implement `PackedTopics.partition_count`."""
        return len(self._numbers)

    def leaderless_count(self) -> int:
        """Implement `PackedTopics.leaderless_count`."""
        return int((self._rows.columns["leader"] < 0).sum())

    def text(self) -> Iterator[str]:
        """Implement `PackedTopics.text`."""
        return topics_text(self._texts())

    def _texts(self) -> Iterator[tuple[str, Uuid, list[str]]]:
        renders, tuples = Renders(), Tuples(self._rows.words)
        for first, behind, rows in self._parts(_AT_ONCE // 10):
            numbers, states = self._numbers[rows].tolist(), self._rows.states(rows, tuples)
            for name, raw, own in self._slices(first, behind, rows.start):
                yield name, Uuid(raw), state_texts(numbers[own], states[own], renders)

    def heads(self) -> list[tuple[str, bytes, int]]:
        """Implement `PackedTopics.heads`."""
        counts = np.diff(self._ends, prepend=0).tolist()
        return [(name, raw, count) for (name, raw), count in zip(self._heads, counts, strict=True)]

    def columns(self) -> Iterator[bytes]:
        """Implement `PackedTopics.columns`."""
        columns = self._rows.columns
        yield self._numbers.astype("<i8").tobytes()
        for at in digest.NUMBERS:
            yield columns[_NAMES[at]].astype("<i8").tobytes()
        for at in digest.LISTS:
            yield from self._elements(columns[_NAMES[at]], IDS)
        yield from self._elements(columns[DIRECTORIES], DIRECTORY_WORDS)

    def _elements(self, places: Array, width: int) -> Iterator[bytes]:
        yield self._rows.words[places].astype("<i4").tobytes()
        form = "<i4" if width == IDS else np.int32  # directory ids are bytes unchanged
        for first in range(0, len(places), _AT_ONCE):
            _, words = elements(self._rows.words, places[first : first + _AT_ONCE], width)
            yield words.astype(form).tobytes()

    def numbering(self) -> Iterator[tuple[str, int, int, int]]:
        """Implement `PackedTopics.numbering`."""
        counts = np.diff(self._ends, prepend=0)
        held = np.append(self._numbers, -1)
        has = counts > 0
        least, greatest = held[np.where(has, self._ends - counts, -1)], held[np.where(has, self._ends - 1, -1)]
        names = (name for name, _ in self._heads)
        yield from zip(names, counts.tolist(), least.tolist(), greatest.tolist(), strict=True)

    def suspects(
        self, brokers: Mapping[int, Broker], *, has_elr: bool = False, most_leaderless: int | None = None
    ) -> Suspects:
        """Implement `PackedTopics.suspects`."""
        soundness, total = Soundness(brokers, has_elr=has_elr), len(self._numbers)
        kinds = np.zeros(total, np.int8)
        for first in range(0, total, _JUDGED_AT_ONCE):
            part = slice(first, first + _JUDGED_AT_ONCE)
            columns = {name: column[part] for name, column in self._rows.columns.items()}
            kinds[part] = soundness.kinds(columns, self._rows.words)
        leaderless = np.flatnonzero(kinds == LEADERLESS)[:most_leaderless]
        unlisted = int((kinds == LEADERLESS).sum()) - len(leaderless)
        kinds[leaderless] = SUSPECT
        return Suspects(listed=self._listed(np.flatnonzero(kinds == SUSPECT)), unlisted=unlisted)

    def health(self, least: Sequence[int]) -> PartitionHealth:
        """Implement `PackedTopics.health`."""
        columns, words = self._rows.columns, self._rows.words
        replicas, isr, adding, removing = (words[columns[name]] for name in ("replicas", "isr", "adding", "removing"))
        minimum = np.repeat(np.array(least, np.int64), np.diff(self._ends, prepend=0))
        leader = columns["leader"]
        first = np.where(replicas > 0, words[columns["replicas"] + 1], leader)
        has_leader = leader >= 0
        marks = (
            ~has_leader,
            ~has_leader | (isr < minimum),
            isr == minimum,
            replicas - adding > isr,
            (adding > 0) | (removing > 0),
            has_leader & (first != leader),
        )
        found = {kind: np.flatnonzero(mark) for kind, mark in zip(KINDS, marks, strict=True)}
        distinct = np.flatnonzero(np.bincount(columns["replicas"])) if len(leader) else np.zeros(0, np.int64)
        return health_of(
            len(leader),
            {kind: len(rows) for kind, rows in found.items()},
            {kind: self._names(rows[:NAMED_OF_EACH]) for kind, rows in found.items()},
            frozenset(np.flatnonzero(np.bincount(elements(words, distinct)[1])).tolist()),
            knows_minimum=NOT_KNOWN not in minimum,
        )

    def _names(self, rows: Array) -> tuple[str, ...]:
        topics = np.searchsorted(self._ends, rows, "right").tolist()
        numbers = self._numbers[rows].tolist()
        return tuple(f"{self._heads[topic][0]}-{number}" for topic, number in zip(topics, numbers, strict=True))

    def _listed(self, rows: Array) -> Iterator[tuple[str, int, PartitionState]]:
        for first in range(0, len(rows), _AT_ONCE):
            part = rows[first : first + _AT_ONCE]
            topics = np.searchsorted(self._ends, part, "right").tolist()
            for topic, number, state in zip(topics, self._numbers[part].tolist(), self._rows.states(part), strict=True):
                yield self._heads[topic][0], number, state
