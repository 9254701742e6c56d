"""Controllers that were started once and are down: before the copy, and after the end."""

from __future__ import annotations

import pytest

from kafkactl.core.findings import Outcome
from kafkactl.migration.api.position import status
from kafkactl.migration.checks.registry import check
from kafkactl.migration.driver.gate import gates_of
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.forward import plan_forward
from kafkactl.migration.steps.rollback import plan_rollback
from kafkactl.migration.steps.step import Move, Progress
from kafkactl.migration.steps.table import observed_state
from tests.migration.state.states_seen import HEALTHY, MIG, ZK, Seen

DOWN = {3001: False}
ENDED = Seen(controllers=DOWN, migration=-1, migration_version=0)
FIRST_RECORD = ENDED.but(log=None, end=1)


def pending(steps):
    return [(step.action, step.target) for step in steps if step.state is Progress.PENDING]


@pytest.mark.parametrize("seen", [ENDED, FIRST_RECORD])
def test_controllers_that_ended_before_a_broker_entered_are_m2(seen: Seen) -> None:
    observation = seen.observation()
    observed = observed_state(observation)
    assert observed.state is State.M2
    assert observed.leftovers == ()
    found = {finding.id: finding for finding in gates_of(State.M2, observation)}
    ended = found["started-controllers-ended"]
    assert "no controller runs (controller 3001)" in ended.message
    assert "kafkactl migrate run" in ended.advice
    assert "kafkactl migrate rollback" in ended.advice
    assert status(observation).has_problems


def test_forward_plan_starts_the_ended_controllers() -> None:
    plan = plan_forward(ENDED.observation())
    assert plan.outcome is Outcome.PLANNED
    starts = [(Move.START_NODE, "controller 3001"), (Move.WAIT_QUORUM, "controllers")]
    assert pending(plan.steps)[:2] == starts


def test_rollback_from_ended_controllers_deletes_the_znode_and_wipes() -> None:
    steps = pending(plan_rollback(ENDED.observation()).steps)
    assert (Move.DELETE_MIGRATION_ZNODE, "/migration") in steps
    assert (Move.WIPE_DISK, "controller 3001") in steps


@pytest.mark.parametrize(
    "seen",
    [
        ENDED.but(formatted=False),  # disks are wiped by a rollback alone
        ENDED.but(modes={1: MIG, 2: ZK, 3: ZK}),
        ENDED.but(migration=133),
        ENDED.but(holder=None, log=1),
    ],
)
def test_leftovers_of_a_rollback_are_an_incomplete_rollback(seen: Seen) -> None:
    assert observed_state(seen.observation()).state is State.INCOMPLETE_ROLLBACK


@pytest.mark.parametrize("name", ["M10", "M11"])
@pytest.mark.parametrize("alive", [True, False])
def test_finalized_migration_is_never_advised_to_roll_back(name: str, alive: bool) -> None:
    seen = HEALTHY[name].but(controllers={3001: alive, 3002: alive})
    observation = seen.observation()
    shown = status(observation)
    findings = (*check(observation), *shown.gates, *shown.findings)
    assert shown.state in (State.M10, State.M11)
    assert [
        finding.id for finding in findings if "roll back" in finding.advice or "migrate rollback" in finding.advice
    ] == []
    assert alive or any(finding.id == "quorum-without-leader" for finding in findings)
