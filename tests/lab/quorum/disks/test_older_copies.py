"""Disks of a majority are restored from older copies: two histories, and the newer one is recovered from its disk."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.quorum.disks.test_two_foundings import ids
from tests.lab.quorum.lost_majority import Scene, admin, produce, read_all, start_recovered, strays

Cli = Callable[..., Run]
BROKER, RESTORED, KEPT = 11, (1, 2), 3
TOPICS = ("early", "late")
NO_OPS = 16  # two each second: longer than a leader without a majority stays active


def _two_histories(cluster: KafkaCluster, *, while_running: bool) -> None:
    """Restore the disks of a majority from copies that lack topic `late`, and let these controllers lead."""
    cluster.start()
    topic = {"num_partitions": 1, "replication_factor": 1}
    with admin(cluster) as chores:
        chores.create_topics({"early": topic}, wait_for_metadata=True)
    produce(cluster, {("early", 0): 50})
    if not while_running:
        cluster.stop(*cluster.controller_ids)
    copies: dict[int, Path] = {}
    for id in RESTORED:
        if while_running:
            cluster.pause(id)
        copies[id] = cluster.disks.keep_copy(id)
        cluster.resume(*(node for node in RESTORED if cluster.node(node).alive))
    cluster.start()
    with admin(cluster) as chores:
        chores.create_topics({"late": topic}, wait_for_metadata=True)
    produce(cluster, {("late", 0): 50})
    until = cluster.quorum()["HighWatermark"] + NO_OPS
    cluster.wait_for(lambda: cluster.quorum()["HighWatermark"] > until, "more records of the leader", 120)
    cluster.kill(*cluster.controller_ids, BROKER)
    for id, copy in copies.items():
        shutil.rmtree(cluster.disks.log_dir(id))
        shutil.copytree(copy, cluster.disks.log_dir(id))
    for id in RESTORED:
        cluster.node(id).start()
    cluster.wait_for(
        lambda: cluster.leader_now() in RESTORED and cluster.commits(), "a leader of the older copies", 120
    )


def _diffs(kafkactl: Cli, step: str, *more: object) -> list[str]:
    """Run the comparisons that a step prints; return the answers."""
    lines = [line for line in re.findall(r"`([^`]*)`", step) if line.startswith("kafkactl log diff ")]
    runs = [kafkactl(*shlex.split(line)[1:], *more) for line in lines]
    assert lines, step
    assert all(run.code == 0 for run in runs), step
    return [run.stdout for run in runs]


@pytest.mark.parametrize(
    ("while_running", "expected"),
    [
        pytest.param(True, "tail-may-be-committed", id="copies-of-running-nodes"),
        pytest.param(False, "committed-log-diverged", id="copies-of-stopped-nodes", marks=pytest.mark.campaign),
    ],
)
def test_newer_history_is_recovered_as_the_remedy_says(
    kafkactl: Cli, new_cluster: Callable[..., KafkaCluster], while_running: bool, expected: str
) -> None:
    cluster = new_cluster("4.3.1", controllers=3, brokers=1)
    _two_histories(cluster, while_running=while_running)
    disk = cluster.disks.log_dir
    address = ("--bootstrap-controller", cluster.controller_address(RESTORED[0]))
    live = kafkactl("quorum", "describe", *address, "--log-dir", disk(KEPT), "-o", "json")
    (found,) = [found for found in live.json["findings"] if found["id"] == expected]
    assert "late" in _diffs(kafkactl, found["next_step"], *address)[0]
    cluster.kill(*RESTORED)

    for shown in (cluster.controller_ids, (*cluster.controller_ids, BROKER)):
        logs = [cluster.disks.metadata_log(id) for id in shown]
        run = kafkactl("log", "verify", *logs, "-o", "json")
        assert (run.code, ids(run)) == (7, {expected}), run.stdout
        for found in run.json["findings"]:
            assert "late" in _diffs(kafkactl, found["next_step"])[0]
    target = cluster.disks.workdir / "recovered"
    every = [word for id in (*cluster.controller_ids, BROKER) for word in ("--log-dir", disk(id))]
    refused = kafkactl("quorum", "recover", *every, "--out", target, "-o", "json", "--plan")
    assert refused.code == 3
    parted = [found for found in refused.json["findings"] if found["id"] == "disks-diverge"]
    assert parted
    assert all("late" in _diffs(kafkactl, found["next_step"])[0] for found in parted)

    alone = ["--log-dir", disk(KEPT), "--log-dir", disk(BROKER), "--lost", ",".join(map(str, RESTORED))]
    written = kafkactl("quorum", "recover", *alone, "--out", target, "-o", "json", "--confirm", cluster.cluster_id)
    assert (written.code, written.json["losses"]["count"]) == (0, 0), written.stdout
    scene = Scene(cluster=cluster, lagging=0, leader=0, complete=KEPT, records={})
    start_recovered(scene, KEPT, target)
    cluster.start(BROKER)
    assert {place: len(found) for place, found in read_all(cluster, TOPICS).items()} == {
        ("early", 0): 50,
        ("late", 0): 50,
    }
    assert strays(scene) == {BROKER: []}
