"""Clocks that are wrong, or jump: waits stand on a steady clock, ages on the cluster's own, journals on order alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path

import pytest

from kafkactl.change.clock import Deadline
from kafkactl.change.hooks.run import HookEnd
from kafkactl.core.findings import Outcome
from kafkactl.core.frozen import changed
from kafkactl.files.clock import SystemClock
from kafkactl.files.run_hook import HookLimits, run_hook
from kafkactl.migration.compare import comparison as compare
from kafkactl.migration.compare.comparison import CompareFacts
from kafkactl.migration.driver.gate import gates_of
from kafkactl.migration.driver.guards import BackGuard, ForwardGuard
from kafkactl.migration.driver.journal import BACK, FORWARD
from kafkactl.migration.driver.ports import RunResult
from kafkactl.migration.driver.routes import ForwardRoute, RollbackRoute, identity_of
from kafkactl.migration.driver.run import run_migration
from kafkactl.migration.io.journal import open_migration_journal
from kafkactl.migration.observed.observation import Mode, Observation
from kafkactl.migration.state.evidence import evidence_of
from kafkactl.migration.state.names import State
from tests.fakes.migrating_cluster import FakeCluster
from tests.fakes.migration_hooks import FakeWorld
from tests.fakes.migration_log import MIGRATION
from tests.fakes.run_context import Unsynced, at_phase, open_context
from tests.migration.driver.test_rollback import assert_back
from tests.migration.driver.test_run import KNOWN, assert_on_kraft
from tests.migration.state.states_seen import HEALTHY
from tests.migration.zk_trees import CLUSTER_ID

HOUR_MS = 3_600_000


class WrongClock(FakeWorld):
    """A clock whose wall time jumps at each observation."""

    def __init__(self, cluster: FakeCluster, off_by_ms: Iterator[int]) -> None:
        super().__init__(cluster)
        self.off_by_ms = off_by_ms

    def observe(self) -> Observation:
        seen = super().observe()
        return changed(seen, time_ms=seen.time_ms + next(self.off_by_ms))


class StuckCluster(FakeCluster):
    """The controllers' migration driver hangs: the log grows, and nothing reaches ZooKeeper any more."""

    is_stuck = False

    def _migrate(self) -> None:
        if not (self.is_stuck and self.log.state == MIGRATION):
            super()._migrate()


def drive(world: FakeWorld, folder: Path, *, back: bool = False, wall: Callable[[], int] | None = None) -> RunResult:
    context = open_context(world, folder)
    if wall is not None:
        context.journal.close()
        identity = identity_of(context.inventory)
        path = str(folder / "journal.jsonl")
        journal = open_migration_journal(path, cluster_id=CLUSTER_ID, identity=identity, files=Unsynced(), now_ms=wall)
        context = changed(context, journal=journal)
    with context.journal, context.lock:
        plan = RollbackRoute(context.inventory) if back else ForwardRoute(context.inventory)
        guard = BackGuard(context) if back else ForwardGuard(context, accepted=KNOWN)
        goal = BACK if back else FORWARD
        return run_migration(context, plan, goal=goal, identity=identity_of(context.inventory), guard=guard)


@pytest.mark.slow
@pytest.mark.parametrize("jumps", [(6 * HOUR_MS, -6 * HOUR_MS), (0, 0, 0, -HOUR_MS), (0, 30 * 24 * HOUR_MS)])
def test_wall_clock_that_jumps_at_every_observation_changes_nothing(jumps: tuple[int, ...], tmp_path: Path) -> None:
    cluster = FakeCluster()
    result = drive(WrongClock(cluster, cycle(jumps)), tmp_path, wall=_jumping(jumps))
    assert (result.outcome, result.state_after) == (Outcome.DONE, "M8"), result.findings
    assert_on_kraft(cluster)
    result = drive(WrongClock(cluster, cycle(jumps)), tmp_path, back=True, wall=_jumping(jumps[::-1]))
    assert (result.outcome, result.state_after) == (Outcome.DONE, "M0"), result.findings
    assert_back(cluster)


def _jumping(jumps: tuple[int, ...]) -> Callable[[], int]:
    """Change a journal: its lines are not in the order of their times."""
    turns = cycle(jumps)
    return lambda: max(0, 1_790_000_000_000 + next(turns))


@pytest.mark.parametrize("hours", [-72, -1, 0, 1, 72])
def test_dual_write_that_hangs_is_seen_whatever_the_clock_of_the_observer(hours: int, tmp_path: Path) -> None:
    cluster = StuckCluster()
    _as_at_m6(cluster)
    cluster.is_stuck = True
    for _ in range(4):
        cluster.advance(10_000)  # 80 records behind: with a young znode that would be the time between two looks
    world = WrongClock(cluster, cycle([hours * HOUR_MS]))
    assert evidence_of(world.observe()).dual_write.follows is False
    result = drive(world, tmp_path)
    assert result.outcome is Outcome.REFUSED
    assert {"migration-driver-stuck", "dual-write-not-seen"} & {finding.id for finding in result.findings}
    assert not any(broker.mode is Mode.KRAFT for broker in cluster.brokers)


@pytest.mark.parametrize("hours", [-72, -1, 0, 1, 72])
def test_dual_write_that_advances_is_not_stuck(hours: int) -> None:
    # A log that was read some seconds after the tree is further on, and that is all.
    cluster = at_phase("M6")
    seen = cluster.observe()
    for _ in range(3):
        cluster.advance(3_000)
    later = cluster.observe()
    mixed = changed(seen, logs=later.logs, nodes=later.nodes, time_ms=later.time_ms + hours * HOUR_MS)
    assert evidence_of(mixed).dual_write.follows is True


def test_age_by_clocks_that_contradict_each_other_is_none() -> None:
    # No node reports the time, and the observer's clock is behind ZooKeeper's: the age of the znode is unknown.
    behind = HEALTHY["M6"].but(end=400, migration=300, migration_age_ms=-HOUR_MS).observation()
    found = evidence_of(behind).dual_write
    assert (found.lag, found.age_ms, found.follows) == (99, None, False)


def test_token_is_expired_by_the_clock_of_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    # A missing token that only the observer's clock calls expired is a difference.
    seen = at_phase("M6").observe()
    asked: list[CompareFacts] = []
    monkeypatch.setattr(compare, "compared", lambda _tree, _image, facts, **_: asked.append(facts))
    for hours in (0, 72):
        compare.compare_observation(changed(seen, time_ms=seen.time_ms + hours * HOUR_MS))
    assert [facts.time_ms for facts in asked] == [seen.time_ms, seen.time_ms]


def test_two_looks_without_time_between_them_still_have_to_move() -> None:
    # The clock went back between them: a confirmation cannot be claimed, a lack of progress can.
    first = HEALTHY["M6"].but(end=310, migration=300).observation()
    second = changed(HEALTHY["M6"].but(end=318, migration=300).observation(), time_ms=first.time_ms - HOUR_MS)
    assert {"condition-not-confirmed", "dual-write-stalled"} <= {
        finding.id for finding in gates_of(State.M6, second, first)
    }


def test_waits_do_not_ask_the_wall_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([1e9, 5e9, 0.0, 2e9] * 100)
    monkeypatch.setattr(time, "time", lambda: next(times))
    monkeypatch.setattr(time, "time_ns", lambda: int(next(times)) * 10**9)
    deadline = Deadline.after(60_000, SystemClock())
    assert not deadline.passed and deadline.left_ms > 50_000
    run = run_hook(["true"], limits=HookLimits(timeout_ms=60_000))
    assert run.end is HookEnd.DONE and 0 <= run.elapsed_ms < 60_000


def _as_at_m6(cluster: FakeCluster) -> None:
    """Do what `at_phase` does, with this cluster."""
    made = at_phase("M6")
    cluster.__dict__.update(made.__dict__)
