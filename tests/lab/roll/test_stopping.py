"""Rolls on real Kafka that have to stop or to wait: another broker that fails in a soak."""

from __future__ import annotations

from collections.abc import Callable

from tests.lab.harness.cluster import KafkaCluster
from tests.lab.roll.rolled import Rolled
from tests.lab.roll.rolling import ACCEPTED, create_topics, ids, stops, wait_until_quiet


def test_broker_that_is_paused_in_a_soak_stops_the_run_before_the_next_stop(
    new_cluster: Callable[..., KafkaCluster],
) -> None:
    cluster = new_cluster("4.3.1", controllers=1, brokers=2).start()
    create_topics(cluster, {"orders": (4, 2, {"min.insync.replicas": "1"})})
    words = ("--only", "1,11", *ACCEPTED)
    with Rolled(cluster) as rolled:
        wait_until_quiet(rolled)
        process = rolled.begin("run", "--soak", "12s", "--gate-timeout", "45s", *words)
        rolled.wait_for_line(process, "waiting for the gate before the stop of node 11 to be confirmed")
        cluster.pause(12)
        answer = rolled.ended(process, code=5)
        assert stops(rolled) == [1]
        assert "nobody-else-is-down" in ids(answer)
        cluster.resume(12)
        cluster.wait_complete()
        assert rolled.kafkactl("run", *words)["outcome"] == "done"
        assert stops(rolled) == [1, 11]
