"""The size of what a cluster's controller would append, from the operations on one partition of each shape."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from kafkactl.dryrun.controller.active_controller import Key
from kafkactl.dryrun.controller.appended_records import (
    MOST_IN_A_BATCH,
    Appended,
    Operation,
    PartitionUpdate,
    value_bytes,
)
from kafkactl.dryrun.controller.election import PartitionChange
from kafkactl.dryrun.controller.rules import Rules
from kafkactl.protocol.log.frame import MetadataRecord
from kafkactl.protocol.record_batch import HEADER_BYTES

Numbers = npt.NDArray[np.int64]
_VARINT_BITS = 7


def spread_size(
    operations: Sequence[tuple[Operation, Sequence[int]]], members: Mapping[Key, Sequence[int]], rules: Rules
) -> Appended:
    """Measure operations as `appended.measured` does, if a change represents those of all `members` of its key.

    Each operation has the numbers of changes that were computed together: within these, members are written in the
    order of their numbers, which decides the size of each offset delta.
    """
    spread = _Spread(members, rules)
    by_type: Counter[str] = Counter()
    size = 0
    for operation, runs in operations:
        values = spread.values(operation, runs, by_type)
        for first in range(0, len(values), MOST_IN_A_BATCH):
            chunk = values[first : first + MOST_IN_A_BATCH]
            size += HEADER_BYTES + int(_record_sizes(chunk).sum())
    return Appended(count=by_type.total(), bytes=size, by_type=dict(sorted(by_type.items())))


class _Spread:
    def __init__(self, members: Mapping[Key, Sequence[int]], rules: Rules) -> None:
        self._members = members
        self._rules = rules
        self._arrays: dict[Key, Numbers] = {}
        self._sizes: dict[PartitionChange, int] = {}

    def values(self, operation: Operation, runs: Sequence[int], by_type: Counter[str]) -> Numbers:
        """Return the sizes of the values of its records, in their order."""
        found: list[Numbers] = []
        items: list[PartitionUpdate] = []
        sizes, size = iter(runs), 0
        for item in operation.items:
            if isinstance(item, MetadataRecord):
                by_type[item.type] += 1
                found.append(np.array([value_bytes(item, self._rules)]))
                continue
            size = size or next(sizes)
            items.append(item)
            if len(items) == size:
                found.append(self._run(items))
                by_type["PartitionChangeRecord"] += len(found[-1])
                items, size = [], 0
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def _run(self, items: Sequence[PartitionUpdate]) -> Numbers:
        arrays = [self._array((item.topic_id, item.partition)) for item in items]
        order = np.argsort(np.concatenate(arrays))
        sizes = np.array([self._size(item) for item in items], np.int64)
        found: Numbers = np.repeat(sizes, [len(array) for array in arrays])[order]
        return found

    def _array(self, key: Key) -> Numbers:
        found = self._arrays.get(key)
        if found is None:
            found = self._arrays[key] = np.array(self._members[key])
        return found

    def _size(self, item: PartitionUpdate) -> int:
        found = self._sizes.get(item.change)
        if found is None:
            found = self._sizes[item.change] = value_bytes(item, self._rules)
        return found


def _record_sizes(values: Numbers) -> Numbers:
    """Return the sizes of the records of a batch, as `value_record_size` does."""
    content = 4 + _varint_sizes(np.arange(len(values)) << 1) + _varint_sizes(values << 1) + values
    return _varint_sizes(content << 1) + content


def _varint_sizes(values: Numbers) -> Numbers:
    sizes = np.ones(len(values), np.int64)
    bits = _VARINT_BITS
    while (large := values >= 1 << bits).any():
        sizes += large
        bits += _VARINT_BITS
    return sizes
