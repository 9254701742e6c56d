"""Answers of a running cluster's leaders: leadership, offsets, and the offsets that can be fetched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kafkactl.core.errors import KafkactlError
from kafkactl.core.values import Uuid
from kafkactl.kafka.client import Client
from kafkactl.net.transport import Address
from kafkactl.protocol.record_batch import decode_batches
from kafkactl.tiered.io.leaders import whole_batches

TIMESTAMPS = {"earliest": -2, "latest": -1, "earliest_local": -4, "latest_tiered": -5}
OFFSET_OUT_OF_RANGE = 1
_RETRIES = 12
_AGAIN = frozenset({5, 6, 9, 74, 75})  # leader not available, not leader, not yet known epochs
_WAIT_MS = 4_000
_BYTES = 1_000_000


class Led(NamedTuple):
    """A partition as brokers describe it."""

    topic_id: Uuid
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


class Leaders:
    """Leaders of partitions, through one client as long as no leader moves."""

    def __init__(self, client: Client) -> None:
        self.client = client
        body = client.ask_any("Metadata", {"Topics": None, "AllowAutoTopicCreation": False}).body
        self.brokers = {broker["NodeId"]: Address(broker["Host"], broker["Port"]) for broker in body["Brokers"]}
        self.partitions = {
            (topic["Name"], partition["PartitionIndex"]): Led(
                topic["TopicId"],
                partition["LeaderId"],
                partition["LeaderEpoch"],
                tuple(partition["ReplicaNodes"]),
                tuple(partition["IsrNodes"]),
            )
            for topic in body["Topics"]
            for partition in topic["Partitions"]
        }

    def offsets(self, keys: Iterable[tuple[str, int]]) -> dict[tuple[str, int], dict[str, int]]:
        """Return what the leaders answer to ListOffsets; what is not answered is left out."""
        found: dict[tuple[str, int], dict[str, int]] = {key: {} for key in keys}
        by_leader: dict[int, list[tuple[str, int]]] = {}
        for key in found:
            if key in self.partitions:
                by_leader.setdefault(self.partitions[key].leader, []).append(key)
        for leader, led in by_leader.items():
            if leader not in self.brokers:
                continue
            for name, timestamp in TIMESTAMPS.items():
                asked = [
                    {"Name": topic, "Partitions": [{"PartitionIndex": number, "Timestamp": timestamp}]}
                    for topic, number in led
                ]
                body = {"ReplicaId": -1, "IsolationLevel": 0, "TimeoutMs": 10_000, "Topics": asked}
                for key, answer in self._listed(leader, body):
                    found[key][name] = answer["Offset"]
        return found

    def _listed(self, leader: int, body: Mapping[str, Any]) -> Iterable[tuple[tuple[str, int], Mapping[str, Any]]]:
        try:
            answer = self.client.ask_node(self.brokers[leader], "ListOffsets", body)
        except KafkactlError:
            return
        for topic in answer.body["Topics"]:
            for partition in topic["Partitions"]:
                if not partition["ErrorCode"]:
                    yield (topic["Name"], partition["PartitionIndex"]), partition

    def readable(self, key: tuple[str, int], first: int, end: int) -> list[tuple[int, int]]:
        """Return the ranges of offsets from `first` to before `end` that a consumer gets from the leader."""
        found: list[tuple[int, int]] = []
        position = first
        while position < end:
            last = self._fetched(key, position)
            if last is None:
                position += 1
                continue
            if found and found[-1][1] + 1 == position:
                found[-1] = found[-1][0], min(last, end - 1)
            else:
                found.append((position, min(last, end - 1)))
            position = last + 1
        return found

    def _fetched(self, key: tuple[str, int], offset: int) -> int | None:
        """Return the last offset of the batches that a fetch at an offset gives; None if it is refused."""
        led = self.partitions[key]
        asked = {"Partition": key[1], "FetchOffset": offset, "PartitionMaxBytes": _BYTES}
        topics = [{"Topic": key[0], "TopicId": led.topic_id, "Partitions": [asked]}]
        body = {"MaxWaitMs": _WAIT_MS, "MinBytes": 1, "MaxBytes": _BYTES, "Topics": topics}
        for _ in range(_RETRIES):
            answer = self.client.ask_node(self.brokers[led.leader], "Fetch", body).body
            (partition,) = [part for topic in answer["Responses"] for part in topic["Partitions"]]
            code = partition["ErrorCode"]
            if code and code not in _AGAIN:
                return None
            data = partition["Records"] or b""
            batches = list(decode_batches(whole_batches(data), file="fetch"))
            covering = [batch.header for batch in batches if batch.header.last_offset >= offset]
            if covering and covering[0].base_offset <= offset:
                last: int = covering[0].last_offset
                for header in covering[1:]:
                    if header.base_offset != last + 1:
                        break
                    last = header.last_offset
                return last
            if covering:
                return None
        return None
