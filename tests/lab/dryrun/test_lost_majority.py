"""Loss of two of three combined nodes: no leader is elected, and partitions that they led are unavailable."""

from __future__ import annotations

import time

from kafkactl.dryrun.by_name import run
from kafkactl.dryrun.prediction import Verdict
from tests.lab.dryrun.stage import Stage
from tests.lab.harness.cluster_fixtures import ClusterOf
from tests.lab.harness.storage_tool import StorageToolServer

SESSION_S = 3  # SETTINGS of the harness
LEADERS = [1, 2, 3, 2]


def test_leaders_stay_in_the_log_and_are_out_of_reach(new_cluster: ClusterOf, storage_tool: StorageToolServer) -> None:
    cluster = new_cluster("4.3.1", controllers=3, combined=True)
    stage = Stage(cluster.start(), storage_tool)
    stage.make_topic("t", "1:2:3,2:3:1,3:1:2,2:1:3", {})
    before = stage.settle(lambda image: len(image.topics) == 1)
    worst = run("broker-loss", before, {"worst": 2}).effects["worst"]
    assert worst is not None
    assert all(loss.loses_majority for loss in worst)
    # An active controller that is cut off writes records that are never committed, so a follower is left.
    left = 1 if cluster.leader() != 1 else 2
    lost = [node for node in (1, 2, 3) if node != left]
    found = run("broker-loss", before, {"brokers": lost})
    assert (found.verdict, found.operations) == (Verdict.UNAVAILABLE, ())
    assert {change.partition: change.leader_after for change in found.changes} == {
        partition: -1 for partition, leader in enumerate(LEADERS) if leader in lost
    }
    cluster.kill(*lost)
    time.sleep(3 * SESSION_S)
    (topic,) = stage.world(left).image.topics.values()
    assert [partition.leader for partition in topic.partitions.values()] == LEADERS
