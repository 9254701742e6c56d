"""Bytes by columns: numbers read at many places of a piece at once, and numbers given to the bytes at many places."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

Array: TypeAlias = "np.ndarray[Any, Any]"

BEYOND: Final = 64  # readable bytes after the end, so that no place has to be checked before it is read
_LEAST_FRESH_BYTES: Final = 1 << 16
MIX: Final = np.uint64(0x9E3779B97F4A7C15)  # 2**64 divided by the golden ratio: products spread over all high bits


def fresh(size: int, form: type[Any]) -> Array:
    """Return an array of zeros that stays for long, in memory of its own: parts that are not written take no memory,
    and freed memory is given back. Memory that was in use before would be written with zeros as a whole."""
    form_bytes = np.dtype(form).itemsize
    if size * form_bytes < _LEAST_FRESH_BYTES:
        return np.zeros(size, form)
    own = mmap.mmap(-1, size * form_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    found: Array = np.frombuffer(own, form)
    return found


def places_of(flags: Array) -> Array:
    """Return the places of set flags. `numpy.flatnonzero` takes three calls of Python for the same."""
    found: Array = flags.nonzero()[0]
    return found


def spread(first: Array, sizes: Array) -> tuple[Array, Array]:
    """Return the start of each part when the parts are side by side, and the places of all their elements."""
    ends = np.cumsum(sizes)
    begins: Array = ends - sizes
    return begins, np.repeat(first - begins, sizes) + np.arange(int(ends[-1]) if len(ends) else 0)


class Window:
    """A piece and views of it that begin at every byte: `u1[p]`, `u4[p]` and `u8[p]` are the little-endian numbers of
    1, 4 and 8 bytes at place p, `i4[p]` and `i8[p]` the big-endian ones with a sign. They can be read up to some bytes
    after the end of what the piece was shown for."""

    def __init__(self) -> None:
        self.data = b""
        self._own: Array = np.zeros(BEYOND, np.uint8)
        self._stand(self._own)

    def leave(self) -> None:
        """Release the piece. The copy is overwritten by the next one."""
        self.data = b""

    def _stand(self, u1: Array) -> None:
        self.u1 = u1
        self.u4, self.u8, self.i4, self.i8 = (
            np.ndarray((len(u1) - 7,), form, buffer=u1.data, strides=(1,)) for form in ("<u4", "<u8", ">i4", ">i8")
        )

    def of(self, size: int) -> Array:
        """Return a view of so many bytes at each place; no place may be less than that before the end."""
        return np.ndarray((len(self.u1) - size + 1,), f"V{size}", buffer=self.u1.data, strides=(1,))

    def show(self, data: bytes) -> None:
        """View another piece.

        The views are of a copy with zeros after it, in memory that stays: fresh memory for each piece would cost more
        than everything that is read from it.
        """
        self.data, size = data, len(data)
        if size + BEYOND > len(self._own):
            self._own = np.zeros(size + size // 8 + BEYOND, np.uint8)
        self._own[:size] = np.frombuffer(data, np.uint8)
        self._own[size : size + BEYOND] = 0
        self._stand(self._own)


class IdNumbers:
    """Numbers 0, 1, 2... for ids of 16 bytes, in the order of their first occurrence.

    `made` is called with new ids, in the order of their numbers, before they have them.
    """

    def __init__(self, made: Callable[[Sequence[bytes]], None]) -> None:
        self._made = made
        self._known: dict[bytes, int] = {}
        self._bits = 10
        self._places = np.zeros(1 << self._bits, np.int64)  # by hash: the number and 1 more; 0 if none is
        self._words = np.zeros((2, 512), np.uint64)

    def number(self, id: bytes) -> int:
        """Return the number of one id."""
        if id not in self._known:
            self._enter([id])
        return self._known[id]

    def numbers(self, first: Array, second: Array) -> Array:
        """Return the numbers of ids, which are columns of their halves, little-endian."""
        found, missing = self.find(first, second)
        while len(missing):
            # One row of each place in the table: equal ids have one place, so that no id is among them twice.
            place = self._hashed(first[missing], second[missing])
            chosen = np.zeros(len(self._places), np.int32)
            chosen[place] = np.arange(len(missing))
            rows = missing[places_of(chosen[place] == np.arange(len(missing)))]
            raw = np.stack([first[rows], second[rows]], axis=1).astype("<u8").tobytes()
            self._enter([raw[at : at + 16] for at in range(0, len(raw), 16)])
            found[missing], still = self.find(first[missing], second[missing])
            missing = missing[still]
        return found

    def find(self, first: Array, second: Array) -> tuple[Array, Array]:
        """Find the numbers of ids, -1 for an unknown id; return also the rows of unknown ids."""
        place = self._hashed(first, second)
        entry = self._places[place]
        wrong = places_of((self._words[0][entry] != first) | (self._words[1][entry] != second) | (entry == 0))
        rows = wrong[entry[wrong] != 0]
        while len(rows):  # another id at its place: look at the next one
            place[rows] = (place[rows] + 1) & (len(self._places) - 1)
            held = entry[rows] = self._places[place[rows]]
            same = (self._words[0][held] == first[rows]) & (self._words[1][held] == second[rows])
            rows = rows[~same & (held != 0)]
        return entry - 1, wrong[entry[wrong] == 0]

    def _hashed(self, first: Array, second: Array) -> Array:
        found: Array = (((first ^ second) * MIX) >> np.uint64(64 - self._bits)).astype(np.int64)
        return found

    def _enter(self, ids: list[bytes]) -> None:
        """Enter new ids, all different."""
        begin, known = len(self._known), self._known
        self._made(ids)
        known.update(zip(ids, range(begin, begin + len(ids)), strict=True))
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
        """Put each entry at the first free place from its hash on."""
        place = self._hashed(self._words[0][entries], self._words[1][entries])
        while len(entries):
            free = places_of(self._places[place] == 0)
            self._places[place[free]] = entries[free]
            left = places_of(self._places[place] != entries)
            entries, place = entries[left], (place[left] + 1) & (len(self._places) - 1)
