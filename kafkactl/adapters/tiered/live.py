"""A live cluster as an observation: topics and settings, offsets, leader epochs, and the metadata topic whole.

The order makes the parts fit: the local log starts are read before the metadata topic, so that every segment that was
deleted locally by then is in it, and the log starts after it, so that no segment that retention took meanwhile seems to
be missing. The topic is read as a broker reads it, without regard to transactions, up to the end that its leaders had
when reading began.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from kafkactl.adapters.files.spool import Spool
from kafkactl.adapters.kafka.client import Client
from kafkactl.adapters.net.transport import Address
from kafkactl.adapters.tiered.image import INTERNAL
from kafkactl.errors import KafkactlError, UnreachableError
from kafkactl.frozen import frozen
from kafkactl.protocol.record_batch import decode_batches
from kafkactl.schema.error_codes import error_code
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
from kafkactl.tiered.states import REMOTE_LOG_METADATA
from kafkactl.values import Uuid

EARLIEST, LATEST, EARLIEST_LOCAL, LATEST_TIERED, PENDING_UPLOAD = -2, -1, -4, -5, -6  # ListOffsetsRequest.java
MOST_LOG_BYTES: Final = 16 * 1024**3
_TOPIC_RESOURCE, _OWN_VALUE = 2, 1
_AT_ONCE: Final = 1000
_PIECE_BYTES: Final = 8 * 1024 * 1024
_WAIT_MS: Final = 200
_ASKED_MS: Final = 10_000
_TOPIC_FIELD: Final = {"ListOffsets": "Name", "OffsetForLeaderEpoch": "Topic"}
_EMPTY_ANSWERS: Final = 50  # after which a leader is taken to give nothing
_MOST_EPOCHS: Final = 100_000
PartitionName: TypeAlias = tuple[str, int]
Lineages: TypeAlias = dict[PartitionName, tuple[tuple[int, int], ...]]


@frozen
class FetchedMetadataLog:
    """A metadata partition from `base_offset` up to `end_offset`; `pieces` gives its batches as they are on disk."""

    partition: int
    base_offset: int
    end_offset: int
    pieces: Callable[[], Iterable[bytes]]


@frozen
class LiveObservation:
    """A cluster and its metadata topic."""

    view: ClusterView
    logs: tuple[FetchedMetadataLog, ...]


def observe_cluster(client: Client, *, now_ms: int) -> LiveObservation:
    """Everything that brokers answer about tiered storage; `now_ms` is the time, in milliseconds since the epoch.

    Raises UnreachableError `no-remote-log-metadata-topic`, `metadata-partition-not-given`, and why a node could not be
    reached. What a release does not answer (KIP-1005, KIP-1023) is unknown.
    """
    cluster = client.ask_any("Metadata", {"Topics": None, "AllowAutoTopicCreation": False}).body
    brokers = {broker["NodeId"]: Address(broker["Host"], broker["Port"]) for broker in cluster["Brokers"]}
    metadata = next((topic for topic in cluster["Topics"] if topic["Name"] == REMOTE_LOG_METADATA), None)
    if metadata is None or metadata["ErrorCode"]:
        raise UnreachableError(
            f"the cluster does not show a topic {REMOTE_LOG_METADATA}",
            id="no-remote-log-metadata-topic",
            next_step="It is made when the first topic is tiered. This user needs DESCRIBE and READ on it.",
        )
    named = [topic for topic in cluster["Topics"] if not topic["ErrorCode"] and topic["Name"] not in INTERNAL]
    configs = _configs(client, [topic["Name"] for topic in [*named, metadata]])
    asking = _Leaders(client, brokers)
    tiered = {
        (topic["Name"], partition["PartitionIndex"]): partition["LeaderId"]
        for topic in named
        if (configs.get(topic["Name"]) or {}).get("remote.storage.enable") == "true"
        for partition in topic["Partitions"]
    }
    before = {
        name: asking.offsets(tiered, timestamp)
        for name, timestamp in (
            ("earliest_local", EARLIEST_LOCAL),
            ("latest_tiered", LATEST_TIERED),
            ("earliest_pending_upload", PENDING_UPLOAD),
        )
    }
    epochs = {
        (topic["Name"], partition["PartitionIndex"]): partition["LeaderEpoch"]
        for topic in named
        for partition in topic["Partitions"]
    }
    starts = asking.offsets(tiered, EARLIEST)
    lineages = asking.lineages({key: (tiered[key], epochs[key], start) for key, start in starts.items()})
    logs, log_views = _metadata_logs(asking, metadata)
    after = {name: asking.offsets(tiered, at) for name, at in (("earliest", EARLIEST), ("latest", LATEST))}
    offsets = {
        key: Offsets(**{name: answers.get(key) for name, answers in {**before, **after}.items()}) for key in tiered
    }
    view = ClusterView(
        time_ms=now_ms,
        cluster_id=cluster["ClusterId"],
        metadata_topic=MetadataTopicView(
            name=REMOTE_LOG_METADATA,
            topic_id=metadata["TopicId"].raw,
            partitions=len(metadata["Partitions"]),
            configs=configs.get(REMOTE_LOG_METADATA),
            logs=log_views,
        ),
        topics={topic["TopicId"].raw: _topic(topic, configs, offsets, lineages) for topic in named},
        brokers={broker: BrokerView(id=broker, alive=True) for broker in brokers},
    )
    return LiveObservation(view=view, logs=logs)


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
    """The own settings of topics, secrets left out; None for topics that this user may not describe."""
    found: dict[str, dict[str, str] | None] = {}
    for names in _batched(topics):
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
    asking: _Leaders, topic: Mapping[str, Any]
) -> tuple[tuple[FetchedMetadataLog, ...], dict[int, MetadataLogView]]:
    leaders = {
        (REMOTE_LOG_METADATA, partition["PartitionIndex"]): partition["LeaderId"] for partition in topic["Partitions"]
    }
    starts, ends = asking.offsets(leaders, EARLIEST), asking.offsets(leaders, LATEST)
    logs, views = [], {}
    for key, leader in sorted(leaders.items()):
        start, end = starts.get(key), ends.get(key)
        views[key[1]] = MetadataLogView(partition=key[1], leader=leader, log_start_offset=start, end_offset=end)
        if start is not None and end is not None:
            logs.append(asking.fetch(leader, topic["TopicId"], key[1], start, end))
    return tuple(logs), views


class _Leaders:
    """Asks the leaders of partitions."""

    def __init__(self, client: Client, brokers: Mapping[int, Address]) -> None:
        self._client = client
        self._brokers = brokers

    def _by_leader(self, leaders: Mapping[PartitionName, int]) -> Iterator[tuple[Address, list[PartitionName]]]:
        ordered = sorted(leaders, key=lambda key: (leaders[key], key))
        for leader, keys in itertools.groupby(ordered, key=lambda key: leaders[key]):
            if leader in self._brokers:
                for part in _batched(list(keys)):
                    yield self._brokers[leader], part

    def _asked(
        self, name: str, address: Address, asked: Mapping[PartitionName, Mapping[str, Any]], **body: Any
    ) -> Iterator[tuple[PartitionName, Mapping[str, Any]]]:
        """One question about many partitions: those that are answered without an error, none of a node that fails."""
        field = _TOPIC_FIELD[name]
        topics = [
            {field: topic, "Partitions": [asked[key] for key in group]}
            for topic, group in itertools.groupby(sorted(asked), key=lambda key: key[0])
        ]
        try:
            answer = self._client.ask_node(address, name, {**body, "Topics": topics}).body
        except KafkactlError:
            return
        for topic in answer["Topics"]:
            for partition in topic["Partitions"]:
                if not partition["ErrorCode"]:
                    number = partition["PartitionIndex" if "PartitionIndex" in partition else "Partition"]
                    yield (topic[field], number), partition

    def offsets(self, leaders: Mapping[PartitionName, int], timestamp: int) -> dict[PartitionName, int]:
        """The offset that each leader answers for a timestamp; those that do not answer are left out."""
        found: dict[PartitionName, int] = {}
        for address, keys in self._by_leader(leaders):
            asked = {key: {"PartitionIndex": key[1], "Timestamp": timestamp} for key in keys}
            answers = self._asked("ListOffsets", address, asked, ReplicaId=-1, IsolationLevel=0, TimeoutMs=_ASKED_MS)
            found.update((key, answer["Offset"]) for key, answer in answers)
        return found

    def lineages(self, leaders: Mapping[PartitionName, tuple[int, int, int]]) -> Lineages:
        """The leader epochs of each log with their first offsets, found from the newest backwards.

        `leaders` has each partition's leader, leader epoch and log start. A leader answers for an epoch that it knows
        with the start of the next one, for an epoch below its first with the start of that: the walk ends where the
        offset does not change any more. Epoch 0 cannot be asked for by the one before it: it begins with the log.
        """
        wanted = {key: epoch for key, (_, epoch, _) in leaders.items()}
        by_leader = {key: leader for key, (leader, *_) in leaders.items()}
        starts: dict[PartitionName, dict[int, int]] = {key: {} for key in leaders}
        ends: dict[PartitionName, int] = {}
        for _ in range(_MOST_EPOCHS):
            for key in [key for key, epoch in wanted.items() if epoch <= 0]:
                del wanted[key]
                if leaders[key][2] < ends.get(key, leaders[key][2] + 1):
                    starts[key][0] = leaders[key][2]
            if not wanted:
                break
            following: dict[PartitionName, int] = {}
            for address, keys in self._by_leader({key: by_leader[key] for key in wanted}):
                asked = {key: {"Partition": key[1], "LeaderEpoch": wanted[key] - 1} for key in keys}
                answers = self._asked("OffsetForLeaderEpoch", address, asked, ReplicaId=-1)
                for key, answer in answers:
                    if _walked(starts[key], ends, key, wanted[key], answer):
                        following[key] = answer["LeaderEpoch"]
            wanted = following
        return {key: tuple(sorted(found.items())) for key, found in starts.items() if found}

    def fetch(self, leader: int, topic_id: Uuid, partition: int, start: int, end: int) -> FetchedMetadataLog:
        """The batches of a metadata partition between two offsets. Raises UnreachableError."""
        kept, position, base, silent = Spool(), start, start, 0
        address = self._brokers[leader]
        while position < end:
            answer = self._client.ask_node(address, "Fetch", _fetch_body(topic_id, partition, position)).body
            found = [part for topic in answer["Responses"] for part in topic["Partitions"]]
            code = answer["ErrorCode"] or (found[0]["ErrorCode"] if found else 0)
            if code or silent > _EMPTY_ANSWERS:
                why = error_code(code).name if code else "no records"
                raise UnreachableError(
                    f"broker {leader} does not give metadata partition {partition} at offset {position}: {why}",
                    id="metadata-partition-not-given",
                    next_step=f"This user needs READ on {REMOTE_LOG_METADATA}; else run the command again.",
                )
            data = _whole_batches((found[0]["Records"] if found else None) or b"")
            silent = 0 if data else silent + 1
            for batch in decode_batches(data, file=f"cluster:{REMOTE_LOG_METADATA}-{partition}"):
                if batch.header.last_offset < position:
                    continue
                if not kept.size_bytes:
                    base = batch.header.base_offset
                begin = batch.header.position
                kept.add(data[begin : begin + batch.header.size_bytes])
                position = batch.header.last_offset + 1
            if kept.size_bytes > MOST_LOG_BYTES:
                raise UnreachableError(
                    f"metadata partition {partition} has more than the {MOST_LOG_BYTES} bytes that are taken",
                    id="metadata-log-too-large",
                    next_step="Read it from the disk of a broker.",
                )
        return FetchedMetadataLog(partition=partition, base_offset=base, end_offset=position, pieces=kept.pieces)


def _walked(
    starts: dict[int, int], ends: dict[PartitionName, int], key: PartitionName, epoch: int, answer: Mapping[str, Any]
) -> bool:
    """Note where an epoch starts, by the answer for the one before it; whether to go on with the answered epoch."""
    start: int = answer["EndOffset"]
    before: int = answer["LeaderEpoch"]
    if start < 0 or ends.get(key) == start:
        return False
    starts[epoch] = ends[key] = start
    return before >= 0


def _whole_batches(data: bytes) -> bytes:
    """The batches of an answer without one that is cut at its end."""
    position = 0
    while position + 12 <= len(data):
        size = 12 + int.from_bytes(data[position + 8 : position + 12], "big")
        if position + size > len(data):
            break
        position += size
    return data[:position]


def _fetch_body(topic_id: Uuid, partition: int, offset: int) -> dict[str, Any]:
    asked = {"Partition": partition, "FetchOffset": offset, "PartitionMaxBytes": _PIECE_BYTES}
    topics = [{"Topic": REMOTE_LOG_METADATA, "TopicId": topic_id, "Partitions": [asked]}]
    return {"MaxWaitMs": _WAIT_MS, "MinBytes": 1, "MaxBytes": _PIECE_BYTES, "Topics": topics}


def _batched(names: Sequence[Any]) -> Iterator[list[Any]]:
    for at in range(0, len(names), _AT_ONCE):
        yield list(names[at : at + _AT_ONCE])
