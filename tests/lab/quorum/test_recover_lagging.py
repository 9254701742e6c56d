"""Recovery where only a lagging controller is left: what becomes stray is predicted, adopted, and restored."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lab.harness.cluster import KafkaCluster
from tests.lab.quorum.lost_majority import (
    TOPICS,
    Scene,
    in_sync,
    isrs,
    left,
    lose_majority,
    produce,
    read_all,
    start_recovered,
    strays,
    whole,
)

Cli = Callable[..., object]
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
LOST_TO_G = ("late-0", "late-1", "orders-3")


def folders_alone(scene: Scene) -> list[Path]:
    """Return the brokers' partition folders without their copies of the metadata log, which know more than G."""
    made = []
    for broker_id in scene.cluster.broker_ids:
        copy = scene.cluster.disks.workdir / "without-log" / str(broker_id)
        shutil.copytree(scene.disk(broker_id), copy, ignore=shutil.ignore_patterns("__cluster_metadata-0"))
        made.append(copy)
    return made


def shown(paths: list[Path]) -> list[object]:
    return [word for path in paths for word in ("--log-dir", path)]


def recover(kafkactl: Cli, scene: Scene, out: Path, *words: object) -> dict:
    run = kafkactl("quorum", "recover", "--out", out, "--node-id", scene.lagging, *words, "-o", "json",
                   "--confirm", scene.cluster.cluster_id)  # fmt: skip
    assert (run.code, run.json["outcome"]) == (0, "done"), run.stdout + run.stderr
    return run.json


def lost(scene: Scene) -> tuple[str, str]:
    return "--lost", f"{scene.leader},{scene.complete}"


def test_strays_are_predicted_and_restored(kafkactl: Cli, new_cluster: Callable[..., KafkaCluster]):
    scene = lose_majority(new_cluster("4.3.1", controllers=3, brokers=2))
    cluster, work = scene.cluster, scene.cluster.disks.workdir
    disks = [scene.disk(scene.lagging), *folders_alone(scene)]
    every = shown([scene.disk(node) for node in (scene.lagging, *cluster.broker_ids)])
    words = (*lost(scene), "--from", scene.disk(scene.lagging), "--out", work / "no", "-o", "json")
    better = kafkactl("quorum", "recover", *every, *words)
    assert better.code == 3
    assert "better-disk-exists" in {finding["id"] for finding in better.json["findings"]}

    careless = recover(kafkactl, scene, work / "careless", *shown(disks), *lost(scene), "--accept-strays",
                       "--accept-empty", "--confirm-loss", 3)  # fmt: skip
    foretold = {broker_id: [] for broker_id in cluster.broker_ids}
    for partition in careless["losses"]["partitions_stray"]:
        foretold[partition["broker"]].append(f"{partition['topic']}-{partition['partition']}")
    assert careless["losses"]["topics_returning_empty"] == ["gone"]
    start_recovered(scene, scene.lagging, work / "careless")
    cluster.start(*cluster.broker_ids)
    # A broker that just started may still show the ISRs from before, and the other has not renamed its folders yet.
    cluster.wait_for(lambda: in_sync(cluster) and strays(scene) == foretold, "in sync, and stray as foretold", 120)
    assert strays(scene) == foretold == {broker_id: sorted(LOST_TO_G) for broker_id in cluster.broker_ids}
    assert read_all(cluster, ("gone",)) == {("gone", 0): []}
    kept = {place: found for place, found in scene.records.items() if "{}-{}".format(*place) not in LOST_TO_G}
    known = read_all(cluster, ("orders", "pay"))
    assert {place: known[place] for place in kept} == kept

    cluster.kill(scene.lagging, *cluster.broker_ids)
    now = [work / "careless", *(scene.disk(broker_id) for broker_id in cluster.broker_ids)]
    again = recover(kafkactl, scene, work / "again", *shown(now), "--adopt", "--return-strays")
    for step in again["steps"]:
        if step["action"] == "rename-stray":
            subprocess.run(step["command"], shell=True, check=True)
    start_recovered(scene, scene.lagging, work / "again")
    whole(scene, scene.lagging)


@pytest.mark.campaign
@pytest.mark.parametrize("release", ["4.3.1", "3.9.2", "4.4.0"])
def test_adoption_loses_no_record(kafkactl: Cli, new_cluster: Callable[..., KafkaCluster], release: str):
    scene = lose_majority(new_cluster(release, controllers=3, brokers=2))
    out = scene.cluster.disks.workdir / "recovered"
    disks = [scene.disk(scene.lagging), *folders_alone(scene)]
    answer = recover(kafkactl, scene, out, *shown(disks), *lost(scene), "--adopt", "--drop-empty")
    assert answer["losses"]["count"] == 0
    assert answer["repairs"]["topics_dropped"] == ["gone"]
    start_recovered(scene, scene.lagging, out)
    whole(scene, scene.lagging)
    assert ("gone", 0) not in isrs(scene.cluster)


@pytest.mark.campaign
@pytest.mark.parametrize("release", ["4.3.1", "3.9.2", "4.4.0"])
def test_epochs_and_producer_ids_do_not_go_back(kafkactl: Cli, new_cluster: Callable[..., KafkaCluster], release: str):
    # Epochs on disk are above those in the image, and producer ids were given out that the image does not know.
    scene = lose_majority(new_cluster(release, controllers=3, brokers=2), restarts=2)
    cluster, out = scene.cluster, scene.cluster.disks.workdir / "recovered"
    disks = [scene.disk(scene.lagging), *folders_alone(scene)]
    on_disk = {place.parent.name: place.read_text().split()[-2] for broker_id in cluster.broker_ids
               for place in scene.disk(broker_id).glob("*/leader-epoch-checkpoint")}  # fmt: skip
    assert max(map(int, on_disk.values())) > 2
    recover(kafkactl, scene, out, *shown(disks), *lost(scene), "--adopt", "--drop-empty")
    start_recovered(scene, scene.lagging, out)
    whole(scene, scene.lagging)
    for broker in cluster.broker_ids:  # a leader is killed, and its partitions get another
        cluster.kill(broker)
        cluster.wait_for(lambda broker=broker: left(cluster, broker), "left the ISRs", 120)  # type: ignore[misc]
        before = {place: len(found) for place, found in read_all(cluster, TOPICS).items()}
        produce(cluster, dict.fromkeys(scene.records, 2))
        assert {place: len(found) for place, found in read_all(cluster, TOPICS).items()} == {
            place: count + 2 for place, count in before.items()
        }
        cluster.start(broker)
        cluster.wait_for(lambda: in_sync(cluster), "every replica in sync", 120)


@pytest.mark.campaign
@pytest.mark.parametrize(("release", "dynamic"), [("4.3.1", True), ("3.9.2", True), ("3.9.2", False)])
def test_quorum_is_recovered_from_copies_of_brokers_alone(
    kafkactl: Cli, new_cluster: Callable[..., KafkaCluster], release: str, dynamic: bool
):
    scene = lose_majority(new_cluster(release, controllers=3, brokers=2, dynamic=dynamic))
    out, disks = (
        scene.cluster.disks.workdir / "recovered",
        [scene.disk(broker_id) for broker_id in scene.cluster.broker_ids],
    )
    answer = recover(kafkactl, scene, out, *shown(disks), "--lost", "1,2,3", "--config",
                     scene.cluster.config_file(scene.lagging))  # fmt: skip
    assert answer["losses"]["count"] == 0
    start_recovered(scene, scene.lagging, out)
    whole(scene, scene.lagging)
