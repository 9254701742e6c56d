"""Logs of the metadata topic by words: records as values, batches of them, folders as a broker has them.

orders = Topic("orders", 1)
log = MetadataFolder(0).add(orders.started(0, "a", 0, 99), orders.finished(0, "a"))
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kafkactl.core.values import Uuid
from kafkactl.protocol.log.frame import encode_record
from kafkactl.protocol.record_batch import encode_batch
from kafkactl.protocol.schema.definitions import message
from kafkactl.tiered.ledger import Ledger, MetadataLog, fold
from kafkactl.tiered.partitioner import metadata_partition_of
from kafkactl.tiered.reading import read_records
from kafkactl.tiered.records import PartitionKey
from tests.protocol.batches import with_crc

BEGIN_MS = 1_700_000_000_000
HOUR_MS = 3_600_000
SIZE = 1000
STARTED, FINISHED, DELETING, DELETED = range(4)


def segment_uuid(name: str) -> Uuid:
    """Return the id of a segment by a short name."""
    return Uuid(name.encode().ljust(16, b"\x01")[:16])


class Topic:
    """A topic whose records are made by words. Equal numbers give equal ids."""

    def __init__(self, name: str, number: int) -> None:
        self.name = name
        self.id = Uuid(number.to_bytes(2, "big") * 8)

    def key(self, partition: int) -> PartitionKey:
        return PartitionKey(self.id.raw, partition)

    def home(self, partition: int, count: int) -> int:
        """Return the metadata partition among `count` that its records belong in."""
        return metadata_partition_of(self.key(partition), count)

    def _segment(self, partition: int, segment: str) -> dict[str, Any]:
        place = {"Name": self.name, "Id": self.id, "Partition": partition}
        return {"TopicIdPartition": place, "Id": segment_uuid(segment)}

    def started(
        self, partition: int, segment: str, start: int, end: int, *, epochs: Mapping[int, int] | None = None,
        broker: int = 1, at: int = 0, size: int = SIZE, state: int = STARTED, has_tag: bool = True,
    ) -> bytes:  # fmt: skip
        value = {
            "RemoteLogSegmentId": self._segment(partition, segment),
            "StartOffset": start,
            "EndOffset": end,
            "BrokerId": broker,
            "MaxTimestampMs": BEGIN_MS,
            "EventTimestampMs": BEGIN_MS + at,
            "SegmentLeaderEpochs": [
                {"LeaderEpoch": epoch, "Offset": offset} for epoch, offset in (epochs or {0: start}).items()
            ],
            "SegmentSizeInBytes": size,
            "CustomMetadata": None,
            "RemoteLogSegmentState": state,
            "TxnIndexEmpty": has_tag,
        }
        return encode_record(message("RemoteLogSegmentMetadataRecord"), 0, value)

    def update(
        self, partition: int, segment: str, state: int, *, broker: int = 1, at: int = 0, custom: bytes | None = None
    ) -> bytes:
        value = {
            "RemoteLogSegmentId": self._segment(partition, segment),
            "BrokerId": broker,
            "EventTimestampMs": BEGIN_MS + at,
            "CustomMetadata": custom,
            "RemoteLogSegmentState": state,
        }
        return encode_record(message("RemoteLogSegmentMetadataUpdateRecord"), 0, value)

    def copied(self, partition: int, segment: str, start: int, end: int, **more: Any) -> list[bytes]:
        """Return both records of a copy."""
        broker, at = more.get("broker", 1), more.get("at", 0)
        first = self.started(partition, segment, start, end, **more)
        return [first, self.update(partition, segment, FINISHED, broker=broker, at=at)]

    def deleted(self, partition: int, segment: str) -> list[bytes]:
        """Return both records of a delete."""
        return [self.update(partition, segment, DELETING), self.update(partition, segment, DELETED)]

    def partition_delete(self, partition: int, state: int = 2) -> bytes:
        value = {
            "TopicIdPartition": {"Name": self.name, "Id": self.id, "Partition": partition},
            "BrokerId": 1,
            "EventTimestampMs": BEGIN_MS,
            "RemotePartitionDeleteState": state,
        }
        return encode_record(message("RemotePartitionDeleteMetadataRecord"), 0, value)


class LogOf:
    """A metadata partition that is written record by record, each in a batch of its own as brokers write them."""

    def __init__(self, partition: int, first_offset: int = 0) -> None:
        self.partition = partition
        self.base_offset = self.next_offset = first_offset
        self.data = b""
        self.clock_ms = BEGIN_MS

    def add(self, *values: bytes | list[bytes] | None) -> LogOf:
        for value in values:
            for each in value if isinstance(value, list) else [value]:
                self.batch([each])
        return self

    def batch(self, values: Sequence[bytes | None]) -> LogOf:
        """Add several records in one batch."""
        self.clock_ms += 1000
        records = [(None, value) for value in values]
        self.data += encode_batch(records, base_offset=self.next_offset, timestamp_ms=self.clock_ms)
        self.next_offset += len(values)
        return self

    def control(self) -> LogOf:
        """Return a transaction's marker: it takes an offset."""
        made = bytearray(encode_batch([(b"\0\0\0\1", b"\0\0\0\0\0\0")], base_offset=self.next_offset, timestamp_ms=1))
        made[22] |= 0x30
        self.data += with_crc(bytes(made))
        self.next_offset += 1
        return self

    def log(self, **more: Any) -> MetadataLog:
        """Return the log as the fold takes it."""
        return MetadataLog(
            partition=self.partition,
            paths=(f"m{self.partition}",),
            log_start=more.get("log_start", 0),
            read=lambda: read_records([self.data], file=f"m{self.partition}", first_offset=self.base_offset),
            read_from=self.base_offset,
            expected_end=more.get("expected_end"),
        )

    def save(self, folder: Path, *, epochs: Sequence[tuple[int, int]] = ()) -> Path:
        """Save the log as a folder of a broker's log directory."""
        place = folder / f"__remote_log_metadata-{self.partition}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{self.base_offset:020}.log").write_bytes(self.data)
        (place / "00000000000000000000.log.deleted").write_bytes(b"not a segment any more")
        if epochs:
            save_epochs(place, epochs)
        return place


def folded(*logs: LogOf, **more: Any) -> Ledger:
    """Return the fold of several logs."""
    return fold([log.log() for log in logs], **more)


def save_epochs(folder: Path, epochs: Sequence[tuple[int, int]]) -> None:
    """Save a leader-epoch-checkpoint."""
    lines = ["0", str(len(epochs)), *(f"{epoch} {start}" for epoch, start in epochs)]
    (folder / "leader-epoch-checkpoint").write_text("\n".join(lines) + "\n")


def save_replica(
    folder: Path, topic: Topic, partition: int, *, epochs: Sequence[tuple[int, int]], bases: Sequence[int]
) -> None:
    """Save a user partition in a broker's log directory: the names of its segments, not their content."""
    place = folder / f"{topic.name}-{partition}"
    place.mkdir(parents=True)
    (place / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic.id}\n")
    save_epochs(place, epochs)
    for base in bases:
        (place / f"{base:020}.log").write_bytes(b"")


def save_broker(folder: Path, broker_id: int, cluster_id: str = "4L6g3nShT-eMCtK--X86sw") -> Path:
    """Return the meta.properties of a log directory."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "meta.properties").write_text(f"version=1\nnode.id={broker_id}\ncluster.id={cluster_id}\n")
    return folder


def metadata_log(
    folder: Path,
    topics: Sequence[tuple[str, Uuid]],
    *,
    end_ms: int = BEGIN_MS + HOUR_MS,
    removed: Sequence[tuple[str, Uuid]] = (),
) -> Path:
    """Write a cluster's metadata log with these topics of one partition each; its last record is written at `end_ms`.

    Topics in `removed` are created and removed again.
    """
    values = [encode_record(message("FeatureLevelRecord"), 0, {"Name": "metadata.version", "FeatureLevel": 25})]
    for name, topic_id in [*topics, *removed]:
        replicas = {"Replicas": [1], "Isr": [1], "Leader": 1, "LeaderEpoch": 0, "PartitionEpoch": 0}
        values.append(encode_record(message("TopicRecord"), 0, {"Name": name, "TopicId": topic_id}))
        values.append(encode_record(message("PartitionRecord"), 0, {"PartitionId": 0, "TopicId": topic_id, **replicas}))
    values += [encode_record(message("RemoveTopicRecord"), 0, {"TopicId": topic_id}) for _, topic_id in removed]
    folder.mkdir()
    data = encode_batch([(None, value) for value in values], base_offset=0, timestamp_ms=end_ms)
    (folder / f"{0:020}.log").write_bytes(data)
    return folder


def observed(
    topics: Sequence[tuple[Topic, Mapping[str, str] | None, Sequence[dict[str, Any]]]], **more: Any
) -> dict[str, Any]:
    """Return an observation.json; `more` replaces its fields."""
    return {
        "kind": "tiered.observation",
        "schema_version": 1,
        "time_ms": BEGIN_MS + 100_000,
        "cluster_id": "4L6g3nShT-eMCtK--X86sw",
        "metadata_topic": {
            "name": "__remote_log_metadata",
            "topic_id": None,
            "partitions": 1,
            "configured_partitions": 1,
            "configs": None,
            "logs": [],
        },
        "brokers": [{"id": broker, "alive": True, "kafka_version": None} for broker in (1, 2, 3)],
        "topics": [
            {"name": topic.name, "topic_id": str(topic.id), "configs": configs, "partitions": list(partitions)}
            for topic, configs, partitions in topics
        ],
        **more,
    }


TIERED = {"remote.storage.enable": "true"}


def partition_seen(
    partition: int = 0, *, leader: int = 1, epochs: Sequence[tuple[int, int]] = ((0, 0),),
    earliest: int | None = 0, local: int | None = None, latest: int | None = None,
    bases: Sequence[int] | None = None, replicas: Sequence[int] = (1, 2, 3),
) -> dict[str, Any]:  # fmt: skip
    """Return a partition of an observation, with the leader's lineage."""
    offsets = {"earliest": earliest, "earliest_local": local, "latest": latest}
    return {
        "partition": partition,
        "leader": leader,
        "leader_epoch": epochs[-1][0] if epochs else 0,
        "replicas": list(replicas),
        "isr": list(replicas),
        "offsets": {name: None if value is None else {"offset": value} for name, value in offsets.items()},
        "replica_logs": [
            {
                "broker_id": leader,
                "log_end_offset": latest,
                "leader_epochs": [{"leader_epoch": epoch, "start_offset": start} for epoch, start in epochs],
                "segments": None if bases is None else [{"base_offset": base, "bytes": 1} for base in bases],
            }
        ],
    }


def save_observation(folder: Path, document: Mapping[str, Any], *logs: LogOf) -> Path:
    """Return an observation as a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "observation.json").write_text(json.dumps(document))
    for log in logs:
        log.save(folder / "remote-log-metadata" / "fetched")
    return folder
