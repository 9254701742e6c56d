"""A quorum that lost its majority is recovered with the command alone, and real Kafka goes on from what it wrote."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.conftest import Run
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.quorum.lost_majority import Scene, lose_majority, start_recovered, whole

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # kafka-python's
Cli = Callable[..., Run]


def recovered(kafkactl: Cli, scene: Scene, node_id: int, *arguments: object) -> dict:
    """Plan, write, start the recovered controller and verify it; the answer of the write."""
    target = scene.cluster.disks.workdir / "recovered"
    words = ("quorum", "recover", "--out", target, "--node-id", node_id, *arguments, "-o", "json")
    planned = kafkactl(*words, "--plan")
    assert (planned.code, planned.json["outcome"]) == (0, "planned"), planned.stdout
    assert not target.exists()
    written = kafkactl(*words, "--confirm", scene.cluster.cluster_id)
    assert (written.code, written.json["outcome"]) == (0, "done"), written.stdout
    again = kafkactl(*words, "--confirm", scene.cluster.cluster_id)
    assert (again.code, again.json["outcome"]) == (0, "nothing-to-do")
    assert again.json["result"] == written.json["result"]
    start_recovered(scene, node_id, target)
    return written.json


def verified(kafkactl: Cli, scene: Scene, node_id: int) -> Run:
    """`recover verify` of the cluster as it runs."""
    plan = scene.cluster.disks.workdir / "recovered.recovery.json"
    brokers = [word for one in scene.cluster.broker_ids for word in ("--log-dir", scene.disk(one))]
    address = scene.cluster.controller_address(node_id)
    return kafkactl("quorum", "recover", "verify", plan, *brokers, "--bootstrap-controller", address, "-o", "json")


@pytest.mark.parametrize(
    ("release", "dynamic"),
    [
        ("4.3.1", True),
        *(
            pytest.param(release, dynamic, marks=pytest.mark.campaign)
            for release, dynamic in (("3.9.2", True), ("4.4.0", True), ("3.9.2", False), ("4.3.1", False))
        ),
    ],
)
def test_from_a_complete_controller(
    kafkactl: Cli, new_cluster: Callable[..., KafkaCluster], release: str, dynamic: bool
):
    scene = lose_majority(new_cluster(release, controllers=3, brokers=2, dynamic=dynamic))
    survivor = scene.complete
    shown = [word for one in (survivor, *scene.cluster.broker_ids) for word in ("--log-dir", scene.disk(one))]
    answer = recovered(kafkactl, scene, survivor, *shown, "--lost", f"{scene.lagging},{scene.leader}", "--config",
                       scene.cluster.config_file(survivor))  # fmt: skip
    assert answer["source"]["path"] == str(scene.disk(survivor))
    assert answer["losses"]["count"] == 0
    first = verified(kafkactl, scene, survivor)
    assert {one["id"] for one in first.json["findings"]} <= {"brokers-still-fenced", "partitions-without-leader"}, (
        first.stdout
    )
    assert first.json["leader_epoch"] > answer["result"]["epoch"]
    whole(scene, survivor)
    last = verified(kafkactl, scene, survivor)
    assert (last.code, last.json["findings"]) == (0, [])
