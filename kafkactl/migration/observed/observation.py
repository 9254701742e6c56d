"""An observation: all that a migration is judged by, seen at one time, as one value.

Invariant: what was not seen is unknown (None), never a default; the caller has to say what follows from not knowing.
A live cluster and a folder saved by `kafkactl migrate observe` become the same value by the same function
(`migration/io/saved_observation.py`). Znodes and records of logs may contain secrets: they are not in any repr.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from kafkactl.core.findings import Finding
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Role, Uuid
from kafkactl.migration.observed.driver_lock import LockSeen
from kafkactl.migration.observed.log_facts import LogFacts, Mirror
from kafkactl.migration.zktree.tree import Tree
from kafkactl.storage.partition_folders import PartitionIds

_NOT_LEADER, _DENIED = 6, 31  # NOT_LEADER_OR_FOLLOWER, CLUSTER_AUTHORIZATION_FAILED


class Mode(StrEnum):
    """Mode of a node: on ZooKeeper alone, on ZooKeeper with the migration enabled, or on KRaft."""

    ZK = "zk"
    MIGRATING = "migrating"
    KRAFT = "kraft"


@frozen
class ApiVersionsSeen:
    """A node's own ApiVersions answer (KIP-584, KIP-866).

    `supported` gives lowest and highest version by api key, `supported_features` lowest and highest level by name.
    `finalized_epoch` is -1 if there is none; a broker on ZooKeeper names 0 and no features. `zk_migration_ready` is
    tag 3: on a controller its flag, on a broker the sign that it runs in migration mode.
    """

    supported: Mapping[int, tuple[int, int]] = field(repr=False)
    supported_features: Mapping[str, tuple[int, int]]
    finalized_features: Mapping[str, int]
    finalized_epoch: int
    zk_migration_ready: bool


@frozen
class ReplicaSeen:
    """A voter or an observer as DescribeQuorum names it. None if the version or the node does not report it."""

    id: int
    directory_id: Uuid | None = None
    log_end_offset: int | None = None
    last_fetch_timestamp_ms: int | None = None
    last_caught_up_timestamp_ms: int | None = None


@frozen
class QuorumSeen:
    """A node's DescribeQuorum answer, or that it hung up (`closed`: what a broker on ZooKeeper does).

    `error_code` is at the top, `partition_error` with the partition: a controller that does not lead answers 0 and 6,
    with 0 for leader and epoch. So those, and the high watermark, are None if one of the two is not 0.
    """

    closed: bool = False
    error_code: int = 0
    partition_error: int = 0
    leader_id: int | None = None
    leader_epoch: int | None = None
    high_watermark: int | None = None
    voters: tuple[ReplicaSeen, ...] = ()
    observers: tuple[ReplicaSeen, ...] = ()

    @property
    def is_follower(self) -> bool:
        """Return True if the node answered that it does not lead. Every other error leaves unknown who leads."""
        return self.error_code == 0 and self.partition_error == _NOT_LEADER

    @property
    def is_denied(self) -> bool:
        """Return True if the user of kafkactl has no right to ask."""
        return _DENIED in (self.error_code, self.partition_error)


@frozen
class IdentitySeen:
    """Identity of the node at an address, by its own answers. None: the node was asked and gave no answer.

    `cluster_id` is that of its DescribeCluster answer. Controllers before 3.7 have no such request, but refuse a Fetch
    that names another cluster (INCONSISTENT_CLUSTER_ID, KIP-595): `asked_cluster_id` is what a Fetch was sent with,
    `is_of_asked` whether it was taken. `node_id` is the id under which the node describes its own configuration, or as
    which it leads the quorum. `endpoints` are the addresses of the nodes that it names, by id. `denied` names the
    requests that this user may not make, and `principal` is that user as far as the login shows it (`User:ops`).
    """

    role: Role | None = None
    cluster_id: str | None = None
    asked_cluster_id: str | None = None
    is_of_asked: bool | None = None
    node_id: int | None = None
    endpoints: Mapping[int, str] = field(default_factory=dict)
    denied: tuple[str, ...] = ()
    principal: str | None = None


@frozen
class ServerSeen:
    """A ZooKeeper server as it answers `srvr`; `mode` (leader, follower, standalone …) is None if it does not."""

    address: str
    mode: str | None
    version: str | None


@frozen
class DirectorySeen:
    """A log directory of a node that was listed. `is_empty`: nothing is in it, or it does not exist yet.

    `directory_id` is that of its meta.properties (KIP-858); None if the file has none or was not read.
    """

    path: str
    is_empty: bool
    directory_id: str | None = None


@frozen
class NodeSeen:
    """A node. `config` is `config_text` read as Java reads properties; passwords in it may be `<redacted>`.

    `alive` says whether it answered, `mode` as its own answers show it. `metrics` are by name, as in
    `ZkMigrationState`. `strays` are the `*-stray` directories on its disks, if they could be listed. `address` is
    where it was asked, and `identity` who answered there: None if the observation was made without that question.
    `directories` are its log directories that were listed, None if none could be: an empty disk is a known one.
    `partition_ids` are the topic ids in its partition folders, None if they were not read.
    """

    id: int
    role: Role
    address: str | None = None
    identity: IdentitySeen | None = None
    alive: bool | None = None
    kafka_version: str | None = None
    mode: Mode | None = None
    config_text: str | None = field(default=None, repr=False)
    config: Mapping[str, str] | None = field(default=None, repr=False)
    meta_properties: Mapping[str, str] | None = None
    api_versions: ApiVersionsSeen | None = None
    quorum: QuorumSeen | None = None
    metrics: Mapping[str, float] | None = None
    strays: tuple[str, ...] | None = None
    directories: tuple[DirectorySeen, ...] | None = None
    partition_ids: PartitionIds | None = None

    @property
    def name(self) -> str:
        """Return the node's name in findings: `broker 2`."""
        return f"{self.role} {self.id}"

    @property
    def has_empty_disk(self) -> bool | None:
        """Return True if the log directories were listed and nothing is in any of them.

        None if they were not listed.
        """
        return None if not self.directories else all(directory.is_empty for directory in self.directories)

    @property
    def directory_ids(self) -> frozenset[str]:
        """Return the directory ids that were read on the node's disk: of listed directories and of meta.properties."""
        named = ((self.meta_properties or {}).get("directory.id") or "").strip()
        listed = (directory.directory_id for directory in self.directories or ())
        return frozenset(id for id in (named, *listed) if id)


@frozen
class Observation:
    """Observation of a cluster at `time_ms` (milliseconds since the epoch).

    `connect` and `chroot` are those of zookeeper.connect, the chroot "" or with a slash before it. `logs` are by the id
    of the controller whose disk they are from. `cluster_id` is the one that the inventory names. `servers` are those of
    zookeeper.connect, None if they were not asked. `mirror` is known if the dual write was seen behind changes in
    the log. `lock` is that of the migration's driver, None if it was not read. `findings` say what of the
    observation could not be read.
    """

    time_ms: int
    """When the cluster was observed."""
    connect: str | None = None
    chroot: str = ""
    nodes: tuple[NodeSeen, ...] = ()
    tree: Tree | None = field(default=None, repr=False)
    servers: tuple[ServerSeen, ...] | None = None
    logs: Mapping[int, LogFacts] = field(default_factory=dict, repr=False)
    cluster_id: str | None = None
    mirror: Mirror | None = field(default=None, repr=False)
    lock: LockSeen | None = None
    """None where ZooKeeper's lock was not read."""
    findings: tuple[Finding, ...] = ()

    @property
    def is_zookeeper_read_only(self) -> bool:
        """Return True if a ZooKeeper server says that it has lost its quorum: nothing is written there until then."""
        return any(server.mode == "read-only" for server in self.servers or ())

    @property
    def brokers(self) -> tuple[NodeSeen, ...]:
        """Return the brokers, by id."""
        return self._of(Role.BROKER)

    @property
    def controllers(self) -> tuple[NodeSeen, ...]:
        """Return the KRaft controllers, by id."""
        return self._of(Role.CONTROLLER)

    def _of(self, role: Role) -> tuple[NodeSeen, ...]:
        return tuple(sorted((node for node in self.nodes if node.role is role), key=lambda node: node.id))

    def node(self, id: int, role: Role | None = None) -> NodeSeen | None:
        """Return the node with this id, of this role if one is given; None if it was not observed."""
        return next((node for node in self.nodes if node.id == id and role in (None, node.role)), None)

    @property
    def log(self) -> LogFacts | None:
        """Return the log that reaches furthest, in the order of a vote: by its last epoch, then by its end."""
        found = (self.logs[id] for id in sorted(self.logs))
        return max(found, key=lambda facts: (facts.epoch, facts.end_offset), default=None)

    @property
    def quorum(self) -> QuorumSeen | None:
        """Return the answer of the leader of the newest epoch, its own or through a broker; None without a leader."""
        answers = [
            node.quorum
            for node in sorted(self.nodes, key=lambda node: (node.role is not Role.CONTROLLER, node.id))
            if node.quorum is not None and node.quorum.leader_epoch is not None
        ]
        return max(answers, key=lambda quorum: quorum.leader_epoch or 0, default=None)
