"""Streams of random numbers, one per purpose: adding or removing a fault does not shift the numbers of the others.

Numbers are those of `random.Random.random()`. Python keeps its sequence for an integer seed from release to release
(documentation of `random`, "Notes on Reproducibility"); the sequences of `randint` and `shuffle` may change. Choices of
servers are bytes of `getrandbits()`, which gives the words that `random()` is made of unless Python changes it: a test
compares them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from typing import Final, TypeVar

Item = TypeVar("Item")

PURPOSES: Final = ("faults", "network", "disks", "clocks", "timers")
_SEED_BITS: Final = 64  # of a seed; the bits above them number the hosts, so that no stream of a purpose is theirs
_BYTE_VALUES: Final = 256
_BLOCK: Final = 256  # bytes that are drawn at once


class Chance:
    """The stream of one seed and purpose. Raises ValueError for an unknown purpose."""

    __slots__ = ("_generator", "fraction")

    def __init__(self, seed: int, purpose: str) -> None:
        self._generator = random.Random(seed * len(PURPOSES) + PURPOSES.index(purpose))
        self.fraction = self._generator.random

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


class Choices:
    """The choices of one host among so many servers, each as likely: no choice of another host shifts them.

    Raises ValueError where there is no server, or more than one byte can tell apart.
    """

    __slots__ = ("_generator", "_place", "_ready", "_refused", "_servers")

    def __init__(self, seed: int, host: int, servers: int) -> None:
        if not 0 < servers <= _BYTE_VALUES:
            raise ValueError(f"a host cannot choose among {servers} servers, only among 1 to {_BYTE_VALUES}")
        self._generator = random.Random((host + 1 << _SEED_BITS) + seed)
        self._servers, self._refused = _by_byte(servers)
        self._ready = b""
        self._place = 0

    def one(self) -> int:
        """The number of the next server, from 0."""
        place = self._place
        if place == len(self._ready):
            return self.many(1)[0]
        self._place = place + 1
        return self._ready[place]

    def many(self, count: int) -> bytes:
        """The next choices that `one` would give."""
        chosen = self.ahead(count)
        self._place += count
        return chosen

    def ahead(self, count: int) -> bytes:
        """The same, and they are given again."""
        ready, place = self._ready, self._place
        while (missing := count - len(ready) + place) > 0:
            size = -(-missing // _BLOCK) * _BLOCK
            drawn = self._generator.getrandbits(8 * size).to_bytes(size, "little")
            self._ready, self._place = ready, place = ready[place:] + drawn.translate(self._servers, self._refused), 0
        return ready[place : place + count]


@cache
def _by_byte(servers: int) -> tuple[bytes, bytes]:
    """The server that each byte chooses, and the last bytes, which are drawn again so that each is as likely."""
    whole = _BYTE_VALUES - _BYTE_VALUES % servers
    return bytes(byte % servers for byte in range(_BYTE_VALUES)), bytes(range(whole, _BYTE_VALUES))
