"""The soak before the point of no return: M8 for the time of the inventory, and three observations without change."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkactl.core.findings import Outcome
from kafkactl.core.frozen import changed
from kafkactl.migration.driver.guards import ForwardGuard
from kafkactl.migration.driver.journal import FINALIZE
from kafkactl.migration.driver.ports import RunResult
from kafkactl.migration.driver.routes import ForwardRoute, identity_of
from kafkactl.migration.driver.run import run_migration
from kafkactl.migration.observed.observation import Observation
from tests.fakes.migration_hooks import FakeWorld
from tests.fakes.run_context import at_phase, open_context
from tests.migration.driver.test_run import KNOWN


@pytest.fixture
def world() -> FakeWorld:
    """Return the world in M8."""
    return FakeWorld(at_phase("M8"))


def finalize(world: FakeWorld, folder: Path, *, soak_hours: float = 0, accepted: frozenset[str] = KNOWN) -> RunResult:
    context = open_context(world, folder)
    context = changed(context, inventory=changed(context.inventory, soak_hours=soak_hours))
    with context.journal, context.lock:
        return run_migration(
            context,
            ForwardRoute(context.inventory, finalize=True),
            goal=FINALIZE,
            identity=identity_of(context.inventory),
            guard=ForwardGuard(context, accepted=accepted),
        )


@pytest.mark.slow
def test_hours_of_the_inventory_have_to_pass(world: FakeWorld, tmp_path: Path) -> None:
    result = finalize(world, tmp_path, soak_hours=2)
    assert (result.outcome, result.state_after) == (Outcome.REFUSED, "M8")
    (found,) = (finding for finding in result.findings if finding.id == "soak-too-short")
    assert "--accept soak-too-short" in found.next_step
    world.clock.sleep_ms(2 * 3_600_000)
    assert finalize(world, tmp_path, soak_hours=2).state_after == "M11"


@pytest.mark.slow
def test_operator_may_know_better(world: FakeWorld, tmp_path: Path) -> None:
    result = finalize(world, tmp_path, soak_hours=168, accepted=KNOWN | {"soak-too-short"})
    assert (result.outcome, result.state_after) == (Outcome.DONE, "M11")


def elect_at(world: FakeWorld, monkeypatch: pytest.MonkeyPatch, *looks: int) -> None:
    """Elect a leader of the quorum before these observations, counted from 1."""
    count, observe = 0, world.observe

    def look() -> Observation:
        nonlocal count
        count += 1
        if count in looks:
            world.cluster.log.lead(3001, (3001, 3002, 3003))
        return observe()

    monkeypatch.setattr(world, "observe", look)


@pytest.mark.slow
def test_election_between_the_observations_begins_them_again(
    world: FakeWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elect_at(world, monkeypatch, 2)
    began_ms = world.clock.now_ms()
    result = finalize(world, tmp_path)
    assert (result.outcome, result.state_after) == (Outcome.DONE, "M11")
    assert world.clock.now_ms() - began_ms >= 4 * 10_000


def test_quorum_that_is_never_calm_is_not_finalized(
    world: FakeWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elect_at(world, monkeypatch, *range(2, 40))
    result = finalize(world, tmp_path)
    assert (result.outcome, result.state_after) == (Outcome.REFUSED, "M8")
    assert "election-between-observations" in {finding.id for finding in result.findings}
