"""Lists of node ids and of directory ids side by side in one array of numbers, each found by the place of its length.

Lists are not numbered: a cluster of 60 brokers has 205,320 ordered lists of three, so that most that a log gives may be
new. But where partitions are made alike, what they begin with was often added shortly before; that is looked for as
long as most of it is found. A list that is replaced stays where it is until the live ones are copied to another array.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, Final

import numpy as np

from kafkactl.metadata.replay.columns.bytes import MIX, Array, Window, fresh, places_of, spread

IDS, DIRECTORIES = 1, 4  # words that an element takes: a node id, and the 16 bytes of a directory id
EMPTY: Final = 0  # the place of the list without elements
_MOST_UNKNOWN: Final = 127
# Words. What is not used of the first takes no memory; of the larger one the system gives pages of 2 MiB, and it grows
# where it stays.
_FIRST_ROOM: Final = 1 << 20
_LARGE_ROOM: Final = 8 << 20
_MOVED_AT_ONCE: Final = 10_000
_RECENT_BITS: Final = 14
_MANY_EQUAL: Final = 2  # times as many as there are different ones
_TRIED_FIRST: Final = 4_096  # lists, before it is known how many are found


def _unknown_places() -> Array:
    sizes = 1 + DIRECTORIES * np.arange(_MOST_UNKNOWN + 1)
    places: Array = np.cumsum(sizes) - sizes
    return places


UNKNOWN: Final = _unknown_places()  # places of the lists of so many directory ids that are not known, which are zeros
_PINNED: Final = int(UNKNOWN[-1]) + 1 + DIRECTORIES * _MOST_UNKNOWN


class Lists:
    """The array: `words` up to `used`. Its words do not change, so that another may keep it."""

    def __init__(self) -> None:
        self.words = fresh(_FIRST_ROOM, np.int32)
        self.words[UNKNOWN] = np.arange(len(UNKNOWN))
        self.used = _PINNED
        self._recent = {width: _Recent() for width in (IDS, DIRECTORIES)}

    def add(self, window: Window, at: Array, width: int = IDS, *, is_likely: bool = False) -> Array:
        """Add lists as they are in records, each with the byte of its count (plus 1) at these places; return their
        places.

        `is_likely`: many are equal, so that they are looked for.
        """
        counts = window.u1[at]
        places = np.zeros(len(at), np.int32)
        for count in places_of(np.bincount(counts, minlength=2)[2:]).tolist():
            held, words = places_of(counts == count + 2), (count + 1) * width
            raw = window.of(4 * words)[at[held] + 1]
            rows = raw.view(">i4" if width == IDS else np.int32).reshape(-1, words)
            recent = self._recent[width]
            if is_likely and recent.is_worth:
                places[held] = self._looked_for(np.ascontiguousarray(rows, np.int32), count + 1, recent)
            else:
                places[held] = self._added(rows, count + 1)
        return places

    def _added(self, rows: Array, count: int) -> Array:
        """Add lists of so many elements, a row of words for each."""
        words = rows.shape[1]
        first = self._make_room(len(rows) * (1 + words))
        taken = self.words[first : self.used].reshape(-1, 1 + words)
        taken[:, 0] = count
        taken[:, 1:] = rows
        return np.arange(first, self.used, 1 + words)

    def _looked_for(self, rows: Array, count: int, recent: _Recent) -> Array:
        """Add the lists that were not added before; return the places of all."""
        slots, used = recent.slots(rows), self.used
        places = recent.places[slots]
        missing = places_of(~self._are(places, rows, count))
        if len(missing):
            # Of each slot one is added, and all that are equal to it take its place.
            own, numbers = slots[missing], np.arange(len(missing))
            recent.places[own] = numbers
            first = missing[places_of(recent.places[own] == numbers)]
            recent.places[slots[first]] = self._added(rows[first], count)
            places[missing] = recent.places[own]
            others = missing[places_of(~self._are(places[missing], rows[missing], count))]
            places[others] = self._added(rows[others], count)
        recent.tried += len(rows)
        recent.added += (self.used - used) // (1 + rows.shape[1])
        return places

    def _are(self, places: Array, rows: Array, count: int) -> Array:
        """Mark the lists that are at these places."""
        words = rows.shape[1]
        places = np.where(places < self.used - words, places, EMPTY)
        held = np.ndarray((len(self.words) - words,), f"V{4 * words}", buffer=self.words.data, offset=4, strides=(4,))
        found: Array = self.words[places] == count
        for held_part, own_part in zip(_parts(held[places], words), _parts(rows, words), strict=True):
            found &= held_part == own_part
        return found

    def put(self, lists: Sequence[Sequence[int]]) -> Array:
        """Add lists of node ids; return their places."""
        counts = np.fromiter(map(len, lists), np.int64, len(lists))
        elements = np.fromiter(chain.from_iterable(lists), np.int32, int(counts.sum()))
        return self._put(counts, counts, elements)

    def put_directories(self, joined: Sequence[bytes]) -> Array:
        """Add lists of directory ids, joined; return their places."""
        sizes = np.fromiter(map(len, joined), np.int64, len(joined)) >> 2
        elements = np.frombuffer(b"".join(joined), np.int32)
        places = self._put(sizes // DIRECTORIES, sizes, elements)
        short = places_of(sizes <= DIRECTORIES * _MOST_UNKNOWN)
        unknown = short[[not any(joined[at]) for at in short.tolist()]]
        places[unknown] = UNKNOWN[sizes[unknown] // DIRECTORIES]
        return places

    def _put(self, counts: Array, sizes: Array, elements: Array) -> Array:
        begins = np.cumsum(sizes + 1) - (sizes + 1)
        taken = np.empty(len(elements) + len(counts), np.int32)
        is_element = np.ones(len(taken), bool)
        is_element[begins] = False
        taken[is_element], taken[begins] = elements, counts
        places: Array = (begins + self._append(taken)).astype(np.int32)
        places[counts == 0] = EMPTY
        return places

    def _append(self, taken: Array) -> int:
        first = self._make_room(len(taken))
        self.words[first : self.used] = taken
        return first

    def _make_room(self, size: int) -> int:
        first, self.used = self.used, self.used + size
        if self.used <= len(self.words):
            return first
        room = self.used + self.used // 4
        if self.words.flags.owndata:
            self.words.resize(room, refcheck=False)  # in place: its holders see no change
        else:
            larger = np.zeros(max(_LARGE_ROOM, room), np.int32)
            larger[:first] = self.words[:first]
            self.words = larger
        return first

    def moved(self, other: Lists, places: Array, width: int) -> Array:
        """Copy lists to another array; return their places there."""
        held = places_of(places >= _PINNED)
        moved, own = places.copy(), places[held]
        is_there = np.zeros(self.used, bool)
        is_there[own] = True
        distinct = places_of(is_there)
        if _MANY_EQUAL * len(distinct) <= len(own):
            moved[held] = self._copied(other, distinct, width)[distinct.searchsorted(own)]
        else:
            moved[held] = self._copied(other, own, width)
        return moved

    def _copied(self, other: Lists, places: Array, width: int) -> Array:
        copied = np.empty(len(places), np.int32)
        for first in range(0, len(places), _MOVED_AT_ONCE):
            part = slice(first, first + _MOVED_AT_ONCE)
            begins, source = spread(places[part], self.words[places[part]].astype(np.int64) * width + 1)
            copied[part] = begins + other._append(self.words[source])
        return copied


class _Recent:
    """Recent lists: by hash the last place, EMPTY for none; and the numbers of tried and of added lists."""

    def __init__(self) -> None:
        self.places = np.zeros(1 << _RECENT_BITS, np.int32)
        self.tried = self.added = 0

    @property
    def is_worth(self) -> bool:
        """Return True if so many lists are found that a search takes less than a second copy."""
        return self.tried < _TRIED_FIRST or _MANY_EQUAL * self.added <= self.tried

    def slots(self, rows: Array) -> Array:
        """Return the hashes of lists, a row of words for each."""
        hashed = np.zeros(len(rows), np.uint64)
        for part in _parts(rows, rows.shape[1]):
            hashed += part
            hashed *= MIX
        return (hashed >> np.uint64(64 - _RECENT_BITS)).astype(np.int64)


def _parts(rows: Array, words: int) -> Array:
    """Return rows of words as columns of the largest numbers that they consist of."""
    form = np.uint32 if words % 2 else np.uint64
    return rows.view(form).reshape(len(rows), -1).T


def elements(words: Array, places: Array, width: int = IDS) -> tuple[Array, Array]:
    """Return the number of elements of each list, and the words of all lists, one list after the other."""
    counts: Array = words[places]
    _, source = spread(places.astype(np.int64) + 1, counts.astype(np.int64) * width)
    return counts, words[source]


class Tuples:
    """Lists at places as the objects that a `PartitionState` has; equal ones are one object."""

    def __init__(self, words: Array) -> None:
        self._words = words
        self._known: dict[Any, Any] = {}

    def ids(self, places: Array) -> list[tuple[int, ...]]:
        """Return lists of node ids."""
        return self._made(places, IDS, lambda rows: zip(*rows.T.tolist(), strict=True), ())

    def directories(self, places: Array) -> list[bytes]:
        """Return lists of directory ids, joined."""
        return self._made(places, DIRECTORIES, _joined, b"")

    def _made(self, places: Array, width: int, make: Any, nothing: Any) -> list[Any]:
        counts = self._words[places]
        found = np.full(len(places), None, object)
        for count in places_of(np.bincount(counts)).tolist():
            at = places_of(counts == count)
            if not count:
                found[at] = [nothing]
                continue
            rows = self._words[places[at].astype(np.int64)[:, None] + np.arange(1, 1 + count * width)]
            objects = list(make(rows))
            found[at] = np.fromiter(map(self._known.setdefault, objects, objects), object, len(at))
        made: list[Any] = found.tolist()
        return made


def _joined(rows: Array) -> Iterable[bytes]:
    raw, size = rows.tobytes(), 4 * rows.shape[1]
    return (raw[at : at + size] for at in range(0, len(raw), size))
