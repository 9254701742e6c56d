"""Fold of partition records as columns into a table.

Which rows of a table the records are about, and whether they may be folded at all, is for others to say.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from kafkactl.metadata.replay.columns import lists, tagged_fields
from kafkactl.metadata.replay.columns.bytes import Array, Window, places_of
from kafkactl.metadata.replay.columns.table import PartitionTable
from kafkactl.metadata.replay.topics import LEADER_STAYS

# The columns of the table by the rows of `tagged_fields.Given`.
LISTS: Final = {
    "replicas": tagged_fields.REPLICAS,
    "isr": tagged_fields.ISR,
    "removing": tagged_fields.REMOVING,
    "adding": tagged_fields.ADDING,
    "elr": tagged_fields.ELR,
    "last_known": tagged_fields.LAST_KNOWN,
}


class PartitionRows(NamedTuple):
    """PartitionRecords. `at` is that of `tagged_fields.Given`."""

    place: Array
    row: Array
    at: Array
    epochs: Array  # where leader, leader epoch and partition epoch stand

    def only(self, which: Array | slice) -> PartitionRows:
        """Return some of the partitions."""
        return PartitionRows(self.place[which], self.row[which], _columns(self.at, which), self.epochs[which])


class PartitionChangeRows(NamedTuple):
    """PartitionChangeRecords. `at` is that of `tagged_fields.Given`, `gives` marks which of its rows have anything."""

    place: Array
    row: Array
    at: Array
    gives: Array

    def only(self, which: Array | slice) -> PartitionChangeRows:
        """Return some of the changes."""
        return PartitionChangeRows(self.place[which], self.row[which], _columns(self.at, which), self.gives)


def _columns(at: Array, which: Array | slice) -> Array:
    if isinstance(which, slice):
        return at[:, which]
    found: Array = at.take(which, axis=1)
    return found


def changes_of(
    window: Window, heads: tagged_fields.Heads, place: Array, rows: Array, own: Array
) -> tuple[PartitionChangeRows, Array]:
    """Return the changes, and mark those that the columns cannot fold."""
    given = tagged_fields.changes(window, heads.only(own))
    at, irregular = given.at, given.irregular
    gives: Array = np.logical_or.reduce(at, axis=1)
    if gives[tagged_fields.REPLICAS] or gives[tagged_fields.DIRECTORIES]:
        # The effect depends on the partition.
        irregular |= (at[tagged_fields.REPLICAS] > 0) != (at[tagged_fields.DIRECTORIES] > 0)
        irregular |= _do_not_fit(window, at)
    if gives[tagged_fields.RECOVERY]:
        irregular |= _are_unknown(window, at[tagged_fields.RECOVERY])
    return PartitionChangeRows(place[own], rows[own], at, gives), irregular


def partitions_of(
    window: Window, heads: tagged_fields.Heads, place: Array, rows: Array, own: Array
) -> tuple[PartitionRows, Array]:
    """Return the partitions, and mark those that the columns cannot fold."""
    given, epochs = tagged_fields.partitions(window, heads.only(own))
    irregular = given.irregular | _do_not_fit(window, given.at) | _are_unknown(window, given.at[tagged_fields.RECOVERY])
    return PartitionRows(place[own], rows[own], given.at, epochs), irregular


def _given(at: Array) -> Array:
    """Return the records that give a field. numpy counts true values several times faster than values other than 0."""
    found: Array = places_of(at != 0)
    return found


def _do_not_fit(window: Window, at: Array) -> Array:
    """Mark records whose directory ids are not as many as their replicas."""
    directories = at[tagged_fields.DIRECTORIES]
    count = window.u1[directories]
    found: Array = (directories > 0) & (count > 1) & (count != window.u1[at[tagged_fields.REPLICAS]])
    return found


def _are_unknown(window: Window, recovery: Array) -> Array:
    """Mark records with an unknown recovery state."""
    found: Array = (recovery > 0) & (window.u1[recovery] > 1)
    return found


def make(table: PartitionTable, window: Window, made: PartitionRows) -> None:
    """Fold PartitionRecords, at most one for each partition."""
    row = made.row
    replicas, isr = _replicas_and_isr(table, window, made)
    table.replicas[row], table.isr[row] = replicas, isr
    for name in ("removing", "adding", "elr", "last_known"):
        getattr(table, name)[row] = _places(table, window, made.at[LISTS[name]])
    table.directories[row] = _directories(table, window, made)
    recovery = made.at[tagged_fields.RECOVERY]
    table.recovery[row] = np.where(recovery > 0, window.u1[recovery], 0)
    for at, name in ((0, "leader"), (4, "leader_epoch"), (8, "epoch")):
        getattr(table, name)[row] = window.i4[made.epochs + at]
    table.present[row] = True


def _replicas_and_isr(table: PartitionTable, window: Window, made: PartitionRows) -> tuple[Array, Array]:
    """Return the places of both lists, which are one list if all replicas of a new partition are in sync."""
    at, isr_at = made.at[tagged_fields.REPLICAS], made.at[tagged_fields.ISR]
    count = window.u1[at]
    differs = count != window.u1[isr_at]
    for element in range(int(count.max(initial=1)) - 1):
        own = places_of(~differs & (count > element + 1))
        word = 1 + 4 * element
        differs[own] = window.u4[at[own] + word] != window.u4[isr_at[own] + word]
    replicas = _places(table, window, at, is_likely=True)
    isr, other = replicas.copy(), places_of(differs)
    isr[other] = _places(table, window, isr_at[other])
    return replicas, isr


def _places(
    table: PartitionTable, window: Window, at: Array, width: int = lists.IDS, *, is_likely: bool = False
) -> Array:
    """Return the places of lists in the table; EMPTY for a record without one. `is_likely`: many are equal."""
    given = _given(at)
    if len(given) == len(at):
        return table.lists.add(window, at, width, is_likely=is_likely)
    places = np.full(len(at), lists.EMPTY, np.int32)
    places[given] = table.lists.add(window, at[given], width, is_likely=is_likely)
    return places


def _directories(table: PartitionTable, window: Window, given: PartitionRows | PartitionChangeRows) -> Array:
    """Return the places of directory ids; a record without any has as many unknown ones as replicas."""
    places = _places(table, window, given.at[tagged_fields.DIRECTORIES], lists.DIRECTORIES, is_likely=True)
    nothing = places_of(places == lists.EMPTY)
    places[nothing] = lists.UNKNOWN[window.u1[given.at[tagged_fields.REPLICAS, nothing]].astype(np.int64) - 1]
    return places


def change(table: PartitionTable, window: Window, changed: PartitionChangeRows) -> None:
    """Fold PartitionChangeRecords in their order: if a row stands twice in an assignment, numpy keeps the last."""
    row = changed.row
    np.add.at(table.epoch, row, 1)
    leader = _given(changed.at[tagged_fields.LEADER])
    ids = window.i4[changed.at[tagged_fields.LEADER, leader]].astype(np.int32)
    if bool((ids == LEADER_STAYS).any()):
        leader, ids = leader[ids != LEADER_STAYS], ids[ids != LEADER_STAYS]
    table.leader[row[leader]] = ids
    np.add.at(table.leader_epoch, row[leader], 1)
    if changed.gives[tagged_fields.RECOVERY]:
        recovery = _given(changed.at[tagged_fields.RECOVERY])
        table.recovery[row[recovery]] = window.u1[changed.at[tagged_fields.RECOVERY, recovery]]
    for name, field in LISTS.items():
        if not changed.gives[field]:
            continue
        last = table.last(row, _given(changed.at[field]))
        getattr(table, name)[row[last]] = table.lists.add(window, changed.at[field, last])
    if changed.gives[tagged_fields.DIRECTORIES]:
        last = table.last(row, _given(changed.at[tagged_fields.DIRECTORIES]))
        table.directories[row[last]] = _directories(table, window, changed.only(last))
