"""Time after a recovery: brokers that never stopped, old voters that return, and a quorum of three again."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import pytest

from tests.conftest import Run
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.node import read_config, write_config
from tests.lab.quorum.lost_majority import (
    Scene,
    admin,
    in_sync,
    isrs,
    lose_majority,
    produce,
    read_all,
    start_recovered,
    strays,
)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from kafka import KafkaProducer

Cli = Callable[..., Run]
pytestmark = [
    pytest.mark.campaign,
]


class Writer:
    """A producer that never stops: what was acknowledged to it."""

    def __init__(self, cluster: KafkaCluster) -> None:
        self.acked: list[bytes] = []
        self._over = threading.Event()
        self._producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_server.split(","), acks="all")
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        self._producer.close()

    def _run(self) -> None:
        for number in range(1_000_000):
            if self._over.is_set():
                return
            value = b"never-stops-%d" % number
            self._producer.send("pay", value=value, partition=0).get(timeout=120)
            self.acked.append(value)
            time.sleep(0.05)


def recovered(kafkactl: Cli, scene: Scene) -> None:
    """Recover from F while the brokers run."""
    cluster, out = scene.cluster, scene.cluster.disks.workdir / "recovered"
    shown = [word for node in (scene.complete, *cluster.broker_ids) for word in ("--log-dir", scene.disk(node))]
    words = ("quorum", "recover", *shown, "--lost", f"{scene.lagging},{scene.leader}", "--out", out, "-o", "json")
    assert kafkactl(*words, "--plan").code == 3  # brokers run
    run = kafkactl(*words, "--brokers-run", "--confirm", cluster.cluster_id)
    assert (run.code, run.json["outcome"]) == (0, "done"), run.stdout
    start_recovered(scene, scene.complete, out)


@pytest.mark.parametrize("release", ["4.3.1", "3.9.2", "4.4.0"])
def test_quorum_is_recovered_while_brokers_run_and_voters_return(
    kafkactl: Cli, new_cluster: Callable[..., KafkaCluster], release: str
):
    scene = lose_majority(new_cluster(release, controllers=3, brokers=2), brokers_die=False)
    cluster, old = scene.cluster, (scene.lagging, scene.leader)
    with Writer(cluster) as writer:
        time.sleep(2)
        recovered(kafkactl, scene)
        cluster.wait_for(lambda: in_sync(cluster), "every replica in sync", 120)
        before = len(writer.acked)
        epoch = cluster.quorum(scene.complete)["LeaderEpoch"]

        for node in old:  # F runs: they follow
            cluster.node(node).start()
        time.sleep(6)
        assert (cluster.leader(), cluster.quorum(scene.complete)["LeaderEpoch"]) == (scene.complete, epoch)
        assert list(cluster.voters()) == [scene.complete]

        cluster.kill(scene.complete)  # F is down: two of the old three elect each other
        time.sleep(8)
        cluster.kill(*old)
        cluster.node(scene.complete).start().wait_ready()
        cluster.wait_for(lambda: cluster.leader_now() == scene.complete, "the recovered controller as leader", 120)
        assert list(cluster.voters()) == [scene.complete]
        time.sleep(3)
    assert len(writer.acked) > before > 0
    assert all(cluster.node(broker_id).alive for broker_id in cluster.broker_ids)
    assert strays(scene) == {broker_id: [] for broker_id in cluster.broker_ids}
    found = read_all(cluster, ("orders", "pay", "late"))
    written = [value for _, value in found[("pay", 0)]]
    assert [record for record in writer.acked if record not in set(written)] == []
    for place, records in scene.records.items():
        assert found[place][: len(records)] == records
    grown_back(kafkactl, scene)


def grown_back(kafkactl: Cli, scene: Scene) -> None:
    """Make voters of new disks for the old ids; then the recovered controller is killed, and the cluster continues."""
    cluster = scene.cluster
    for node in (scene.lagging, scene.leader):
        cluster.replace_disk(node)
    for node in (scene.lagging, scene.leader):
        cluster.node(node).wait_ready()
    address = cluster.controller_address(scene.complete)
    run = kafkactl("quorum", "reassign", "--target", "1,2,3", "--bootstrap-controller", address, "--yes", "-o", "json")
    assert (run.code, run.json["voters_after"]) == (0, [1, 2, 3]), run.stdout
    cluster.kill(scene.complete)
    cluster.wait_for(lambda: cluster.leader_now() in (scene.lagging, scene.leader), "a new leader", 120)
    produce(cluster, dict.fromkeys(scene.records, 2))
    assert {place: len(found) for place, found in read_all(cluster, ("orders", "late")).items()} == {
        place: len(found) + 2 for place, found in scene.records.items() if place[0] != "pay"
    }


TWO_OF_TWO, ONE = {"num_partitions": 2, "replication_factor": 2}, {"num_partitions": 2, "replication_factor": 1}


def not_in_sync(cluster: KafkaCluster) -> bool:
    """Return True if broker 11 is in sync nowhere but where it is alone."""
    found = isrs(cluster)
    return bool(found) and all(11 not in isr for (topic, _), isr in found.items() if topic == "both")


def lost_a_broker(cluster: KafkaCluster) -> None:
    """Break broker 12, which leads all of `both`, has 10 records more than 11 and half of `single`; 11 sees that."""
    with admin(cluster) as chores:
        chores.create_topics({"both": TWO_OF_TWO, "single": ONE}, wait_for_metadata=True)
    produce(cluster, {("both", number): 10 for number in (0, 1)})
    cluster.kill(11)
    cluster.wait_for(lambda: not_in_sync(cluster), "broker 11 out of sync", 120)
    produce(cluster, {("both", number): 5 for number in (0, 1)})
    cluster.kill(12)
    cluster.node(11).start().wait_ready()
    cluster.wait_for(lambda: not_in_sync(cluster), "broker 12 as lost", 120)
    time.sleep(5)  # the session of broker 12 ends, and broker 11 has the records of that
    cluster.kill(1, 11)


@pytest.mark.parametrize("release", ["4.3.1", "3.9.2", "4.4.0"])
@pytest.mark.parametrize("unregistered", ["last", "first"])
def test_lost_broker_is_unregistered_after_a_recovery(
    kafkactl: Cli, new_cluster: Callable[..., KafkaCluster], release: str, unregistered: str
):
    # Recovered from the disk of broker 11 alone: the steps that plan and check give are those that work.
    cluster = new_cluster(release, controllers=1, brokers=2)
    cluster.start()
    lost_a_broker(cluster)
    out, address = cluster.disks.workdir / "recovered", cluster.controller_address(1)
    words = ("quorum", "recover", "--log-dir", cluster.disks.log_dir(11), "--lost", 1, "--without-broker-disks",
             "--config", cluster.config_file(1), "--out", out, "-o", "json")  # fmt: skip
    run = kafkactl(*words, "--confirm", cluster.cluster_id)
    assert run.code == 0, run.stdout
    (planned,) = [each for each in run.json["findings"] if each["id"] == "partitions-without-leader"]
    write_config(cluster.config_file(1), read_config(cluster.config_file(1)) | {"log.dirs": str(out)})
    cluster.start(1)
    cluster.start(11)
    time.sleep(3)

    def found() -> dict[str, dict[str, Any]]:
        words = (f"{out}.recovery.json", "--bootstrap-controller", address, "--log-dir", cluster.disks.log_dir(11))
        answer = kafkactl("quorum", "recover", "verify", *words, "-o", "json").json
        return {each["id"]: each for each in answer["findings"]}

    left = found()["partitions-without-leader"]["evidence"]
    assert left == planned["evidence"]
    (bare,) = left["without_replica"]
    assert sorted(left["partitions"]) == sorted(["both-0", "both-1", bare])
    if unregistered == "first":
        asked(cluster, "UnregisterBroker", {"BrokerId": 12})
    unclean = {"ElectionType": 1, "TopicPartitions": None, "TimeoutMs": 5_000}
    asked(cluster, "ElectLeaders", unclean)
    cluster.wait_for(lambda: found()["partitions-without-leader"]["evidence"]["partitions"] == [bare], "elected", 120)
    assert {len(records) for records in read_all(cluster, ("both",)).values()} == {10}  # and 5 are gone
    moved = [{"PartitionIndex": int(bare[-1]), "Replicas": [11]}]
    move = {"TimeoutMs": 5_000, "Topics": [{"Name": "single", "Partitions": moved}]}
    asked(cluster, "AlterPartitionReassignments", move)
    asked(cluster, "ElectLeaders", unclean)
    cluster.wait_for(lambda: "partitions-without-leader" not in found(), "elected what begins empty", 120)
    if unregistered == "last":
        asked(cluster, "UnregisterBroker", {"BrokerId": 12})
    cluster.wait_for(lambda: not found(), "nothing left to do", 120)
    both = [{"PartitionIndex": number, "Replicas": [11]} for number in (0, 1)]
    topics = [{"Name": "both", "Partitions": both}, {"Name": "single", "Partitions": moved}]
    asked(cluster, "AlterPartitionReassignments", {"TimeoutMs": 5_000, "Topics": topics})
    linted = ("log", "lint", "--from-cluster", "--bootstrap-controller", address, "-o", "json")
    cluster.wait_for(lambda: not kafkactl(*linted).json["findings"], "no trace of broker 12", 120)


def asked(cluster: KafkaCluster, request: str, body: dict[str, Any]) -> None:
    with cluster.client(timeout_ms=8_000, request_timeout_ms=6_000) as client:
        client.ask_active_controller(request, body)
