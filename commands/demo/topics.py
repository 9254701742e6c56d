"""Content of the demo's cluster: three brokers in three racks, three topics; and the records of its log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kafkactl.commands.demo.bodies import feature_ranges
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Uuid
from kafkactl.protocol.log.frame import encode_record
from kafkactl.protocol.schema.definitions import message
from kafkactl.protocol.schema.record_versions import record_version

_TOPIC_RESOURCE: Final = 2  # ConfigResource.java
_RACKS: Final = {4: "a", 5: "b", 6: "c"}
BROKERS: Final = tuple(_RACKS)


@frozen
class DemoTopic:
    """A topic: the replicas of each of its partitions, the first of them the leader, and its configuration."""

    name: str
    replicas: tuple[tuple[int, ...], ...]
    configs: Mapping[str, str]


# Topics of different strength: the first survives a broker and stays writable, the second survives without a copy,
# the third does not survive.
TOPICS: Final = (
    DemoTopic(
        name="orders",
        replicas=((4, 5, 6), (5, 6, 4), (6, 4, 5), (4, 6, 5), (5, 4, 6), (6, 5, 4)),
        configs={"min.insync.replicas": "2"},
    ),
    DemoTopic(name="sessions", replicas=((4, 5), (5, 6), (6, 4)), configs={"min.insync.replicas": "2"}),
    DemoTopic(name="audit", replicas=((4,), (5,)), configs={}),
)


def cluster_records(level: int, ranges: Mapping[str, tuple[int, int]]) -> Iterator[bytes]:
    """Yield the framed records of the brokers and topics at this level of metadata.version.

    `ranges` are the levels of features that the brokers support.
    """

    def framed(name: str, fields: Mapping[str, Any]) -> bytes:
        return encode_record(message(name), record_version(name, level), fields)

    for broker, rack in _RACKS.items():
        yield framed("RegisterBrokerRecord", _registration(broker, rack, ranges))
    for number, topic in enumerate(TOPICS, start=1):
        topic_id = _id_of(number)
        yield framed("TopicRecord", {"Name": topic.name, "TopicId": topic_id})
        for name, value in topic.configs.items():
            resource = {"ResourceType": _TOPIC_RESOURCE, "ResourceName": topic.name}
            yield framed("ConfigRecord", {**resource, "Name": name, "Value": value})
        for partition, replicas in enumerate(topic.replicas):
            yield framed("PartitionRecord", _partition(topic_id, partition, replicas))


def _registration(broker: int, rack: str, ranges: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
    endpoint = {"Name": "PLAINTEXT", "Host": f"broker-{broker}.example", "Port": 9092, "SecurityProtocol": 0}
    return {
        "BrokerId": broker, "IncarnationId": _id_of(broker), "BrokerEpoch": broker, "EndPoints": [endpoint],
        "Features": feature_ranges(ranges), "Rack": rack, "Fenced": False, "LogDirs": [_directory_of(broker)],
    }  # fmt: skip


def _partition(topic_id: Uuid, number: int, replicas: tuple[int, ...]) -> dict[str, Any]:
    return {
        "PartitionId": number, "TopicId": topic_id, "Replicas": list(replicas), "Isr": list(replicas),
        "RemovingReplicas": [], "AddingReplicas": [], "Leader": replicas[0], "LeaderEpoch": 0, "PartitionEpoch": 0,
        "Directories": [_directory_of(replica) for replica in replicas],
    }  # fmt: skip


def _id_of(number: int) -> Uuid:
    return Uuid(bytes([0x40 + number]) * 16)


def _directory_of(broker: int) -> Uuid:
    return Uuid(bytes([0x90 + broker]) * 16)
