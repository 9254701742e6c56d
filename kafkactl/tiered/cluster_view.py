"""Facts about a cluster in addition to its remote log metadata.

Every part may be missing: None means unknown.

These are the parts of an observation (`observation.py`). Each part is read from a broker's log directory, from the
cluster's metadata log or from the live cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from kafkactl.core.frozen import frozen
from kafkactl.tiered.lineage import Lineage

REMOTE_STORAGE_ENABLE: Final = "remote.storage.enable"
COPY_DISABLE: Final = "remote.log.copy.disable"
CLOCKS_APART_MS: Final = 60_000  # between the brokers that wrote records and the controller that wrote the log
NO_TOPIC_IS_GONE: Final = 0  # `topics_until_ms` of topics that may be incomplete: no time is before it


@frozen
class Offsets:
    """Answer of a leader to ListOffsets; None if it was not asked or did not answer. `leader_epochs` are those of the
    offsets that have one, by the names of the fields."""

    earliest: int | None = None
    latest: int | None = None
    earliest_local: int | None = None
    latest_tiered: int | None = None
    earliest_pending_upload: int | None = None
    leader_epochs: Mapping[str, int] = field(default_factory=dict)


@frozen
class ReplicaLog:
    """The local log of one replica: leader epochs as (epoch, first offset), segments as (base offset, bytes).

    `segments` None: not listed. `broker_id` None: a disk without a meta.properties.
    """

    broker_id: int | None
    log_end_offset: int | None = None
    leader_epochs: tuple[tuple[int, int], ...] = ()
    segments: tuple[tuple[int, int], ...] | None = None

    def lineage(self, log_end: int | None = None) -> Lineage | None:
        """Return the lineage of the log; None if its leader epochs are unknown."""
        end = self.log_end_offset if log_end is None else log_end
        return Lineage(self.leader_epochs, end) if self.leader_epochs else None

    @property
    def local_start(self) -> int | None:
        """Return the base offset of its first segment."""
        return min((base for base, _ in self.segments), default=None) if self.segments else None


@frozen
class PartitionView:
    """A user partition. `leader` is -1 for none, None if it is not known."""

    partition: int
    leader: int | None = None
    leader_epoch: int | None = None
    replicas: tuple[int, ...] | None = None
    isr: tuple[int, ...] | None = None
    offsets: Offsets | None = None
    replica_logs: tuple[ReplicaLog, ...] = ()


@frozen
class TopicView:
    """A topic. `configs` are its own settings, None if they are not known."""

    name: str
    topic_id: bytes
    configs: Mapping[str, str] | None = None
    partitions: Mapping[int, PartitionView] = field(default_factory=dict)

    @property
    def is_tiered(self) -> bool | None:
        """Return whether the topic has `remote.storage.enable`; None if its settings are unknown."""
        return None if self.configs is None else self.configs.get(REMOTE_STORAGE_ENABLE, "false").lower() == "true"


@frozen
class BrokerView:
    """A broker; `alive` None: not known."""

    id: int
    alive: bool | None = None
    kafka_version: str | None = None


@frozen
class MetadataLogView:
    """Leader and offsets of a metadata partition, as the cluster gave them."""

    partition: int
    leader: int | None = None
    log_start_offset: int | None = None
    end_offset: int | None = None


@frozen
class MetadataTopicView:
    """The topic `__remote_log_metadata`. `configured_partitions` is what the brokers are configured with."""

    name: str
    topic_id: bytes | None = None
    partitions: int | None = None
    configured_partitions: int | None = None
    configs: Mapping[str, str] | None = None
    logs: Mapping[int, MetadataLogView] = field(default_factory=dict)


@frozen
class ClusterView:
    """State of a cluster. `topics` and `brokers` None: not known; else complete except for Kafka's own topics.

    `disks` are replica logs found on disks, by user partition, whether or not the topic is known. `topics_until_ms` is
    the end of the metadata log that the topics are from, None if brokers were asked for them. `removed_topics` are
    those that the metadata log is known to have removed.
    """

    time_ms: int | None = None
    cluster_id: str | None = None
    metadata_topic: MetadataTopicView | None = None
    topics: Mapping[bytes, TopicView] | None = None
    topics_until_ms: int | None = None
    removed_topics: frozenset[bytes] = frozenset()
    brokers: Mapping[int, BrokerView] | None = None
    disks: Mapping[tuple[bytes, int], tuple[ReplicaLog, ...]] = field(default_factory=dict)

    def exists(self, topic_id: bytes, first_ms: int | None) -> bool | None:
        """Return whether the topic exists; None if that is unknown.

        A topic that a metadata log does not have was deleted only if its first record (`first_ms`) is older than the
        end of that log: a topic that was created after a copy of the log was made is not in the copy either.
        """
        if self.topics is None:
            return None
        if topic_id in self.topics:
            return True
        if topic_id in self.removed_topics:
            return False
        until_ms = self.topics_until_ms
        return None if until_ms is not None and (first_ms is None or first_ms > until_ms - CLOCKS_APART_MS) else False

    def partition(self, topic_id: bytes, partition: int) -> PartitionView | None:
        """Return a user partition as the cluster knows it."""
        topic = None if self.topics is None else self.topics.get(topic_id)
        return None if topic is None else topic.partitions.get(partition)

    def replica_logs(self, topic_id: bytes, partition: int) -> tuple[ReplicaLog, ...]:
        """Return the logs of the partition's replicas, those from disks before those from the cluster."""
        known = self.partition(topic_id, partition)
        return (*self.disks.get((topic_id, partition), ()), *(() if known is None else known.replica_logs))

    def alive(self, broker_id: int) -> bool | None:
        """Return False for a broker that is fenced, down or not registered; None if its state is unknown."""
        if self.brokers is None:
            return None
        broker = self.brokers.get(broker_id)
        return False if broker is None else broker.alive
