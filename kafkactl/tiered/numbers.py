"""Numbers of millions of segments in arrays: as objects they would take four times as much."""

from __future__ import annotations

import struct
from array import array
from typing import Final

LONGS_EACH: Final = 6  # of a segment, of 64 bits
INTS_EACH: Final = 5  # and of 32 bits
_SEGMENTS: Final = 512
# Where rows begin in either array. The same objects for all of `SegmentRows`: a segment holds one of them, and no
# number of its own. For that a row of the narrower numbers has a place that is not used.
_PLACES: Final = tuple(range(0, LONGS_EACH * _SEGMENTS, LONGS_EACH))
_LONG_BYTES, _INT_BYTES = 8, 4
_LONGS: Final = struct.Struct(f"={LONGS_EACH}q")
_INTS: Final = struct.Struct(f"={INTS_EACH}i")


class SegmentRows:
    """Rows of some segments: a segment's numbers begin at the same place in `longs` and in `ints`."""

    __slots__ = ("_free", "_with_space", "ints", "longs")

    def __init__(self, with_space: list[SegmentRows]) -> None:
        self.longs = array("q", bytes(_LONG_BYTES * LONGS_EACH * _SEGMENTS))
        self.ints = array("i", bytes(_INT_BYTES * LONGS_EACH * _SEGMENTS))
        self._free = list(reversed(_PLACES))
        self._with_space = with_space
        with_space.append(self)

    def take(self, longs: tuple[int, int, int, int, int, int], ints: tuple[int, int, int, int, int]) -> int:
        """Store a row; where it begins. Only the last of those with space is asked, and leaves them when it is full."""
        at = self._free.pop()
        if not self._free:
            self._with_space.pop()
        _LONGS.pack_into(self.longs, at * _LONG_BYTES, *longs)
        _INTS.pack_into(self.ints, at * _INT_BYTES, *ints)
        return at

    def give_up(self, at: int) -> None:
        """The row that begins there may be overwritten."""
        if not self._free:
            self._with_space.append(self)
        self._free.append(at)


class SegmentNumbers:
    """All rows. One that was given up is used again, so that memory follows what is living."""

    __slots__ = ("_with_space",)

    def __init__(self) -> None:
        self._with_space: list[SegmentRows] = []

    def with_space(self) -> SegmentRows:
        """Where the next row is to be taken."""
        return self._with_space[-1] if self._with_space else SegmentRows(self._with_space)
