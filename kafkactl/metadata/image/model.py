"""The image: everything that a KRaft cluster knows, as one value.

`replay.replay(records, start=EMPTY)` folds records of the metadata log (or of a snapshot) into it, `image_json` gives
its canonical form, `lint` says what does not fit together, `snapshot_writer` turns it into a checkpoint. Kafka's own is
`MetadataImage`; this one also keeps what Kafka's drops while it reads (voters, the ZooKeeper migration state, a
FeatureLevelRecord of kraft.version), for a tool has to show what is in the log.

All parts are mappings, in no promised order; treat them as read-only. Keys are Kafka's: topics by id, partitions by
number, brokers and controllers by node id, configs by (resource type, name), quotas by entity, ACLs by id, SCRAM
credentials by (mechanism, user), tokens by token id. A partition is a `Partition`, made when it is asked for: a
cluster can have a million, and `Partitions.states` holds each as one plain tuple (`PartitionState`) in which equal
lists are one object.

Why it is so: docs/decisions/0008-the-image.md.

Sources: `metadata/.../image/MetadataImage.java` and the images of its parts; field names as in the record definitions.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from kafkactl.cluster.quorum.voter_sets import Voter
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import METADATA_VERSION
from kafkactl.core.values import Uuid
from kafkactl.protocol.log.frame import MetadataRecord

if TYPE_CHECKING:
    from kafkactl.metadata.image.health import PartitionHealth

# Types of config resources (clients/.../config/ConfigResource.java).
TOPIC_CONFIG, BROKER_CONFIG, CLIENT_METRICS_CONFIG, GROUP_CONFIG = 2, 4, 16, 32
RECOVERED, RECOVERING = 0, 1  # LeaderRecoveryState.java
# Directory ids that are not directories (server-common/.../DirectoryId.java).
MIGRATING, UNASSIGNED, LOST = (Uuid(number.to_bytes(16, "big")) for number in range(3))

ConfigKey: TypeAlias = tuple[int, str]
QuotaEntity: TypeAlias = tuple[tuple[str, str | None], ...]  # (entity type, name or None for the default), by type
ScramKey: TypeAlias = tuple[int, str]  # mechanism (1: SHA-256, 2: SHA-512), user


class Partition(NamedTuple):
    """Partition (`PartitionRegistration.java`). Lists are in the order of the records.

    `directories` has one id for each replica; `leader` is -1 for none; `leader_recovery_state` 0 or 1 (RECOVERING).
    """

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    removing_replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    leader: int
    leader_recovery_state: int
    leader_epoch: int
    partition_epoch: int
    directories: tuple[Uuid, ...]
    eligible_leader_replicas: tuple[int, ...]
    last_known_elr: tuple[int, ...]


# The fields of Partition in their order, with the directory ids joined into one byte string: nothing in it is of
# interest to the garbage collector, which then leaves a million of them alone.
PartitionState: TypeAlias = tuple[
    tuple[int, ...],
    tuple[int, ...],
    tuple[int, ...],
    tuple[int, ...],
    int,
    int,
    int,
    int,
    bytes,
    tuple[int, ...],
    tuple[int, ...],
]
# The place of each field in it.
REPLICAS_AT: Final = 0
ISR_AT: Final = 1
REMOVING_AT: Final = 2
ADDING_AT: Final = 3
LEADER_AT: Final = 4
RECOVERY_AT: Final = 5
LEADER_EPOCH_AT: Final = 6
PARTITION_EPOCH_AT: Final = 7
DIRECTORIES_AT: Final = 8
ELR_AT: Final = 9
LAST_KNOWN_ELR_AT: Final = 10


def partition_of(state: PartitionState) -> Partition:
    """Return the partition of a state."""
    raw = state[DIRECTORIES_AT]
    directories = tuple(Uuid(raw[at : at + 16]) for at in range(0, len(raw), 16))
    return Partition._make((*state[:DIRECTORIES_AT], directories, *state[DIRECTORIES_AT + 1 :]))


def state_of(partition: Partition) -> PartitionState:
    """Return the state of a partition."""
    raw = b"".join(uuid.raw for uuid in partition.directories)
    return (*partition[:DIRECTORIES_AT], raw, *partition[DIRECTORIES_AT + 1 :])  # type: ignore[return-value]


def candidates(state: PartitionState) -> tuple[int, ...]:
    """Return the replicas of which Kafka elects one that serves: ISR and ELR, else the only last known leader."""
    last_known = state[LAST_KNOWN_ELR_AT]
    return (*state[ISR_AT], *state[ELR_AT]) or (last_known if len(last_known) == 1 else ())


def cleared(state: PartitionState) -> PartitionState:
    """Return the state after a ClearElrRecord about it (KIP-966): one with something to clear changes, and its
    partition epoch with it."""
    replicas, isr, removing, adding, leader, recovery, leader_epoch, epoch, directories, elr, last_known = state
    if not (elr or last_known):
        return state
    return replicas, isr, removing, adding, leader, recovery, leader_epoch, epoch + 1, directories, (), ()


class Partitions(Mapping[int, Partition]):
    """The partitions of a topic by number. `states` are the same as plain tuples: for the many, not to be changed."""

    __slots__ = ("states",)

    def __init__(self, states: Mapping[int, PartitionState]) -> None:
        self.states = states

    def __getitem__(self, partition: int) -> Partition:
        return partition_of(self.states[partition])

    def __iter__(self) -> Iterator[int]:
        return iter(self.states)

    def __len__(self) -> int:
        return len(self.states)

    def __contains__(self, partition: object) -> bool:
        return partition in self.states

    def __eq__(self, other: object) -> bool:
        return self.states == other.states if isinstance(other, Partitions) else NotImplemented

    def __hash__(self) -> int:
        return hash(frozenset(self.states))

    def __repr__(self) -> str:
        return f"Partitions({dict(self)!r})" if len(self) < 10 else f"<{len(self)} partitions>"


@frozen
class Topic:
    """A topic and its partitions."""

    name: str
    id: Uuid
    partitions: Partitions


@frozen
class Suspects:
    """Partitions that are not sound for sure, in the order of their topics: `listed`, each with the name of its topic
    and its number, and how many more there are with which nothing is wrong but that they have no leader."""

    listed: Iterator[tuple[str, int, PartitionState]]
    unlisted: int

    def __iter__(self) -> Iterator[tuple[str, int, PartitionState]]:
        return self.listed


class PackedTopics(Mapping[Uuid, Topic]):
    """Topics that are made when they are asked for, and that answer before that what is asked of all of them."""

    @abstractmethod
    def partition_count(self) -> int:
        """Return the number of partitions of all topics."""

    @abstractmethod
    def leaderless_count(self) -> int:
        """Return the number of partitions without a leader."""

    @abstractmethod
    def text(self) -> Iterator[str]:
        """Yield the topics as `json.image_text` does, in pieces."""

    @abstractmethod
    def heads(self) -> Sequence[tuple[str, bytes, int]]:
        """Name, raw id and number of partitions of each topic, in the order of names and ids."""

    @abstractmethod
    def numbering(self) -> Iterator[tuple[str, int, int, int]]:
        """Yield the name of each topic, its number of partitions, and the least and greatest number (-1: none)."""

    @abstractmethod
    def suspects(
        self, brokers: Mapping[int, Broker], *, has_elr: bool = False, most_leaderless: int | None = None
    ) -> Suspects:
        """Return the partitions that may not be sound on these brokers, with ELRs on or off; those that merely have no
        leader are listed up to a number."""

    @abstractmethod
    def health(self, least: Sequence[int]) -> PartitionHealth:
        """Count the partitions that are not in full order; `least` is min.insync.replicas of each topic in the order of
        `heads`, -1 if it is not known."""

    @abstractmethod
    def columns(self) -> Iterator[bytes]:
        """Yield the partitions of these topics column by column, as in `digest`."""


@frozen
class Listener:
    """Endpoint of a registered node. `security_protocol` is the number in `SecurityProtocol.java`."""

    name: str
    host: str
    port: int
    security_protocol: int


@frozen(kw_only=False)
class FeatureRange:
    """The levels of a feature that a node supports."""

    min: int
    max: int


@frozen
class Broker:
    """A broker's registration (`BrokerRegistration.java`). `epoch` is the broker epoch.

    `listeners`, `features` and `directories` are sorted. `cordoned` directories take no new partitions; None: the
    broker has not said (metadata.version before 4.3-IV0).
    """

    id: int
    epoch: int
    incarnation_id: Uuid
    listeners: tuple[Listener, ...]
    features: Mapping[str, FeatureRange]
    rack: str | None
    fenced: bool
    in_controlled_shutdown: bool
    is_migrating_zk_broker: bool
    directories: tuple[Uuid, ...]
    cordoned: tuple[Uuid, ...] | None

    @property
    def is_active(self) -> bool:
        """Return True if the broker may lead: it is not fenced and not in controlled shutdown."""
        return not self.fenced and not self.in_controlled_shutdown


@frozen
class Controller:
    """A controller's registration (`ControllerRegistration.java`, KIP-919)."""

    id: int
    incarnation_id: Uuid
    zk_migration_ready: bool
    listeners: tuple[Listener, ...]
    features: Mapping[str, FeatureRange]


@frozen
class Acl:
    """An access control entry; the numbers are those of `clients/.../acl` and `resource`."""

    id: Uuid
    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int


@frozen
class ScramCredential:
    """Credential of a user: secret, shown only if it is asked for."""

    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int


@frozen
class DelegationToken:
    """A delegation token (KIP-48, KIP-900). Its id is shown, its HMAC is not in the log. Times in milliseconds."""

    token_id: str
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_timestamp_ms: int
    max_timestamp_ms: int
    expiration_timestamp_ms: int


class LogRecord(NamedTuple):
    """A record and its place in the log: what `replay` takes. `record` is a MetadataRecord, ControlRecord, or the
    DecodeError of one that could not be read."""

    offset: int
    epoch: int
    timestamp_ms: int
    record: Any


@frozen
class OpenTransaction:
    """A metadata transaction (KIP-868) that has begun and not ended: its records are not yet part of the state."""

    begin_offset: int
    name: str | None
    records: tuple[tuple[int, MetadataRecord], ...] = field(repr=False)


@frozen
class Image:
    """The state of a cluster after some record of its metadata log. Two equal images are equal states.

    `features` are the FeatureLevelRecords in force (level 0 takes a feature away); `zk_migration_state` is that of the
    last ZkMigrationStateRecord (0: NONE, `ZkMigrationState.java`). `kraft_version` and `voters` come from control
    records and are None if there were none (a static quorum). `topic_ids` finds the id of a topic by its name. Of
    producer ids Kafka's image keeps the first of the next block, not who had the last.
    """

    features: Mapping[str, int] = field(default_factory=dict)
    zk_migration_state: int = 0
    kraft_version: int | None = None
    voters: tuple[Voter, ...] | None = None
    brokers: Mapping[int, Broker] = field(default_factory=dict)
    controllers: Mapping[int, Controller] = field(default_factory=dict)
    topics: Mapping[Uuid, Topic] = field(default_factory=dict)
    topic_ids: Mapping[str, Uuid] = field(default_factory=dict)
    configs: Mapping[ConfigKey, Mapping[str, str]] = field(default_factory=dict)
    client_quotas: Mapping[QuotaEntity, Mapping[str, float]] = field(default_factory=dict)
    next_producer_id: int | None = None
    acls: Mapping[Uuid, Acl] = field(default_factory=dict)
    scram: Mapping[ScramKey, ScramCredential] = field(default_factory=dict)
    delegation_tokens: Mapping[str, DelegationToken] = field(default_factory=dict)
    transaction: OpenTransaction | None = None

    @property
    def metadata_version(self) -> int | None:
        """Return the finalized level of metadata.version; None before its first record."""
        return self.features.get(METADATA_VERSION)

    def topic(self, name: str) -> Topic | None:
        """Return the topic of that name."""
        found = self.topic_ids.get(name)
        return None if found is None else self.topics[found]

    def partition_count(self) -> int:
        """Return the number of partitions of all topics."""
        if isinstance(self.topics, PackedTopics):
            return self.topics.partition_count()
        return sum(len(topic.partitions) for topic in self.topics.values())

    def leaderless_count(self) -> int:
        """Return the number of partitions without a leader."""
        if isinstance(self.topics, PackedTopics):
            return self.topics.leaderless_count()
        states = (state for topic in self.topics.values() for state in topic.partitions.states.values())
        return sum(state[LEADER_AT] < 0 for state in states)


EMPTY: Final = Image()
