"""The plans carried out on a real cluster, one step after the other: forward to M8, back to M0, forward to the end.

Nothing knows the steps but `plan_forward` and `plan_rollback`: before each step the cluster is observed and planned,
as the driver does. What is proven is that each step's end is seen in the next plan, that the states are those that the
cluster really has, and that nothing of what a topic is gets lost.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import pytest

from kafkactl.adapters.migration.observe import observe
from kafkactl.adapters.migration.saved import observation_from
from kafkactl.errors import KafkactlError
from kafkactl.findings import Outcome, Severity, blockers
from kafkactl.migration.compare.comparison import compare_observation
from kafkactl.migration.inventory import Inventory, parse_inventory
from kafkactl.migration.observed.observation import Observation
from kafkactl.migration.plan.forward import plan_forward
from kafkactl.migration.plan.gate import gates_of
from kafkactl.migration.plan.rollback import plan_rollback
from kafkactl.migration.plan.step import File, Move, Step, Way
from kafkactl.migration.state.table import State, observed_state
from kafkactl.migration.zktree.parse import parse_tree
from tests.lab.migration.cluster import MigrationCluster

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(1_500)]

_PHASES = {File.ORIGINAL: "zk", File.MIGRATION: "migration", File.KRAFT: "kraft", File.FINAL: "final"}
_STEP_S = 90.0
Plan = Callable[[Observation, Inventory], Way]


def inventory_of(cluster: MigrationCluster) -> Inventory:
    """As an operator on the nodes' own machine would write it, with the logs of controllers that are down."""
    lines = ["[zookeeper]", f'connect = "{cluster.connect}"', "[hooks]", 'template = "local"']
    for id, (port, _) in cluster.plan.brokers.items():
        lines += ["[[nodes]]", f"id = {id}", 'role = "broker"', f'address = "127.0.0.1:{port}"']
        lines.append(f'config = "{cluster.config_file(id)}"')
    for id, port in cluster.plan.controllers.items():
        lines += ["[[nodes]]", f"id = {id}", 'role = "controller"', f'address = "127.0.0.1:{port}"']
        lines += [f'config = "{cluster.config_file(id)}"', f'log = "{cluster.metadata_log(id)}"']
    return parse_inventory("\n".join(lines), file=str(cluster.workdir / "migration.toml"))


class Operator:
    """Does what a plan says. `states` are those that were observed, in their order."""

    def __init__(self, cluster: MigrationCluster) -> None:
        self.cluster = cluster
        self.inventory = inventory_of(cluster)
        self.states: list[str] = []
        self.done: list[str] = []

    def look(self) -> Observation:
        observation = observation_from(observe(self.inventory, timeout_ms=60_000))
        self.states.append(observed_state(observation).state.value)
        return observation

    def go(self, plan: Plan, *, until: Callable[[str], bool]) -> Observation:
        """Step after step, until a state is reached or nothing is left."""
        waited: set[str] = set()
        while True:
            observation = self.look()
            if until(self.states[-1]):
                return observation
            found = plan(observation, self.inventory)
            assert not blockers(found.findings), found.findings
            left = [step for step in found.pending if _word(step) not in waited]
            if found.outcome is Outcome.NOTHING_TO_DO or not left:
                return observation
            step = left[0]
            self.done.append(_word(step))
            self._do(step)
            if step.action is Move.WAIT_BROKER_FOLLOWS_CONTROLLER:
                waited.add(_word(step))  # no observation shows it
            else:
                self._until_seen(step, plan)

    def back(self) -> Observation:
        """To M0, and the disks that are left over are wiped: a start on one of them would continue with the old log."""
        last = self.go(plan_rollback, until=lambda _: False)
        assert [finding.id for finding in plan_forward(last, self.inventory).findings] == ["controller-disk-left-over"]
        for id in self.cluster.controller_ids:
            shutil.rmtree(self.cluster.plan.log_dir(id), ignore_errors=True)
        return last

    def _until_seen(self, step: Step, plan: Plan) -> None:
        deadline = time.monotonic() + _STEP_S
        while True:
            observation = self.look()
            if _word(step) not in [_word(pending) for pending in plan(observation, self.inventory).pending]:
                return
            assert time.monotonic() < deadline, (step, observed_state(observation))
            time.sleep(0.5)

    def _do(self, step: Step) -> None:
        cluster, node = self.cluster, step.node
        match step.action:
            case Move.PUT_CONFIG | Move.RESTORE_CONFIG:
                assert node is not None and step.file is not None
                cluster.write(node, _PHASES[step.file])
            case Move.FORMAT_DISK:
                cluster.format_controllers()
            case Move.START_NODE:
                assert node is not None
                cluster.start(node)
            case Move.RESTART_NODE:
                assert node is not None
                cluster.restart(node)
            case Move.STOP_CONTROLLERS:
                cluster.stop(*cluster.controller_ids)
            case Move.RAISE_CONTROLLER_EPOCH:
                self._set(step)
            case Move.DELETE_CONTROLLER_ZNODE | Move.DELETE_MIGRATION_ZNODE:
                self._delete(step)
            case Move.WAIT_BROKER_FOLLOWS_CONTROLLER:
                time.sleep(3)
            case Move.WIPE_DISK:
                assert node is not None
                shutil.rmtree(cluster.plan.log_dir(node))

    def _set(self, step: Step) -> None:
        assert step.path is not None and step.version is not None
        with self.cluster.open_zookeeper() as zookeeper:
            zookeeper.set(step.path, str(step.value).encode(), step.version)

    def _delete(self, step: Step) -> None:
        assert step.path is not None
        with self.cluster.open_zookeeper() as zookeeper:
            found = zookeeper.read(step.path)  # /migration may have moved until the controllers were gone
            assert found is not None
            zookeeper.delete(step.path, found.version)

    @property
    def course(self) -> list[str]:
        """The states without repetition."""
        return [state for state, _ in groupby(self.states)]


def _word(step: Step) -> str:
    return f"{step.action.value} {step.target} {step.file}"


def topics(observation: Observation) -> dict[str, tuple[str, int]]:
    """Ids and numbers of partitions by topic, as ZooKeeper has them."""
    assert observation.tree is not None
    found = parse_tree(observation.tree).topics
    return {name: (str(topic.id), len(topic.partitions)) for name, topic in found.items()}


def moved_through(course: list[str], states: list[str]) -> bool:
    """Whether these states were seen in this order, others between them or not."""
    rest = iter(course)
    return all(state in rest for state in states)


def test_forward_back_and_forward_again(tmp_path: Path) -> None:
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
    deadline = time.monotonic() + _STEP_S
    while True:
        time.sleep(10)
        again = operator.look()
        closed = [gate for gate in gates_of(State.M6, again, seen) if gate.severity is not Severity.INFO]
        if not closed and not compare_observation(again).unexplained:
            break
        assert time.monotonic() < deadline, (closed, compare_observation(again).unexplained)
        seen = again
    operator.go(plan_forward, until=lambda state: state == goal)


def test_a_low_epoch_is_raised_in_the_rollback(tmp_path: Path) -> None:
    """KAFKA-20488: controllers restarted before the brokers enter put KRaft's epoch above ZooKeeper's."""
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


def test_a_stale_migration_is_seen_in_time_and_rolled_back(tmp_path: Path) -> None:
    """A new quorum on the /migration of an old one empties ZooKeeper when its log is as long as the old offset.

    The brokers, still in migration mode, exit when they hear of it ("The leader requested truncation to
    offset 8, which is below the current high watermark"): so one is started before any node can be elected.
    """
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


def test_what_is_broken_on_purpose_has_its_name(tmp_path: Path) -> None:
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
    """The driver writes it twice a second, so the version that was read may be an old one."""

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
