"""A broker with the id of another node, with directories and an address of its own."""

from __future__ import annotations

import time
from collections.abc import Callable

from kafka.errors import KafkaError
from kafka.protocol.admin import ElectionType

from kafkactl.net.transport import Address
from tests.conftest import Run
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.cluster_disks import SETTINGS
from tests.lab.harness.config import broker, dynamic_quorum
from tests.lab.harness.node import KafkaNode
from tests.lab.harness.ports import HOST, free_port
from tests.lab.quorum.lost_majority import admin, produce, read_all

RELEASE, TOPIC = "4.3.1", "orders"


class Twin:
    """The second process; clients find it as the only broker of a cluster (`broker_ids`, `node`, `broker_address`)."""

    def __init__(self, kafkactl: Callable[..., Run], cluster: KafkaCluster, id: int) -> None:
        work, port = cluster.disks.workdir / "twin", free_port()
        quorum = dynamic_quorum(list(cluster.disks.controller_ports.values()))
        self.disk, self.broker_ids, self._address = work / "disk", (id,), Address(HOST, port)
        settings = broker(node_id=id, log_dirs=[self.disk], port=port, quorum=quorum) | SETTINGS
        self.process = KafkaNode(RELEASE, settings, work, name="twin")
        format = kafkactl("storage", "format", "-t", cluster.cluster_id, "-c", self.process.config_file,
                          "--kafka-version", RELEASE, "--no-initial-controllers")  # fmt: skip
        assert format.code == 0, format.stdout + format.stderr

    def node(self, _id: int) -> KafkaNode:
        return self.process

    def broker_address(self, _id: int) -> Address:
        return self._address


def create_topic(cluster: KafkaCluster | Twin) -> None:
    """Create a topic of one partition with one replica."""
    with admin(cluster) as chores:  # type: ignore[arg-type]
        chores.create_topics({TOPIC: {"num_partitions": 1, "replication_factor": 1}}, wait_for_metadata=True)


def elect_leader(cluster: KafkaCluster | Twin, timeout_s: float = 90) -> None:
    """Elect the only replica of the partition as its leader.

    A broker that is unfenced before its new directory is assigned to the replica is not elected by the controller
    until the next election (4.3.1), which is an administrator's or that of the next check of preferred leaders.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            with admin(cluster) as chores:  # type: ignore[arg-type]
                chores.elect_leaders(ElectionType.PREFERRED, {TOPIC: [0]})  # no error if the leader is there
            return
        except KafkaError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.5)


def write(cluster: KafkaCluster | Twin, count: int) -> None:
    """Produce that many messages, each acknowledged."""
    produce(cluster, {(TOPIC, 0): count})  # type: ignore[arg-type]


def count(cluster: KafkaCluster | Twin) -> int:
    """Return the number of messages that a consumer reads."""
    return len(read_all(cluster, (TOPIC,))[TOPIC, 0])  # type: ignore[arg-type]
