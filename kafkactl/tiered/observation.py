"""observation.json: what `kafkactl tiered observe` saves in addition to the logs, as a value and as JSON.

Fields of other names are ignored, missing ones are unknown. Raises InputError `invalid-observation` with the path of
the field.
"""

from __future__ import annotations

from typing import Any, Final

from kafkactl.core.json_fields import JsonFields
from kafkactl.core.kafka_names import REMOTE_LOG_METADATA
from kafkactl.core.values import Uuid
from kafkactl.tiered.cluster_view import (
    BrokerView,
    ClusterView,
    MetadataLogView,
    MetadataTopicView,
    Offsets,
    PartitionView,
    ReplicaLog,
    TopicView,
)

KIND: Final = "tiered.observation"
SCHEMA_VERSION: Final = 1
_NEXT_STEP: Final = "Take an observation with `kafkactl tiered observe`, or correct the file."
_OFFSETS: Final = ("earliest", "latest", "earliest_local", "latest_tiered", "earliest_pending_upload")


def parse_observation(document: object, *, file: str) -> ClusterView:
    """Return the view that an observation.json holds."""
    top = JsonFields(document, file=file, next_step=_NEXT_STEP)
    kind, version = top.text("kind"), top.number("schema_version")
    if kind != KIND or version != SCHEMA_VERSION:
        found = f"{kind!r}, version {version}"
        raise top.invalid("kind", f"expected {KIND!r} of schema_version {SCHEMA_VERSION}, found {found}")
    topics = top.listed("topics", _topic)
    brokers = top.listed("brokers", _broker)
    return ClusterView(
        time_ms=top.number("time_ms"),
        cluster_id=top.text("cluster_id"),
        metadata_topic=top.part("metadata_topic", _metadata_topic),
        topics=None if topics is None else {topic.topic_id: topic for topic in topics},
        topics_until_ms=top.number("topics_until_ms"),
        removed_topics=frozenset(top.listed("removed_topics", _removed) or ()),
        brokers=None if brokers is None else {broker.id: broker for broker in brokers},
    )


def listing_time(document: object, *, file: str) -> int | None:
    """Return when the listing in an observation was made; None if that is unknown."""
    return JsonFields(document, file=file, next_step=_NEXT_STEP).number("bucket_time_ms")


def _removed(fields: JsonFields) -> bytes:
    topic_id = fields.uuid("topic_id")
    if topic_id is None:
        raise fields.invalid("topic_id", "missing")
    return topic_id


def _metadata_topic(fields: JsonFields) -> MetadataTopicView:
    logs = fields.listed("logs", _metadata_log) or []
    return MetadataTopicView(
        name=fields.text("name") or REMOTE_LOG_METADATA,
        topic_id=fields.uuid("topic_id"),
        partitions=fields.number("partitions"),
        configured_partitions=fields.number("configured_partitions"),
        configs=fields.texts("configs"),
        logs={log.partition: log for log in logs},
    )


def _metadata_log(fields: JsonFields) -> MetadataLogView:
    return MetadataLogView(
        partition=fields.needed("partition"),
        leader=fields.number("leader"),
        log_start_offset=fields.number("log_start_offset"),
        end_offset=fields.number("end_offset"),
    )


def _broker(fields: JsonFields) -> BrokerView:
    return BrokerView(id=fields.needed("id"), alive=fields.flag("alive"), kafka_version=fields.text("kafka_version"))


def _topic(fields: JsonFields) -> TopicView:
    topic_id, name = fields.uuid("topic_id"), fields.text("name")
    if topic_id is None or name is None:
        raise fields.invalid("topic_id" if topic_id is None else "name", "missing")
    partitions = fields.listed("partitions", _partition) or []
    return TopicView(
        name=name,
        topic_id=topic_id,
        configs=fields.texts("configs"),
        partitions={partition.partition: partition for partition in partitions},
    )


def _partition(fields: JsonFields) -> PartitionView:
    return PartitionView(
        partition=fields.needed("partition"),
        leader=fields.number("leader"),
        leader_epoch=fields.number("leader_epoch"),
        replicas=fields.numbers("replicas"),
        isr=fields.numbers("isr"),
        offsets=fields.part("offsets", _offsets),
        replica_logs=tuple(fields.listed("replica_logs", _replica_log) or ()),
    )


def _offsets(fields: JsonFields) -> Offsets:
    found = {name: fields.offset(name) for name in _OFFSETS}
    known = {name: offset for name, offset in found.items() if offset is not None}
    epochs = {name: epoch for name, (_, epoch) in known.items() if epoch is not None}
    return Offsets(**{name: offset for name, (offset, _) in known.items()}, leader_epochs=epochs)


def _replica_log(fields: JsonFields) -> ReplicaLog:
    epochs = fields.listed("leader_epochs", lambda entry: (entry.needed("leader_epoch"), entry.needed("start_offset")))
    segments = fields.listed("segments", lambda entry: (entry.needed("base_offset"), entry.number("bytes") or 0))
    return ReplicaLog(
        broker_id=fields.number("broker_id"),
        log_end_offset=fields.number("log_end_offset"),
        leader_epochs=tuple(sorted(epochs or ())),
        segments=None if segments is None else tuple(sorted(segments)),
    )


def observation_document(
    view: ClusterView, *, time_ms: int | None, bucket_time_ms: int | None = None
) -> dict[str, Any]:
    """Return the JSON of a view; the logs of replicas that were found on disks are with their partitions."""
    topic = view.metadata_topic
    return {
        "kind": KIND,
        "schema_version": SCHEMA_VERSION,
        "time_ms": time_ms,
        "bucket_time_ms": bucket_time_ms,
        "topics_until_ms": view.topics_until_ms,
        "removed_topics": [{"topic_id": str(Uuid(topic_id))} for topic_id in sorted(view.removed_topics)],
        "cluster_id": view.cluster_id,
        "metadata_topic": None if topic is None else _metadata_topic_document(topic),
        "brokers": None if view.brokers is None else [
            {"id": broker.id, "alive": broker.alive, "kafka_version": broker.kafka_version}
            for broker in sorted(view.brokers.values(), key=lambda found: found.id)
        ],
        "topics": None if view.topics is None else [
            {
                "name": found.name,
                "topic_id": str(Uuid(found.topic_id)),
                "configs": None if found.configs is None else dict(sorted(found.configs.items())),
                "partitions": [
                    _partition_document(partition, view.replica_logs(found.topic_id, number))
                    for number, partition in sorted(found.partitions.items())
                ],
            }
            for found in sorted(view.topics.values(), key=lambda found: (found.name, found.topic_id))
        ],
    }  # fmt: skip


def _metadata_topic_document(topic: MetadataTopicView) -> dict[str, Any]:
    return {
        "name": topic.name,
        "topic_id": None if topic.topic_id is None else str(Uuid(topic.topic_id)),
        "partitions": topic.partitions,
        "configured_partitions": topic.configured_partitions,
        "configs": None if topic.configs is None else dict(topic.configs),
        "logs": [
            {
                "partition": log.partition,
                "leader": log.leader,
                "log_start_offset": log.log_start_offset,
                "end_offset": log.end_offset,
            }
            for _, log in sorted(topic.logs.items())
        ],
    }


def _offset_document(offsets: Offsets, name: str) -> dict[str, Any] | None:
    offset = getattr(offsets, name)
    return None if offset is None else {"offset": offset, "leader_epoch": offsets.leader_epochs.get(name)}


def _partition_document(partition: PartitionView, logs: tuple[ReplicaLog, ...]) -> dict[str, Any]:
    offsets = partition.offsets
    return {
        "partition": partition.partition,
        "leader": partition.leader,
        "leader_epoch": partition.leader_epoch,
        "replicas": None if partition.replicas is None else list(partition.replicas),
        "isr": None if partition.isr is None else list(partition.isr),
        "offsets": None if offsets is None else {name: _offset_document(offsets, name) for name in _OFFSETS},
        "replica_logs": [
            {
                "broker_id": log.broker_id,
                "log_end_offset": log.log_end_offset,
                "leader_epochs": [{"leader_epoch": epoch, "start_offset": at} for epoch, at in log.leader_epochs],
                "segments": None if log.segments is None else [
                    {"base_offset": base, "bytes": size} for base, size in log.segments
                ],
            }
            for log in logs
        ],
    }  # fmt: skip
