"""The plans carried out on a real cluster, one step after the other: forward to M8, back to M0, forward to the end.

Nothing knows the steps but `plan_forward` and `plan_rollback`: before each step the cluster is observed and planned,
as the driver does. What is proven is that each step's end is seen in the next plan, that the states are those that the
cluster really has, and that nothing of what a topic is gets lost.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from kafkactl.core.errors import KafkactlError
from kafkactl.core.findings import Outcome, Severity
from kafkactl.migration.compare.comparison import compare_observation
from kafkactl.migration.driver.gate import gates_of
from kafkactl.migration.observed.observation import Observation
from kafkactl.migration.steps.forward import plan_forward
from kafkactl.migration.steps.rollback import plan_rollback
from kafkactl.migration.steps.step import Move
from kafkactl.migration.steps.table import State, observed_state
from kafkactl.migration.zktree.parse import parse_tree
from tests.lab.migration.cluster import MigrationCluster
from tests.lab.migration.plan_operator import STEP_S, Operator

pytestmark = pytest.mark.timeout(1_500)


def topics(observation: Observation) -> dict[str, tuple[str, int]]:
    """Return ids and numbers of partitions by topic, as ZooKeeper has them."""
    assert observation.tree is not None
    found = parse_tree(observation.tree).topics
    return {name: (str(topic.id), len(topic.partitions)) for name, topic in found.items()}


def moved_through(course: list[str], states: list[str]) -> bool:
    """Return True if these states were seen in this order, others between them or not."""
    rest = iter(course)
    return all(state in rest for state in states)


def test_cluster_is_migrated_after_a_rollback(tmp_path: Path) -> None:
    with MigrationCluster("3.9.2", tmp_path, brokers=2) as cluster:
        cluster.zookeeper.start().wait_ready()
        cluster.start(*cluster.broker_ids)
        cluster.wait_for(lambda: cluster.znode("/controller"), "a controller")
        cluster.fill()
        operator = Operator(cluster)
        before = topics(operator.look())
        assert plan_rollback(operator.look()).outcome is Outcome.NOTHING_TO_DO

        _forward(operator, "M8")
        assert moved_through(operator.course, ["M0", "M2", "M3", "M4L", "M6", "M7", "M8"]), operator.course
        assert topics(operator.look()) == before

        operator.states.clear()
        last = operator.back()
        assert moved_through(operator.course, ["M8", "M7", "M6", "lost-quorum", "incomplete-rollback", "M0"]), (
            operator.course
        )
        assert operator.course[-1] == "M0"
        assert topics(last) == before
        assert plan_rollback(last, operator.inventory).outcome is Outcome.NOTHING_TO_DO

        operator.states.clear()
        _forward(operator, "M11")
        assert operator.course[-1] == "M11"
        assert plan_rollback(operator.look()).outcome is Outcome.REFUSED


def _forward(operator: Operator, goal: str) -> None:
    """Forward; at M6 nothing may differ, and the gates are open there in two observations ten seconds apart."""
    seen = operator.go(plan_forward, until=lambda state: state == "M6")
    deadline = time.monotonic() + STEP_S
    while True:
        time.sleep(10)
        again = operator.look()
        closed = [gate for gate in gates_of(State.M6, again, seen) if gate.severity is not Severity.INFO]
        if not closed and not compare_observation(again).unexplained:
            break
        assert time.monotonic() < deadline, (closed, compare_observation(again).unexplained)
        seen = again
    operator.go(plan_forward, until=lambda state: state == goal)


def test_low_epoch_is_raised_in_the_rollback(tmp_path: Path) -> None:
    # KAFKA-20488: controllers restarted before the brokers enter put KRaft's epoch above ZooKeeper's.
    with MigrationCluster("3.9.2", tmp_path, brokers=2) as cluster:
        cluster.reach("M0")
        cluster.chores("fill")
        cluster.reach("M3")
        for _ in range(6):
            cluster.restart(cluster.controller_ids[0])
        cluster.reach("M6")
        cluster.restart(cluster.controller_ids[0])
        operator = Operator(cluster)
        cluster.wait_for(lambda: observed_state(operator.look()).state is State.M6, "dual write again")
        assert "epoch-gate-closed" in [finding.id for finding in plan_rollback(operator.look()).findings]
        last = operator.go(plan_rollback, until=lambda _: False)
        assert any(word.startswith("raise-controller-epoch") for word in operator.done)
        assert "epoch-gate-closed" not in [finding.id for finding in plan_rollback(last).findings]
        assert operator.course[-1] == "M0"
        cluster.stop(1)
        time.sleep(2)
        with cluster.open_zookeeper() as zookeeper:
            left = parse_tree(zookeeper.read_tree()).topics
        states = [
            partition.state
            for topic in left.values()
            for partition in topic.partitions.values()
            if 2 in partition.replicas
        ]
        assert states
        assert {state.leader for state in states if state is not None} == {2}


def test_stale_migration_is_seen_in_time_and_rolled_back(tmp_path: Path) -> None:
    # A new quorum on the /migration of an old one empties ZooKeeper when its log is as long as the old offset.
    #
    # The brokers, still in migration mode, exit when they hear of it ("The leader requested truncation to offset 8,
    # which is below the current high watermark"): so one is started before any node can be elected.
    with MigrationCluster("3.9.2", tmp_path, brokers=2) as cluster:
        cluster.reach("M0")
        cluster.fill()
        cluster.reach("M6")
        operator = Operator(cluster)
        before = topics(operator.look())
        cluster.stop(3001)
        assert operator.look() and operator.states[-1] == "lost-quorum"
        with cluster.open_zookeeper() as zookeeper:
            held = zookeeper.read("/controller")
            assert held is not None
            zookeeper.delete("/controller", held.version)
        cluster.wait_for(lambda: cluster.controller().get("brokerid") in cluster.broker_ids, "elected a broker")
        assert operator.look() and operator.states[-1] == "incomplete-rollback"
        shutil.rmtree(cluster.plan.log_dir(3001))
        cluster.format_controllers()
        cluster.start(3001)
        cluster.wait_for(lambda: operator.look() and operator.states[-1] == "stale-migration", "shown the danger", 60)
        last = operator.go(plan_rollback, until=lambda _: False)
        assert operator.done[0].startswith("stop-controllers")
        assert (operator.course[-1], topics(last)) == ("M0", before)


def test_deliberately_broken_states_are_recognised(tmp_path: Path) -> None:
    with MigrationCluster("3.9.2", tmp_path, brokers=2) as cluster:
        cluster.reach("M0")
        cluster.chores("fill")
        operator = Operator(cluster)
        cluster.write(3001, "final")
        cluster.format_controllers()
        assert operator.look() and operator.states[-1] == "M2"
        cluster.start(3001)
        without_flag = "quorum-without-migration-flag"
        cluster.wait_for(lambda: operator.look() and operator.states[-1] == without_flag, f"shown {without_flag}", 60)
        operator.go(plan_rollback, until=lambda _: False)
        assert operator.states[-1] == "M0"
        assert not cluster.plan.log_dir(3001).exists()

        cluster.write(3001, "migration")
        cluster.reach("M6")
        operator.look()
        assert operator.states[-1] == "M6"
        with cluster.open_zookeeper() as zookeeper:
            held = zookeeper.read("/controller")
            assert held is not None
            zookeeper.delete("/controller", held.version)
        cluster.wait_for(lambda: operator.look() and operator.states[-1] == "split-brain", "shown a split brain", 60)
        assert plan_rollback(operator.look(), operator.inventory).pending[0].action is Move.STOP_CONTROLLERS
        cluster.restart(3001)  # it claims /controller again
        cluster.wait_for(lambda: operator.look() and operator.states[-1] == "M6", "dual write again", 90)
        _delete_memory(cluster)
        assert operator.look() and operator.states[-1] == "lost-migration-znode"
        assert plan_rollback(operator.look()).outcome is Outcome.REFUSED
        cluster.kill(3001)
        assert operator.look() and operator.states[-1] == "incomplete-rollback"


def _delete_memory(cluster: MigrationCluster) -> None:
    """Delete the driver's znode. The driver writes it twice a second, so the version that was read may be an old
    one."""

    def gone() -> bool:
        with cluster.open_zookeeper() as zookeeper:
            found = zookeeper.read("/migration")
            if found is None:
                return True
            try:
                zookeeper.delete("/migration", found.version)
            except KafkactlError:
                return False
            return True

    cluster.wait_for(gone, "deleted /migration")
