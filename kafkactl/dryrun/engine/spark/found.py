"""What a job found of a log: packed rows, or the table that Spark has merged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kafkactl.dryrun.engine.patches import KEY, PATCH_NUMBERS
from kafkactl.dryrun.engine.spark.pack import PATCH, PATCHES, patches_in, place_of
from kafkactl.metadata.replay.columns.bytes import Array, IdNumbers

if TYPE_CHECKING:
    import pyarrow as pa

NO_END: Final = 1 << 62


class Found:
    """What a job found in one log: patches, packed or as parts that Spark has merged, and the other rows by kind."""

    def __init__(self, rows: Iterable[tuple[int, bytes]] = (), merged: Sequence[KeyedPart] = ()) -> None:
        self._rows: dict[int, list[bytes]] = {}
        for kind, content in rows:
            self._rows.setdefault(kind, []).append(content)
        self._merged = merged

    def of(self, kind: int) -> list[bytes]:
        """The contents of the rows of a kind, in the order of the log. They are given once."""
        return sorted(self._rows.pop(kind, ()))

    def patches(self) -> Patched:
        """The patches."""
        parts = [*self._merged, *map(_part, self.of(PATCHES))]
        return Patched(sorted(parts, key=lambda part: part.era))  # by stretches within an era


class KeyedPart(NamedTuple):
    """Patches of one era of which no two are of the same partition, by KEY: those of one stretch, or, where `stretch`
    is None, of all of them, whose fields then say it (`patches.said_by`)."""

    era: int
    stretch: int | None
    keys: Array
    numbers: Mapping[str, Array]


def _part(content: bytes) -> KeyedPart:
    found = patches_in(content)
    return KeyedPart(found.era, place_of(content)[0], found.keys, found.numbers)


def found_in(table: pa.Table, log: int) -> Found:
    """What the table of a job that Spark has merged has of a log."""
    import pyarrow.compute as pc

    mine = table.filter(pc.equal(table["log"], log))
    is_patch = pc.equal(mine["kind"], PATCH)
    rest = mine.filter(pc.invert(is_patch))
    rows = zip(rest["kind"].to_pylist(), rest["key"].to_pylist(), strict=True)
    return Found(rows, list(_merged_parts(mine.filter(is_patch))))


def _merged_parts(patches: pa.Table) -> Iterator[KeyedPart]:
    keys = np.frombuffer(b"".join(patches["key"].to_pylist()), KEY)
    eras = patches["era"].to_numpy()
    numbers = {name: patches[name].to_numpy() for name in PATCH_NUMBERS}
    for era in sorted(set(eras.tolist())):
        own = np.flatnonzero(eras == era)
        yield KeyedPart(era, None, keys[own], {name: column[own] for name, column in numbers.items()})


class Part(NamedTuple):
    """As a KeyedPart; `topic` counts the topics that are patched."""

    era: int
    stretch: int | None
    topic: Array
    number: Array
    numbers: Mapping[str, Array]

    def only(self, which: Array) -> Part:
        """Those that are so."""
        if bool(which.all()):
            return self
        numbers = {name: column[which] for name, column in self.numbers.items()}
        return Part(self.era, self.stretch, self.topic[which], self.number[which], numbers)


class Patched:
    """Patches in the order of the log, and of each partition that has any what they come to: its topic (counting
    `topics`, the raw ids) and number, the first and the last offset at which it was named, how often it was made, and
    where it was made last (-1: nowhere)."""

    def __init__(self, parts: Sequence[KeyedPart]) -> None:
        self.topics: list[bytes] = []
        ids = IdNumbers(self.topics.extend)
        self.parts = [_numbered(part, ids) for part in parts]
        rooms = np.zeros(len(self.topics), np.int64)
        for part in self.parts:
            np.maximum.at(rooms, part.topic, part.number + 1)
        base, total = np.cumsum(rooms) - rooms, int(rooms.sum())
        first, last = np.full(total, NO_END), np.full(total, -1)
        resets, reset_at = np.zeros(total, np.int64), np.full(total, -1)
        for part in self.parts:
            rows, numbers = base[part.topic] + part.number, part.numbers
            first[rows] = np.minimum(first[rows], numbers["first_offset"])
            last[rows] = np.maximum(last[rows], numbers["last_offset"])
            reset_at[rows] = np.maximum(reset_at[rows], numbers["reset_at"])
            resets[rows] += numbers["resets"]
        there = np.flatnonzero(first < NO_END)
        self.topic: Array = np.repeat(np.arange(len(rooms)), rooms)[there]
        self.number: Array = there - base[self.topic]
        self.first, self.last, self.resets, self.reset_at = (item[there] for item in (first, last, resets, reset_at))


def _numbered(part: KeyedPart, ids: IdNumbers) -> Part:
    first, second = (part.keys[name].astype(np.uint64) for name in ("first", "second"))
    return Part(part.era, part.stretch, ids.numbers(first, second), part.keys["number"].astype(np.int64), part.numbers)
