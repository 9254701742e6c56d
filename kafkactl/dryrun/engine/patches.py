"""Partition records of a stretch folded into patches, by the same columns as the local fold.

A patch is what some stretch of the log does to a partition: for each field the last value that was given, how often
the leader was named, how many changes there were. Patches of neighbouring stretches compose, in any grouping, which is
why a log can be folded in parallel. Each field is one number, so that a hash aggregate can merge patches by taking the
greatest: the number of the stretch (they ascend along the log) above the value, which of a list is its place among the
words of that stretch (`columns.lists`). Nothing is looked up for a record, nor for a list.

Source of the rule: `metadata/.../controller/PartitionRegistration.java` (`merge`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias

import numpy as np

from kafkactl.metadata.image.model import EMPTY
from kafkactl.metadata.replay.columns import lists, tagged
from kafkactl.metadata.replay.columns.bytes import Array, Window
from kafkactl.metadata.replay.columns.given import Changed, Made, change, changes_of, make, partitions_of
from kafkactl.metadata.replay.columns.table import PartitionTable
from kafkactl.metadata.replay.columns.topics import DIRECTORIES, LISTS
from kafkactl.metadata.replay.state import State
from kafkactl.metadata.replay.topics import CHANGE, LEADER_STAYS

WIDTHS: Final = {**dict.fromkeys(LISTS, lists.IDS), DIRECTORIES: lists.DIRECTORIES}  # words of an element, by column
# Added to a field's value, so that 0 means "not given" and the least given value is 1.
_ABOVE: Final = {**dict.fromkeys(WIDTHS, 1), "leader": 2, "recovery": 1}
FIELDS: Final = tuple(_ABOVE)
COUNTERS: Final = ("resets", "leader_epoch", "epoch")
PATCH_NUMBERS: Final = ("first_offset", "last_offset", "reset_at", *COUNTERS, *FIELDS)
MERGED_BY: Final = {"first_offset": "min", **dict.fromkeys(COUNTERS, "sum")}  # all others by max
# From a stretch, places of lists among its words, and the words of an element to their places in a table.
Placing: TypeAlias = Callable[[int, Array, int], Array]
_PLACE: Final = 32  # bits of a value
_NO_LEADER: Final = -1
KEY: Final = np.dtype([("number", ">i4"), ("first", "<u8"), ("second", "<u8")])  # as in a record: number and topic id
# Rows of a table: what a hostile partition number may cost. A sound one is below the partitions of its topic.
_MOST_ROWS: Final = 1 << 20
_ROWS_OF_RECORD: Final = 8


class Patches(NamedTuple):
    """Patches of one era, as columns by name: keys (KEY), and PATCH_NUMBERS, of which a field is 0 where nothing gave
    it.

    `reset_at` is the offset of a partition's last PartitionRecord, -1 for none; the epochs are those of that record,
    and one more for each change behind it.
    """

    era: int
    keys: Array
    numbers: dict[str, Array]


class PatchTable(PartitionTable):
    """What a stretch gives to partitions, of which nothing is known before."""

    FORMS: ClassVar[Mapping[str, type[Any]]] = {
        **PartitionTable.FORMS,
        **dict.fromkeys(("first_offset", "last_offset", "reset_at"), np.int64),
        "resets": np.int32,
    }
    first_offset: Array
    last_offset: Array
    reset_at: Array
    resets: Array

    def __init__(self, held: lists.Lists) -> None:
        super().__init__(State(EMPTY))
        self.lists = held
        self._most_rows = _MOST_ROWS

    def take(self, window: Window, heads: tagged.Heads, offsets: Array) -> tuple[int, int, Array]:
        """The next records in their order: how many partitions and changes they are, and which are odd.

        What is odd has no effect: it is written as Kafka does not write it, or what it does depends on more than its
        own words.
        """
        self._most_rows += _ROWS_OF_RECORD * len(offsets)
        topics = self.topics.numbers(heads.first, heads.second)
        row, odd = self._placed(topics, heads.number)
        is_change, place = window.u1[heads.start + 1] == CHANGE, np.arange(len(row))
        changed, wrong = changes_of(window, heads, place, row, np.flatnonzero(is_change))
        leader = changed.at[tagged.LEADER]
        odd[changed.place] |= wrong | ((leader > 0) & (window.i4[leader] < LEADER_STAYS))
        made, wrong = partitions_of(window, heads, place, row, np.flatnonzero(~is_change))
        odd[made.place] |= wrong | (window.i4[made.epochs] < _NO_LEADER)
        made, changed = made.only(np.flatnonzero(~odd[made.place])), changed.only(np.flatnonzero(~odd[changed.place]))
        kept = np.flatnonzero(~odd)
        self._begin(row[kept], offsets[kept])
        self._fold(window, made, changed, offsets)
        return len(made.place), len(changed.place), odd

    def _placed(self, topics: Array, numbers: Array) -> tuple[Array, Array]:
        """The rows of these partitions, and which have none."""
        over = np.flatnonzero(numbers >= self._room[topics])
        if len(over):
            greatest = np.full(len(self._raws), -1)
            np.maximum.at(greatest, topics[over], numbers[over])
            left = self._most_rows - self.used
            widened = np.flatnonzero((greatest >= 0) & (greatest < left))
            self._widen(widened[np.cumsum(greatest[widened] + 1) <= left], greatest + 1)
        return self._base[topics] + numbers, (numbers < 0) | (numbers >= self._room[topics])

    def _begin(self, row: Array, offsets: Array) -> None:
        """Records are about these rows: those that are new have been given nothing."""
        self.last_offset[row] = offsets
        fresh = np.flatnonzero(~self.present[row])[::-1]
        new = row[fresh]
        self.first_offset[new] = offsets[fresh]
        self.reset_at[new] = -1
        for name, above in _ABOVE.items():
            getattr(self, name)[new] = -above
        self.present[new] = True

    def _fold(self, window: Window, made: Made, changed: Changed, offsets: Array) -> None:
        if len(made.place):
            make(self, window, made)
            self.reset_at[made.row] = offsets[made.place]
            np.add.at(self.resets, made.row, 1)
        if len(changed.place):
            change(self, window, changed)

    def move(self, other: lists.Lists) -> None:
        """Lists that are still needed to another array."""
        rows = np.flatnonzero(self.present[: self.used])
        for name, width in WIDTHS.items():
            column = getattr(self, name)
            column[rows] = self.lists.moved(other, column[rows], width)
        self.lists = other

    def patches(self, era: int) -> Patches:
        """All of them."""
        rows = np.flatnonzero(self.present[: self.used])
        known = np.flatnonzero(self._room[: len(self._raws)])
        topics = known[np.argsort(self._base[known])]
        topic = topics[np.searchsorted(self._base[topics], rows, "right") - 1]
        ids = np.frombuffer(b"".join(self._raws), "<u8").reshape(-1, 2)
        keys = np.empty(len(rows), KEY)
        keys["number"], keys["first"], keys["second"] = rows - self._base[topic], ids[topic, 0], ids[topic, 1]
        numbers = {name: getattr(self, name)[rows].astype(np.int64) for name in PATCH_NUMBERS}
        for name, above in _ABOVE.items():
            numbers[name] += above
        return Patches(era, keys, numbers)


def said_by(stretch: int, made: Mapping[str, Array]) -> dict[str, Array]:
    """Patches of the stretch of that number, whose fields now tell it above the value."""
    said = (stretch + 1) << _PLACE
    return {
        name: np.where(numbers > 0, said | (numbers - 1), 0) if name in FIELDS else numbers
        for name, numbers in made.items()
    }


def put(
    table: PartitionTable, rows: Array, numbers: Mapping[str, Array], stretch: int | None, placing: Placing
) -> None:
    """Patches into these rows of a table, in each no more than one.

    They are those of `stretch`, or, where that is None, their fields say of which each is (`said_by`). A patch that
    begins with a PartitionRecord needs nothing in its row; any other one does.
    """
    for name, above in _ABOVE.items():
        given = np.flatnonzero(numbers[name])
        packed, column = numbers[name][given].astype(np.int64), getattr(table, name)
        value = packed - above if stretch is not None else (packed & ((1 << _PLACE) - 1)) + (1 - above)
        if name not in WIDTHS:
            column[rows[given]] = value
            continue
        value = value.astype(np.int32)
        if stretch is not None:
            column[rows[given]] = placing(stretch, value, WIDTHS[name])
            continue
        said_by_each = (packed >> _PLACE) - 1
        for said in np.flatnonzero(np.bincount(said_by_each)).tolist():
            own = np.flatnonzero(said_by_each == said)
            column[rows[given[own]]] = placing(said, value[own], WIDTHS[name])
    is_made = numbers["resets"] > 0
    for name in ("leader_epoch", "epoch"):
        column = getattr(table, name)
        column[rows] = np.where(is_made, 0, column[rows]) + numbers[name]
    table.present[rows] = True
