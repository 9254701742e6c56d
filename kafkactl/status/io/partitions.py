"""Counts of partitions: from the image of the metadata log, or from the metadata that brokers give their clients."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from kafkactl.change.clock import Deadline
from kafkactl.cluster.io.node_settings import describe_own
from kafkactl.cluster.node import NotAsked
from kafkactl.core.errors import KafkactlError, UnreachableError
from kafkactl.core.findings import Finding, note, warning
from kafkactl.core.values import Role
from kafkactl.kafka.client import Client
from kafkactl.metadata.image.health import (
    MIN_INSYNC,
    NOT_KNOWN,
    PartitionHealth,
    PartitionRow,
    cluster_minimum,
    count_partitions,
    image_health,
)
from kafkactl.metadata.image.model import Image
from kafkactl.net.transport import Address
from kafkactl.status.observation import ObservedPartitions

_TOPIC_RESOURCE: Final = 2
_TOPICS_AT_ONCE: Final = 1000
_MOST_ASKED: Final = 8


class PartitionCounter:
    """Counts of the partitions of an image. An image that is the same as before is not counted again."""

    def __init__(self, client: Client, node_timeout_ms: float) -> None:
        self._client = client
        self._node_timeout_ms = node_timeout_ms
        self._counted: tuple[Image, int | None, PartitionHealth] | None = None
        self._answering: Address | None = None

    def of_image(self, image: Image) -> ObservedPartitions:
        """Return the counts of an image; min.insync.replicas of topics without a value of their own is asked for."""
        default, findings = self._default_minimum(image)
        if self._counted is None or self._counted[0] is not image or self._counted[1] != default:
            self._counted = image, default, image_health(image, default)
        return ObservedPartitions(health=self._counted[2], source="log", findings=findings)

    def of_brokers(self, why: NotAsked) -> ObservedPartitions | NotAsked:
        """Return the counts of the topics that brokers show to this user; `why` is the reason not to use the log.

        Raises UnreachableError as `Client.ask_any` does.
        """
        if self._client.role is not Role.BROKER:
            return why
        with self._client.sibling(Role.BROKER, self._client.bootstrap, timeout_ms=self._node_timeout_ms * 2) as client:
            found = client.ask_any("Metadata", {"Topics": None, "AllowAutoTopicCreation": False}).body["Topics"]
            topics = [topic for topic in found if not topic["ErrorCode"]]
            if not topics:
                return NotAsked(
                    reason=f"this login sees no topics, and the metadata log was not read: {why.reason}",
                    step=why.step,
                    is_access=True,
                )
            minimum = _minimum_by_topic(client, [topic["Name"] for topic in topics])
            moving = _reassignments(client)
        health = count_partitions(
            _rows(topics, moving or {}),
            lambda name: minimum.get(name, NOT_KNOWN),
            knows_reassignments=moving is not None,
        )
        text = f"the metadata log was not read ({why.reason}): counted are the topics that this login may describe"
        return ObservedPartitions(
            health=health, source="brokers", findings=(note("topics-of-this-login", "partitions", text, why.step),)
        )

    def _default_minimum(self, image: Image) -> tuple[int | None, tuple[Finding, ...]]:
        value = cluster_minimum(image)
        if value is None:
            value = self._asked(Role.BROKER, self._places(image))
        if value is not None:
            return value, ()
        controllers = {
            Address(listener.host, listener.port): id
            for id, controller in image.controllers.items()
            for listener in controller.listeners
        }
        value = self._asked(Role.CONTROLLER, controllers)
        if value is None:
            text = f"no node shows its {MIN_INSYNC}: partitions under and at min ISR are not counted"
            return None, (warning("min-insync-not-known", "partitions", text),)
        text = f"no broker shows its {MIN_INSYNC}: {value} is used, which a controller shows"
        return value, (note("min-insync-of-controller", "partitions", text),)

    def _places(self, image: Image) -> dict[Address, int]:
        """Return addresses of brokers in service: as a broker names them to clients, else as they are registered."""
        if self._client.role is Role.BROKER:
            try:
                return {node.address: node.id for node in self._client.cluster().nodes if not node.fenced}
            except UnreachableError:
                return {}
        return {
            Address(listener.host, listener.port): id
            for id, broker in image.brokers.items()
            if not broker.fenced
            for listener in broker.listeners
        }

    def _asked(self, role: Role, places: Mapping[Address, int]) -> int | None:
        """Return the value of the first node that answers, the one of the last observation first."""
        addresses = sorted(places, key=lambda address: address != self._answering)[:_MOST_ASKED]
        deadline = Deadline.after(2 * self._node_timeout_ms, self._client.clock)
        with self._client.sibling(role, addresses, timeout_ms=self._node_timeout_ms) as client:
            for address in addresses:
                if deadline.passed:
                    break
                try:
                    value = _value_of(describe_own(client, address, places[address], [MIN_INSYNC]), address)
                except KafkactlError:
                    continue
                self._answering = address
                return value
        return None


def _value_of(configs: Sequence[Mapping[str, Any]], address: Address) -> int:
    for config in configs:
        if config["Name"] == MIN_INSYNC and str(config["Value"]).isdecimal():
            return int(config["Value"])
    raise UnreachableError(f"{address} does not show {MIN_INSYNC}", id="settings-not-described")


def _minimum_by_topic(client: Client, names: Sequence[str]) -> dict[str, int]:
    """Return min.insync.replicas of the topics whose settings this user may read."""
    found: dict[str, int] = {}
    rest = iter(names)
    while batch := tuple(islice(rest, _TOPICS_AT_ONCE)):
        resources = [
            {"ResourceType": _TOPIC_RESOURCE, "ResourceName": name, "ConfigurationKeys": [MIN_INSYNC]} for name in batch
        ]
        try:
            results = client.ask_any("DescribeConfigs", {"Resources": resources}).body["Results"]
        except KafkactlError:
            return found
        for result in results:
            for config in () if result["ErrorCode"] else result["Configs"]:
                if config["Name"] == MIN_INSYNC and str(config["Value"]).isdecimal():
                    found[result["ResourceName"]] = int(config["Value"])
    return found


Moving = Mapping[tuple[str, int], tuple[Sequence[int], Sequence[int]]]


def _reassignments(client: Client) -> Moving | None:
    """Return the replicas that are added and removed, by partition; None if this user may not ask."""
    try:
        body = client.ask_any("ListPartitionReassignments", {"TimeoutMs": 1_000, "Topics": None}).body
    except KafkactlError:
        return None
    if body["ErrorCode"]:
        return None
    return {
        (topic["Name"], partition["PartitionIndex"]): (partition["AddingReplicas"], partition["RemovingReplicas"])
        for topic in body["Topics"]
        for partition in topic["Partitions"]
    }


def _rows(topics: Sequence[Mapping[str, Any]], moving: Moving) -> Iterator[PartitionRow]:
    for topic in sorted(topics, key=lambda topic: str(topic["Name"])):
        for partition in sorted(topic["Partitions"], key=lambda partition: int(partition["PartitionIndex"])):
            name, number = topic["Name"], partition["PartitionIndex"]
            adding, removing = moving.get((name, number), ((), ()))
            yield PartitionRow(
                name, number, partition["ReplicaNodes"], partition["IsrNodes"], adding, removing, partition["LeaderId"]
            )
