"""Nodes that share an id: a broker with the id of a controller, or two brokers. No message is lost."""

from __future__ import annotations

from collections.abc import Callable

from tests.conftest import Run
from tests.lab.harness import releases
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.storage_tool import StorageToolServer
from tests.lab.quorum.disks.test_two_foundings import ids
from tests.lab.quorum.disks.twin import RELEASE, TOPIC, Twin, count, create_topic, elect_leader, write

Cli = Callable[..., Run]
BROKER, TURNS = 11, 4


def test_controller_leaves_the_id_that_a_broker_has(kafkactl: Cli, new_cluster: Callable[..., KafkaCluster]) -> None:
    cluster = new_cluster(RELEASE, controllers=3, brokers=0)
    cluster.start()
    leader = cluster.leader()
    shared, other = (id for id in cluster.controller_ids if id != leader)
    twin = Twin(kafkactl, cluster, shared)
    where = ("--bootstrap-controller", f"{cluster.controller_address(leader)},{cluster.controller_address(other)}")
    assert "one-id-two-processes" not in ids(kafkactl("quorum", "describe", *where, "-o", "json"))
    twin.process.start()
    try:
        twin.process.wait_ready()
        create_topic(twin)
        write(twin, 50)
        # Whether the observer is alive is proved by its fetches, which takes an observation or two.
        for words in (("quorum", "describe"), ("nodes", "list")):
            cluster.wait_for(
                lambda words=words: "one-id-two-processes" in ids(kafkactl(*words, *where, "-o", "json")), "it", 60
            )
        new = cluster.add_controller()
        cluster.wait_for(lambda: new in [each["ReplicaId"] for each in cluster.quorum()["Observers"]], "follows", 120)
        run = kafkactl("quorum", "reassign", "--target", f"{leader},{other},{new}", *where, "--yes", "-o", "json")
        assert run.code == 0, run.stdout + run.stderr
        cluster.stop(shared)
        write(twin, 5)
        assert count(twin) == 55
        cluster.wait_for(
            lambda: "one-id-two-processes" not in ids(kafkactl("quorum", "describe", *where, "-o", "json")), "one", 60
        )
    finally:
        twin.process.kill()


def test_broker_that_took_over_an_id_has_the_only_copy_of_its_messages(
    kafkactl: Cli, new_cluster: Callable[..., KafkaCluster], storage_tool: StorageToolServer
) -> None:
    cluster = new_cluster(RELEASE, controllers=1, brokers=1).start()
    twin = Twin(kafkactl, cluster, BROKER)
    create_topic(cluster)
    write(cluster, 50)

    def is_reported() -> bool:
        return "broker-id-used-in-turns" in ids(kafkactl("log", "lint", cluster.disks.metadata_log(1), "-o", "json"))

    cluster.kill(BROKER)
    try:
        twin.process.start().wait_ready()
        elect_leader(twin)
        write(twin, 25)
        assert count(twin) == 25
        for turn in range(TURNS):
            stopped, started = (
                (twin.process, cluster.node(BROKER)) if turn % 2 == 0 else (cluster.node(BROKER), twin.process)
            )
            stopped.kill()
            started.start().wait_ready()
            if is_reported():
                break
        assert is_reported()
    finally:
        twin.process.kill()
    cluster.kill(BROKER)
    cluster.start(BROKER)
    elect_leader(cluster)
    assert count(cluster) == 50
    cluster.add_broker()
    (log,) = (twin.disk / f"{TOPIC}-0").glob("*.log")
    dump = storage_tool.dump(releases.NEWEST_WITH_TOOLS, ["--files", str(log), "--print-data-log"])
    assert dump.stdout.count(f"payload: {TOPIC}-0-") == 25, dump.stdout
