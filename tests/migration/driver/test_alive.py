"""The driver and who is alive: nodes killed or paused before a step, strangers in the middle, the cluster's lock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafkactl.change.hooks.words import Verb
from kafkactl.core.errors import RefusedError
from kafkactl.core.findings import Outcome, warning
from kafkactl.core.frozen import changed
from kafkactl.core.values import Role
from kafkactl.migration.driver.gate import why_closed
from kafkactl.migration.driver.guards import BackGuard, ForwardGuard
from kafkactl.migration.driver.journal import BACK, FINALIZE, FORWARD
from kafkactl.migration.driver.liveness import majority_at_risk, replicas_at_risk
from kafkactl.migration.driver.moves import StepPlan
from kafkactl.migration.driver.ports import RunResult
from kafkactl.migration.driver.routes import ForwardRoute, RollbackRoute, identity_of
from kafkactl.migration.driver.run import run_migration
from kafkactl.migration.observed.observation import IdentitySeen, Observation
from kafkactl.migration.steps.step import File, Move, Step
from tests.fakes.migrating_cluster import FakeCluster
from tests.fakes.migration_hooks import FakeWorld
from tests.fakes.run_context import at_phase, open_context
from tests.migration.observations import OPEN_AT_M0
from tests.migration.zk_trees import CLUSTER_ID
from tests.sampling import one_in

KNOWN = frozenset({*OPEN_AT_M0, "stray-check-unavailable"})
RESTARTS = (Verb.STOP, Verb.RESTART)


def forward(world: FakeWorld, folder: Path, *, goal: str = FORWARD, until: str | None = None) -> RunResult:
    context = open_context(world, folder)
    with context.journal, context.lock:
        return run_migration(
            context,
            ForwardRoute(context.inventory, finalize=goal == FINALIZE),
            goal=goal,
            identity=identity_of(context.inventory),
            until=until,
            is_there=(lambda state: state == until) if until else (lambda _: False),
            guard=ForwardGuard(context, accepted=KNOWN),
        )


def back(world: FakeWorld, folder: Path) -> RunResult:
    context = open_context(world, folder)
    with context.journal, context.lock:
        return run_migration(
            context,
            RollbackRoute(context.inventory),
            goal=BACK,
            identity=identity_of(context.inventory),
            guard=BackGuard(context),
        )


def stopped(world: FakeWorld) -> list[int]:
    return [node for verb, node in world.asked if verb in RESTARTS]


@pytest.mark.parametrize("until", ["M2", "M3"])
def test_quorum_is_prepared_as_a_whole(until: str, tmp_path: Path) -> None:
    cluster = FakeCluster()
    result = forward(FakeWorld(cluster), tmp_path, until=until)
    assert (result.outcome, result.state_after) == (Outcome.DONE, until), result.findings
    assert [controller.formatted for controller in cluster.controllers] == [CLUSTER_ID] * 3
    assert [controller.running for controller in cluster.controllers] == [until == "M3"] * 3
    assert forward(FakeWorld(cluster), tmp_path, until=until).outcome is Outcome.NOTHING_TO_DO


def test_quorum_with_one_running_controller_is_started_again(tmp_path: Path) -> None:
    cluster = at_phase("M3")
    cluster.stop(3001)
    cluster.stop(3002)
    result = forward(FakeWorld(cluster), tmp_path, until="M3")
    assert (result.outcome, result.state_after) == (Outcome.DONE, "M3"), result.findings
    assert all(controller.running for controller in cluster.controllers)


def test_rollback_stops_the_only_controller_before_its_disk_is_moved(tmp_path: Path) -> None:
    # It runs, so it is stopped before its disk is put aside.
    cluster = FakeCluster()
    for node in cluster.controllers:
        cluster.format(node.id, CLUSTER_ID)
    cluster.start(3001)
    result = back(FakeWorld(cluster), tmp_path)
    assert (result.outcome, result.state_after) == (Outcome.DONE, "M0"), result.findings
    assert cluster.harm == []
    assert not any(controller.running or controller.formatted for controller in cluster.controllers)


class Closed(FakeWorld):
    """Brokers that from a moment on refuse kafkactl's login, as after its password was changed in the cluster."""

    def __init__(self, cluster: FakeCluster, *nodes: str, after: int = 0) -> None:
        super().__init__(cluster)
        self.nodes, self.looks, self.after = nodes, 0, after

    def observe(self) -> Observation:
        self.looks += 1
        seen = super().observe()
        if self.looks <= self.after:
            return seen
        unknown = {"alive": None, "mode": None, "api_versions": None, "quorum": None, "metrics": None}
        nodes = tuple(changed(node, **unknown) if node.name in self.nodes else node for node in seen.nodes)
        refused = tuple(
            warning("node-refuses-client", name, "did not let kafkactl in", reason="authentication-failed")
            for name in self.nodes
        )
        return changed(seen, nodes=nodes, findings=(*seen.findings, *refused))


@pytest.mark.parametrize("phase", ["M0", "M3", "M6"])
@pytest.mark.parametrize("node", ["broker 1", "controller 3001"])
def test_no_step_is_taken_while_a_node_refuses_the_login(phase: str, node: str, tmp_path: Path) -> None:
    world = Closed(FakeCluster() if phase == "M0" else at_phase(phase), node)
    result = forward(world, tmp_path)
    assert result.outcome is Outcome.REFUSED
    ids = {finding.id for finding in result.findings}
    assert "node-refuses-client" in ids
    assert not {"under-replicated-partitions", "broker-down", "last-replica-at-risk", "quorum-without-leader"} & ids
    assert {verb for verb, _ in world.asked} <= {Verb.GET_CONFIG, Verb.FS_PROBE, Verb.IS_RUNNING}


def test_rollback_begins_nothing_while_a_node_refuses_the_login(tmp_path: Path) -> None:
    world = Closed(at_phase("M6"), "broker 2")
    result = back(world, tmp_path)
    assert "node-refuses-client" in {finding.id for finding in result.findings}
    assert stopped(world) == []


class Foreign(FakeWorld):
    """Node that from the n-th look on answers as one of another cluster."""

    def __init__(self, cluster: FakeCluster, node: int, *, after: int = 0) -> None:
        super().__init__(cluster)
        self.node, self.looks, self.after = node, 0, after

    def observe(self) -> Observation:
        self.looks += 1
        seen = super().observe()
        if self.looks <= self.after:
            return seen
        other = IdentitySeen(cluster_id="AnotherClusterAnotherC", node_id=self.node)
        nodes = (changed(node, identity=other, alive=True) if node.id == self.node else node for node in seen.nodes)
        return changed(seen, nodes=tuple(nodes))


@pytest.mark.parametrize("phase", one_in(3, ["M0", "M3", "M4", "M4L", "M6", "M7", "M8"]))
@pytest.mark.parametrize("node", [2, 3002])
@pytest.mark.parametrize("goal", [FORWARD, BACK, FINALIZE])
def test_nothing_is_done_next_to_a_foreign_controller(phase: str, node: int, goal: str, tmp_path: Path) -> None:
    cluster = at_phase(phase)
    world = Foreign(cluster, node)
    result = back(world, tmp_path) if goal == BACK else forward(world, tmp_path, goal=goal)
    assert (result.outcome, result.state_after) == (Outcome.REFUSED, "unidentified-nodes")
    assert "node-of-another-cluster" in [finding.id for finding in result.findings]
    assert {verb for verb, _ in world.asked} <= {Verb.GET_CONFIG, Verb.FS_PROBE, Verb.IS_RUNNING}
    assert cluster.harm == []


@pytest.mark.parametrize("goal", [FORWARD, BACK])
def test_foreign_node_during_a_run_ends_the_run(goal: str, tmp_path: Path) -> None:
    cluster = at_phase("M4")
    world = Foreign(cluster, 3002, after=6)
    result = back(world, tmp_path) if goal == BACK else forward(world, tmp_path)
    assert result.outcome in (Outcome.PARTIAL, Outcome.FAILED, Outcome.REFUSED)
    assert (Verb.WIPE, 3002) not in world.asked
    assert cluster.harm == []


def test_listening_node_is_not_formatted(tmp_path: Path) -> None:
    world = FakeWorld(FakeCluster())
    world.listens = lambda node: node == 3002  # type: ignore[method-assign]
    result = forward(world, tmp_path, until="M3")
    assert result.findings[-1].id == "format-of-running-node"
    assert (Verb.FORMAT, 3002) not in world.asked


class Dying(FakeWorld):
    """A node is killed or paused so many milliseconds before the first restart that is about to be done."""

    def __init__(self, cluster: FakeCluster, node: int, *, how: str) -> None:
        super().__init__(cluster)
        self.victim, self.how, self.struck = node, how, False

    def answers(self, node: int) -> bool:
        if not self.struck:
            self.struck = True
            if self.how == "killed":
                self.cluster.kill(self.victim)
            else:
                self.cluster.nodes[self.victim].paused = True
        return super().answers(node)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["killed", "paused"])
@pytest.mark.parametrize(("phase", "victim"), [("M3", 3), ("M4", 2), ("M6", 2), ("M6", 3002), ("M7", 3)])
def test_node_failure_before_a_restart_stops_the_run(how: str, phase: str, victim: int, tmp_path: Path) -> None:
    # ZooKeeper and the quorum take seconds to see it, and the look was of before.
    cluster = at_phase(phase)
    world = Dying(cluster, victim, how=how)
    result = forward(world, tmp_path)
    assert world.struck
    assert victim not in stopped(world)
    others = [stop for stop in stopped(world) if stop < 3000]
    if how == "paused" or victim < 3000:
        assert others == []
        assert result.outcome in (Outcome.REFUSED, Outcome.PARTIAL, Outcome.FAILED), result.findings
    assert cluster.harm == []


@pytest.mark.parametrize("dead", [(3002,), (3002, 3003)])
def test_controller_is_not_restarted_without_another_majority(dead: tuple[int, ...]) -> None:
    cluster = at_phase("M8")
    step = Step(action=Move.RESTART_NODE, target="controller 3001", gate="", why="", node=3001,
                role=Role.CONTROLLER, file=File.FINAL)  # fmt: skip
    assert majority_at_risk(cluster.observe(), step) == ()
    for id in dead:
        cluster.kill(id)
    found = majority_at_risk(cluster.observe(), step)
    assert [finding.id for finding in found] == ["controller-majority-at-risk"]
    assert "controller 3002" in found[0].message
    dead_itself = changed(step, node=3002, target="controller 3002")
    assert majority_at_risk(cluster.observe(), dead_itself) == ()  # its start takes nothing away


def test_controller_that_lags_is_none_of_the_majority() -> None:
    cluster = at_phase("M8")
    step = Step(action=Move.RESTART_NODE, target="controller 3001", gate="", why="", node=3001,
                role=Role.CONTROLLER, file=File.FINAL)  # fmt: skip
    seen = cluster.observe()

    def behind(seen: Any) -> Any:
        if seen.quorum is None or not seen.quorum.voters:
            return seen
        voters = (changed(v, log_end_offset=0 if v.id == 3003 else v.log_end_offset) for v in seen.quorum.voters)
        high_watermark = seen.quorum.high_watermark + 200
        return changed(seen, quorum=changed(seen.quorum, voters=tuple(voters), high_watermark=high_watermark - 200))

    lagging = changed(seen, nodes=tuple(behind(node) for node in seen.nodes))
    assert seen.quorum is not None
    expected = ["controller-majority-at-risk"] if (seen.quorum.high_watermark or 0) > 100 else []
    assert [finding.id for finding in majority_at_risk(lagging, step)] == expected


def test_last_replica_that_answers_is_not_restarted() -> None:
    # orders-1 has its replicas on brokers 1 and 2; broker 1 was killed, and stays in the ISR for some seconds.
    cluster = at_phase("M6")
    step = Step(action=Move.RESTART_NODE, target="broker 2", gate="", why="", node=2, role=Role.BROKER,
                file=File.ORIGINAL)  # fmt: skip
    assert replicas_at_risk(cluster.observe(), step) == ()
    cluster.kill(1)
    found = replicas_at_risk(cluster.observe(), step)
    assert [finding.id for finding in found] == ["last-replica-at-risk"]
    assert "broker 1" in found[0].message


def test_gate_of_a_started_node_stays_closed_until_the_node_answers(tmp_path: Path) -> None:
    # A broker that ends after its registration keeps its znode and registration for some seconds.
    cluster = at_phase("M6")
    context = open_context(FakeWorld(cluster), tmp_path)
    step = Step(action=Move.RESTART_NODE, target="broker 2", gate="", why="", node=2, role=Role.BROKER,
                file=File.MIGRATION)  # fmt: skip
    route = StepPlan(outcome=Outcome.PLANNED, state="M6", steps=())
    seen = cluster.observe()
    assert why_closed(context, step, route, seen) == ()
    ended = changed(
        seen, nodes=tuple(changed(node, alive=False) if node.name == "broker 2" else node for node in seen.nodes)
    )
    for action in (Move.RESTART_NODE, Move.START_NODE):
        assert why_closed(context, changed(step, action=action), route, ended) == (
            "nothing listens at the address of broker 2",
        )


def test_second_driver_is_refused_whatever_its_journal(tmp_path: Path) -> None:
    cluster = at_phase("M3")
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    context = open_context(FakeWorld(cluster), tmp_path / "one")
    with context.journal, context.lock, pytest.raises(RefusedError) as caught:
        forward(FakeWorld(cluster), tmp_path / "two")
    assert caught.value.id == "concurrent-migration-run"


def test_lock_that_is_lost_ends_the_run_before_its_next_step(tmp_path: Path) -> None:
    cluster = at_phase("M3")
    world = FakeWorld(cluster)
    acts: list[int] = []

    def lose() -> None:
        acts.append(1)
        if (Verb.RESTART, 2) in world.asked or (Verb.STOP, 2) in world.asked:
            cluster.driver = None

    world.on_act = lose
    result = forward(world, tmp_path)
    assert result.outcome is Outcome.PARTIAL
    assert result.findings[-1].id == "migration-lock-lost"
    assert set(stopped(world)) == {2}
    assert cluster.harm == []
