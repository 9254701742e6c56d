"""Brokers that tier, for the live adapter: what they answer is a value that a test changes, also in the middle.

::

    with TieredBrokers() as cluster, cluster.client() as client:
        cluster.leaders["__remote_log_metadata", 0] = 2
        observe_cluster(client, now_ms=1)
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

from kafkactl.commands.demo.broker import Action, Asked, FakeBroker, Reply
from kafkactl.core.values import Role, Uuid
from kafkactl.kafka.client import Client, Limits
from tests.fakes.scaled_clock import ScaledClock
from tests.tiered.logs import LogOf, Topic

METADATA = "__remote_log_metadata"
METADATA_ID = Uuid(b"\x07" * 16)
NOT_LEADER, NOT_AUTHORIZED, UNKNOWN_ID = 6, 29, 100
VERSIONS = {2: (1, 11), 23: (2, 4), 1: (4, 17), 3: (0, 13), 32: (1, 4)}
_FASTER = 20
Override = Callable[[int, Asked], Action | None]


class TieredBrokers:
    """Two brokers, ids 1 and 2. `logs` are the metadata partitions; `topics` the others, by name."""

    def __init__(
        self, logs: Mapping[int, LogOf] | None = None, *, versions: Mapping[int, tuple[int, int]] | None = None
    ) -> None:
        self.orders = Topic("orders", 1)
        self.logs = dict(logs or {0: LogOf(0).add(self.orders.copied(0, "a", 0, 99)), 1: LogOf(1)})
        self.topics = {"orders": self.orders.id}
        self.has_metadata_topic = True
        self.hidden: dict[bytes, int] = {}  # ids that are asked for by name of an id, and the error of each
        self.errors: dict[str, int] = {}  # of a topic, in Metadata and DescribeConfigs
        self.leaders: dict[tuple[str, int], int] = {("orders", 0): 1, (METADATA, 0): 1, (METADATA, 1): 2}
        self.epochs: dict[tuple[str, int], int] = {}
        self.offsets = {-2: 0, -1: 120, -4: 100, -5: 99, -6: 100}
        self.offset_epochs: dict[int, int] = {}
        self.override: Override = lambda broker, asked: None
        both = dict(VERSIONS) | dict(versions or {})
        self.brokers = {
            number: FakeBroker(lambda asked, number=number: self._answer(number, asked), versions=both)  # type: ignore[misc]
            for number in (1, 2)
        }
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        for broker in self.brokers.values():
            self._stack.enter_context(broker)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def client(self) -> Client:
        """Return a client that knows both, and for which time runs fast; a context manager."""
        limits = Limits(timeout_ms=60_000 * _FASTER, request_timeout_ms=30_000 * _FASTER)
        addresses = [broker.address for broker in self.brokers.values()]
        return Client(addresses, Role.BROKER, limits=limits, clock=ScaledClock(_FASTER))

    def asked(self, broker: int, name: str) -> list[Asked]:
        """Return the requests of a kind that came to a broker."""
        return [asked for asked in self.brokers[broker].asked if asked.name == name]

    def _answer(self, broker: int, asked: Asked) -> Action | None:
        overridden = self.override(broker, asked)
        if overridden is not None:
            return overridden
        handler = getattr(self, f"_{asked.name.lower()}", None)
        return None if handler is None else Reply(body=handler(broker, asked.body))

    def _metadata(self, _: int, body: Mapping[str, Any]) -> dict[str, Any]:
        nodes = [
            {"NodeId": number, "Host": broker.address.host, "Port": broker.address.port, "Rack": None}
            for number, broker in self.brokers.items()
        ]
        if body["Topics"] is None:
            found = [
                self._topic(name, topic_id)
                for name, topic_id in {**self.topics, METADATA: METADATA_ID}.items()
                if name != METADATA or self.has_metadata_topic
            ]
        elif body["Topics"][0]["Name"] is not None:
            (asked,) = body["Topics"]
            code = self.errors.get(asked["Name"], 3)
            found = [{"ErrorCode": code, "Name": asked["Name"], "TopicId": Uuid(bytes(16)), "Partitions": []}]
        else:
            found = [
                {
                    "ErrorCode": self.hidden.get(each["TopicId"].raw, UNKNOWN_ID),
                    "Name": None,
                    "TopicId": each["TopicId"],
                    "Partitions": [],
                }
                for each in body["Topics"]
            ]
        return {"Brokers": nodes, "ClusterId": "4L6g3nShT-eMCtK--X86sw", "ControllerId": 1, "Topics": found}

    def _topic(self, name: str, topic_id: Uuid) -> dict[str, Any]:
        partitions = [
            {
                "ErrorCode": 0 if leader >= 0 else 5,
                "PartitionIndex": number,
                "LeaderId": leader,
                "LeaderEpoch": self.epochs.get((topic, number), 0),
                "ReplicaNodes": [1, 2],
                "IsrNodes": [1, 2],
                "OfflineReplicas": [],
            }
            for (topic, number), leader in self.leaders.items()
            if topic == name
        ]
        code = self.errors.get(name, 0)
        return {"ErrorCode": code, "Name": name, "TopicId": topic_id, "Partitions": [] if code else partitions}

    def _describeconfigs(self, _: int, body: Mapping[str, Any]) -> dict[str, Any]:
        setting = {"Name": "remote.storage.enable", "Value": "true", "ConfigSource": 1, "IsSensitive": False}
        kept = {**setting, "Name": "retention.ms", "Value": "-1"}  # as brokers create the topic
        return {
            "Results": [
                {
                    "ErrorCode": self.errors.get(each["ResourceName"], 0),
                    "ResourceType": 2,
                    "ResourceName": each["ResourceName"],
                    "Configs": [kept if each["ResourceName"] == METADATA else setting],
                }
                for each in body["Resources"]
            ]
        }

    def _listoffsets(self, broker: int, body: Mapping[str, Any]) -> dict[str, Any]:
        return self._by_partition(broker, body, "Name", "PartitionIndex", self._offset)

    def _offset(self, key: tuple[str, int], asked: Mapping[str, Any]) -> dict[str, Any]:
        timestamp = asked["Timestamp"]
        if key[0] == METADATA:
            log = self.logs[key[1]]
            return {"Offset": log.base_offset if timestamp == -2 else log.next_offset, "LeaderEpoch": 0}
        return {"Offset": self.offsets[timestamp], "LeaderEpoch": self.offset_epochs.get(timestamp, 0)}

    def _offsetforleaderepoch(self, broker: int, body: Mapping[str, Any]) -> dict[str, Any]:
        return self._by_partition(
            broker, body, "Topic", "Partition", lambda key, asked: {"LeaderEpoch": 0, "EndOffset": self.offsets[-1]}
        )

    def _by_partition(
        self, broker: int, body: Mapping[str, Any], topic_field: str, field: str,
        answer: Callable[[tuple[str, int], Mapping[str, Any]], dict[str, Any]],
    ) -> dict[str, Any]:  # fmt: skip
        topics = []
        for topic in body["Topics"]:
            partitions = []
            for asked in topic["Partitions"]:
                number = asked[field]
                key = topic[topic_field], number
                leads = self.leaders[key] == broker
                partitions.append(
                    {field: number, "ErrorCode": 0, **answer(key, asked)} if leads
                    else {field: number, "ErrorCode": NOT_LEADER}
                )  # fmt: skip
            topics.append({topic_field: topic[topic_field], "Partitions": partitions})
        return {"Topics": topics}

    def _fetch(self, broker: int, body: Mapping[str, Any]) -> dict[str, Any]:
        (topic,) = body["Topics"]
        (asked,) = topic["Partitions"]
        log = self.logs[asked["Partition"]]
        leads = self.leaders[METADATA, asked["Partition"]] == broker
        partition = {
            "PartitionIndex": asked["Partition"],
            "ErrorCode": 0 if leads else NOT_LEADER,
            "HighWatermark": log.next_offset,
            "Records": log.data if leads else None,
        }
        return {"Responses": [{"Topic": topic["Topic"], "TopicId": topic["TopicId"], "Partitions": [partition]}]}
