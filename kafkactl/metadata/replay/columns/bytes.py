"""Bytes by columns: numbers read at many places of a piece at once, and numbers given to the bytes at many places.

Loaded by `replay_fast` where numpy is there and a log is large enough.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np

Array: TypeAlias = "np.ndarray[Any, Any]"

_BEYOND: Final = 64  # readable bytes behind the end, so that no place has to be checked before it is read
_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
_FOLDED: Final = np.uint64(32)
_MASKS: Final = np.array([(1 << 64) - 1, *((1 << 8 * size) - 1 for size in range(1, 8))], np.uint64)
_MOST_WORDS: Final = 32  # longer ones are looked up one by one
_NOTHING: Final = (1 << 64) - 1  # extra of the entry for none


class Window:
    """A piece and views of it that begin at every byte: `u1[p]`, `u4[p]` and `u8[p]` are the little-endian numbers of
    1, 4 and 8 bytes at place p, `i4[p]` and `i8[p]` the big-endian ones with a sign. The views reach beyond the end,
    where zeros stand."""

    def __init__(self) -> None:
        self.data = b""
        self._hold(_BEYOND)

    def _hold(self, size: int) -> None:
        self.u1: Array = np.zeros(size, np.uint8)
        self.u4, self.u8, self.i4, self.i8 = (
            np.ndarray((size - 8,), form, buffer=self.u1.data, strides=(1,)) for form in ("<u4", "<u8", ">i4", ">i8")
        )

    def of(self, size: int) -> Array:
        """The same of so many bytes at each place, unchanged; no place may be less than that before the end."""
        return np.ndarray((len(self.u1) - size + 1,), f"V{size}", buffer=self.u1.data, strides=(1,))

    def show(self, data: bytes) -> None:
        """Stand on another piece: fresh memory for each would cost more than all that is read from it."""
        size = len(data)
        if size + _BEYOND > len(self.u1):
            self._hold(size + size // 8 + _BEYOND)
        self.u1[:size] = np.frombuffer(data, np.uint8)
        self.u1[size : size + _BEYOND] = 0
        self.data = data


class ByteNumbers:
    """Numbers 0, 1, 2... for byte strings, in the order in which they are first seen.

    `made` is called with each new string and its tag (a small number that belongs to it). The vectors are a cache: a
    dict decides what is equal.
    """

    def __init__(self, made: Callable[[bytes, int], None]) -> None:
        self._made = made
        self._known: dict[tuple[bytes, int], int] = {}
        self._classes: dict[int, _OfWords] = {}

    def __len__(self) -> int:
        return len(self._known)

    def number(self, content: bytes, tag: int = 0) -> int:
        """That of one string."""
        found = self._known.get((content, tag))
        if found is None:
            self._made(content, tag)
            found = self._known[content, tag] = len(self._known)
        return found

    def numbers(self, window: Window, starts: Array, lengths: Array | int, tags: Array | int = 0) -> Array:
        """Those of the strings at these places."""
        if isinstance(lengths, int):
            lengths = np.full(len(starts), lengths)
        words = (lengths + 7) >> 3
        classes = np.flatnonzero(np.bincount(words)).tolist()
        if len(classes) == 1:
            return self._of_class(classes[0], window, starts, lengths, tags)
        found = np.empty(len(starts), np.int64)
        for count in classes:
            at = np.flatnonzero(words == count)
            own = tags if isinstance(tags, int) else tags[at]
            found[at] = self._of_class(count, window, starts[at], lengths[at], own)
        return found

    def _of_class(self, count: int, window: Window, starts: Array, lengths: Array, tags: Array | int) -> Array:
        extra = (lengths | (tags << 32)).astype(np.uint64)
        if count > _MOST_WORDS:
            return np.array(
                [self._one(window, *place) for place in zip(starts.tolist(), extra.tolist(), strict=True)], np.int64
            )
        found = self._classes.get(count)
        if found is None:
            found = self._classes[count] = _OfWords(count)
        words = [window.u8[starts + 8 * at] for at in range(count)]
        if words:
            words[-1] &= _MASKS[lengths & 7]
        return self._looked_up(found, words, window, starts, extra)

    def _looked_up(self, held: _OfWords, words: list[Array], window: Window, starts: Array, extra: Array) -> Array:
        """By the vectors; what is not in them yet is put there, a few and then more at a time."""
        numbers, missing = held.find(words, extra)
        while len(missing):
            rows = missing[held.distinct([word[missing] for word in words], extra[missing])]
            places = zip(starts[rows].tolist(), extra[rows].tolist(), strict=True)
            numbers[rows] = [self._one(window, *place) for place in places]
            held.put([word[rows] for word in words], extra[rows], numbers[rows])
            numbers[missing], still = held.find([word[missing] for word in words], extra[missing])
            missing = missing[still]
        return numbers

    def _one(self, window: Window, start: int, extra: int) -> int:
        return self.number(window.data[start : start + (extra & 0xFFFFFFFF)], extra >> 32)


class _OfWords:
    """A hash table of byte strings that take the same number of words of 8 bytes; entry 0 means none."""

    def __init__(self, count: int) -> None:
        self._bits = 10
        self._used = 1
        self._held: set[int] = set()
        self._places = np.zeros(1 << self._bits, np.int64)
        self._words = [np.zeros(512, np.uint64) for _ in range(count)]
        self._extra = np.full(512, _NOTHING, np.uint64)
        self._numbers = np.full(512, -1, np.int64)

    def find(self, words: list[Array], extra: Array) -> tuple[Array, Array]:
        """The numbers, and the rows that have none."""
        place = self._hashed(words, extra)
        entry = self._places[place]
        wrong = np.flatnonzero(~self._is(entry, words, extra))
        while len(wrong):  # another string at its place: look at the next one
            rows = wrong[entry[wrong] != 0]
            if not len(rows):
                break
            place[rows] = (place[rows] + 1) & (len(self._places) - 1)
            entry[rows] = self._places[place[rows]]
            same = self._is(entry[rows], [word[rows] for word in words], extra[rows])
            wrong = rows[~same]
        return self._numbers[entry], np.flatnonzero(entry == 0)

    def _is(self, entry: Array, words: list[Array], extra: Array) -> Array:
        same: Array = self._extra[entry] == extra
        for known, word in zip(self._words, words, strict=True):
            same &= known[entry] == word
        return same

    def distinct(self, words: list[Array], extra: Array) -> Array:
        """Rows of different strings; of each string at most one, of strings whose hashes are equal perhaps none."""
        rows: Array = np.unique(_mixed(words, extra), return_index=True)[1]
        return rows

    def _hashed(self, words: list[Array], extra: Array) -> Array:
        return (_mixed(words, extra) >> np.uint64(64 - self._bits)).astype(np.int64)

    def put(self, words: list[Array], extra: Array, numbers: Array) -> None:
        """Keep strings with their numbers; the same ones may stand there several times."""
        given = numbers.tolist()
        rows = [
            row for number, row in {number: row for row, number in enumerate(given)}.items() if number not in self._held
        ]
        self._held.update(given)
        first, self._used = self._used, self._used + len(rows)
        while self._used > len(self._extra):
            self._grow(first)
        new = slice(first, self._used)
        for column, word in zip(self._words, words, strict=True):
            column[new] = word[rows]
        self._extra[new], self._numbers[new] = extra[rows], numbers[rows]
        self._enter(new)

    def _enter(self, entries: slice) -> None:
        """Into the hash table, each at the first free place from its own on."""
        places = self._hashed([column[entries] for column in self._words], self._extra[entries]).tolist()
        held, mask = self._places, len(self._places) - 1
        for entry, place in enumerate(places, entries.start):
            while held[place]:
                place = (place + 1) & mask  # noqa: PLW2901
            held[place] = entry

    def _grow(self, used: int) -> None:
        self._bits += 1
        self._words = [np.concatenate([column, np.zeros_like(column)]) for column in self._words]
        self._extra = np.concatenate([self._extra, np.full_like(self._extra, _NOTHING)])
        self._numbers = np.concatenate([self._numbers, np.full_like(self._numbers, -1)])
        self._places = np.zeros(1 << self._bits, np.int64)
        self._enter(slice(1, used))


def _mixed(words: list[Array], extra: Array) -> Array:
    mixed = extra * _MIX
    for word in words:
        mixed = (mixed ^ word) * _MIX
        mixed ^= mixed >> _FOLDED
    return mixed * _MIX


class IdNumbers:
    """Numbers 0, 1, 2... for ids of 16 bytes, in the order in which they are first seen; `made` is called with each
    new one."""

    def __init__(self, made: Callable[[bytes], None]) -> None:
        self._made = made
        self._known: dict[bytes, int] = {}
        self._bits = 10
        self._places = np.zeros(1 << self._bits, np.int64)  # by hash: the number and 1 more; 0 where none is
        self._words = np.zeros((2, 512), np.uint64)

    def number(self, id: bytes) -> int:
        """That of one id."""
        if id not in self._known:
            self._enter([id])
        return self._known[id]

    def numbers(self, first: Array, second: Array) -> Array:
        """Those of ids as columns of their halves, little-endian."""
        found, missing = self.find(first, second)
        while len(missing):
            rows = missing[np.unique(first[missing], return_index=True)[1]]
            raw = np.stack([first[rows], second[rows]], axis=1).astype("<u8").tobytes()
            self._enter([raw[at : at + 16] for at in range(0, len(raw), 16)])
            found[missing], still = self.find(first[missing], second[missing])
            missing = missing[still]
        return found

    def find(self, first: Array, second: Array) -> tuple[Array, Array]:
        """The numbers, -1 where there is none, and the rows that have none."""
        place = self._hashed(first, second)
        entry = self._places[place]
        wrong = np.flatnonzero((self._words[0][entry] != first) | (self._words[1][entry] != second) | (entry == 0))
        rows = wrong[entry[wrong] != 0]
        while len(rows):  # another id at its place: look at the next one
            place[rows] = (place[rows] + 1) & (len(self._places) - 1)
            held = entry[rows] = self._places[place[rows]]
            same = (self._words[0][held] == first[rows]) & (self._words[1][held] == second[rows])
            rows = rows[~same & (held != 0)]
        return entry - 1, wrong[entry[wrong] == 0]

    def _hashed(self, first: Array, second: Array) -> Array:
        found: Array = (((first ^ second) * _MIX) >> np.uint64(64 - self._bits)).astype(np.int64)
        return found

    def _enter(self, ids: list[bytes]) -> None:
        """New ids, all different."""
        begin, known = len(self._known), self._known
        for number, id in enumerate(ids, begin):
            self._made(id)
            known[id] = number
        end = len(known) + 1
        while end > self._words.shape[1]:
            self._words = np.concatenate([self._words, np.zeros_like(self._words)], axis=1)
        self._words[:, begin + 1 : end] = np.frombuffer(b"".join(ids), "<u8").reshape(-1, 2).T
        if 2 * end > len(self._places):
            while 2 * end > len(self._places):
                self._bits += 1
                self._places = np.zeros(1 << self._bits, np.int64)
            begin = 0
        self._put(np.arange(begin + 1, end))

    def _put(self, entries: Array) -> None:
        """Each at the first free place from its own on."""
        place = self._hashed(self._words[0][entries], self._words[1][entries])
        while len(entries):
            free = np.flatnonzero(self._places[place] == 0)
            self._places[place[free]] = entries[free]
            left = np.flatnonzero(self._places[place] != entries)
            entries, place = entries[left], (place[left] + 1) & (len(self._places) - 1)
