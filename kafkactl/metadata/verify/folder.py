"""The content of `__cluster_metadata-0`, as a value: segments, snapshots, and the small files next to them."""

from __future__ import annotations

import re
from dataclasses import field
from typing import Final

from kafkactl.core.file_read import FileRead
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import FIRST_CHECKPOINT
from kafkactl.metadata.log.scan import Contents, Stop

PARTITION_METADATA = "partition.metadata"
LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"
_EMPTY_EPOCHS: Final = 2  # words of a leader-epoch-checkpoint without an entry: its version, and the number of entries
TO_WRITE = " to write"  # ends the words of a file that may be read, and not be opened as a node opens it

# Offset and epoch (raft/.../Snapshots.java). Names with a further suffix (.part, .deleted) are removed at start.
_SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


def parse_snapshot_name(name: str) -> tuple[int, int] | None:
    """Return offset and epoch of a snapshot's file name; None for any other name."""
    match = _SNAPSHOT.fullmatch(name)
    return (int(match[1]), int(match[2])) if match else None


@frozen
class SegmentFacts:
    """Segment as a recovery reads it: `stop` is the place of its first damage, `end_offset` the one after what is left.

    `out_of_range` is the first offset in it that its indexes cannot hold: below its base, or 2^31 and more above.
    `gaps` are the first offsets that are missing before or in it, each as (first, one after the last).
    """

    name: str
    base_offset: int
    size_bytes: int
    first_offset: int | None
    end_offset: int
    stop: Stop | None = None
    out_of_range: int | None = None
    gaps: tuple[tuple[int, int], ...] = ()

    @property
    def is_wiped(self) -> bool:
        """Return True if zeros stand in place of the first batch.

        Zeros after batches may be all that was written there. A segment is made when its first batch is appended, so
        that a segment without one has lost what it held.
        """
        return self.stop is not None and self.stop.zeros and self.stop.position == 0 and self.size_bytes > 0


@frozen
class SnapshotFacts:
    """Snapshot. `contents` is None if it was not read; `error` says why it could not be.

    `crc_problem` is the first wrong CRC; the batches after it were read all the same.
    """

    name: str
    offset: int
    epoch: int
    size_bytes: int
    contents: Contents | None = None
    stop: Stop | None = None
    crc_problem: str | None = None
    error: str | None = None

    @property
    def is_first(self) -> bool:
        """Return True for the 0-0 checkpoint that a format writes."""
        return self.name == FIRST_CHECKPOINT

    @property
    def is_cut(self) -> bool:
        """Return True if the snapshot ends too early: in the middle of a batch, or between two, before the footer."""
        if self.contents is None or not self.contents.batches:
            return False
        return self.stop is not None or not self.contents.control.get("SNAPSHOT_FOOTER")

    @property
    def is_readable_to_cut(self) -> bool:
        """Return True if a node reads the file up to its early end and continues; any other damage ends the node."""
        stops_quietly = self.stop is None or self.stop.reason in ("cut", "tiny")
        return self.is_cut and stops_quietly and self.damage is None

    @property
    def problem(self) -> str | None:
        """Return why the snapshot does not hold a whole state; None for a sound one, and for one that was not read."""
        if self.error is not None:
            return self.error
        return "it is cut" if self.is_cut or self.stop is not None else self.damage

    @property
    def damage(self) -> str | None:
        """Return the problem of the content other than an early end; None for a file that was not read."""
        contents = self.contents
        if contents is None:
            return None
        problem = self.crc_problem or (contents.undecodable.message if contents.undecodable else None)
        problem = problem or (contents.unknown_control[1] if contents.unknown_control else None)
        if problem is None and contents.batches and contents.first_control != "SNAPSHOT_HEADER":
            problem = "it does not begin with a snapshot header"
        if problem is None and not contents.batches:
            problem = "not one batch of it is whole"
        return problem


@frozen
class MetadataLogFacts:
    """The metadata log of one node. `state`: missing, directory, not-a-directory or unreadable (`error` says why).

    `contents` is the fold over all that a recovery would leave; `stop` and `dropped_segments` say what it would not.
    `passed_over` are names of segments that are not regular files, each with what it is.
    `unreadable` are files of the log that the system refuses to read or, opened as a node opens them, to write, each
    with its words; `write_error` says why nothing can be made in the folder. `orphaned_indexes` are indexes whose
    segment is not there. `mixed_offsets` says that offsets do not
    ascend, so that what a recovery would do is not known.
    """

    path: str
    state: str
    error: str | None = None
    segments: tuple[SegmentFacts, ...] = ()
    dropped_segments: tuple[str, ...] = ()
    contents: Contents = field(default_factory=Contents)
    snapshots: tuple[SnapshotFacts, ...] = ()
    small_files: dict[str, FileRead] = field(default_factory=dict)
    passed_over: tuple[tuple[str, str], ...] = ()
    unreadable: tuple[tuple[str, str], ...] = ()
    write_error: str | None = None
    mixed_offsets: bool = False
    orphaned_indexes: tuple[str, ...] = ()

    @property
    def lost_tail(self) -> tuple[str, int] | None:
        """Name and base offset of a missing last segment, as its index shows; None if no end of the log is missing.

        An index that stays of a segment before the log's start is one that a node was about to delete.
        """
        names = [name.removesuffix(".index") for name in self.orphaned_indexes]
        bases = [int(name) for name in names if int(name) >= self.end_offset]
        return (f"{min(bases):020}.log", min(bases)) if bases else None

    @property
    def is_emptied(self) -> bool:
        """Return True if the log ends before its newest snapshot because its segments are empty or gone.

        Leader epochs are on file, so that batches were written. A node that takes a snapshot from the leader begins a
        segment at the end of the snapshot; only if it ends before that, an empty segment of offset 0 may stay.
        """
        newest, file = self.latest_snapshot, self.small_files.get(LEADER_EPOCH_CHECKPOINT)
        if newest is None or newest.offset <= self.end_offset or any(part.size_bytes for part in self.segments):
            return False
        return file is not None and len((file.content or b"").split()) > _EMPTY_EPOCHS

    @property
    def is_hidden(self) -> bool:
        """Return True if the system refuses to read the folder, a segment or a snapshot: the content of the log is
        unknown."""
        refused = (name for name, error in self.unreadable if not error.endswith(TO_WRITE))
        return self.state == "unreadable" or any(name.endswith((".log", ".checkpoint")) for name in refused)

    @property
    def damaged_segment(self) -> SegmentFacts | None:
        """Return the segment at which a recovery would cut the log."""
        return next((segment for segment in self.segments if segment.stop is not None), None)

    @property
    def latest_snapshot(self) -> SnapshotFacts | None:
        """Return the snapshot with the highest offset and epoch: the only one that a start reads."""
        return max(self.snapshots, key=lambda snapshot: (snapshot.offset, snapshot.epoch), default=None)

    @property
    def first_checkpoint(self) -> SnapshotFacts | None:
        """Return the 0-0 checkpoint."""
        return next((snapshot for snapshot in self.snapshots if snapshot.is_first), None)

    @property
    def start_offset(self) -> int:
        """Return the begin of the log: the base offset of the first segment."""
        return self.segments[0].base_offset if self.segments else 0

    @property
    def end_offset(self) -> int:
        """Return the offset after the last record that a recovery would leave."""
        return self.segments[-1].end_offset if self.segments else 0
