"""Situations that no procedure leads to, made on a real cluster, recognised, and left by the way that is shown."""

from __future__ import annotations

import time
from pathlib import Path

from kafkactl.core.findings import Finding
from kafkactl.migration.checks.registry import check
from kafkactl.migration.observed.observation import Observation
from kafkactl.migration.steps.rollback import plan_rollback
from kafkactl.migration.steps.table import observed_state
from tests.lab.migration.cluster import MigrationCluster
from tests.lab.migration.plan_operator import Operator, delete


def _in_sync(seen: Observation) -> bool:
    assert seen.log is not None
    topics = seen.log.image.topics.values()
    return all(set(held.isr) == set(held.replicas) for topic in topics for held in topic.partitions.values())


def _found(seen: Observation, id: str) -> list[Finding]:
    return [finding for finding in check(seen) if finding.id == id]


def test_broken_states_are_recognised_and_repaired(tmp_path: Path) -> None:
    with MigrationCluster("3.9.2", tmp_path, brokers=2) as cluster:
        cluster.reach("M0")
        cluster.chores("topic:kept:2:2", "produce:kept:50")
        operator = Operator(cluster)
        for broker in cluster.broker_ids:
            cluster.restart(broker, "migration")
        assert observed_state(operator.look()).state == "brokers-before-quorum"
        cluster.format_controllers()
        cluster.start(3001)
        cluster.wait_dual_write()  # without a further step
        cluster.to_kraft(*cluster.broker_ids)
        cluster.wait_for(lambda: observed_state(operator.look()).state == "M8", "M8", 120)

        cluster.restart(1, "zk", wait=False)  # KAFKA-16101
        cluster.wait_for(lambda: _found(operator.look(), "kraft-broker-on-zookeeper"), "named the broker", 120)
        cluster.wait_for(lambda: not _in_sync(operator.look()), "a smaller ISR", 120)
        assert observed_state(operator.look()).state == "M7"
        first, second = plan_rollback(operator.look(), operator.inventory).pending[:2]
        assert (first.words, second.words) == (
            "restore-config broker 1 (migration)", "restart-node broker 1 (migration)",
        )  # fmt: skip
        cluster.restart(1, "migration")
        cluster.wait_for(lambda: _in_sync(operator.look()), "its replicas in the ISR", 120)
        cluster.restart(2, "migration")
        cluster.wait_for(lambda: observed_state(operator.look()).state == "M6", "M6 again", 120)
        _start_an_old_quorum(cluster, operator)


def _start_an_old_quorum(cluster: MigrationCluster, operator: Operator) -> None:
    """Roll back by hand, leave /migration and the disk, make a topic, and start the controller again."""
    cluster.stop(3001)
    delete(cluster, "/controller")
    cluster.wait_for(lambda: cluster.controller().get("brokerid") in cluster.broker_ids, "elected a broker")
    time.sleep(3)
    for broker in cluster.broker_ids:
        cluster.restart(broker, "zk")
    cluster.chores("topic:later:1:1")
    cluster.start(3001)
    cluster.wait_for(lambda: observed_state(operator.look()).state == "quorum-without-brokers", "named it", 120)
    cluster.wait_for(lambda: cluster.znode("/brokers/topics/later") is None, "deleted the topic", 120)
    last = operator.go(plan_rollback, until=lambda _: False)
    assert operator.done[0].startswith("stop-controllers")
    assert observed_state(last).state == "M0"
    for broker in cluster.broker_ids:  # they know newer leader epochs than the old quorum wrote
        cluster.restart(broker, "zk")
    assert "count:kept: 50" in cluster.chores("count:kept")
