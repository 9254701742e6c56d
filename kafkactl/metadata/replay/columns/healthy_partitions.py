"""Partitions that are healthy for certain, by columns; `lint` checks the others one by one.

Sound: there is a leader, it is in the ISR, the ISR is among the replicas, none of them is there twice, all are on
registered brokers and in directories that these have, no member of the ELR is in the ISR, no ELR is left where the
feature is off, and nothing of a reassignment or a recovery. Of the others many may have no leader and be sound in all
else, with a broker that could become it and does not serve: an outage leaves thousands of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from kafkactl.core.kafka_names import NO_LEADER
from kafkactl.metadata.image.model import LOST, MIGRATING, UNASSIGNED, Broker
from kafkactl.metadata.replay.columns.bytes import Array, IdNumbers
from kafkactl.metadata.replay.columns.lists import DIRECTORIES, EMPTY

SOUND, LEADERLESS, SUSPECT = range(3)

_COUNT_BITS: Final = 8  # of a list's length, up to one more than the following
_MOST_COMPARED: Final = 100  # replicas and ELR times members of the ISR; partitions with more are judged one by one
_MOST_PAIRS: Final = 1 << 26  # of a broker and a directory


class Soundness:
    """Judgement of many partitions on these brokers at once."""

    def __init__(self, brokers: Mapping[int, Broker], *, has_elr: bool) -> None:
        self._places = _Places(brokers)
        self._has_elr = has_elr
        self._active = np.array(sorted(id for id, broker in brokers.items() if broker.is_active), np.int64)

    def kinds(self, columns: Mapping[str, Array], words: Array) -> Array:
        """Return SOUND, LEADERLESS or SUSPECT for each row of the columns; lists have places in `words`."""
        replicas, isr, elr = (words[columns[name]].astype(np.int64) for name in ("replicas", "isr", "elr"))
        has_last_known = columns["last_known"] != EMPTY
        fits: Array = words[columns["directories"]] == replicas
        for name in ("removing", "adding"):
            fits &= columns[name] == EMPTY
        if not self._has_elr:
            fits &= (elr == 0) & ~has_last_known
        led, served = np.zeros(len(fits), bool), np.zeros(len(fits), bool)
        shape = np.zeros(len(fits), np.int64)
        for counts in (replicas, isr, elr):
            shape = shape << _COUNT_BITS | np.minimum(counts, _MOST_COMPARED + 1)
        # Counts are not asked for; without them numpy loads its masked arrays, which takes longer than all of this.
        for found in np.unique(shape, return_counts=True)[0].tolist():
            rows = np.flatnonzero(shape == found)
            fits[rows] &= self._fit({name: column[rows] for name, column in columns.items()}, words, found, led, rows)
            rows = rows[columns["leader"][rows] == NO_LEADER]
            served[rows] = self._served({name: column[rows] for name, column in columns.items()}, words, found)
        led &= (columns["leader"] >= 0) & (columns["recovery"] == 0)
        waits = (columns["leader"] == NO_LEADER) & ((isr > 0) | (elr > 0) | has_last_known) & ~served
        kinds: Array = np.where(fits & led, SOUND, np.where(fits & waits, LEADERLESS, SUSPECT))
        return kinds

    def _fit(self, columns: Mapping[str, Array], words: Array, shape: int, led: Array, rows: Array) -> Any:
        """Judge partitions with as many replicas, members of the ISR and of the ELR; mark in `led` those whose leader
        is in the ISR."""
        mask = (1 << _COUNT_BITS) - 1
        count, synced, eligible = shape >> 2 * _COUNT_BITS, shape >> _COUNT_BITS & mask, shape & mask
        most = max(count, eligible, synced, (count + eligible) * synced)
        if most > _MOST_COMPARED or not self._places.is_known:
            return False
        replicas, isr = _elements(words, columns["replicas"], count), _elements(words, columns["isr"], synced)
        elr = _elements(words, columns["elr"], eligible)
        held = _elements(words, columns["directories"], count * DIRECTORIES).view("<u8")
        led[rows] = (isr == columns["leader"][:, None]).any(axis=1)
        return _agree(replicas, isr, elr) & self._places.have(replicas, held)

    def _served(self, columns: Mapping[str, Array], words: Array, shape: int) -> Any:
        """Mark partitions with a replica that may lead on a broker that serves: in the ISR, the ELR, or as the only
        last known leader if both are empty."""
        mask = (1 << _COUNT_BITS) - 1
        synced, eligible = shape >> _COUNT_BITS & mask, shape & mask
        if max(synced, eligible) > _MOST_COMPARED:
            return False
        if synced or eligible:
            lists = (_elements(words, columns["isr"], synced), _elements(words, columns["elr"], eligible))
            return np.isin(np.concatenate(lists, axis=1), self._active).any(axis=1)
        is_sole = words[columns["last_known"]] == 1
        served = np.zeros(len(is_sole), bool)
        served[is_sole] = np.isin(_elements(words, columns["last_known"][is_sole], 1)[:, 0], self._active)
        return served


def _elements(words: Array, places: Array, count: int) -> Array:
    found: Array = words[places.astype(np.int64)[:, None] + np.arange(1, 1 + count)]
    return found


def _agree(replicas: Array, isr: Array, elr: Array) -> Array:
    """Mark partitions whose ISR is among the replicas and not in the ELR, and whose replicas differ."""
    fits: Array = np.ones(len(replicas), bool)
    for member in isr.T:
        fits &= (replicas == member[:, None]).any(axis=1)
        if elr.shape[1]:
            fits &= ~(elr == member[:, None]).any(axis=1)
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
        """Mark partitions all of whose replicas are on a registered broker, in one of its directories. A directory id
        is two numbers."""
        found = np.ones(len(replicas), bool)
        for at, id in enumerate(replicas.T):
            broker = np.minimum(np.searchsorted(self._ids, id), len(self._ids) - 1)
            first, second = np.ascontiguousarray(directories[:, 2 * at : 2 * at + 2].T)
            number, _ = self._directories.find(first, second)
            found &= (self._ids[broker] == id) & (number >= 0) & self._has[broker, number]
        return found
