"""Rolls of a cluster with tiered storage on: remote segments stay readable, and uploads go on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.campaigns.roll.page import HEAD, PAGE
from tests.lab.harness.node import KafkaNode
from tests.lab.roll.rolled import Rolled
from tests.lab.roll.rolling import ACCEPTED, canary, create_topics, differences, ids, next_words, stops, there_and_back
from tests.lab.tiered.brokers import TieredCluster
from tests.proof_page import record_part

pytestmark = [
    pytest.mark.timeout(1800),
]
OLD, NEW = "3.9.2", "4.3.1"
RECORDS, SEGMENT_RECORDS = 4000, 1010
SEGMENT_BYTES = str(1 << 20)  # 4.x refuses less


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[TieredCluster]:
    with TieredCluster(OLD, tmp_path / "cluster") as cluster:
        cluster.start()
        yield cluster


def offsets(cluster: TieredCluster, topic: str) -> dict[str, int]:
    """Return the offsets of the topic's partition as the leader answers."""
    numbers = map(int, cluster.chore("offsets", topic).split())
    return dict(zip(("earliest", "latest", "earliest_local", "latest_tiered"), numbers, strict=True))


def records_of(cluster: TieredCluster, topic: str) -> int:
    """Return the number of records that a consumer reads from offset 0 to the end."""
    from kafka import KafkaConsumer, TopicPartition

    place = TopicPartition(topic, 0)
    consumer = KafkaConsumer(bootstrap_servers=cluster.bootstrap_server.split(","), enable_auto_commit=False)
    try:
        consumer.assign([place])
        consumer.seek(place, 0)
        end, read, deadline = consumer.end_offsets([place])[place], 0, time.monotonic() + 120
        while consumer.position(place) < end and time.monotonic() < deadline:
            read += sum(map(len, consumer.poll(1000).values()))
        return read
    finally:
        consumer.close()


def tiered(cluster: TieredCluster, topic: str, least: int) -> dict[str, int]:
    """Wait until segments up to an offset are remote, and some of them not local; return the offsets."""

    def is_remote() -> dict[str, int] | None:
        found = offsets(cluster, topic)
        return found if found["latest_tiered"] >= least and found["earliest_local"] > 0 else None

    return cluster.until(is_remote, f"tiered to {least}")


def test_upgrade_and_rollback_keep_remote_segments(cluster: TieredCluster) -> None:
    create_topics(cluster, {"canary": (6, 3, {"min.insync.replicas": "2"})})
    settings = cluster.topic_settings(segment__bytes=SEGMENT_BYTES, min__insync__replicas="2")
    cluster.chore("place", "orders", "11,12,1", settings)
    cluster.chore("produce", "orders", RECORDS)
    tiered(cluster, "orders", RECORDS - 2 * SEGMENT_RECORDS)
    produced, took, missed, local = RECORDS, [], [], []
    with Rolled(cluster) as rolled, canary(cluster) as producer:
        for seconds, answer in there_and_back(rolled, NEW, OLD):
            took.append(seconds)
            missed += differences(answer)
            assert records_of(cluster, "orders") == produced
            cluster.chore("produce", "orders", RECORDS)
            produced += RECORDS
            local.append(tiered(cluster, "orders", produced - 2 * SEGMENT_RECORDS)["earliest_local"])
            assert records_of(cluster, "orders") == produced
    assert missed == []
    counts = producer.result
    assert (counts["lost"], counts["errors"]) == (0, 0)
    record_part(
        PAGE, HEAD, f"tiered storage, {OLD} to {NEW} and back, 3 nodes, one of them the controller",
        f"forward {took[0]:.0f} s, back {took[1]:.0f} s; {produced} records, local from {local[-1]} on, all read "
        f"after each way, and uploads continue; leader changes as predicted; canary: {counts['acked']} acked, "
        f"{counts['errors']} errors, longest gap {counts['longest_gap_ms']} ms, {counts['lost']} lost",
    )  # fmt: skip


class PluginlessDisks(TieredCluster.DISKS):
    """Disks whose nodes of the new release have Kafka's own jars alone."""

    def node(self, node_id: int, release: str) -> KafkaNode:
        if release == NEW:
            return KafkaNode(release, self.config_file(node_id), self.workdir / "logs", name=f"node-{node_id}")
        return super().node(node_id, release)


class PluginlessCluster(TieredCluster):
    DISKS = PluginlessDisks


def test_new_release_without_the_plugin_goes_back(tmp_path: Path) -> None:
    with PluginlessCluster(OLD, tmp_path / "cluster") as cluster, Rolled(cluster) as rolled:
        cluster.start()
        create_topics(cluster, {"canary": (6, 3, {"min.insync.replicas": "2"})})
        settings = cluster.topic_settings(segment__bytes=SEGMENT_BYTES, min__insync__replicas="2")
        cluster.chore("place", "orders", "11,12,1", settings)
        cluster.chore("produce", "orders", RECORDS)
        tiered(cluster, "orders", RECORDS - 2 * SEGMENT_RECORDS)
        checked = rolled.kafkactl("check", "--to", NEW)
        (plugin,) = [found for found in checked["findings"] if found["id"] == "classes-not-checked"]
        assert plugin["evidence"]["classes"] == ["kafkactl.lab.HeldStorage"]
        with canary(cluster) as producer:
            answer = rolled.kafkactl("run", "--to", NEW, "--only", "12", *ACCEPTED, code=5)
            undo = next_words(rolled, answer, "start-failed")
            assert undo == ["--to", OLD, "--only", "12"]
            assert "ClassNotFoundException: kafkactl.lab.HeldStorage" in cluster.node(12).log_text()
            back = rolled.kafkactl("rollback", *undo, *ACCEPTED, "--accept", "partial-roll")
        assert back["outcome"] == "done"
        assert {node["release"] for node in back["proof"]} == {OLD}
        assert records_of(cluster, "orders") == RECORDS
    counts = producer.result
    assert (counts["lost"], counts["errors"]) == (0, 0)
    record_part(
        PAGE, HEAD, f"tiered storage, {NEW} without the plugin of the storage on one broker",
        "the check names the class; the broker exits (ClassNotFoundException) and goes back by the next step, all "
        f"records read; canary: {counts['acked']} acked, 0 errors, longest gap {counts['longest_gap_ms']} ms, 0 lost",
    )  # fmt: skip


def test_small_segments_of_a_tiered_topic_are_refused_before_a_broker_stops(cluster: TieredCluster) -> None:
    # 3.9.2 takes segments of 20 kB, with which no broker of 4.3.1 starts.
    cluster.chore("place", "orders", "11,12,1", cluster.topic_settings())
    with Rolled(cluster) as rolled:
        answer = rolled.kafkactl("run", "--to", NEW, *ACCEPTED, code=3)
        assert "stored-setting-refused" in ids(answer)
        assert stops(rolled) == []
