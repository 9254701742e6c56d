"""A partition folder without a topic id, started by real brokers: what `verify` predicts happens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kafkactl.storage.api.reading import verify_node
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.quorum.lost_majority import admin


@pytest.mark.parametrize("release", [pytest.param("3.9.2", marks=pytest.mark.campaign), "4.3.1"])
def test_folder_without_a_topic_id_becomes_a_stray(new_cluster: Callable[..., KafkaCluster], release: str) -> None:
    cluster = new_cluster(release, controllers=1, brokers=1).start()
    (broker,) = cluster.broker_ids
    config = cluster.config_file(broker)
    (directory,) = verify_node(config, kafka_version=release).verification.directories
    with admin(cluster) as client:
        client.create_topics({"orders": {"num_partitions": 1, "replication_factor": 1}}, wait_for_metadata=True)
    folder = Path(directory["path"], "orders-0")
    cluster.wait_for((folder / "partition.metadata").exists, "a partition.metadata")
    cluster.stop(broker)
    assert verify_node(config, kafka_version=release).verification.would_lose == ()
    (folder / "partition.metadata").unlink()
    assert [loss.what for loss in verify_node(config, kafka_version=release).verification.would_lose] == ["replicas"]
    cluster.start(broker)
    cluster.wait_for(lambda: list(folder.parent.glob("orders-0.*-stray")), "a stray")
