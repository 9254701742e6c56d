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
LONG_BYTES, INT_BYTES = 8, 4
# Store a row: the array, the byte where the row begins in it, and the numbers.
put_longs: Final = struct.Struct(f"={LONGS_EACH}q").pack_into
put_ints: Final = struct.Struct(f"={INTS_EACH}i").pack_into


class SegmentRows:
    """Rows of some segments: a segment's numbers begin at the same place in `longs` and in `ints`."""

    __slots__ = ("_with_space", "free", "ints", "longs")

    def __init__(self, with_space: list[SegmentRows]) -> None:
        self.longs = array("q", bytes(LONG_BYTES * LONGS_EACH * _SEGMENTS))
        self.ints = array("i", bytes(INT_BYTES * LONGS_EACH * _SEGMENTS))
        self.free = list(reversed(_PLACES))
        self._with_space = with_space
        with_space.append(self)

    def give_up(self, at: int) -> None:
        """Release the row that begins at this position."""
        if not self.free:
            self._with_space.append(self)
        self.free.append(at)


class SegmentNumbers:
    """Rows of all segments. A released row is used again, so that memory follows the number of live segments."""

    __slots__ = ("_with_space",)

    def __init__(self) -> None:
        self._with_space: list[SegmentRows] = []

    def take(self) -> tuple[SegmentRows, int]:
        """Reserve a row: return its table, and the position at which it begins there."""
        rows = self._with_space[-1] if self._with_space else SegmentRows(self._with_space)
        at = rows.free.pop()
        if not rows.free:
            self._with_space.pop()
        return rows, at
