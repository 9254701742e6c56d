"""Numbers of millions of segments in one array: as objects they would take four times as much."""

from __future__ import annotations

from array import array
from typing import Final

PER_SEGMENT: Final = 6


class SegmentNumbers:
    """Rows of 64-bit numbers. A row that was given up is used again, so that memory follows what is living."""

    __slots__ = ("_free", "values")

    def __init__(self) -> None:
        self.values = array("q")
        self._free: list[int] = []

    def take(self, row: tuple[int, int, int, int, int, int]) -> int:
        """Store a row; where it begins in `values`."""
        values = self.values
        if not self._free:
            at = len(values)
            values.extend(row)
            return at
        at = self._free.pop()
        values[at : at + PER_SEGMENT] = array("q", row)
        return at

    def give_up(self, at: int) -> None:
        """The row that begins there may be overwritten."""
        self._free.append(at)
