"""Rolls on real Kafka: a restart that is killed and resumed, and an upgrade of a node that does not come back."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.lab.harness.cluster import KafkaCluster
from tests.lab.roll.rolled import Rolled
from tests.lab.roll.rolling import (
    ACCEPTED,
    canary,
    create_topics,
    differences,
    ids,
    next_words,
    stops,
    wait_until_quiet,
    wait_until_stopping,
)

NewCluster = Callable[..., KafkaCluster]


# In `make test`, test_batches kills a driver between two stops, and tests/roll/driver at every act.
@pytest.mark.campaign
def test_restart_that_is_killed_in_a_stop_is_resumed_without_loss(new_cluster: NewCluster) -> None:
    cluster = new_cluster("4.3.1", controllers=1, brokers=2).start()
    create_topics(cluster, {"canary": (4, 2, {"min.insync.replicas": "1"})})
    with Rolled(cluster) as rolled, canary(cluster) as producer:
        wait_until_quiet(rolled)
        process = rolled.begin("run", *ACCEPTED)
        until = time.monotonic() + 240
        while not {11, 12} & set(stops(rolled)):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < until
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        wait_until_stopping(rolled, stops(rolled)[-1])
        answer = rolled.kafkactl("run", *ACCEPTED)
    assert (answer["outcome"], answer["stopped_at"], differences(answer)) == ("done", None, [])
    assert sorted(stops(rolled)) == [1, 11, 12]
    assert all(node["isr_whole"] and node["ranges_ok"] for node in answer["proof"])
    assert producer.result["acked"] > 0
    assert (producer.result["lost"], producer.result["errors"]) == (0, 0)


def test_node_that_does_not_start_under_the_new_binary_goes_back_by_the_next_step(new_cluster: NewCluster) -> None:
    # Add a line that 3.9.2 accepts and 4.3.1 refuses to the file at the start; a stored setting is found before.
    cluster = new_cluster("3.9.2", controllers=1, brokers=2).start()
    create_topics(cluster, {"small": (1, 1, {"segment.bytes": "100000"})})
    accepted = (*ACCEPTED, "--accept", "partition-stops-while-down")
    with Rolled(cluster) as rolled:
        wait_until_quiet(rolled)
        assert "stored-setting-refused" in ids(rolled.kafkactl("run", "--to", "4.3.1", *accepted, code=3))
        assert stops(rolled) == []
        _delete_topic(cluster, "small")

        def edit(held: Rolled, node_id: int) -> dict[str, Any] | None:
            if held.installed.get(node_id) == "4.3.1":
                with cluster.config_file(node_id).open("a") as file:
                    file.write("\nlog.segment.bytes=100000\n")
            return None

        rolled.faults["start", 11] = edit
        partial = (*accepted, "--accept", "partial-roll")
        answer = rolled.kafkactl("run", "--to", "4.3.1", "--only", "1,11", *partial, code=5)
        words = next_words(rolled, answer, "start-failed")
        assert words == ["--to", "3.9.2", "--only", "11"]
        back = rolled.kafkactl("rollback", *words, *partial)
        assert back["outcome"] == "done"
        assert {node["node_id"]: node["release"] for node in back["proof"]} == {1: "4.3.1", 11: "3.9.2", 12: "3.9.2"}
        assert stops(rolled) == [1, 11]


def _delete_topic(cluster: KafkaCluster, name: str) -> None:
    """Delete a topic; the answer comes after the record is committed."""
    from kafka import KafkaAdminClient

    client = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_server.split(","), request_timeout_ms=60_000)
    try:
        client.delete_topics([name])
    finally:
        client.close()
