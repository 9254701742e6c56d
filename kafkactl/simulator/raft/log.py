"""The metadata log of one replica, as far as the protocol reads it: batches, epochs, snapshots.

Offsets are of records; an end is exclusive. A batch of a million records costs as much as one of one record.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final, NamedTuple

from kafkactl.simulator.raft.voters import NO_VOTERS, VoterSet


class RecordKind(IntEnum):
    """Content of a batch. Control batches may hold several records; data batches any number."""

    DATA = 0
    CONTROL = 1


class LeaderChange(NamedTuple):
    """The record that a leader writes first (LeaderChangeMessage)."""

    leader_id: int
    voters: tuple[int, ...]
    granting_voters: tuple[int, ...]


class KRaftVersion(NamedTuple):
    """The level of the feature kraft.version from this record on (KRaftVersionRecord)."""

    level: int


class Voters(NamedTuple):
    """The voter set from this record on (VotersRecord)."""

    voters: VoterSet


ControlRecord = LeaderChange | KRaftVersion | Voters


class Batch(NamedTuple):
    """A record batch: offsets `base` to `end - 1` in one epoch.

    `content` is a tuple of control records, one an offset, or for data of what each appender gave to tell its records
    apart. `size` is in bytes and counts against the limit of a fetch.
    """

    base: int
    end: int
    epoch: int
    kind: RecordKind
    content: tuple[Any, ...]
    size: int


class SnapshotId(NamedTuple):
    """A snapshot holds all records below `end_offset`; `epoch` is the epoch of the last of them."""

    end_offset: int
    epoch: int


class Snapshot(NamedTuple):
    """A complete snapshot. `voters` is empty if its log had no voter set; `size` is in bytes."""

    id: SnapshotId
    size: int
    kraft_version: int = 0
    voters: VoterSet = NO_VOTERS


BOOTSTRAP_SNAPSHOT_ID: Final = SnapshotId(0, 0)  # written by `kafka-storage format`, never sent to others
