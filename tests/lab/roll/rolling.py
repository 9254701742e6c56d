"""Common part of roll tests on real Kafka: topics, a counting producer, and accepted findings."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from kafkactl.roll.api import observe, read_inventory
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.migration.driving.driven import Canary, Reader
from tests.lab.roll.rolled import Rolled

ACCEPTED = (
    "--accept", "quorum-without-spare", "--accept", "default-changed", "--accept", "setting-ignored", "--yes",
)  # fmt: skip

GATE_INTERVAL_MS = 1_000
RACKS = {11: "a", 12: "a", 13: "b", 14: "b"}
RACKED = {
    "canary": (4, 2, {"min.insync.replicas": "1"}),
    "orders": (8, 3, {"min.insync.replicas": "1"}),
    "pairs": (6, 2, {"min.insync.replicas": "1"}),
}
"""Topics that keep min.insync.replicas without either of the two racks."""


def create_topics(
    cluster: KafkaCluster, topics: Mapping[str, tuple[int, int, Mapping[str, str]]], **login: object
) -> None:
    """Create topics: by name partitions, replicas and configuration. `login` are settings of the client."""
    from kafka import KafkaAdminClient

    servers = cluster.bootstrap_server.split(",")
    client = KafkaAdminClient(bootstrap_servers=servers, request_timeout_ms=60_000, **login)
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


def canary(cluster: KafkaCluster, topic: str = "canary", *, client_file: Path | None = None) -> Canary:
    """Return a producer with acks=all that counts what was acknowledged and lost."""
    return Canary(_place(cluster), topic, client_file=client_file)


def reader(cluster: KafkaCluster, topic: str = "canary") -> Reader:
    """Return a member of a group that reads meanwhile; its group needs the topic `__consumer_offsets`."""
    return Reader(_place(cluster), topic)


def _place(cluster: KafkaCluster) -> Any:
    return SimpleNamespace(release=cluster.shape.release, bootstrap_server=cluster.bootstrap_server)


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


def there_and_back(rolled: Rolled, new: str, old: str) -> Iterator[tuple[float, Mapping[str, Any]]]:
    """Upgrade the cluster and roll it back; yield the seconds and the answer of each way, in which nothing is left."""
    for verb, release in (("run", new), ("rollback", old)):
        began = time.monotonic()
        answer = rolled.kafkactl(verb, "--to", release, *ACCEPTED)
        seconds = time.monotonic() - began
        assert answer["outcome"] == "done"
        assert {node["release"] for node in answer["proof"]} == {release}
        yield seconds, answer


def leader_changes(answer: Mapping[str, Any]) -> int:
    """Return how many leaders moved while a roll stopped nodes."""
    counted = [step["observed"] for step in answer["steps"] if step["action"] == "stop"]
    return sum(effect["leader_changes"] or 0 for effect in counted if effect is not None)


def wait_until_quiet(rolled: Rolled) -> None:
    """Wait until no node registered within the gate interval: until then a roll does not begin (`concurrent-roll`)."""
    inventory = read_inventory(rolled.inventory)

    def is_quiet() -> bool:
        seen = observe(inventory)
        assert seen.log is not None
        assert seen.time_ms is not None
        return all(event.at_ms is None or seen.time_ms - event.at_ms > GATE_INTERVAL_MS for event in seen.log.events)

    rolled.cluster.wait_for(is_quiet, "no new registration", 120)


def wait_until_stopping(rolled: Rolled, node_id: int) -> None:
    """Wait until the metadata log shows that a broker stops: a driver that looks before may ask it once more."""
    inventory = read_inventory(rolled.inventory)

    def is_stopping() -> bool:
        seen = observe(inventory)
        assert seen.log is not None
        broker = seen.log.image.brokers[node_id]
        return broker.in_controlled_shutdown or broker.fenced

    rolled.cluster.wait_for(is_stopping, f"begun to stop broker {node_id}", 120)


def stops(rolled: Rolled) -> list[int]:
    """Return the nodes that were asked to stop, in order."""
    return [node_id for verb, node_id in rolled.asked if verb == "stop"]


def batches(answer: Mapping[str, Any]) -> list[list[int]]:
    """Return the nodes of each stop that a run carried out."""
    return [sorted(step["nodes"]) for step in answer["steps"] if step["action"] == "stop" and step["state"] == "done"]


def ids(answer: Mapping[str, Any]) -> list[str]:
    """Return the ids of the findings."""
    return [finding["id"] for finding in answer["findings"]]


def next_words(rolled: Rolled, answer: Mapping[str, Any], id: str) -> list[str]:
    """Return the words after `kafkactl roll VERB --inventory FILE` in the next step of a finding."""
    step = next(finding["next_step"] for finding in answer["findings"] if finding["id"] == id)
    return shlex.split(step.partition(f" --inventory {rolled.inventory} ")[2])
