"""Which partitions are sound for sure, by columns: the others are for `lint` to judge, one by one.

Sound: there is a leader, it is in the ISR, the ISR is among the replicas, none of them is there twice, all are on
registered brokers and in directories that these have, and nothing of a reassignment, an ELR or a recovery is left.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from kafkactl.metadata.image.model import LOST, MIGRATING, UNASSIGNED, Broker
from kafkactl.metadata.replay.columns.bytes import Array, IdNumbers
from kafkactl.metadata.replay.columns.lists import DIRECTORIES, EMPTY

_MOST_COMPARED: Final = 100  # replicas times members of the ISR; partitions with more are judged one by one
_MOST_PAIRS: Final = 1 << 26  # of a broker and a directory


def are_sound(columns: Mapping[str, Array], words: Array, brokers: Mapping[int, Broker]) -> Array:
    """Of partitions as columns; lists have places in `words` (`lists.Lists`)."""
    sound: Array = (columns["leader"] >= 0) & (columns["recovery"] == 0)
    for name in ("removing", "adding", "elr", "last_known"):
        sound &= columns[name] == EMPTY
    places = _Places(brokers)
    replicas, isr = words[columns["replicas"]].astype(np.int64), words[columns["isr"]].astype(np.int64)
    sound &= words[columns["directories"]] == replicas
    shape = replicas << 32 | isr
    for pair in np.unique(shape).tolist():
        count, others = pair >> 32, pair & 0xFFFFFFFF
        rows = np.flatnonzero(shape == pair)
        if count * others > _MOST_COMPARED or not places.is_known:
            sound[rows] = False
            continue
        members = _elements(words, columns["replicas"][rows], count)
        synced = _elements(words, columns["isr"][rows], others)
        held = _elements(words, columns["directories"][rows], count * DIRECTORIES).view("<u8")
        sound[rows] &= _fit(members, synced, columns["leader"][rows]) & places.have(members, held)
    return sound


def _elements(words: Array, places: Array, count: int) -> Array:
    found: Array = words[places.astype(np.int64)[:, None] + np.arange(1, 1 + count)]
    return found


def _fit(replicas: Array, isr: Array, leader: Array) -> Array:
    """Whether the leader is in the ISR, and its members are among the replicas, of which no two are equal."""
    fits: Array = (isr == leader[:, None]).any(axis=1)
    for member in isr.T:
        fits &= (replicas == member[:, None]).any(axis=1)
    for at in range(1, replicas.shape[1]):
        fits &= ~(replicas[:, :at] == replicas[:, at, None]).any(axis=1)
    return fits


class _Places:
    """The registered brokers and their directories."""

    def __init__(self, brokers: Mapping[int, Broker]) -> None:
        self._ids = np.array(sorted(brokers), np.int64)
        self._directories = IdNumbers(lambda _: None)
        anywhere = [self._directories.number(item.raw) for item in (MIGRATING, UNASSIGNED)]
        own = {
            at: [self._directories.number(directory.raw) for directory in brokers[id].directories if directory != LOST]
            for at, id in enumerate(self._ids.tolist())
        }
        total = 1 + max(anywhere + [number for held in own.values() for number in held])
        self.is_known = 0 < len(own) * total <= _MOST_PAIRS
        if self.is_known:
            self._has = np.zeros((len(own), total), bool)
            self._has[:, anywhere] = True
            for at, held in own.items():
                self._has[at, held] = True

    def have(self, replicas: Array, directories: Array) -> Array:
        """Whether each replica of a partition is on a broker, and in a directory that this has. Directory ids are two
        numbers each."""
        found = np.ones(len(replicas), bool)
        for at, id in enumerate(replicas.T):
            broker = np.minimum(np.searchsorted(self._ids, id), len(self._ids) - 1)
            first, second = np.ascontiguousarray(directories[:, 2 * at : 2 * at + 2].T)
            number, _ = self._directories.find(first, second)
            found &= (self._ids[broker] == id) & (number >= 0) & self._has[broker, number]
        return found
