"""What a job found of a log: packed rows, or the table that Spark has merged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkactl.dryrun.engine.patches import KEY, MERGED_BY, PATCH_NUMBERS, said_by
from kafkactl.dryrun.engine.spark.pack import PATCH, PATCHES, patches_in, place_of
from kafkactl.metadata.replay.columns.bytes import Array, IdNumbers

if TYPE_CHECKING:
    import pyarrow as pa


class Found:
    """What a job found in one log: patches, merged or packed, and the other rows by kind."""

    def __init__(self, rows: Iterable[tuple[int, bytes]] = (), patches: Merged | None = None) -> None:
        self._rows: dict[int, list[bytes]] = {}
        for kind, content in rows:
            self._rows.setdefault(kind, []).append(content)
        self._patches = patches

    def of(self, kind: int) -> list[bytes]:
        """The contents of the rows of a kind, in the order of the log. They are given once."""
        return sorted(self._rows.pop(kind, ()))

    def patches(self) -> Merged:
        """The patches, merged."""
        return self._patches or _merged(list(self._parts()))

    def _parts(self) -> Iterator[_Part]:
        for content in self.of(PATCHES):
            found = patches_in(content)
            numbers = said_by(place_of(content)[0], found.numbers)
            yield _Part(found.keys, np.full(len(found.keys), found.era, np.int64), numbers)


def found_in(table: pa.Table, log: int) -> Found:
    """What the table of a job that Spark has merged has of a log."""
    import pyarrow.compute as pc

    mine = table.filter(pc.equal(table["log"], log))
    is_patch = pc.equal(mine["kind"], PATCH)
    rest = mine.filter(pc.invert(is_patch))
    rows = zip(rest["kind"].to_pylist(), rest["key"].to_pylist(), strict=True)
    patches = mine.filter(is_patch)
    keys = np.frombuffer(b"".join(patches["key"].to_pylist()), KEY)
    numbers = {name: patches[name].to_numpy() for name in PATCH_NUMBERS}
    return Found(rows, _merged([_Part(keys, patches["era"].to_numpy(), numbers)]))


class Merged(NamedTuple):
    """Merged patches as columns, in the order of eras. `topic` counts `topics`, the raw ids."""

    topics: Sequence[bytes]
    topic: Array
    number: Array
    era: Array
    numbers: Mapping[str, Array]

    def only(self, which: Array | slice) -> Merged:
        """Some of them."""
        numbers = {name: column[which] for name, column in self.numbers.items()}
        return Merged(self.topics, self.topic[which], self.number[which], self.era[which], numbers)


class _Part(NamedTuple):
    """Patches of which no two are of the same partition and era."""

    keys: Array
    era: Array
    numbers: Mapping[str, Array]


def _merged(parts: Sequence[_Part]) -> Merged:
    """Patches of one partition and era as one."""
    topics: list[bytes] = []
    ids = IdNumbers(topics.extend)
    topic = _joined(ids.numbers(*(part.keys[name].astype(np.uint64) for name in ("first", "second"))) for part in parts)
    number, era = _joined(part.keys["number"].astype(np.int64) for part in parts), _joined(part.era for part in parts)
    numbers = {name: _joined(part.numbers[name] for part in parts) for name in PATCH_NUMBERS}
    found = Merged(topics, topic, number, era, numbers)
    if not len(topic):
        return found
    key = topic << 32 | number
    order = np.lexsort((key, era)) if bool(era.any()) else np.argsort(key, kind="stable")
    found, key = found.only(order), key[order]
    is_first = np.ones(len(key), bool)
    is_first[1:] = (key[1:] != key[:-1]) | (found.era[1:] != found.era[:-1])
    first = np.flatnonzero(is_first)
    if len(first) < len(key):
        numbers = {
            name: _MERGES[MERGED_BY.get(name, "max")].reduceat(column, first) for name, column in found.numbers.items()
        }
        found = found.only(first)._replace(numbers=numbers)
    return found


def _joined(parts: Iterable[Array]) -> Array:
    return np.concatenate([np.zeros(0, np.int64), *parts])


_MERGES: Final[Mapping[str, Any]] = {"min": np.minimum, "max": np.maximum, "sum": np.add}
