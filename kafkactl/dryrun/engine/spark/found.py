"""What a job found of a log: packed rows, or the table that Spark has merged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkactl.dryrun.engine.columns import KEY_BYTES
from kafkactl.dryrun.engine.patches import FIELDS, MERGED_BY, PATCH_NUMBERS, Patch, said_by
from kafkactl.dryrun.engine.spark.pack import PATCH, PATCHES, patches_in, place_of
from kafkactl.metadata.replay.columns.bytes import Array

if TYPE_CHECKING:
    import pyarrow as pa


class Found:
    """What a job found of one log: rows that are no patches by kind, and patches, merged or packed."""

    def __init__(self, rows: Iterable[tuple[int, bytes]] = (), patches: Patches | None = None) -> None:
        self._rows: dict[int, list[bytes]] = {}
        for kind, content in rows:
            self._rows.setdefault(kind, []).append(content)
        self._patches = patches

    def of(self, kind: int) -> list[bytes]:
        """The contents of the rows of a kind, in the order of the log. They are given once."""
        return sorted(self._rows.pop(kind, ()))

    def patches(self) -> Patches:
        """The patches, merged."""
        if self._patches is not None:
            return self._patches
        merging = _Merging()
        for content in self.of(PATCHES):
            merging.add(place_of(content)[0], *patches_in(content))
        return merging.patches()


def found_in(table: pa.Table, log: int) -> Found:
    """What the table of a job that Spark has merged has of a log."""
    import pyarrow.compute as pc

    mine = table.filter(pc.equal(table["log"], log))
    is_patch = pc.equal(mine["kind"], PATCH)
    rest = mine.filter(pc.invert(is_patch))
    rows = zip(rest["kind"].to_pylist(), rest["key"].to_pylist(), strict=True)
    return Found(rows, _patches(mine.filter(is_patch)))


class Patches(NamedTuple):
    """Merged patches as columns, in the order of their first records."""

    keys: list[bytes]
    era: Array
    numbers: Mapping[str, Array]

    def patch(self, row: int) -> Patch:
        """One of them."""
        numbers = [int(self.numbers[name][row]) for name in PATCH_NUMBERS]
        count = len(numbers) - len(FIELDS)
        return Patch._make((int(self.era[row]), *numbers[:count], tuple(numbers[count:])))


def _patches(rows: pa.Table) -> Patches:
    import pyarrow.compute as pc

    rows = rows.take(pc.sort_indices(rows["first_offset"]))
    numbers = {name: rows[name].to_numpy() for name in PATCH_NUMBERS}
    return Patches(rows["key"].to_pylist(), rows["era"].to_numpy(), numbers)


class _Merging:
    """Patches of one stretch after the other, each partition and era once in memory."""

    def __init__(self) -> None:
        self._rows: dict[bytes, int] = {}  # by key, and behind it the era where that is not the first
        self._numbers = {name: np.zeros(0, np.int64) for name in PATCH_NUMBERS}

    def add(self, stretch: int, era: int, keys: Iterable[bytes], made: Mapping[str, Array]) -> None:
        """Patches of which no two are of the same partition."""
        if era:
            keys = [key + era.to_bytes(4, "big") for key in keys]
        known = self._rows
        at = np.array([known.setdefault(key, len(known)) for key in keys], np.int64)
        for name, numbers in said_by(stretch, made).items():
            merge, nothing = _MERGES[MERGED_BY.get(name, "max")]
            held = self._numbers[name]
            if len(held) < len(known):
                held = np.concatenate([held, np.full(len(known) - len(held), nothing)])
                self._numbers[name] = held
            held[at] = merge(held[at], numbers)

    def patches(self) -> Patches:
        """All of them."""
        count, keys = len(self._rows), list(self._rows)
        order = np.argsort(self._numbers["first_offset"][:count], kind="stable")
        eras = np.array([int.from_bytes(key[KEY_BYTES:], "big") for key in keys], np.int64)
        numbers = {name: held[:count][order] for name, held in self._numbers.items()}
        return Patches([keys[at][:KEY_BYTES] for at in order.tolist()], eras[order], numbers)


_MERGES: Final[Mapping[str, tuple[Any, int]]] = {
    "min": (np.minimum, (1 << 63) - 1),
    "max": (np.maximum, -1),
    "sum": (np.add, 0),
}
