"""Topics, brokers and settings out of the cluster's metadata log."""

from __future__ import annotations

from typing import Final

from kafkactl.core.findings import Finding, Severity
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.kafka_names import METADATA_TOPIC, REMOTE_LOG_METADATA
from kafkactl.metadata.dump.records import log_records
from kafkactl.metadata.image.model import BROKER_CONFIG, TOPIC_CONFIG, Image, Topic
from kafkactl.metadata.io.image import Point, load_image
from kafkactl.metadata.io.source import open_source
from kafkactl.protocol.log.frame import MetadataRecord
from kafkactl.tiered.cluster_view import (
    NO_TOPIC_IS_GONE,
    BrokerView,
    ClusterView,
    MetadataTopicView,
    PartitionView,
    TopicView,
)

# Topics of Kafka itself: they are never tiered (`Topic.INTERNAL_TOPICS` and the metadata topics).
INTERNAL: Final = frozenset(
    {
        REMOTE_LOG_METADATA,
        METADATA_TOPIC,
        "__consumer_offsets",
        "__share_group_state",
        "__transaction_state",
    }
)
_REMOVE_TOPIC: Final = "RemoveTopicRecord"
# Cluster-wide dynamic settings of brokers, and those of the metadata topic that they are the default of.
_DEFAULTS: Final = {
    "log.retention.ms": "retention.ms",
    "log.retention.bytes": "retention.bytes",
    "log.cleanup.policy": "cleanup.policy",
}


@frozen
class MetadataView:
    """State by the metadata log of a cluster, and the findings about what is missing or damaged in the log."""

    view: ClusterView
    findings: tuple[Finding, ...]


def view_of_metadata(path: str) -> MetadataView:
    """Return the state at the end of the log in a folder or file. Raise InputError as `open_source` and
    `load_image`."""
    source = open_source(path)
    loaded = load_image(source, Point())
    time_ms = None if loaded.position is None else loaded.position.timestamp_ms
    view = _view(loaded.image, source.cluster_id, time_ms)
    findings = tuple(finding for finding in loaded.findings if finding.severity is not Severity.INFO)
    if time_ms is None or findings:
        view = changed(view, topics_until_ms=NO_TOPIC_IS_GONE)  # the record of a topic may be what is missing
    return MetadataView(view=view, findings=findings)


def removed_topics(path: str, topic_ids: frozenset[bytes]) -> frozenset[bytes]:
    """Return those of the topics that the cluster's log removed, as far back as its segments reach.

    Raises InputError as `open_source`.
    """
    found = set()
    for file in open_source(path).segments:
        for record in log_records(file.pieces(), file=file.name):
            value = record.record
            if isinstance(value, MetadataRecord) and value.type == _REMOVE_TOPIC:
                found.add(value.data["TopicId"].raw)
    return frozenset(found & topic_ids)


def _view(image: Image, cluster_id: str | None, time_ms: int | None) -> ClusterView:
    metadata_topic = image.topic(REMOTE_LOG_METADATA)
    return ClusterView(
        time_ms=time_ms,
        cluster_id=cluster_id,
        metadata_topic=None if metadata_topic is None else _metadata_topic(image, metadata_topic),
        topics={
            topic_id.raw: _topic(image, topic) for topic_id, topic in image.topics.items() if topic.name not in INTERNAL
        },
        topics_until_ms=time_ms,
        brokers={broker.id: BrokerView(id=broker.id, alive=not broker.fenced) for broker in image.brokers.values()},
    )


def _metadata_topic(image: Image, topic: Topic) -> MetadataTopicView:
    defaults = image.configs.get((BROKER_CONFIG, ""), {})
    configs = {name: defaults[key] for key, name in _DEFAULTS.items() if key in defaults}
    return MetadataTopicView(
        name=topic.name,
        topic_id=topic.id.raw,
        partitions=len(topic.partitions),
        configs=configs | _configs(image, topic.name),
    )


def _configs(image: Image, topic: str) -> dict[str, str]:
    return dict(image.configs.get((TOPIC_CONFIG, topic), {}))


def _topic(image: Image, topic: Topic) -> TopicView:
    return TopicView(
        name=topic.name,
        topic_id=topic.id.raw,
        configs=_configs(image, topic.name),
        partitions={
            number: PartitionView(
                partition=number,
                leader=partition.leader,
                leader_epoch=partition.leader_epoch,
                replicas=partition.replicas,
                isr=partition.isr,
            )
            for number, partition in topic.partitions.items()
        },
    )
