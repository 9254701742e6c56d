"""Values of Kafka's znodes. The image's own class is used if it has the same entity.

Numbers of resource types, operations and so on are those of the wire (`clients/.../resource`, `clients/.../acl`).
Layouts: core `kafka/zk/ZkData.scala` of 3.9.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from kafkactl.core.findings import Finding
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Uuid
from kafkactl.metadata.image.model import DelegationToken, QuotaEntity, ScramCredential, ScramKey


@frozen
class ZkController:
    """`/controller`. `kraft_epoch` is None for a znode of version 1, -1 or None for a ZooKeeper controller.

    `ephemeral` is None if a saved tree lacks the znode's owner.
    """

    broker_id: int
    kraft_epoch: int | None
    ephemeral: bool | None
    version: int

    @property
    def is_kraft(self) -> bool:
        """Return True if a KRaft controller holds it."""
        return self.kraft_epoch is not None and self.kraft_epoch >= 0


@frozen
class ZkBroker:
    """`/brokers/ids/N`. `epoch` is the broker epoch (czxid); endpoints are texts such as `SSL://host:9093`."""

    id: int
    epoch: int
    version: int
    endpoints: tuple[str, ...]
    security_protocols: Mapping[str, str]
    rack: str | None
    features: Mapping[str, tuple[int, int]]


@frozen
class ZkPartitionState:
    """`/brokers/topics/T/partitions/P/state`. `partition_epoch` is the version of the znode."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    leader_recovery_state: int
    controller_epoch: int
    partition_epoch: int


@frozen
class ZkPartition:
    """Partition of a topic: its part of the topic's znode, and its state, None if there is none that Kafka can read."""

    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    removing_replicas: tuple[int, ...]
    state: ZkPartitionState | None


@frozen
class ZkTopic:
    """`/brokers/topics/T`; `id` is None before a controller of 2.8 or later has given it one."""

    name: str
    id: Uuid | None
    partitions: Mapping[int, ZkPartition]


@frozen
class ZkAcl:
    """Access control entry."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int


@frozen
class ZkProducerIds:
    """`/latest_producer_id_block`; `end` belongs to the block."""

    broker_id: int
    start: int
    end: int


@frozen
class ZkMigration:
    """`/migration`: what the migration driver remembers. The offset is -1 before the copy."""

    controller_id: int
    controller_epoch: int
    metadata_offset: int
    metadata_epoch: int
    version: int
    mtime_ms: int


@frozen
class ZkFeatures:
    """`/feature`. `levels` are the finalized levels (the upper ends in version 1)."""

    version: int
    enabled: bool
    levels: Mapping[str, int]


@frozen
class ZkReassignment:
    """A partition in `/admin/reassign_partitions`, which KRaft does not carry on."""

    topic: str
    partition: int
    replicas: tuple[int, ...]


@frozen
class KafkaTree:
    """A ZooKeeper cluster's metadata. None and empty mean that it is not there or cannot be read; see the findings.

    `knows_brokers` is false if the tree does not show `/brokers/ids`: that no broker is there says nothing then.
    Configs are by entity, "" for the default; their password values are unchanged (encrypted, or in plain where
    no encoder secret is set). `pending_deletions` are the topics in `/admin/delete_topics`; `notifications` counts
    the znodes of each kind that wait to be read. `hidden` are the paths whose data the observation does not show, and
    after a blank the key of a config if only its value is not shown; `hidden_scram` the credentials among them.
    """

    cluster_id: str | None = None
    controller: ZkController | None = None
    controller_epoch: int | None = None
    migration: ZkMigration | None = None
    features: ZkFeatures | None = None
    knows_brokers: bool = True
    brokers: Mapping[int, ZkBroker] = field(default_factory=dict)
    topics: Mapping[str, ZkTopic] = field(default_factory=dict)
    topic_configs: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    broker_configs: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    client_quotas: Mapping[QuotaEntity, Mapping[str, float]] = field(default_factory=dict)
    scram: Mapping[ScramKey, ScramCredential] = field(default_factory=dict)
    acls: tuple[ZkAcl, ...] = ()
    delegation_tokens: Mapping[str, DelegationToken] = field(default_factory=dict)
    producer_ids: ZkProducerIds | None = None
    pending_deletions: tuple[str, ...] = ()
    reassignments: tuple[ZkReassignment, ...] = ()
    preferred_elections: tuple[tuple[str, int], ...] = ()
    notifications: Mapping[str, int] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()
    hidden_scram: tuple[ScramKey, ...] = ()
    findings: tuple[Finding, ...] = ()
