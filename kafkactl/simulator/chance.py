"""Streams of random numbers, one per purpose: adding or removing a fault does not shift the numbers of the others.

Only `random.Random.random()` is called. Python keeps its sequence for an integer seed from release to release
(documentation of `random`, "Notes on Reproducibility"); the sequences of `randint` and `shuffle` may change.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final, TypeVar

Item = TypeVar("Item")

PURPOSES: Final = ("faults", "network", "disks", "clocks", "timers")


class Chance:
    """The stream of one seed and purpose. Raises ValueError for an unknown purpose."""

    __slots__ = ("fraction",)

    def __init__(self, seed: int, purpose: str) -> None:
        self.fraction = random.Random(seed * len(PURPOSES) + PURPOSES.index(purpose)).random

    def below(self, bound: int) -> int:
        """An integer from 0 to `bound` - 1; 0 for a bound of 0 or 1."""
        return int(self.fraction() * bound)

    def between(self, low: int, high: int) -> int:
        """An integer from `low` to `high`, both included."""
        return low + int(self.fraction() * (high - low + 1))

    def happens(self, parts_per_thousand: int) -> bool:
        """True in so many of a thousand cases."""
        return self.fraction() * 1000 < parts_per_thousand

    def choice(self, items: Sequence[Item]) -> Item:
        """One of the items, which are not empty."""
        return items[int(self.fraction() * len(items))]
