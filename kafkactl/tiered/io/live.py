"""A live cluster as an observation: topics and settings, offsets, leader epochs, and the metadata topic whole.

The order makes the parts fit: the local log starts are read before the metadata topic, so that every segment that was
deleted locally by then is in it, and the log starts after it, so that no segment that retention took meanwhile seems to
be missing. The topic is read as a broker reads it, without regard to transactions, up to the end that its leaders had
when reading began. What leaders do not answer is unknown, and a finding reports this.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from kafkactl.core.errors import UnreachableError
from kafkactl.core.findings import Finding, warning
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import REMOTE_LOG_METADATA
from kafkactl.core.values import ZERO_UUID, Uuid
from kafkactl.core.wording import counted, first_few
from kafkactl.kafka.client import Client
from kafkactl.protocol.schema.error_codes import error_code
from kafkactl.protocol.schema.rights import TOPIC_DENIED, Login, topic_not_authorised
from kafkactl.tiered.cluster_view import (
    REMOTE_STORAGE_ENABLE,
    BrokerView,
    ClusterView,
    MetadataLogView,
    MetadataTopicView,
    Offsets,
    PartitionView,
    ReplicaLog,
    TopicView,
)
from kafkactl.tiered.io.image import INTERNAL
from kafkactl.tiered.io.leaders import (
    ALL_TOPICS,
    EARLIEST,
    EARLIEST_LOCAL,
    LATEST,
    LATEST_TIERED,
    PENDING_UPLOAD,
    AnsweredOffset,
    FetchedMetadataLog,
    Leaders,
    PartitionName,
    batched,
)
from kafkactl.tiered.reading import PlacedRecord, read_records

NOT_ANSWERED: Final = "partitions-not-answered"
HIDDEN: Final = "topics-not-described"
NO_LEADER, SILENT, MOVED = "no-leader", "not-answered", "leader-moved"
_BEFORE: Final = {
    "earliest_local": EARLIEST_LOCAL,
    "latest_tiered": LATEST_TIERED,
    "earliest_pending_upload": PENDING_UPLOAD,
}
_AFTER: Final = {"earliest": EARLIEST, "latest": LATEST}
_NEEDED: Final = ("earliest_local", "earliest", "latest")  # every release that tiers answers these
_TOPIC_RESOURCE, _OWN_VALUE = 2, 1
_UNKNOWN_TOPIC: Final = 3
_UNKNOWN_TOPIC_ID: Final = 100
_ASKED_BY_ID: Final = 12  # the version of Metadata that asks for topics by id without a name
_MOST_SHOWN: Final = 1000
_MOST_NAMED: Final = 5  # in a command to paste
_NEEDED_ON_TOPICS: Final = ("Describe", "DescribeConfigs")
_NO_OFFSETS: Final = Offsets()


@frozen
class LiveObservation:
    """A cluster and its metadata topic. `findings` are about what was not answered."""

    view: ClusterView
    logs: tuple[FetchedMetadataLog, ...]
    findings: tuple[Finding, ...] = ()


def observe_cluster(client: Client, *, now_ms: int) -> LiveObservation:
    """Observe the tiered storage of a cluster; `now_ms` is the time, in milliseconds since the epoch.

    Raises UnreachableError `no-remote-log-metadata-topic`, `metadata-partition-not-given`, and why a node could not be
    reached. What a release does not answer (KIP-1005, KIP-1023) is unknown.
    """
    asking = Leaders(client, client.ask_any("Metadata", ALL_TOPICS).body)
    first = asking.metadata
    metadata = next((topic for topic in first["Topics"] if topic["Name"] == REMOTE_LOG_METADATA), None)
    named = _named(first)
    if metadata is None or metadata["ErrorCode"]:
        return _without_metadata_topic(client, asking, named, now_ms)
    configs = _configs(client, [topic["Name"] for topic in [*named, metadata]])
    epochs = _epochs(named)
    tiered = [key for key in epochs if _may_have_segments(configs.get(key[0]))]
    answers = {name: asking.offsets(tiered, timestamp) for name, timestamp in _BEFORE.items()}
    starts = asking.offsets(tiered, EARLIEST)
    lineages = asking.lineages({key: (epochs[key], start.offset) for key, start in starts.items()})
    logs, log_views = _metadata_logs(asking, metadata)
    answers |= {name: asking.offsets(tiered, timestamp) for name, timestamp in _AFTER.items()}
    last = asking.refresh()
    unknown = _not_answered(tiered, answers, epochs, last)
    offsets = {
        key: _NO_OFFSETS if key in unknown else _offsets({name: each.get(key) for name, each in answers.items()})
        for key in tiered
    }
    known = {key: lineage for key, lineage in lineages.items() if key not in unknown}
    # Leaders as they are now: what a leader answered that leads no more is not in the offsets.
    topics = {topic["TopicId"].raw: _topic(topic, configs, offsets, known) for topic in _named(last, configs)}
    hidden, others = _not_described(client, logs, topics)
    view = ClusterView(
        time_ms=now_ms,
        cluster_id=first["ClusterId"],
        metadata_topic=MetadataTopicView(
            name=REMOTE_LOG_METADATA,
            topic_id=metadata["TopicId"].raw,
            partitions=len(metadata["Partitions"]),
            configs=configs.get(REMOTE_LOG_METADATA),
            logs=log_views,
        ),
        topics=topics | hidden | others,
        brokers={broker: BrokerView(id=broker, alive=True) for broker in asking.brokers},
    )
    findings = (*_unknown_findings(unknown), *_hidden_findings(hidden, client.login))
    return LiveObservation(view=view, logs=logs, findings=findings)


def _without_metadata_topic(
    client: Client, asking: Leaders, named: Sequence[Mapping[str, Any]], now_ms: int
) -> LiveObservation:
    """Return the view of a cluster that has no metadata topic, if some of its topics are tiered.

    Asked for by its name, a topic that this user may not describe is refused with TOPIC_AUTHORIZATION_FAILED, whether
    or not the topic exists (`KafkaApis.scala`, `handleTopicMetadataRequest`).
    """
    asked = {"Topics": [{"TopicId": ZERO_UUID, "Name": REMOTE_LOG_METADATA}], "AllowAutoTopicCreation": False}
    codes = {topic["ErrorCode"] for topic in client.ask_any("Metadata", asked).body["Topics"]}
    if TOPIC_DENIED in codes:
        raise topic_not_authorised("Metadata", REMOTE_LOG_METADATA, ("Describe", "Read"), client.login)
    if codes != {_UNKNOWN_TOPIC}:
        names = first_few([error_code(code).name for code in sorted(codes)])
        raise UnreachableError(
            f"the topic {REMOTE_LOG_METADATA} is not shown to this user{f': {names}' if names else ''}",
            id="no-remote-log-metadata-topic",
        )
    configs = _configs(client, [topic["Name"] for topic in named])
    topics = {topic["TopicId"].raw: _topic(topic, configs, {}, {}) for topic in named}
    if not any(topic.is_tiered for topic in topics.values()):
        raise UnreachableError(
            f"the cluster has no topic {REMOTE_LOG_METADATA}, and no topic with remote.storage.enable=true",
            id="no-remote-log-metadata-topic",
            next_step="Kafka makes the topic when brokers with tiered storage start. Check the cluster's address.",
        )
    brokers = {broker: BrokerView(id=broker, alive=True) for broker in asking.brokers}
    view = ClusterView(time_ms=now_ms, cluster_id=asking.metadata["ClusterId"], topics=topics, brokers=brokers)
    return LiveObservation(view=view, logs=())


def _named(metadata: Mapping[str, Any], names: Iterable[str] | None = None) -> list[Mapping[str, Any]]:
    """Return the topics of users that were shown; of these names, if they are given."""
    wanted = None if names is None else set(names)
    return [
        topic
        for topic in metadata["Topics"]
        if not topic["ErrorCode"] and topic["Name"] not in INTERNAL and (wanted is None or topic["Name"] in wanted)
    ]


def _may_have_segments(configs: Mapping[str, str] | None) -> bool:
    """Return True if segments may be left after tiering was disabled; unreadable settings exclude nothing."""
    return configs is None or REMOTE_STORAGE_ENABLE in configs


def _epochs(topics: Iterable[Mapping[str, Any]]) -> dict[PartitionName, int]:
    """Return the leader epoch of each partition."""
    return {
        (topic["Name"], partition["PartitionIndex"]): partition["LeaderEpoch"]
        for topic in topics
        for partition in topic["Partitions"]
    }


def _not_answered(
    tiered: Iterable[PartitionName],
    answers: Mapping[str, Mapping[PartitionName, AnsweredOffset]],
    epochs: Mapping[PartitionName, int],
    last: Mapping[str, Any],
) -> dict[PartitionName, str]:
    """Return the tiered partitions whose leaders did not return every offset, or whose leader changed."""
    now = _epochs(_named(last))
    leaders = {
        (topic["Name"], partition["PartitionIndex"]): partition["LeaderId"]
        for topic in last["Topics"]
        for partition in topic["Partitions"]
    }
    found = {}
    for key in tiered:
        if key not in now:  # deleted meanwhile
            continue
        if leaders[key] < 0:
            found[key] = NO_LEADER
        elif now[key] != epochs[key]:
            found[key] = MOVED
        elif any(key not in answers[name] for name in _NEEDED):
            found[key] = SILENT
    return found


def _unknown_findings(unknown: Mapping[PartitionName, str]) -> Iterator[Finding]:
    if not unknown:
        return
    shown = sorted(unknown.items())[:_MOST_SHOWN]
    yield warning(
        NOT_ANSWERED,
        "cluster",
        f"the leaders of {counted(len(unknown), 'partition')} did not answer for their offsets "
        f"({first_few([f'{topic}-{number}' for (topic, number), _ in shown], 5)}): holes and lost segments of these "
        "partitions are not reported",
        "Run the command again when every partition has a leader that answers.",
        partitions=[{"topic": topic, "partition": number, "why": why} for (topic, number), why in shown],
        partitions_total=len(unknown),
    )


def _not_described(
    client: Client, logs: Iterable[FetchedMetadataLog], topics: Mapping[bytes, TopicView]
) -> tuple[dict[bytes, TopicView], dict[bytes, TopicView]]:
    """Return the topics that records name, that exist, and that are not among the described ones: those that are
    hidden from this user, and others.

    An answer about all topics leaves out those that this user may not describe, as if they were deleted, and a topic
    may be created during the observation. Asked for by its id, only a topic that does not exist is answered with
    UNKNOWN_TOPIC_ID (`KafkaApis.scala`, `handleTopicMetadataRequest`).
    """
    names: dict[bytes, str] = {}
    for log in logs:
        for found in read_records(log.pieces(), file=f"cluster:{REMOTE_LOG_METADATA}-{log.partition}"):
            if isinstance(found, PlacedRecord) and found.record is not None:
                names.setdefault(found.record.key.topic_id, found.record.topic)
    missing = [topic_id for topic_id in names if topic_id not in topics]
    hidden: dict[bytes, TopicView] = {}
    others: dict[bytes, TopicView] = {}
    for part in batched(missing):
        asked = [{"TopicId": Uuid(topic_id), "Name": None} for topic_id in part]
        answer = client.ask_any("Metadata", {"Topics": asked, "AllowAutoTopicCreation": False})
        if answer.version < _ASKED_BY_ID:
            break
        for topic in answer.body["Topics"]:
            raw = topic["TopicId"].raw
            if topic["ErrorCode"] != _UNKNOWN_TOPIC_ID and raw in names:
                target = hidden if topic["ErrorCode"] == TOPIC_DENIED else others
                target[raw] = TopicView(name=names[raw], topic_id=raw)
    return hidden, others


def _hidden_findings(hidden: Mapping[bytes, TopicView], login: Login) -> Iterator[Finding]:
    if not hidden:
        return
    names = sorted(topic.name for topic in hidden.values())
    yield warning(
        HIDDEN,
        "cluster",
        f"{counted(len(hidden), 'topic')} with remote segments ({first_few(names, 5)}) exist and may not be described "
        "by this user: their leaders and offsets are not known, and holes of these topics are not reported",
        "Have an administrator add the rights on every tiered topic: "
        + login.grant_on_topics(_NEEDED_ON_TOPICS, names[:_MOST_NAMED]),
        topics=[{"topic": topic.name, "topic_id": str(Uuid(raw))} for raw, topic in list(hidden.items())[:_MOST_SHOWN]],
        topics_total=len(hidden),
    )


def _offsets(answers: Mapping[str, AnsweredOffset | None]) -> Offsets:
    """Return the offsets of one partition by the names of the fields in the leader's answers."""
    known = {name: answer for name, answer in answers.items() if answer is not None}
    epochs = {name: answer.leader_epoch for name, answer in known.items() if answer.leader_epoch is not None}
    return Offsets(**{name: answer.offset for name, answer in known.items()}, leader_epochs=epochs)


def _topic(
    topic: Mapping[str, Any],
    configs: Mapping[str, Mapping[str, str] | None],
    offsets: Mapping[PartitionName, Offsets],
    lineages: Mapping[PartitionName, tuple[tuple[int, int], ...]],
) -> TopicView:
    name = topic["Name"]
    partitions = {}
    for partition in topic["Partitions"]:
        key = name, partition["PartitionIndex"]
        lineage = lineages.get(key, ())
        log = ReplicaLog(broker_id=partition["LeaderId"], leader_epochs=lineage)
        partitions[key[1]] = PartitionView(
            partition=key[1],
            leader=partition["LeaderId"],
            leader_epoch=partition["LeaderEpoch"],
            replicas=tuple(partition["ReplicaNodes"]),
            isr=tuple(partition["IsrNodes"]),
            offsets=offsets.get(key),
            replica_logs=(log,) if lineage else (),
        )
    return TopicView(name=name, topic_id=topic["TopicId"].raw, configs=configs.get(name), partitions=partitions)


def _configs(client: Client, topics: Sequence[str]) -> dict[str, dict[str, str] | None]:
    """Return the own settings of topics, secrets left out; None for topics that this user may not describe."""
    found: dict[str, dict[str, str] | None] = {}
    for names in batched(topics):
        resources = [
            {"ResourceType": _TOPIC_RESOURCE, "ResourceName": name, "ConfigurationKeys": None} for name in names
        ]
        for result in client.ask_any("DescribeConfigs", {"Resources": resources}).body["Results"]:
            found[result["ResourceName"]] = None if result["ErrorCode"] else _own(result["Configs"])
    return found


def _own(configs: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    return {
        config["Name"]: config["Value"]
        for config in configs
        if config["ConfigSource"] == _OWN_VALUE and config["Value"] is not None and not config["IsSensitive"]
    }


def _metadata_logs(
    asking: Leaders, topic: Mapping[str, Any]
) -> tuple[tuple[FetchedMetadataLog, ...], dict[int, MetadataLogView]]:
    keys = sorted((REMOTE_LOG_METADATA, partition["PartitionIndex"]) for partition in topic["Partitions"])
    starts, ends = asking.offsets(keys, EARLIEST), asking.offsets(keys, LATEST)
    logs, views = [], {}
    for key in keys:
        start, end = (each[key].offset if key in each else None for each in (starts, ends))
        views[key[1]] = MetadataLogView(
            partition=key[1], leader=asking.led.get(key), log_start_offset=start, end_offset=end
        )
        if start is not None and end is not None:
            logs.append(asking.fetch(topic["TopicId"], key[1], start, end))
    return tuple(logs), views
