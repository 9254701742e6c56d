"""Facts of a metadata log about a migration, folded from its records.

The image has the present state; these facts also have its history: every registration that was ever made (a broker that
entered the migration and left again still counts for the controller), the copy with its begin and end, what was done
since that the dual write cannot mirror. Records of an aborted transaction (KIP-868) never were.
Sources: metadata `QuorumController` (ZkRecordConsumer), `ClusterControlManager`, `ZkMigrationState`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from kafkactl.core.findings import Finding
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Uuid
from kafkactl.metadata.image.model import FeatureRange, Image, Listener, LogRecord
from kafkactl.protocol.log.frame import MetadataRecord


@frozen
class RegistrationSeen:
    """The last RegisterBrokerRecord of a broker that was not unregistered since, with the changes after it.

    `offset` is that of the record; in a snapshot there is none, and the broker epoch takes its place. `epoch` is the
    broker epoch. `ever_migrating`: some registration of this id was one of a broker in migration mode.
    `endpoints_before_kraft` are those of the last one that was, empty if the log no longer has it.
    """

    id: int
    offset: int
    epoch: int
    migrating: bool
    fenced: bool
    in_controlled_shutdown: bool
    incarnation_id: Uuid
    endpoints: tuple[Listener, ...]
    features: Mapping[str, FeatureRange]
    directories: tuple[Uuid, ...]
    rack: str | None
    ever_migrating: bool
    endpoints_before_kraft: tuple[Listener, ...] = ()


@frozen
class RegistrationEvent:
    """Record about a broker's registration: `what` is register, unregister, fence or unfence."""

    offset: int
    id: int
    what: str
    epoch: int
    migrating: bool | None = None  # None if the record does not say
    at_ms: int | None = None  # by the controller's clock; of one in a snapshot, that of the snapshot


@frozen
class ControllerSeen:
    """The last RegisterControllerRecord of a controller (KIP-919); it stays when the controller is long gone."""

    id: int
    offset: int
    zk_migration_ready: bool
    incarnation_id: Uuid
    endpoints: tuple[Listener, ...]
    features: Mapping[str, FeatureRange]


@frozen
class AbortedCopy:
    """A copy that was begun and undone, after so many records."""

    begin: int
    abort: int
    records: int
    reason: str | None


@frozen
class ScramRemoval:
    """A RemoveUserScramCredentialRecord; `mechanism` is 1 for SHA-256, 2 for SHA-512."""

    offset: int
    mechanism: int
    user: str


@frozen
class LeaderChange:
    """Leader that a LeaderChange record names."""

    offset: int
    epoch: int
    leader_id: int
    at_ms: int | None = None  # by its own clock


@frozen
class Mirror:
    """State of the log at the offset in `/migration`, and how much later its last record is."""

    offset: int
    image: Image = field(repr=False)
    behind_ms: int


@frozen
class LogFacts:
    """A metadata log. Offsets are None, or `end_offset` 0 and `epoch` -1, if it holds nothing.

    `first_offset` is that of the first record in the segments, `last_offset` of the last one in them or in the newest
    snapshot; `end_offset` is one more. `epoch` is the last leader epoch. `high_watermark` is known only where the
    leader reported it: a log on disk may end in what was never committed. `last_ms` is the time of the last record;
    `last_change_offset` that of the last batch that is more than a no-op, which changes nothing.

    `migration_states` are (offset, state) of each ZkMigrationStateRecord that counts (`image.zk_migration_state` is
    the last). `copy_begin` and `copy_end` are the offsets of the copy that counts: of BeginTransactionRecord
    "ZK Migration" and its end, below metadata.version 3.6-IV1 of its first record and of the ZkMigrationStateRecord;
    `copy_end` None if it is under way. `copy_records` are the records between the two, no-ops left out, and
    `since_copy` those after its end that change what ZooKeeper mirrors or cannot mirror (all but no-ops, partition
    changes and registrations).
    """

    image: Image = field(repr=False)
    first_offset: int | None
    last_offset: int | None
    end_offset: int
    epoch: int
    high_watermark: int | None = None
    snapshot_end_offset: int | None = None
    last_ms: int | None = None
    last_change_offset: int | None = None
    migration_states: tuple[tuple[int, int], ...] = ()
    copy_begin: int | None = None
    copy_end: int | None = None
    copy_records: tuple[MetadataRecord, ...] = field(default=(), repr=False)
    aborted_copies: tuple[AbortedCopy, ...] = ()
    registrations: Mapping[int, RegistrationSeen] = field(default_factory=dict)
    registration_events: tuple[RegistrationEvent, ...] = field(default=(), repr=False)
    controllers: Mapping[int, ControllerSeen] = field(default_factory=dict)
    leader_changes: tuple[LeaderChange, ...] = ()
    scram_removed_since_snapshot: tuple[ScramRemoval, ...] = ()
    since_copy: tuple[LogRecord, ...] = field(default=(), repr=False)
    findings: tuple[Finding, ...] = ()

    @property
    def migration_state(self) -> int | None:
        """Return the last ZkMigrationState (0 NONE, 1 MIGRATION, 2 PRE_MIGRATION, 3 POST_MIGRATION).

        None without a record.
        """
        return self.migration_states[-1][1] if self.migration_states else None
