"""The driver's rollback to ZooKeeper: from every phase, killed at every action, with failing hooks and ZooKeeper."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from kafkactl.core.findings import Outcome, blocker
from kafkactl.core.frozen import changed
from kafkactl.migration.driver.guards import BackGuard
from kafkactl.migration.driver.journal import BACK
from kafkactl.migration.driver.ports import RunResult
from kafkactl.migration.driver.routes import RollbackRoute, identity_of
from kafkactl.migration.driver.run import run_migration
from kafkactl.migration.observed.observation import Mode
from tests.fakes.interruption import killed_at_every_act
from tests.fakes.migrating_cluster import FakeCluster, broker_file
from tests.fakes.migration_hooks import FakeWorld
from tests.fakes.run_context import at_phase, fused, open_context

EVERY = [pytest.param(23, id="thinned"), pytest.param(1, id="all", marks=pytest.mark.campaign)]  # acts
PHASES = ("M3", "M4", "M4L", "M6", "M7", "M8")


def go_back(world: FakeWorld, folder: Path) -> RunResult:
    context = open_context(world, folder)
    with context.journal, context.lock:
        identity = identity_of(context.inventory)
        return run_migration(
            context, RollbackRoute(context.inventory), goal=BACK, identity=identity, guard=BackGuard(context)
        )


def assert_back(cluster: FakeCluster) -> None:
    """Check that every broker is in plain ZooKeeper mode with a controller of its own, and nothing is left of the
    migration."""
    assert cluster.harm == []
    assert all(broker.running and broker.mode is Mode.ZK for broker in cluster.brokers)
    assert all(broker.file == broker_file(broker.id) for broker in cluster.brokers)
    assert not any(controller.running or controller.formatted for controller in cluster.controllers)
    assert "/migration" not in cluster.znodes
    assert cluster.znodes["/controller"].ephemeral_owner
    assert int(cluster.znodes["/controller_epoch"].data or b"") >= cluster.highest_state_epoch()


@pytest.mark.parametrize("phase", PHASES)
def test_rollback_is_done_from_every_phase(phase: str, tmp_path: Path) -> None:
    cluster = at_phase(phase)
    result = go_back(FakeWorld(cluster), tmp_path)
    assert (result.outcome, result.findings) == (Outcome.DONE, result.findings)
    assert_back(cluster)
    assert go_back(FakeWorld(cluster), tmp_path).outcome is Outcome.NOTHING_TO_DO


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("every", EVERY)
@pytest.mark.parametrize("phase", PHASES)
def test_killed_at_an_act_the_next_run_gets_there(phase: str, every: int, tmp_path: Path) -> None:
    # Before and after hooks, changes of a znode, and looks: thinned here, all of them in the campaign.
    start = at_phase(phase)
    acts = killed_at_every_act(
        tmp_path, lambda: copy.deepcopy(start), fused(go_back), assert_back, first=every, every=every
    )
    assert acts > 20


@pytest.mark.parametrize("id", ["zookeeper-of-another-cluster", "node-of-another-cluster"])
def test_inventory_that_mixes_up_clusters_is_refused(id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = at_phase("M6")
    world = FakeWorld(cluster)
    look = world.observe
    finding = blocker(id, "ZooKeeper zk:2181", "it is that of another cluster")
    monkeypatch.setattr(world, "observe", lambda: changed(look(), findings=(finding,)))
    result = go_back(world, tmp_path)
    assert (result.outcome, [finding.id for finding in result.findings]) == (Outcome.REFUSED, [id])
    assert all(node.running for node in cluster.nodes.values())
