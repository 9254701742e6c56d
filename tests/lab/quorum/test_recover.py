"""A quorum that lost its majority is recovered with the command alone, and real Kafka continues from what it wrote."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.migration.driving.runbook import Runbook
from tests.lab.quorum.lost_majority import Scene, lose_majority, start_recovered, whole

Cli = Callable[..., Run]
PAGE = Path(__file__).parents[3] / "docs" / "quorum-recovery.md"


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
    """Run `recover verify` of the cluster as it runs."""
    plan = scene.cluster.disks.workdir / "recovered.recovery.json"
    brokers = [word for broker_id in scene.cluster.broker_ids for word in ("--log-dir", scene.disk(broker_id))]
    address = scene.cluster.controller_address(node_id)
    return kafkactl("quorum", "recover", "verify", plan, *brokers, "--bootstrap-controller", address, "-o", "json")


@pytest.mark.parametrize(
    ("release", "dynamic"),
    [
        pytest.param(release, dynamic, marks=pytest.mark.campaign)
        for release, dynamic in (("4.3.1", True), ("3.9.2", True), ("4.4.0", True), ("3.9.2", False), ("4.3.1", False))
    ],
)
def test_quorum_is_recovered_from_a_complete_controller(
    kafkactl: Cli, new_cluster: Callable[..., KafkaCluster], release: str, dynamic: bool
):
    scene = lose_majority(new_cluster(release, controllers=3, brokers=2, dynamic=dynamic))
    survivor = scene.complete
    shown = [word for node in (survivor, *scene.cluster.broker_ids) for word in ("--log-dir", scene.disk(node))]
    answer = recovered(kafkactl, scene, survivor, *shown, "--lost", f"{scene.lagging},{scene.leader}", "--config",
                       scene.cluster.config_file(survivor))  # fmt: skip
    assert answer["source"]["path"] == str(scene.disk(survivor))
    assert answer["losses"]["count"] == 0
    first = verified(kafkactl, scene, survivor)
    assert {finding["id"] for finding in first.json["findings"]} <= {
        "brokers-still-fenced",
        "partitions-without-leader",
    }, first.stdout
    assert first.json["leader_epoch"] > answer["result"]["epoch"]
    whole(scene, survivor)
    last = verified(kafkactl, scene, survivor)
    assert (last.code, last.json["findings"]) == (0, [])


@pytest.mark.parametrize(
    "release", ["4.3.1", *(pytest.param(release, marks=pytest.mark.campaign) for release in ("3.9.2", "4.4.0"))]
)
def test_commands_of_the_runbook_are_run(kafkactl: Cli, new_cluster: Callable[..., KafkaCluster], release: str):
    # docs/quorum-recovery.md, "2. Steps": every command in order, with the names of this cluster.
    scene = lose_majority(new_cluster(release, controllers=3, brokers=2))
    cluster, survivor, work = scene.cluster, scene.complete, scene.cluster.disks.workdir
    gone = (scene.lagging, scene.leader)
    names = {
        "/mnt/c2": scene.disk(survivor),
        "/mnt/b11": scene.disk(cluster.broker_ids[0]),
        "/mnt/b12": scene.disk(cluster.broker_ids[1]),
        "/disk/recovered": work / "recovered",
        "/disk/recovered.recovery.json": work / "recovered.recovery.json",
        "b11.tar": work / "b11.tar",
        "1,3": ",".join(map(str, gone)),
        "CLUSTER_ID": cluster.cluster_id,
        "c2:9093": cluster.controller_address(survivor),
    }
    runbook = Runbook(PAGE)
    lines = iter(runbook.section("2."))

    def type_next(verb: str, *, codes: tuple[int, ...] = (0,)) -> Run:
        line = next(lines)
        assert f"kafkactl {verb} " in line.text
        run = kafkactl(*line.words({name: str(value) for name, value in names.items()}))
        assert run.code in codes, (line.text, run.code, run.stdout, run.stderr)
        runbook.ran(line)
        return run

    type_next("quorum recover collect")
    assert "No loss is visible on these disks" in type_next("quorum recover").stdout
    type_next("quorum recover")
    start_recovered(scene, survivor, work / "recovered")
    alone = type_next("quorum recover verify", codes=(0, 7))  # 7: brokers count as fenced after their session
    assert alone.code == 0 or "brokers-still-fenced" in alone.stdout
    cluster.node(cluster.broker_ids[0]).start().wait_ready()
    type_next("quorum recover verify", codes=(0, 7))
    whole(scene, survivor)
    format_line = next(lines)
    assert "kafkactl storage format " in format_line.text
    for node_id in gone:
        cluster.replace_disk(node_id, start=False)
        shutil.rmtree(scene.disk(node_id))
        file = {"FILE": str(cluster.config_file(node_id)), "CLUSTER_ID": cluster.cluster_id}
        run = kafkactl(*format_line.words(file))
        assert run.code == 0, run.stdout + run.stderr
        cluster.node(node_id).start().wait_ready()
    runbook.ran(format_line)
    cluster.wait_complete()
    type_next("quorum reassign")
    assert sorted(cluster.voters()) == [1, 2, 3]
    assert next(lines, None) is None
    # The command runs with --new-address in tests/lab/quorum/disks/test_new_addresses.py.
    elsewhere = ("/disk/again", "quorum describe", "--new-address")
    assert not [text for text in runbook.left if not any(word in text for word in elsewhere)]
