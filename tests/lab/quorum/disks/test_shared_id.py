"""A broker that was given the id of a controller: `quorum describe` and `nodes list` warn while both run."""

from __future__ import annotations

from collections.abc import Callable

from tests.conftest import Run
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.config import broker, dynamic_quorum
from tests.lab.harness.node import KafkaNode
from tests.lab.harness.ports import free_port
from tests.lab.quorum.disks.test_two_foundings import ids

Cli = Callable[..., Run]


def test_a_broker_with_the_id_of_a_follower_is_named(kafkactl: Cli, new_cluster: Callable[..., KafkaCluster]) -> None:
    cluster = new_cluster("4.3.1", controllers=3, brokers=0)
    cluster.start()
    id = next(id for id in cluster.controller_ids if id != cluster.leader())
    work = cluster.disks.workdir / "twin"
    quorum = dynamic_quorum(list(cluster.disks.controller_ports.values()))
    settings = broker(node_id=id, log_dirs=[work / "disk"], port=free_port(), quorum=quorum)
    node = KafkaNode("4.3.1", settings, work, name="twin")
    formatted = kafkactl("storage", "format", "-t", cluster.cluster_id, "-c", node.config_file,
                         "--kafka-version", "4.3.1", "--no-initial-controllers")  # fmt: skip
    assert formatted.code == 0, formatted.stdout + formatted.stderr
    address = ("--bootstrap-controller", cluster.controller_address(cluster.leader()), "-o", "json")
    assert "one-id-two-processes" not in ids(kafkactl("quorum", "describe", *address))
    node.start()
    try:
        # Whether the observer is alive is proved by its fetches, which takes an observation or two.
        for words in (("quorum", "describe"), ("nodes", "list")):
            cluster.wait_for(
                lambda words=words: "one-id-two-processes" in ids(kafkactl(*words, *address)), f"reported {words}", 60
            )
    finally:
        node.kill()
