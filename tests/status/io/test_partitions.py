"""Partitions without the metadata log: from what brokers give their clients, and only that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafkactl.cluster.state import NotAsked
from kafkactl.commands.demo.broker import Asked, FakeBroker, Reply
from kafkactl.kafka.client import Client
from kafkactl.kafka.cluster_view import Role
from kafkactl.status.io.partitions import PartitionCounter
from kafkactl.status.observation import ObservedPartitions

DENIED = NotAsked(reason="not authorised: Fetch", step="Grant CLUSTER_ACTION.", is_access=True)
CLUSTER_DENIED, TOPIC_DENIED = 31, 29


def partition(number: int, replicas: list[int], isr: list[int], leader: int) -> dict[str, Any]:
    return {
        "ErrorCode": 0, "PartitionIndex": number, "LeaderId": leader, "LeaderEpoch": 1, "ReplicaNodes": replicas,
        "IsrNodes": isr, "OfflineReplicas": [],
    }  # fmt: skip


ORDERS = [partition(0, [1, 2, 3], [1, 2, 3], 1), partition(1, [1, 2, 3], [1, 2], 2), partition(2, [1, 2, 3], [1], -1)]


def broker(
    topics: dict[str, list[dict[str, Any]]], *, minimum: str | None = "2", moving: int = 0
) -> Callable[[Asked], Reply | None]:
    """Return a script of a broker with these topics; `moving` is the error of ListPartitionReassignments."""

    def script(asked: Asked) -> Reply | None:
        match asked.name:
            case "Metadata":
                found = [
                    {"ErrorCode": 0, "Name": name, "IsInternal": False, "Partitions": held}
                    for name, held in topics.items()
                ]
                return Reply(body={"Brokers": [], "ControllerId": 1, "Topics": found})
            case "DescribeConfigs":
                config = {"Name": "min.insync.replicas", "Value": minimum, "ReadOnly": False, "ConfigSource": 5,
                          "IsSensitive": False, "Synonyms": []}  # fmt: skip
                results = [
                    {"ErrorCode": 0 if minimum else TOPIC_DENIED, "ErrorMessage": None, "ResourceType": 2,
                     "ResourceName": item["ResourceName"], "Configs": [config] if minimum else []}
                    for item in asked.body["Resources"]
                ]  # fmt: skip
                return Reply(body={"Results": results})
            case "ListPartitionReassignments":
                held = [{"PartitionIndex": 0, "Replicas": [1, 2, 3], "AddingReplicas": [3], "RemovingReplicas": []}]
                body = {"ErrorCode": moving, "ErrorMessage": None, "Topics": [{"Name": "orders", "Partitions": held}]}
                return Reply(body=body if not moving else {**body, "Topics": []})
        return None

    return script


def counted(script: Callable[[Asked], Reply | None], role: Role = Role.BROKER) -> ObservedPartitions | NotAsked:
    with FakeBroker(script, versions={45: (0, 0), 46: (0, 0)}) as fake, Client([fake.address], role) as client:
        return PartitionCounter(client, 2_000).of_brokers(DENIED)


def test_topics_of_brokers_are_counted_and_the_reason_is_named():
    found = counted(broker({"orders": ORDERS}))
    assert isinstance(found, ObservedPartitions)
    health = found.health
    assert (health.partitions, health.without_leader, health.under_min_isr, health.at_min_isr) == (3, 1, 1, 1)
    assert (health.out_of_sync, health.reassigning, health.not_preferred) == (2, 1, 1)
    assert [finding.id for finding in found.findings] == ["topics-of-this-login"]


def test_numbers_that_this_login_may_not_ask_are_not_known():
    found = counted(broker({"orders": ORDERS}, minimum=None, moving=CLUSTER_DENIED))
    assert isinstance(found, ObservedPartitions)
    health = found.health
    assert (health.under_min_isr, health.at_min_isr, health.reassigning) == (None, None, None)
    assert health.without_leader == 1


def test_login_that_sees_no_topic_knows_nothing():
    found = counted(broker({}))
    assert isinstance(found, NotAsked)
    assert "sees no topics" in found.reason and found.step == DENIED.step


@pytest.mark.parametrize("topics", [{}, {"orders": ORDERS}])
def test_controllers_are_not_asked_for_topics(topics: dict[str, Any]):
    assert counted(broker(topics), Role.CONTROLLER) is DENIED
