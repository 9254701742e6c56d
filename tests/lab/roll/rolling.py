"""What the tests of a roll on real Kafka share: topics, a counting producer, and words that are accepted."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from tests.lab.harness.cluster import KafkaCluster
from tests.lab.migration.driving.driven import Canary

ACCEPTED = (
    "--accept", "quorum-without-spare", "--accept", "default-changed", "--accept", "setting-ignored", "--yes",
)  # fmt: skip


def create_topics(cluster: KafkaCluster, topics: Mapping[str, tuple[int, int, Mapping[str, str]]]) -> None:
    """Create topics: by name partitions, replicas and configuration."""
    from kafka import KafkaAdminClient

    client = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_server.split(","), request_timeout_ms=20_000)
    try:
        client.create_topics(
            {
                name: {"num_partitions": count, "replication_factor": replicas, "configs": dict(configs)}
                for name, (count, replicas, configs) in topics.items()
            },
            wait_for_metadata=True,
        )
    finally:
        client.close()


def canary(cluster: KafkaCluster, topic: str = "canary") -> Canary:
    """A producer with acks=all that counts what was acknowledged and lost."""
    place: Any = SimpleNamespace(release=cluster.shape.release, bootstrap_server=cluster.bootstrap_server)
    return Canary(place, topic)


def differences(answer: Mapping[str, Any]) -> list[str]:
    """Return the stops whose counted effect differs from the prediction."""
    fields = ("leader_changes", "offline", "under_min_isr")
    return [
        f"step {step['number']}: {field}"
        for step in answer["steps"]
        if step["action"] == "stop" and step["observed"] and step["observed"]["leader_changes"] is not None
        for field in fields
        if step["observed"][field] != step["predicted"][field]
    ]
