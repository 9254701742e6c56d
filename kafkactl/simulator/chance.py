"""Streams of random numbers, one per purpose: adding or removing a fault does not shift the numbers of the others.

Numbers are those of `random.Random.random()`. Python keeps its sequence for an integer seed from release to release
(documentation of `random`, "Notes on Reproducibility"); the sequences of `randint` and `shuffle` may change. Choices of
servers are bytes of `getrandbits()`, which gives the words that `random()` is made of unless Python changes it: a test
compares them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final, TypeVar

Item = TypeVar("Item")

PURPOSES: Final = ("faults", "network", "disks", "clocks", "timers")
_SEED_BITS: Final = 64  # of a seed; the bits above them number the hosts, so that no stream of a purpose is theirs
_BYTE_VALUES: Final = 256


class Chance:
    """The stream of one seed and purpose. Raises ValueError for an unknown purpose."""

    __slots__ = ("_generator", "fraction")

    def __init__(self, seed: int, purpose: str) -> None:
        self._generator = random.Random(seed * len(PURPOSES) + PURPOSES.index(purpose))
        self.fraction = self._generator.random

    def below(self, bound: int) -> int:
        """Return an integer from 0 to `bound` - 1; 0 for a bound of 0 or 1."""
        return int(self.fraction() * bound)

    def between(self, low: int, high: int) -> int:
        """Return an integer from `low` to `high`, both included."""
        return low + int(self.fraction() * (high - low + 1))

    def happens(self, parts_per_thousand: int) -> bool:
        """Return True in the given number of a thousand cases."""
        return self.fraction() * 1000 < parts_per_thousand

    def choice(self, items: Sequence[Item]) -> Item:
        """Return one of the items, which are not empty."""
        return items[int(self.fraction() * len(items))]


class Choices:
    """The choices of one host among so many servers, each as likely: no choice of another host shifts them.

    Raises ValueError if there is no server, or more than one byte can tell apart.
    """

    __slots__ = ("_bytes", "_generator", "_servers", "_whole")

    def __init__(self, seed: int, host: int, servers: int) -> None:
        if not 0 < servers <= _BYTE_VALUES:
            raise ValueError(f"a host cannot choose among {servers} servers, only among 1 to {_BYTE_VALUES}")
        self._generator = random.Random((host + 1 << _SEED_BITS) + seed)
        self._servers = servers
        self._whole = _BYTE_VALUES - _BYTE_VALUES % servers  # bytes from here on are drawn again
        self._bytes: list[int] = []  # drawn and not used, the next one last

    def one(self) -> int:
        """Return the number of the next server, from 0."""
        while True:
            if not self._bytes:
                self._bytes = [*self._generator.getrandbits(32).to_bytes(4, "little")][::-1]
            byte = self._bytes.pop()
            if byte < self._whole:
                return byte % self._servers
