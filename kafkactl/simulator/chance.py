"""Streams of random numbers, one per purpose: adding or removing a fault does not shift the numbers of the others.

Numbers are those of `random.Random.random()`. Python keeps its sequence for an integer seed from release to release
(documentation of `random`, "Notes on Reproducibility"); the sequences of `randint` and `shuffle` may change. Many
numbers at once come from `getrandbits()`, which gives the two words of each `random()` unless Python changes it: a test
compares them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache
from math import nextafter
from typing import Final, TypeVar

Item = TypeVar("Item")

PURPOSES: Final = ("faults", "network", "disks", "clocks", "timers")
_BITS: Final = 64  # of a call of `random()`: two words, of which the less significant one comes first
_BYTES: Final = _BITS // 8
_HIGHEST: Final = 3  # of these bytes: the most significant one of the first word
_UNKNOWN: Final = 255  # for a number whose highest byte does not tell what it comes to
_BYTE_VALUES: Final = 256
_WORTH: Final = 32  # fewer numbers are drawn one by one


class Chance:
    """The stream of one seed and purpose. Raises ValueError for an unknown purpose."""

    __slots__ = ("_generator", "fraction")

    def __init__(self, seed: int, purpose: str) -> None:
        self._generator = random.Random(seed * len(PURPOSES) + PURPOSES.index(purpose))
        self.fraction = self._generator.random

    def below(self, bound: int) -> int:
        """An integer from 0 to `bound` - 1; 0 for a bound of 0 or 1."""
        return int(self.fraction() * bound)

    def many_below(self, count: int, bound: int) -> bytes:
        """The next `count` integers that `below` would give for a bound of 1 to 128, in a fraction of the time."""
        if count < _WORTH:
            fraction = self.fraction
            return bytes([int(fraction() * bound) for _ in range(count)])
        words = self._generator.getrandbits(_BITS * count).to_bytes(_BYTES * count, "little")
        numbers = bytearray(words[_HIGHEST::_BYTES].translate(_by_highest_byte(bound)))
        place = numbers.find(_UNKNOWN)
        while place >= 0:
            numbers[place] = int(_fraction_of(words[_BYTES * place : _BYTES * (place + 1)]) * bound)
            place = numbers.find(_UNKNOWN, place + 1)
        return bytes(numbers)

    def between(self, low: int, high: int) -> int:
        """An integer from `low` to `high`, both included."""
        return low + int(self.fraction() * (high - low + 1))

    def happens(self, parts_per_thousand: int) -> bool:
        """True in so many of a thousand cases."""
        return self.fraction() * 1000 < parts_per_thousand

    def choice(self, items: Sequence[Item]) -> Item:
        """One of the items, which are not empty."""
        return items[int(self.fraction() * len(items))]


@lru_cache(maxsize=32)
def _by_highest_byte(bound: int) -> bytes:
    """The integer below `bound` for each highest byte, or `_UNKNOWN` where the other bits decide."""
    least = [int(byte / _BYTE_VALUES * bound) for byte in range(_BYTE_VALUES)]
    most = [int(nextafter((byte + 1) / _BYTE_VALUES, 0.0) * bound) for byte in range(_BYTE_VALUES)]
    return bytes(low if low == high else _UNKNOWN for low, high in zip(least, most, strict=True))


def _fraction_of(words: bytes) -> float:
    """What `random()` makes of two words: the 27 and 26 highest bits of them are those of the result."""
    first, second = int.from_bytes(words[:4], "little") >> 5, int.from_bytes(words[4:], "little") >> 6
    return float((first << 26 | second) / (1 << 53))
