"""Partition records folded into patches, and patches into partitions.

A patch is what some stretch of the log does to a partition: for each field the last value that was given, how often
the leader was named, how many changes there were. Patches of neighbouring stretches compose, in any grouping, which is
why a log can be folded in parallel. Each field is one number, so that a hash aggregate can merge patches by taking the
greatest: the number of the stretch (they ascend along the log) above that of the body which said it last.

Source of the rule: `metadata/.../controller/PartitionRegistration.java` (`merge`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from kafkactl.dryrun.engine.columns import Body, Columns, Rows, body_of
from kafkactl.metadata.image.model import DIRECTORIES_AT, LEADER_EPOCH_AT, PARTITION_EPOCH_AT, PartitionState
from kafkactl.metadata.replay.columns.bytes import Array

# In the order of `columns.Body.fields`, which is that of a PartitionState without the epochs.
FIELDS: Final = (
    "replicas", "isr", "removing_replicas", "adding_replicas", "leader", "recovery", "directories", "elr", "last_known",
)  # fmt: skip
COUNTERS: Final = ("resets", "changes", "leader_changes", "leader_epoch", "partition_epoch", "unusual")
PATCH_NUMBERS: Final = ("first_offset", "last_offset", "reset_at", *COUNTERS, *FIELDS)
MERGED_BY: Final = {"first_offset": "min", **dict.fromkeys(COUNTERS, "sum")}  # all others by max
_OF_RESETS: Final = ("resets", "leader_epoch", "partition_epoch")
_PLACE: Final = 32  # bits of the number of a body


class Patch(NamedTuple):
    """One merged patch of a partition. `era` counts the ClearElrRecords before it; offsets are of its records.

    `reset_at` is the offset of its last PartitionRecord, -1 for none; the epochs are those of its PartitionRecords.
    """

    era: int
    first: int
    last: int
    reset_at: int
    resets: int
    changes: int
    leader_changes: int
    leader_epoch: int
    partition_epoch: int
    unusual: int
    fields: tuple[int, ...]


def fold(columns: Columns, eras: Sequence[int]) -> Iterator[dict[str, Array]]:
    """The patches of each era of these columns, as columns: `key` is the number of a key, `era` that of the era, each
    of FIELDS the number of a body from 1 on, or 0 where nothing gave it.

    `eras` are the ascending offsets at which one ends.
    """
    rows = columns.rows()
    meaning = _meaning(columns.bodies)
    bounds = np.searchsorted(rows.offset, np.asarray(eras, np.int64)).tolist()
    for era, (begin, end) in enumerate(zip([0, *bounds], [*bounds, len(rows.offset)], strict=True)):
        if begin < end:
            yield _folded(Rows(*(column[begin:end] for column in rows)), meaning, era)


class _Meaning(NamedTuple):
    """Of the bodies by number: which fields each gives, and its numbers."""

    gives: Array
    numbers: dict[str, Array]


def _meaning(texts: Sequence[bytes]) -> _Meaning:
    """Bodies that cannot be decoded are in no row."""
    bodies = [body_of(text) or _NOTHING for text in texts]
    gives = np.array([[field is not None for field in body.fields] for body in bodies], bool).reshape(-1, len(FIELDS))
    resets = np.array([body.is_reset for body in bodies], bool)
    numbers = {
        "resets": resets,
        "changes": ~resets,
        "leader_changes": gives[:, FIELDS.index("leader")] & ~resets,
        "leader_epoch": np.array([body.leader_epoch for body in bodies], np.int64),
        "partition_epoch": np.array([body.partition_epoch for body in bodies], np.int64),
        "unusual": np.array([body.is_unusual for body in bodies], bool),
    }
    return _Meaning(gives, numbers)


_NOTHING: Final = Body(False, True, 0, 0, (None,) * len(FIELDS))


def _folded(taken: Rows, meaning: _Meaning, era: int) -> dict[str, Array]:
    """One stretch within one era. Where an index stands twice in an assignment, numpy keeps the last."""
    offset, key, body = taken
    count, rows = int(key.max()) + 1, np.arange(len(key), dtype=np.int32)
    first, last = np.full(count, -1, np.int32), np.full(count, -1, np.int32)
    last[key] = rows
    first[key[::-1]] = rows[::-1]
    there = np.flatnonzero(last >= 0)
    made = {"key": there, "era": np.full(len(there), era)}
    made["first_offset"], made["last_offset"] = offset[first[there]], offset[last[there]]
    resets = rows[meaning.numbers["resets"][body]]
    reset = _last(resets, key, count)[there]
    made["reset_at"] = np.where(reset >= 0, offset[reset], -1)
    for name in COUNTERS:
        weights = meaning.numbers[name]
        if name in _OF_RESETS:
            sums = np.bincount(key[resets], weights[body[resets]], minlength=count)
        else:
            sums = np.bincount(key, weights[body], minlength=count)
        made[name] = sums[there].astype(np.int64)  # floats, which are exact up to 2**53
    for at, name in enumerate(FIELDS):
        given = _last(rows[meaning.gives[body, at]], key, count)[there]
        made[name] = np.where(given >= 0, body[given].astype(np.int64) + 1, 0)
    return made


def _last(rows: Array, key: Array, count: int) -> Array:
    """The last of these rows for each key; -1 for none."""
    found = np.full(count, -1, np.int32)
    found[key[rows]] = rows
    return found


def said_by(stretch: int, made: Mapping[str, Array]) -> dict[str, Array]:
    """Patches of the stretch of that number, whose fields now tell it above the number of the body."""
    said = (stretch + 1) << _PLACE
    return {
        name: np.where(numbers > 0, said | (numbers - 1), 0) if name in FIELDS else numbers
        for name, numbers in made.items()
    }


def unpacked(packed: int) -> tuple[int, int] | None:
    """The stretch and the number of the body that a field was packed from; None where nothing gave it."""
    return None if not packed else ((packed >> _PLACE) - 1, packed & ((1 << _PLACE) - 1))


def applied(state: PartitionState | None, patch: Patch, value: Callable[[int, int], Any]) -> PartitionState:
    """The partition after a patch; `value` tells the field (by its place in FIELDS) of a packed number.

    A patch that begins with a PartitionRecord needs no state; any other one does.
    """
    given = [value(at, packed) if packed else None for at, packed in enumerate(patch.fields)]
    if patch.resets:
        old: Sequence[Any] = given
        epochs = patch.leader_epoch, patch.partition_epoch
    else:
        if state is None:
            raise ValueError("a patch of changes needs a partition")
        old = (*state[:LEADER_EPOCH_AT], *state[DIRECTORIES_AT:])
        epochs = state[LEADER_EPOCH_AT], state[PARTITION_EPOCH_AT]
    new = [before if item is None else item for before, item in zip(old, given, strict=True)]
    leader_epoch, partition_epoch = epochs[0] + patch.leader_changes, epochs[1] + patch.changes
    return (*new[:LEADER_EPOCH_AT], leader_epoch, partition_epoch, *new[LEADER_EPOCH_AT:])


def is_regular(patches: Iterable[Patch], *, known: bool) -> bool:
    """Whether the patches of a partition tell its state without looking at single records.

    `known`: the partition was there before. If not, the first record has to be its only PartitionRecord.
    """
    resets = 0
    first = None
    for patch in patches:
        if patch.unusual:
            return False
        first = first or patch
        resets += patch.resets
    if known:
        return resets == 0
    return first is not None and resets == 1 and first.reset_at == first.first
