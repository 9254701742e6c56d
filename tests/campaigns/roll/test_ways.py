"""Upgrades of whole clusters and back, by the real driver and under a counting producer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.campaigns.roll.page import HEAD, PAGE
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.roll.rolled import Rolled
from tests.lab.roll.rolling import canary, create_topics, differences, leader_changes, reader, there_and_back
from tests.proof_page import record_part

pytestmark = pytest.mark.timeout(1800)
WAYS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("3.9.2", "4.3.1", {"controllers": 1, "brokers": 3}),
    ("3.9.2", "4.3.1", {"controllers": 3, "brokers": 0, "combined": True}),
    ("4.0.2", "4.3.1", {"controllers": 1, "brokers": 3}),
    ("4.0.2", "4.3.1", {"controllers": 3, "brokers": 0, "combined": True}),
    ("4.3.1", "4.4.0", {"controllers": 3, "brokers": 0, "combined": True}),
    ("4.3.1", "4.4.0", {"controllers": 3, "brokers": 3}),
)


@pytest.mark.parametrize(("old", "new", "shape"), WAYS, ids=lambda way: way if isinstance(way, str) else "")
def test_upgrade_and_rollback_lose_nothing(
    old: str, new: str, shape: dict[str, Any], new_cluster: Callable[..., KafkaCluster]
) -> None:
    cluster = new_cluster(old, **shape).start()
    nodes = len(set(cluster.controller_ids) | set(cluster.broker_ids))
    topics = {
        "canary": (6, 3, {"min.insync.replicas": "2"}),
        "orders": (12, 3, {"min.insync.replicas": "2"}),
        "__consumer_offsets": (1, 3, {"min.insync.replicas": "2", "cleanup.policy": "compact"}),
    }
    create_topics(cluster, topics)
    took: list[float] = []
    missed: list[str] = []
    moves: list[int] = []
    with Rolled(cluster) as rolled, reader(cluster) as consumer, canary(cluster) as producer:
        for seconds, answer in there_and_back(rolled, new, old):
            took.append(seconds)
            missed += differences(answer)
            moves.append(leader_changes(answer))
        stops = [node_id for verb, node_id in rolled.asked if verb == "stop"]
    assert len(stops) == 2 * nodes
    assert missed == []
    counts = producer.result
    assert (counts["lost"], counts["errors"]) == (0, 0)
    read = consumer.result
    assert (read["behind"], read["read"] >= counts["acked"]) == (0, True)
    kind = "combined nodes" if shape.get("combined") else "separate nodes"
    record_part(
        PAGE,
        HEAD,
        f"{old} to {new} and back, {nodes} {kind}",
        f"forward {took[0]:.0f} s, back {took[1]:.0f} s; {moves[0]} and {moves[1]} leader changes, each as predicted; "
        f"canary: {counts['acked']} acked, {counts['errors']} errors, longest gap {counts['longest_gap_ms']} ms, "
        f"{counts['lost']} lost; a member of a group beside it: {read['read']} read, "
        f"longest gap {read['longest_gap_ms']} ms",
    )
