"""An empty disk in the place of the last in-sync replica: what is reported, what Kafka does, and the way out."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.conftest import Run
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.quorum.disks.test_two_foundings import ids
from tests.lab.quorum.lost_majority import KafkaConsumer, TopicPartition, admin, produce

Cli = Callable[..., Run]
pytestmark = [
    pytest.mark.campaign,
]
TOPIC, PARTITIONS, BEFORE, AFTER = "orders", 12, 50, 20


@pytest.mark.parametrize("release", ["3.9.2", "4.3.1"])
@pytest.mark.parametrize("way", ["restart", "elect"])
def test_empty_replica_is_elected_at_a_restart_and_not_after_an_election_of_another(
    kafkactl: Cli, new_cluster: Callable[..., KafkaCluster], release: str, way: str
) -> None:
    cluster = new_cluster(release, controllers=1, brokers=2).start()
    replaced, other = cluster.broker_ids
    where = ("--bootstrap-controller", cluster.controller_address(1))

    def found() -> set[str]:
        return set(ids(kafkactl("log", "lint", "--from-cluster", *where, "-o", "json")))

    second = cluster.config_file(replaced).parent / "second"
    cluster.stop(replaced)
    _add_directory(cluster, replaced, str(second))
    assert _ensured(kafkactl, cluster, replaced, release).code == 0
    cluster.start(replaced)
    cluster.wait_complete()
    with admin(cluster) as chores:
        chores.create_topics({TOPIC: {"num_partitions": PARTITIONS, "replication_factor": 2}})
    everywhere = range(PARTITIONS)
    produce(cluster, {(TOPIC, number): BEFORE for number in everywhere})
    cluster.stop(other)
    produce(cluster, {(TOPIC, number): AFTER for number in everywhere})
    on_second = sorted(int(folder.name.rpartition("-")[2]) for folder in second.glob(f"{TOPIC}-*"))
    assert 0 < len(on_second) < PARTITIONS

    cluster.stop(replaced)
    shutil.rmtree(second)
    cluster.start(other)
    cluster.wait_for(lambda: found() == {"leaderless-partition"}, "all partitions without a leader", 60)
    verified = kafkactl("storage", "verify", "-c", cluster.config_file(replaced), "--kafka-version", release)
    assert "log lint" in " ".join(verified.stdout.split())
    refused = _ensured(kafkactl, cluster, replaced, release)
    assert (refused.code, refused.json["outcome"]) == (3, "refused")
    (found_last,) = [each for each in refused.json["findings"] if each["id"] == "last-copy-in-lost-directory"]
    assert sorted(found_last["evidence"]["partitions"]) == sorted(f"{TOPIC}-{number}" for number in on_second)
    assert "running quorum" in found_last["message"]
    if way == "elect":
        _elect(cluster, on_second)
        cluster.wait_for(lambda: _ensured(kafkactl, cluster, replaced, release).code == 0, "the disk formatted", 60)
    else:
        formatted = kafkactl("storage", "format", "-g", *_words(cluster, replaced, release))
        assert (formatted.code, formatted.json["outcome"]) == (0, "done")
    cluster.start(replaced)
    # Elected at this start if the broker assigns its new directory before it is unfenced, else at the next one.
    waiting = {"leaderless-partition"}, {"last-copy-in-lost-directory"}
    cluster.wait_for(lambda: found() not in waiting, "the directory assigned", 60)
    if found():
        assert found() == {"live-replica-not-elected"}
        cluster.stop(replaced)
        cluster.start(replaced)
    cluster.wait_for(lambda: not found(), "a leader of each partition", 60)
    left = 0 if way == "restart" else BEFORE
    wanted = {number: left if number in on_second else BEFORE + AFTER for number in everywhere}
    cluster.wait_for(lambda: _ends(cluster) == wanted, f"the records {wanted}", 60)


def _add_directory(cluster: KafkaCluster, node_id: int, path: str) -> None:
    file = cluster.config_file(node_id)
    lines = file.read_text(encoding="utf-8").splitlines()
    added = [f"{line},{path}" if line.startswith("log.dirs=") else line for line in lines]
    file.write_text("\n".join(added) + "\n", encoding="utf-8")


def _words(cluster: KafkaCluster, node_id: int, release: str) -> tuple[object, ...]:
    return ("-t", cluster.cluster_id, "-c", cluster.config_file(node_id), "--kafka-version", release, "-o", "json")


def _ensured(kafkactl: Cli, cluster: KafkaCluster, node_id: int, release: str) -> Run:
    return kafkactl("storage", "ensure", *_words(cluster, node_id, release))


def _elect(cluster: KafkaCluster, numbers: list[int]) -> None:
    body: Mapping[str, Any] = {
        "ElectionType": 1,
        "TopicPartitions": [{"Topic": TOPIC, "Partitions": numbers}],
        "TimeoutMs": 5_000,
    }
    with cluster.client(timeout_ms=8_000) as client:
        client.ask_active_controller("ElectLeaders", body)


def _ends(cluster: KafkaCluster) -> dict[int, int]:
    """Return the end of each partition; of none while a broker has not heard of all leaders."""
    consumer = KafkaConsumer(bootstrap_servers=[str(cluster.broker_address(id)) for id in cluster.broker_ids])
    try:
        places = [TopicPartition(TOPIC, number) for number in range(PARTITIONS)]
        return {place.partition: end for place, end in consumer.end_offsets(places).items()}
    except KeyError:
        return {}
    finally:
        consumer.close()
