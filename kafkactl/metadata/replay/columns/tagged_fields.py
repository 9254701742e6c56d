"""Fields of partition records after their ids, by columns: the place of each field in all records at once.

The n-th tagged field of every record is read together. What is read so is what Kafka writes, without exception; a
record that is written in another way (or wrong) is irregular, and the codec decides what it says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np

from kafkactl.metadata.replay.columns.bytes import Array, Window, places_of
from kafkactl.metadata.replay.topics import NEWEST

IDS_BYTES: Final = 20  # partition number and topic id
_IDS_END: Final = 3 + IDS_BYTES
# The first bytes of a partition record. Of a change `tags` is how many tagged fields there are, `word` the first.
_HEAD: Final = np.dtype(
    {
        "names": ["version", "number", "first", "second", "tags", "word"],
        "formats": ["u1", ">i4", "<u8", "<u8", "u1", "<u4"],
        "offsets": [2, 3, 7, 15, _IDS_END, _IDS_END + 1],
        "itemsize": _IDS_END + 5,
    }
)
EPOCHS_BYTES: Final = 12  # of a PartitionRecord: leader, leader epoch, partition epoch

# The rows of `FieldPositions`: fields whose content begins with a count, and two that are numbers.
REPLICAS, ISR, REMOVING, ADDING, DIRECTORIES, ELR, LAST_KNOWN, LEADER, RECOVERY = range(9)
FIELDS: Final = 9
_ID_BYTES, _DIRECTORY_BYTES = 4, 16
_TWO_BYTES: Final = 0x80  # a varint from here on takes two bytes


class _Form(NamedTuple):
    """Form of tagged fields, by tag: field, size of an element, the number to be subtracted, and the first version.

    A list of n elements is one byte and n of them, and its count is written as n + 1; a number is of one size.
    """

    field: Array
    each: Array
    less: Array
    version: Array
    most: int


def _form(tags: Mapping[int, tuple[int, int, int]]) -> _Form:
    """Return by tag the field, the size of an element (below 0: of the number that it is), and the first version."""
    columns = np.zeros((4, 256), np.int64)
    form = _Form(columns[0], columns[1], columns[2], columns[3], len(tags))
    form.less[:] = 1  # no size is -1
    for tag, (field, size, version) in tags.items():
        form.field[tag], form.version[tag] = field, version
        form.each[tag], form.less[tag] = (size, size - 1) if size > 0 else (0, size)
    return form


_CHANGES: Final = _form(
    {
        0: (ISR, _ID_BYTES, 0),
        1: (LEADER, -4, 0),
        2: (REPLICAS, _ID_BYTES, 0),
        3: (REMOVING, _ID_BYTES, 0),
        4: (ADDING, _ID_BYTES, 0),
        5: (RECOVERY, -1, 0),
        6: (ELR, _ID_BYTES, 2),
        7: (LAST_KNOWN, _ID_BYTES, 2),
        8: (DIRECTORIES, _DIRECTORY_BYTES, 1),
    }
)
_PARTITIONS: Final = _form({0: (RECOVERY, -1, 0), 1: (ELR, _ID_BYTES, 2), 2: (LAST_KNOWN, _ID_BYTES, 2)})


class Heads(NamedTuple):
    """The first bytes of partition records as columns; `first` and `second` are the halves of the topic id."""

    start: Array
    end: Array
    version: Array
    number: Array
    first: Array
    second: Array
    tags: Array
    word: Array

    def only(self, which: Array | slice) -> Heads:
        """Return some of the records."""
        return Heads(*(column[which] for column in self))


def heads(window: Window, start: Array, end: Array) -> Heads:
    """Read the heads of the partition records at these places."""
    held = window.of(_HEAD.itemsize)[start].view(_HEAD)
    first, second = held["first"].astype(np.uint64), held["second"].astype(np.uint64)
    number, tags, word = (held[name].astype(np.int64) for name in ("number", "tags", "word"))
    return Heads(start, end, held["version"].copy(), number, first, second, tags, word)


class FieldPositions(NamedTuple):
    """Fields of some records. `at` has a row for each field: where its content begins in the window, 0 if a record
    does not give it. `irregular` are the records that are not written as Kafka writes them."""

    at: Array
    irregular: Array


def changes(window: Window, heads: Heads) -> FieldPositions:
    """Find the fields of PartitionChangeRecords, which contain only tagged fields after the ids."""
    at = np.zeros((FIELDS, len(heads.start)), np.int32)
    place = heads.start + (_IDS_END + 1)
    tags = _Tags(place, heads.end, heads.version, heads.tags)
    return FieldPositions(at, _read(window, tags, heads.word, _CHANGES, at))


def partitions(window: Window, heads: Heads) -> tuple[FieldPositions, Array]:
    """Find the fields of PartitionRecords, and the place of leader and epochs."""
    start, end, version = heads.start + _IDS_END, heads.end, heads.version
    at = np.zeros((FIELDS, len(start)), np.int32)
    irregular, place = np.zeros(len(start), bool), start
    for field in (REPLICAS, ISR, REMOVING, ADDING):
        at[field] = place
        place = _behind_list(window, place, end, _ID_BYTES, irregular)
    epochs, place = place, np.minimum(place + EPOCHS_BYTES, end)
    has_directories = version >= 1
    if bool(has_directories.all()):
        at[DIRECTORIES] = place
        place = _behind_list(window, place, end, _DIRECTORY_BYTES, irregular)
    elif bool(has_directories.any()):
        own, wrong = places_of(has_directories), np.zeros(int(has_directories.sum()), bool)
        at[DIRECTORIES, own] = place[own]
        place[own] = _behind_list(window, place[own], end[own], _DIRECTORY_BYTES, wrong)
        irregular[own] |= wrong
    count, place = window.u1[place].astype(np.int64), place + 1
    irregular |= _read(window, _Tags(place, end, version, count), None, _PARTITIONS, at)
    return FieldPositions(at, irregular), epochs


def _behind_list(window: Window, at: Array, end: Array, each: int, irregular: Array) -> Array:
    """Return the places after lists that begin at `at`."""
    count = window.u1[at].astype(np.int64)
    irregular |= (count == 0) | (count >= _TWO_BYTES)
    behind = at + (each * count - (each - 1))
    irregular |= behind >= end
    return np.maximum(at, np.minimum(behind, end))


class _Tags(NamedTuple):
    """Tagged fields: where they begin (`place` goes on to the next field), where the record ends, how many they are."""

    place: Array
    end: Array
    version: Array
    left: Array


def _read(window: Window, tags: _Tags, word: Array | None, form: _Form, at: Array) -> Array:
    """Find tagged fields and write their places into `at`; return which records are irregular.

    `word` is the word at `tags.place`, if that is known.
    """
    place, end, version, count = tags
    total = len(place)
    irregular: Array = count > form.most
    before, flat = np.full(total, -1), at.reshape(-1)
    has_versions = bool((version < NEWEST).any())
    active = places_of(count)
    for number in range(min(int(count.max(initial=0)), form.most)):
        if number:
            active, word = active[places_of(count[active] > number)], None
        here, limit = place[active], end[active]
        word = window.u4[here].astype(np.int64) if word is None else word[active]
        tag, size, elements = word & 0xFF, (word >> 8) & 0xFF, (word >> 16) & 0xFF
        content = here + 2
        wide = places_of(size >= _TWO_BYTES)
        if len(wide):
            size[wide] += (elements[wide] - 1) << 7
            content[wide] += 1
            irregular[active[wide[elements[wide] >= _TWO_BYTES]]] = True
            elements[wide] = word[wide] >> 24
        each, behind = form.each[tag], content + size
        wrong = (size != each * elements - form.less[tag]) | (tag <= before[active]) | (behind > limit)
        if len(wide):
            wrong |= (elements >= _TWO_BYTES) & (each > 0)
        if has_versions:
            wrong |= version[active] < form.version[tag]
        irregular[active] |= wrong
        flat[form.field[tag] * total + active] = content
        place[active], before[active] = np.minimum(behind, limit), tag
    irregular |= place != end
    return irregular
