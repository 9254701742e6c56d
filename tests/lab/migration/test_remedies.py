"""Remedies of findings about ZooKeeper's tree, carried out on real Kafka in the state in which they are shown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafkactl.core.findings import Finding
from kafkactl.migration.checks.registry import check
from kafkactl.migration.io.zookeeper.client import ZooKeeper, open_zookeeper
from kafkactl.net.transport import Address
from tests.lab.harness.ports import HOST
from tests.lab.harness.zookeeper import ZooKeeperNode
from tests.lab.migration.cluster import MigrationCluster
from tests.lab.migration.plan_operator import Operator
from tests.lab.quorum.lost_majority import KafkaProducer, read_all

pytestmark = [
    pytest.mark.campaign,
]

RELEASE, BROKER, PARTITIONS, MISSING = "3.9.2", 1, 3, 1


def _found(cluster: MigrationCluster, id: str) -> list[Finding]:
    return [finding for finding in check(Operator(cluster).look()) if finding.id == id]


def _counts(cluster: MigrationCluster, *topics: str) -> list[int]:
    said = cluster.chores(*(f"count:{topic}" for topic in topics))
    return [int(count) for count in re.findall(r"count:\S+: (\d+)", said)]


def _remove_partition(zookeeper: ZooKeeper, topic: str, number: int) -> None:
    path = f"/brokers/topics/{topic}"
    held = zookeeper.read(path)
    assert held is not None
    content = json.loads(held.data)
    del content["partitions"][str(number)]
    zookeeper.set(path, json.dumps(content).encode(), held.version)
    for gone in (f"{path}/partitions/{number}/state", f"{path}/partitions/{number}"):
        _delete(zookeeper, gone)


def _delete(zookeeper: ZooKeeper, path: str) -> None:
    """Delete as `delete` of zookeeper-shell.sh does: refused if the znode has children."""
    held = zookeeper.read(path)
    assert held is not None
    zookeeper.delete(path, held.version)


def _below(zookeeper: ZooKeeper, path: str) -> Iterator[str]:
    """Yield the znodes below a path, children first; not those of the cluster and of ZooKeeper."""
    for name in zookeeper.children(path):
        child = f"{path.rstrip('/')}/{name}"
        if child not in ("/kafka", "/zookeeper"):
            yield from _below(zookeeper, child)
            yield child


def _copy(cluster: MigrationCluster, source: str, target: str) -> int:
    """Copy all messages of a topic, and return their number."""
    address = Address(HOST, cluster.plan.brokers[BROKER][0])
    clients: Any = SimpleNamespace(
        broker_ids=(BROKER,), node=lambda _: cluster.node(BROKER), broker_address=lambda _: address
    )
    messages = [value for found in read_all(clients, (source,)).values() for _, value in found]
    producer = KafkaProducer(bootstrap_servers=[str(address)], acks="all")
    for sent in [producer.send(target, value=value) for value in messages]:
        sent.get(timeout=60)
    producer.close()
    return len(messages)


def test_holes_and_a_wrong_chroot_are_mended_without_loss(tmp_path: Path) -> None:
    with MigrationCluster(RELEASE, tmp_path, brokers=1) as cluster:
        cluster.reach("M0")
        made = [f"topic:{topic}:{PARTITIONS}:1" for topic in ("hole", "copy")]
        cluster.chores(*made, "produce:hole:90:5000")
        before = _counts(cluster, "hole")[0]
        with cluster.open_zookeeper() as zookeeper:
            _remove_partition(zookeeper, "hole", MISSING)
        cluster.restart(BROKER)
        (hole,) = _found(cluster, "partition-numbers-not-consecutive")
        assert hole.subject == "topic hole"
        left = _counts(cluster, "hole")[0]
        assert 0 < left < before
        assert _copy(cluster, "hole", "copy") == left
        assert _counts(cluster, "copy") == [left]
        cluster.chores("delete-topic:hole")
        cluster.wait_for(lambda: cluster.znode("/brokers/topics/hole") is None, "deleted the topic")
        assert _found(cluster, "partition-numbers-not-consecutive") == []
        folder = cluster.plan.log_dir(BROKER) / f"hole-{MISSING}"
        assert sum(file.stat().st_size for file in folder.glob("*.log")) > (before - left) * 5000

        (controller,) = cluster.controller_ids
        cluster.format_controllers()
        cluster.write(controller, "migration", zookeeper_connect=cluster.zookeeper.connect)
        cluster.start(controller)
        with open_zookeeper(cluster.zookeeper.connect, timeout_ms=20_000) as root:
            cluster.wait_for(lambda: root.read("/migration"), "/migration at the wrong path")
            (wrong,) = _found(cluster, "chroot-mismatch")
            assert "delete /migration;" in wrong.next_step
            cluster.stop(controller)
            cluster.write(controller, "migration")
            cluster.start(controller)
            cluster.wait_for(lambda: cluster.znode("/migration"), "/migration")
            assert root.read("/cluster") is None
            assert not root.children("/brokers/ids") + root.children("/brokers/topics")
            for path in _below(root, "/"):
                _delete(root, path)
            assert set(root.children("/")) == {"kafka", "zookeeper"}
        assert _found(cluster, "chroot-mismatch") == []
        cluster._reached.append("M3")
        cluster.reach("M7")
        assert _counts(cluster, "copy") == [left]
        strays = list(folder.parent.glob(f"hole-{MISSING}.*-stray"))
        assert sum(file.stat().st_size for stray in strays for file in stray.glob("*.log")) > (before - left) * 5000


def test_servers_in_the_chroot_stay_and_further_ones_come_before_it(tmp_path: Path) -> None:
    zookeeper = ZooKeeperNode(tmp_path)
    chroot = f"/kafka,{zookeeper.connect}/kafka"
    with MigrationCluster(RELEASE, tmp_path, brokers=1, zookeeper=zookeeper, chroot=chroot) as cluster:
        cluster.reach("M0")
        cluster.chores(f"topic:orders:{PARTITIONS}:1", "produce:orders:90:5000")
        (found,) = _found(cluster, "zookeeper-servers-in-chroot")
        assert f"the tree is below {chroot}" in found.message
        cluster.plan = replace(cluster.plan, connect=f"{zookeeper.connect},{zookeeper.connect}{chroot}")
        cluster.restart(BROKER, "zk")
        assert _counts(cluster, "orders") == [90]
        cluster.write(*cluster.controller_ids, "migration")
        cluster.reach("M7")
        assert _counts(cluster, "orders") == [90]
