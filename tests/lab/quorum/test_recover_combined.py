"""Nodes that are controller and broker in one process: two of three are lost, and the third keeps its partitions."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.errors import LabError
from tests.lab.harness.node import read_config, write_config
from tests.lab.quorum.lost_majority import admin, isrs, produce, read_all

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # kafka-python's
Cli = Callable[..., Run]
NODES = 3
REFUSED = "Found unexpected metadata location in data directory"


def lived(new_cluster: Callable[..., KafkaCluster], release: str) -> tuple[KafkaCluster, int]:
    """A topic on three combined nodes, all killed; and the one whose disk is left."""
    cluster = new_cluster(release, controllers=NODES, brokers=0, combined=True)
    cluster.start()
    with admin(cluster) as chores:
        chores.create_topics({"orders": {"num_partitions": 2, "replication_factor": NODES}}, wait_for_metadata=True)
    produce(cluster, {("orders", 0): 20, ("orders", 1): 20})
    survivor = cluster.leader()
    cluster.wait_for(lambda: {len(isr) for isr in isrs(cluster).values()} == {NODES}, "every replica in sync", 60)
    return cluster, survivor


def configure(cluster: KafkaCluster, node_id: int, survivor: int, metadata: Path | None = None) -> None:
    file = cluster.config_file(node_id)
    held = read_config(file) | {"controller.quorum.bootstrap.servers": str(cluster.controller_address(survivor))}
    write_config(file, held if metadata is None else held | {"metadata.log.dir": str(metadata)})


@pytest.mark.parametrize(
    ("release", "grows"),
    [
        ("4.3.1", False),
        *(pytest.param(release, True, marks=pytest.mark.campaign) for release in ("3.9.2", "4.3.1", "4.4.0")),
    ],
)
def test_a_combined_node_is_recovered_by_the_steps_of_the_plan(
    kafkactl: Cli, new_cluster: Callable[..., KafkaCluster], release: str, grows: bool
):
    cluster, survivor = lived(new_cluster, release)
    records = read_all(cluster, ("orders",))
    cluster.kill(*cluster.controller_ids)
    gone = [node_id for node_id in cluster.controller_ids if node_id != survivor]
    disk, work = cluster.disks.log_dir(survivor), cluster.disks.workdir
    words = ("quorum", "recover", "--log-dir", disk, "--lost", ",".join(map(str, gone)), "--out", work / "recovered",
             "--config", cluster.config_file(survivor), "--without-broker-disks", "-o", "json")  # fmt: skip
    for node_id in gone:
        shutil.rmtree(cluster.disks.log_dir(node_id))
    planned = kafkactl(*words, "--plan")
    assert planned.code == 0, planned.stdout
    written = kafkactl(*words, "--confirm", cluster.cluster_id)
    assert written.code == 0, written.stdout
    configure(cluster, survivor, survivor, work / "recovered")
    with pytest.raises(LabError, match=REFUSED):  # what the next step is for
        cluster.node(survivor).start().wait_ready(60)
    fence = [step for step in written.json["steps"] if step["action"] == "fence-old-voter" and step["command"]]
    (work / "BACKUP").mkdir()
    verb, option, source, target = shlex.split(fence[0]["command"])
    assert (verb, option, len(fence)) == ("mv", "-nT", 1)
    Path(source).rename(work / target)
    cluster.node(survivor).start().wait_ready(60)
    alone = {(survivor,)}
    cluster.wait_for(lambda: elected(cluster) and set(isrs(cluster).values()) == alone, "led by the node left", 60)
    assert cluster.leader() == survivor
    assert read_all(cluster, ("orders",)) == records
    assert not list(disk.glob("*-stray"))
    assert list(cluster.voters()) == [survivor]
    if grows:
        grown_back(kafkactl, cluster, survivor, gone)


def elected(cluster: KafkaCluster) -> bool:
    """Make the unclean election of the plan: which lost broker is the last in sync is up to Kafka."""
    body = {"ElectionType": 1, "TopicPartitions": None, "TimeoutMs": 5_000}
    with cluster.client(timeout_ms=8_000, request_timeout_ms=6_000) as client:
        client.ask_active_controller("ElectLeaders", body)
    return True


def grown_back(kafkactl: Cli, cluster: KafkaCluster, survivor: int, gone: list[int]) -> None:
    for node_id in gone:
        cluster.replace_disk(node_id, start=False)
        configure(cluster, node_id, survivor)
        cluster.node(node_id).start()
    for node_id in gone:
        cluster.node(node_id).wait_ready(60)
    target = ",".join(map(str, cluster.controller_ids))
    address = cluster.controller_address(survivor)
    run = kafkactl("quorum", "reassign", "--target", target, "--bootstrap-controller", address, "--yes")
    assert run.code == 0, run.stdout + run.stderr
    assert sorted(cluster.voters()) == list(cluster.controller_ids)
    produce(cluster, {("orders", 0): 3, ("orders", 1): 3})
    whole = {len(found) for found in read_all(cluster, ("orders",)).values()}
    assert whole == {23}
    cluster.wait_for(lambda: {len(isr) for isr in isrs(cluster).values()} == {NODES}, "copied to the new disks", 60)
