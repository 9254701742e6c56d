"""Content of log directories for a recovery, as values: owner of the disk, metadata log, partitions.

Nothing here decides. `candidate` says how far a disk's copy of the metadata log counts, `plan` which disk is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Final

from kafkactl.core.findings import Finding
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Endpoint, Uuid
from kafkactl.metadata.image.model import Image
from kafkactl.metadata.log.quorum_state import QuorumStateFile
from kafkactl.metadata.verify.check import NodeLog
from kafkactl.quorum.recover.candidate import Candidate

MOST_NAMED: Final = 1_000  # topics, partitions or folders that a finding lists


class FolderKind(StrEnum):
    """Kind of a partition's folder by its name (`LogManager`, `UnifiedLog.logDeleteDirName`)."""

    LIVE = "live"
    STRAY = "stray"
    DELETED = "deleted"
    FUTURE = "future"


@frozen
class PartitionFolder:
    """The folder of one replica in a log directory.

    `name` is the folder's own, `topic` and `partition` what the name means. `leader_epoch` is the largest in its
    leader-epoch-checkpoint, `log_end_offset` the offset after its last batch; both None if the copy does not have the
    files. `oldest_timestamp_ms` is the largest timestamp in its oldest segment, whose size is `oldest_bytes` and whose
    first offset is `oldest_offset`; `log_start_offset` is that of log-start-offset-checkpoint, `first_epoch_offset`
    where the first epoch of the leader-epoch-checkpoint begins.
    """

    disk: str
    broker: int | None
    directory_id: Uuid | None
    name: str
    kind: FolderKind
    topic: str
    partition: int
    topic_id: Uuid | None
    leader_epoch: int | None = None
    log_end_offset: int | None = None
    size_bytes: int = 0
    oldest_timestamp_ms: int | None = None
    oldest_bytes: int = 0
    oldest_offset: int | None = None
    log_start_offset: int | None = None
    first_epoch_offset: int | None = None

    @property
    def is_tiered(self) -> bool:
        """Return True if the log begins before the oldest segment that is here: the rest is in tiered storage
        (KIP-405).

        The first leader epoch has to begin before it: a log without tiered storage forgets epochs at once when its
        start moves. If the checkpoint of log starts has the partition, it has to agree. Kafka writes it once a
        minute, and leaves out logs that begin at their oldest segment.
        """
        oldest, epoch, start = self.oldest_offset, self.first_epoch_offset, self.log_start_offset
        return oldest is not None and epoch is not None and epoch < oldest and (start is None or start < oldest)

    @property
    def key(self) -> tuple[Uuid | None, int]:
        """Return topic id and partition."""
        return self.topic_id, self.partition

    @property
    def place(self) -> tuple[int, int]:
        """Return the last epoch and the log end of the replica; -1 for an unknown one."""
        epoch = -1 if self.leader_epoch is None else self.leader_epoch
        return epoch, -1 if self.log_end_offset is None else self.log_end_offset


@frozen
class SourceFile:
    """A file of a metadata log as it was read: size in bytes and SHA-256 in hex."""

    path: str
    size: int
    sha256: str


@frozen
class DiskSeen:
    """A log directory. `log` and `candidate` are None if it has no metadata log.

    `lock_holder` is the process id of the node that runs on it (0: not known which), None for none.
    """

    path: str
    cluster_id: str | None = None
    node_id: int | None = None
    directory_id: Uuid | None = None
    lock_holder: int | None = None
    quorum_state: QuorumStateFile | None = None
    log: NodeLog | None = None
    candidate: Candidate | None = None
    folders: tuple[PartitionFolder, ...] = ()
    files: tuple[SourceFile, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def place(self) -> tuple[int, int]:
        """Return the last epoch and end offset by which disks are ranked; (-1, 0) without a candidate."""
        return (-1, 0) if self.candidate is None else self.candidate.place


@frozen
class DiskImage:
    """The image that a disk's metadata log comes to, at the end of what counts of it.

    `timestamp_ms` is that of the last record in it; `findings` are the replay's.
    """

    path: str
    image: Image = field(repr=False)
    timestamp_ms: int
    findings: tuple[Finding, ...] = ()


@frozen
class RecoveryTarget:
    """Node of the recovered directory: given on the command line, or by a server.properties, or by the source."""

    node_id: int | None = None
    endpoints: tuple[Endpoint, ...] = ()
    static_voters: tuple[tuple[int, str, int], ...] = ()
    directory: str = ""


@frozen
class AnsweringAddress:
    """An address of the old voters at which a controller answered. `node_id` None if it did not say."""

    address: str
    node_id: int | None


def all_folders(disks: Sequence[DiskSeen]) -> Iterator[PartitionFolder]:
    """Yield the partition folders of all disks."""
    for disk in disks:
        yield from disk.folders
