"""The values that planning, applying and verifying a format speak of.

observe (storage/io/directories.py) -> `ObservedNode`; plan (storage/format/plan.py, fleet.py) -> `FormatPlan`;
apply (storage/io/directories.py) carries a plan out; verify (storage/verify/node.py) reads an `ObservedNode` again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Literal, Protocol

from kafkactl.cluster.quorum.voter_sets import Voter
from kafkactl.core.answers import by_fields
from kafkactl.core.file_read import FileRead
from kafkactl.core.findings import Finding, Outcome
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import FIRST_CHECKPOINT
from kafkactl.core.values import Uuid
from kafkactl.protocol.text.meta_properties import META_PROPERTIES

if TYPE_CHECKING:
    from kafkactl.cluster.quorum.state import QuorumState
    from kafkactl.storage.format.scram import ScramCredential

BOOTSTRAP_CHECKPOINT = "bootstrap.checkpoint"
QUORUM_STATE: Final = "quorum-state"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
CLEANED = "cleaner-offset-checkpoint"
# What a running node locks, and what a kafkactl at work locks, in each log directory.
NODE_LOCK = ".lock"
KAFKACTL_LOCK = ".kafkactl.lock"
LOST_AND_FOUND = "lost+found"
# Kafka makes its snapshots read-only (FileRawSnapshotWriter). The keys of SCRAM users are their owner's alone to read,
# which Kafka leaves to the umask. Every other file follows the umask.
SNAPSHOT_MODE = 0o400
KEYS_MODE = 0o600


def staged_name(name: str) -> str:
    """Return the temporary name, in the same directory, under which a file is written before it is renamed.

    A checkpoint's ends in `.checkpoint.part` with offset and epoch in front, so that a node that finds one removes
    it at start as it does its own (Snapshots.parse, KafkaMetadataLog.recoverSnapshots).
    """
    stem, dot, suffix = name.rpartition(".checkpoint")
    if name.endswith(FIRST_CHECKPOINT):
        return f"{stem}-kafkactl{dot}{suffix}.part"
    return f"{name}.kafkactl.tmp"


def is_staged_name(name: str) -> bool:
    """Return True for a temporary file of kafkactl (`name` without its folder)."""
    return name in _STAGED_NAMES


_STAGED_NAMES = frozenset(staged_name(name) for name in (META_PROPERTIES, BOOTSTRAP_CHECKPOINT, FIRST_CHECKPOINT))


class VoterMode(StrEnum):
    """Kafka's exclusive flag that was given, if any (KIP-853)."""

    UNSPECIFIED = "unspecified"
    STANDALONE = "standalone"
    INITIAL_CONTROLLERS = "initial-controllers"
    NO_INITIAL_CONTROLLERS = "no-initial-controllers"


DirectoryRole = Literal["metadata", "data"]


@frozen
class NamedLevel:
    """A level of metadata.version and its name, such as 30 and `4.3-IV0`."""

    level: int
    name: str

    to_dict = by_fields


@frozen
class GuardOverrides:
    """The operator's permissions for disks that may only appear to be empty (docs/storage-runbook.md)."""

    allow_failed_dirs: frozenset[str] = frozenset()
    allow_not_blank: frozenset[str] = frozenset()
    replace_lost_metadata_disk: bool = False
    verified_quorum: bool = False
    expected_mounts: frozenset[str] = frozenset()
    not_a_mount: frozenset[str] = frozenset()


@frozen
class Owner:
    """Owner of the written files (`--owner`); `text` is what the operator typed."""

    text: str
    """Owner of the files (--owner); None if they remain with this user."""
    uid: int
    gid: int


@frozen
class FormatRequest:
    """`format`'s arguments as typed; texts are parsed by the planner, in Kafka's order.

    `scram` holds SCRAM arguments in Kafka's grammar (`SCRAM-SHA-256=[name=…,password=…]`): secrets, never shown.
    `credentials` are users whose keys are derived already (those of a plan file).
    """

    cluster_id: str
    release_version: str | None = None
    features: tuple[str, ...] = ()
    scram: tuple[str, ...] = field(default=(), repr=False)
    credentials: tuple[ScramCredential, ...] = field(default=(), repr=False)
    voter_mode: VoterMode = VoterMode.UNSPECIFIED
    initial_controllers: str = ""
    ignore_formatted: bool = False
    overrides: GuardOverrides = GuardOverrides()
    owner: Owner | None = None


class Source(Protocol):
    """Source of new values: the clock, ids and salts. Fixed values make a plan repeatable."""

    def now_ms(self) -> int:
        """Return the milliseconds since the epoch."""
        ...

    def directory_id(self, path: str) -> Uuid:
        """Return the id of a log directory that gets one now; unreserved, no leading `-` in its text."""
        ...

    def scram_salt(self, position: int) -> bytes:
        """Return the salt of the SCRAM argument at this position, if the argument names none."""
        ...


@frozen
class DirectoryEntry:
    """A name in a directory; `kind` is file, directory, symlink or other (of the entry itself).

    `links_to_directory`: it is a symbolic link, and what it leads to is a directory.
    """

    name: str
    kind: str
    size_bytes: int
    mtime_ms: int
    links_to_directory: bool = False


class DirectoryState(StrEnum):
    """State of the path of a log directory."""

    MISSING = "missing"
    DIRECTORY = "directory"
    NOT_A_DIRECTORY = "not-a-directory"
    UNREADABLE = "unreadable"


@frozen
class ObservedDirectory:
    """A log directory as seen. `path` is as written in the config, `real_path` with links resolved.

    `device`/`parent_device` are st_dev numbers (of the nearest existing ancestor if the path is missing), and
    `mount_point` is the real path at which that file system is mounted (or would be found, if the path is
    missing). `metadata_log` lists `__cluster_metadata-0` (None: absent; empty with
    `metadata_log_error` if it cannot be listed), `metadata_files` holds the contents of its
    0-0 checkpoint and quorum-state, `offset_checkpoints` those of a broker's recovery points, log starts and cleaned
    offsets, by name. `locked_by_process` is True if a running node holds `.lock`, and `lock_holder_pid` then says
    which process, if the system shows it. `lock_holder_is_node` says whether that is a node of Kafka by its command
    line, None if that is not shown.
    """

    path: str
    real_path: str
    state: DirectoryState
    error: str | None = None
    entries: tuple[DirectoryEntry, ...] = ()
    meta_properties: FileRead | None = None
    bootstrap_checkpoint: FileRead | None = None
    metadata_log: tuple[DirectoryEntry, ...] | None = None
    metadata_log_error: str | None = None
    metadata_files: Mapping[str, FileRead] = field(default_factory=dict)
    offset_checkpoints: Mapping[str, FileRead] = field(default_factory=dict)
    device: int = 0
    inode: int = 0
    parent_device: int = 0
    mount_point: str = "/"
    writable: bool = True
    write_error: str | None = None
    read_only_filesystem: bool = False
    owner_uid: int = 0
    mode: int = 0o755
    locked_by_process: bool = False
    lock_holder_pid: int | None = None
    lock_holder_is_node: bool | None = None
    free_bytes: int | None = None


@frozen
class QuorumSeen:
    """The observation of the controllers before the metadata directory of one of them is formatted.

    `state` is the quorum with the evidence of who follows the leader (`quorum/liveness`); None if no controller
    could be asked, and `reason` says why. `voter_ids` are the voters by the node's configuration, none in a dynamic
    quorum; `refused` those of them at whose endpoint the connection was refused: no process listens there.
    `registered` are the controllers that the cluster has registered, None if no controller named them;
    `has_loaded` says that one that answers has read the metadata of a cluster; `is_reached`, that a process answered
    at an address at all, if only to refuse the connection's TLS or login.
    """

    state: QuorumState | None = None
    reason: str = ""
    voter_ids: frozenset[int] = frozenset()
    refused: frozenset[int] = frozenset()
    registered: frozenset[int] | None = None
    has_loaded: bool = False
    is_reached: bool = False


@frozen
class LastCopies:
    """Partitions that wait for a replica in a directory that a broker no longer has, as a metadata log shows them.

    `partitions` are the first of them, `count` their number; `source` is the log, and `is_own` the node's copy.
    `has_other_replicas`: one of them has a replica on another broker, which can be elected instead.
    """

    source: str
    is_own: bool
    count: int
    partitions: tuple[str, ...]
    has_other_replicas: bool


@frozen
class ClassPathFacts:
    """A class path of this host, looked at for one class; `missing` and `unreadable` are entries of the path."""

    has_class: bool
    missing: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()


@frozen
class ObservedNode:
    """Observed log directories of one node, including the metadata log directory, in the order of the config.

    `class_paths` are those of the file's plugins that were looked at, by the key that names the class.
    `quorum` is None if no controller was asked: only a blank metadata directory of one makes that necessary.
    `last_copies` is None if no directory of a broker is empty, or no metadata log could be read.
    """

    directories: tuple[ObservedDirectory, ...]
    process_uid: int = 0
    quorum: QuorumSeen | None = None
    last_copies: LastCopies | None = None
    class_paths: Mapping[str, ClassPathFacts] = field(default_factory=dict)

    def directory(self, path: str) -> ObservedDirectory:
        """Return the directory with this path (as written in the config). Raises KeyError."""
        for directory in self.directories:
            if directory.path == path:
                return directory
        raise KeyError(path)


class Action(StrEnum):
    """Action on one directory."""

    FORMAT = "format"
    KEEP = "keep"
    SKIP = "skip"


@frozen
class PlannedFile:
    """A file to be written: `name` is relative to its log directory (`__cluster_metadata-0/…checkpoint`)."""

    name: str
    content: bytes = field(repr=False)
    mode: int | None  # None: as the umask says


@frozen
class PlannedDirectory:
    """A log directory in a plan. `files` are in the order in which they are published, meta.properties last.

    `place` (device, inode) is the real directory that was looked at, None if there was none; `found` are the names
    in it. What is another directory by then, or holds more, is not written to. Of a directory that is kept, `found` is
    empty, unless it is kept because a format was interrupted: then the lock file of that run must still be there.
    """

    path: str
    role: DirectoryRole
    directory_id: Uuid | None
    action: Action
    files: tuple[PlannedFile, ...] = ()
    place: tuple[int, int] | None = None
    found: frozenset[str] = frozenset()


@frozen
class FormatPlan:
    """Plan of a format, or the reasons against it; equal arguments, disks and `Source` give equal plans.

    `directories` stand in the order of the config; they are applied data directories first, metadata directory last.
    """

    outcome: Outcome  # planned | nothing-to-do | refused
    cluster_id: str
    node_id: int
    kafka_version: str
    """The release that will start on these disks."""
    metadata_version_level: int
    metadata_version_name: str
    kraft_version: int
    features: Mapping[str, int]
    voters: tuple[Voter, ...]
    directories: tuple[PlannedDirectory, ...]
    findings: tuple[Finding, ...]
    owner: Owner | None = None


class Progress(StrEnum):
    """Progress of a directory in an apply: its state on the disk, as far as it is known."""

    DONE = "done"  # written, synced and read back
    UNCHANGED = "unchanged"  # was to be left alone, or held the planned bytes already
    HALF_DONE = "half-done"  # touched; it holds no meta.properties, so no node starts from it
    NOT_STARTED = "not-started"
    UNKNOWN = "unknown"  # its meta.properties was renamed into place, and a later step on it failed


@frozen
class Applied:
    """Result of an apply. `outcome` is done, nothing-to-do, refused, failed (nothing was written) or partial."""

    outcome: Outcome
    progress: Mapping[str, Progress]  # by directory path, as in the plan
    findings: tuple[Finding, ...]
