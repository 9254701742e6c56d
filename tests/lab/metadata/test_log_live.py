"""`kafkactl log` on a running quorum: what is fetched is what is on the disks, and the disks agree."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.cluster_fixtures import ClusterOf


@pytest.fixture
def cluster(cluster_of: ClusterOf) -> KafkaCluster:
    return cluster_of("4.3.1", controllers=3, brokers=1)


def lines(text: str) -> list[dict[str, Any]]:
    return [{**json.loads(line), "file": None} for line in text.splitlines()]


def folder(cluster: KafkaCluster, node_id: int) -> Path:
    return Path(cluster.node(node_id).config["log.dirs"].split(",")[0]) / "__cluster_metadata-0"


@pytest.mark.parametrize("way", ["--bootstrap-controller", "--bootstrap-server"])
def test_fetched_log_is_equal_to_the_disk(kafkactl, cluster: KafkaCluster, way: str):
    address = cluster.bootstrap_controller if way == "--bootstrap-controller" else cluster.bootstrap_server
    run = kafkactl("log", "dump", "--from-cluster", way, address)
    assert run.code == 0, run.stderr
    fetched = lines(run.stdout)
    assert len(fetched) > 10
    first, last = fetched[0]["offset"], fetched[-1]["offset"]
    for node_id in cluster.controller_ids:
        on_disk = kafkactl("log", "dump", folder(cluster, node_id), "--from", first, "--to", last)
        assert [line for line in lines(on_disk.stdout) if line["offset"] <= last] == fetched[
            : len(lines(on_disk.stdout))
        ]


def test_states_of_the_cluster_and_of_its_nodes_are_equal(kafkactl, cluster: KafkaCluster):
    live = kafkactl(
        "log", "--bootstrap-controller", cluster.bootstrap_controller, "image", "--from-cluster", "-o", "json"
    )
    assert live.code == 0, live.stderr
    leader = cluster.leader()
    disk = kafkactl("log", "image", folder(cluster, leader), "--at", live.json["offset"], "-o", "json")
    assert disk.code == 0, disk.stderr
    assert live.json["image"]["brokers"] == disk.json["image"]["brokers"]
    assert live.json["sha256"] == disk.json["sha256"]
    history = kafkactl(
        "log", "history", "--from-cluster", "--bootstrap-controller", cluster.bootstrap_controller, "--broker", 11
    )
    assert lines(history.stdout)[0]["type"] == "RegisterBrokerRecord"


@pytest.mark.parametrize("way", ["--bootstrap-controller", "--bootstrap-server"])
def test_live_cluster_is_predicted_as_its_disk_is(kafkactl, cluster: KafkaCluster, way: str):
    address = cluster.bootstrap_controller if way == "--bootstrap-controller" else cluster.bootstrap_server
    asked = ("--brokers", cluster.broker_ids[0], "-o", "json")
    live = kafkactl("dryrun", "broker-loss", "--from-cluster", way, address, *asked)
    disk = folder(cluster, cluster.leader())
    saved = kafkactl("dryrun", "broker-loss", disk, *asked)
    same_fields = ("verdict", "counts", "effects")
    assert live.code == saved.code
    assert {name: live.json.get(name) for name in same_fields} == {name: saved.json.get(name) for name in same_fields}
    assert live.json["effects"]["partitions"]["total"] >= 0
    assert live.json["source"]["cluster_id"] == cluster.cluster_id
    assert live.json["source"]["paths"] == [f"cluster:{address}"]
    both = kafkactl("dryrun", "replay", disk, "--from-cluster", way, address, "-o", "json")
    assert (both.code, len(both.json["source"]["replicas"])) == (0, 2), both.stdout


def test_disk_is_compared_with_the_live_cluster(kafkactl, cluster: KafkaCluster):
    live = ("--from-cluster", "--bootstrap-controller", cluster.bootstrap_controller, "-o", "json")
    run = kafkactl(
        "log", "verify", *(folder(cluster, controller_id) for controller_id in cluster.controller_ids), *live
    )
    assert (run.code, run.json["divergences"]) == (0, []), run.stdout
    assert [finding["id"] for finding in run.json["findings"]] == []
    last = run.json["sources"][-1]
    assert last["path"] == f"cluster:{cluster.bootstrap_controller}" and last["cluster_id"] == cluster.cluster_id
    assert kafkactl("log", "verify", *live).code == 0


def test_nodes_agree(kafkactl, cluster: KafkaCluster):
    folders = [folder(cluster, node_id) for node_id in (*cluster.controller_ids, *cluster.broker_ids)]
    run = kafkactl("log", "verify", *folders, "-o", "json")
    assert run.code == 0, run.stdout
    assert run.json["divergences"] == []
    assert {source["cluster_id"] for source in run.json["sources"]} == {cluster.cluster_id}
    assert len({source["first_offset"] for source in run.json["sources"]}) == 1


@pytest.mark.campaign
@pytest.mark.parametrize("release", ["3.9.2", "4.4.0"])
def test_log_that_begins_at_a_snapshot_is_reported(kafkactl, new_cluster: ClusterOf, release: str):
    # As long as the controller's log has it; what a node of the same cluster has on disk is the same.
    often = {"metadata.log.max.snapshot.interval.ms": "2000"}
    cluster = new_cluster(release, controllers=1, brokers=1, settings=often)
    cluster.start()
    disk = folder(cluster, cluster.controller_ids[0])
    until = time.monotonic() + 180
    while not [path for path in disk.glob("*.checkpoint") if int(path.name[:20]) > 10]:
        assert time.monotonic() < until, sorted(disk.iterdir())
        time.sleep(1)
    broker = ("--broker", cluster.broker_ids[0])
    live = kafkactl("log", "history", "--from-cluster", "--bootstrap-controller", cluster.bootstrap_controller, *broker)
    assert lines(live.stdout) == lines(kafkactl("log", "history", disk, *broker).stdout)
    assert lines(live.stdout)[0]["type"] == "RegisterBrokerRecord" and "checkpoint" not in live.stdout
    where = ("--from-cluster", "--bootstrap-controller", cluster.bootstrap_controller, "-o", "json")
    verified = kafkactl("log", "verify", disk, *where)
    assert (verified.code, verified.json["findings"]) == (0, []), verified.stdout
    predicted = kafkactl("dryrun", "restart", *where)
    assert (predicted.code, predicted.json["verdict"]) == (0, "ok"), predicted.stdout
