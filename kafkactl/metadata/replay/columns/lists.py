"""Lists of node ids and of directory ids side by side in one array of numbers, each found by the place of its length.

No list is looked up: a cluster of 60 brokers has 205,320 ordered lists of three, so that most that a log gives may be
new. A list that is replaced stays where it is until the live ones are copied to another array.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

import numpy as np

from kafkactl.metadata.replay.columns.bytes import Array, Window

IDS, DIRECTORIES = 1, 4  # words that an element takes: a node id, and the 16 bytes of a directory id
EMPTY: Final = 0  # the place of the list without elements
_MOST_UNKNOWN: Final = 127
_LEAST_ROOM: Final = 8 << 20  # what is not used of it takes no memory
_MOVED_AT_ONCE: Final = 10_000


def _unknown_places() -> Array:
    sizes = 1 + DIRECTORIES * np.arange(_MOST_UNKNOWN + 1)
    places: Array = np.cumsum(sizes) - sizes
    return places


UNKNOWN: Final = _unknown_places()  # places of the lists of so many directory ids that are not known, which are zeros
_PINNED: Final = int(UNKNOWN[-1]) + 1 + DIRECTORIES * _MOST_UNKNOWN


class Lists:
    """The array: `words` up to `used`. Its words do not change, so that another may keep it."""

    def __init__(self) -> None:
        self.words: Array = np.zeros(_LEAST_ROOM, np.int32)
        self.words[UNKNOWN] = np.arange(len(UNKNOWN))
        self.used = _PINNED

    def add(self, window: Window, at: Array, width: int = IDS) -> Array:
        """Lists as they are in records, each with the byte of its count (plus 1) at these places; returns theirs."""
        counts = window.u1[at]
        places = np.zeros(len(at), np.int32)
        for count in np.flatnonzero(np.bincount(counts, minlength=2)[2:]).tolist():
            held, words = np.flatnonzero(counts == count + 2), (count + 1) * width
            raw = window.of(4 * words)[at[held] + 1]
            first = self._make_room(len(held) * (1 + words))
            taken = self.words[first : self.used].reshape(-1, 1 + words)
            taken[:, 0] = count + 1
            taken[:, 1:] = raw.view(">i4" if width == IDS else np.int32).reshape(-1, words)
            places[held] = np.arange(first, self.used, 1 + words)
        return places

    def put(self, lists: Sequence[Sequence[int]]) -> Array:
        """Lists of node ids; returns their places."""
        counts = np.fromiter(map(len, lists), np.int64, len(lists))
        elements = np.fromiter(chain.from_iterable(lists), np.int32, int(counts.sum()))
        return self._put(counts, counts, elements)

    def put_directories(self, joined: Sequence[bytes]) -> Array:
        """Lists of directory ids, joined; returns their places."""
        sizes = np.fromiter(map(len, joined), np.int64, len(joined)) >> 2
        elements = np.frombuffer(b"".join(joined), np.int32)
        places = self._put(sizes // DIRECTORIES, sizes, elements)
        short = np.flatnonzero(sizes <= DIRECTORIES * _MOST_UNKNOWN)
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
        if self.used > len(self.words):
            self.words.resize(self.used + self.used // 4, refcheck=False)  # in place: its holders see no change
        return first

    def counts(self, places: Array) -> Array:
        """How many elements these have."""
        found: Array = self.words[places]
        return found

    def content(self) -> bytes:
        """All that was added, as bytes of this machine's order."""
        return self.words[_PINNED : self.used].tobytes()

    @classmethod
    def of(cls, content: bytes) -> Lists:
        """Lists at the same places."""
        found = cls()
        found._append(np.frombuffer(content, np.int32))
        return found

    def join(self, other: Lists) -> Joined:
        """Copy all that another array has, also what was replaced there."""
        return Joined(self._append(other.words[_PINNED : other.used]) - _PINNED)

    def moved(self, other: Lists, places: Array, width: int) -> Array:
        """Copies these to another array; returns their places there."""
        held = np.flatnonzero(places >= _PINNED)
        moved = places.copy()
        for first in range(0, len(held), _MOVED_AT_ONCE):
            own = held[first : first + _MOVED_AT_ONCE]
            begins, source = _spread(places[own], self.words[places[own]].astype(np.int64) * width + 1)
            moved[own] = begins + other._append(self.words[source])
        return moved


class Joined(NamedTuple):
    """An array within another one, so many words behind where it was."""

    behind: int

    def places(self, places: Array) -> Array:
        """Where lists of the former are in the latter."""
        found: Array = np.where(places >= _PINNED, places + self.behind, places)
        return found


def _spread(first: Array, sizes: Array) -> tuple[Array, Array]:
    """Where each of these begins when they stand side by side, and the places of all that is in them."""
    ends = np.cumsum(sizes)
    begins: Array = ends - sizes
    return begins, np.repeat(first - begins, sizes) + np.arange(int(ends[-1]) if len(ends) else 0)


def elements(words: Array, places: Array, width: int = IDS) -> tuple[Array, Array]:
    """How many elements the lists at these places have, and the words of all of them, one list after the other."""
    counts: Array = words[places]
    _, source = _spread(places.astype(np.int64) + 1, counts.astype(np.int64) * width)
    return counts, words[source]


class Tuples:
    """Lists at places as the objects that a `PartitionState` has; equal ones are one object."""

    def __init__(self, words: Array) -> None:
        self._words = words
        self._known: dict[Any, Any] = {}

    def ids(self, places: Array) -> list[tuple[int, ...]]:
        """Lists of node ids."""
        return self._made(places, IDS, lambda rows: zip(*rows.T.tolist(), strict=True), ())

    def directories(self, places: Array) -> list[bytes]:
        """Lists of directory ids, joined."""
        return self._made(places, DIRECTORIES, _joined, b"")

    def _made(self, places: Array, width: int, make: Any, nothing: Any) -> list[Any]:
        counts = self._words[places]
        found = np.full(len(places), None, object)
        for count in np.flatnonzero(np.bincount(counts)).tolist():
            at = np.flatnonzero(counts == count)
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
