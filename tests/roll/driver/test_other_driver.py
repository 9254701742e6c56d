"""Runs that meet another driver, or a node of another cluster: nothing is touched, and every finding is reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafkactl.core.findings import Finding, Outcome, blocker
from kafkactl.core.frozen import changed
from kafkactl.roll.driver.answer import RollRun
from kafkactl.roll.observation import RollObservation
from tests.fakes.rolling_cluster import FakeRoll
from tests.migration.migration_logs import TIME_MS as LOG_MS
from tests.roll.driver.test_run import cluster, roll
from tests.roll.rolls import Roll

STRANGER = blocker("node-of-another-cluster", "broker 13", "another cluster answers", "Correct the inventory.")


class ObservedLater(FakeRoll):
    """A cluster that is observed some time after the last record of its log, with findings of the observation."""

    def __init__(self, roll: Roll, after_ms: int, *findings: Finding) -> None:
        super().__init__(roll)
        self.after_ms, self.findings = after_ms, findings

    def observe(self, refresh: frozenset[int] | None) -> RollObservation:
        seen = super().observe(refresh)
        return changed(seen, time_ms=LOG_MS + self.after_ms, findings=(*seen.findings, *self.findings))


def stopped(made: Roll, id: int) -> Roll:
    """Return a cluster in which a broker is down after a controlled shutdown."""
    made.kill(id)
    made.registered[id]["stopping"] = True
    made.topics = [
        (name, [(row, tuple(each for each in isr if each != id)) for row, isr in rows]) for name, rows in made.topics
    ]
    return made


def ids(found: RollRun) -> list[str]:
    return [finding.id for finding in found.findings]


def about(found: RollRun, id: str) -> list[str]:
    return [finding.subject for finding in found.findings if finding.id == id]


@pytest.mark.parametrize(("after_ms", "outcome"), [(119_000, Outcome.REFUSED), (121_000, Outcome.DONE)])
def test_broker_that_another_driver_stopped_is_not_started(tmp_path: Path, after_ms: int, outcome: Outcome) -> None:
    # A driver waits 120 s for a node; what is down for longer is started in its turn.
    world = ObservedLater(stopped(cluster(), 12), after_ms)
    found = roll(world, tmp_path, "4.4.0")
    assert found.outcome is outcome, found.findings
    assert (about(found, "concurrent-roll"), world.started[:1]) == (
        (["broker 12"], []) if outcome is Outcome.REFUSED else ([], [12])
    )
    assert outcome is Outcome.DONE or "start broker 12" in str(found.findings[0].next_step)


def test_broker_that_failed_is_started_although_it_is_down_for_a_moment(tmp_path: Path) -> None:
    world = ObservedLater(cluster(), 20_000)
    world.crash(12)
    assert roll(world, tmp_path, "4.4.0").outcome is Outcome.DONE
    assert world.started[:1] == [12]


def test_broker_that_this_journal_stopped_is_started(tmp_path: Path) -> None:
    world = ObservedLater(cluster(), 20_000)
    world.hangs = {11}
    assert roll(world, tmp_path, "4.4.0", only=frozenset({11})).outcome is Outcome.PARTIAL
    world.hangs = set()
    world.crash(11)
    world.roll.registered[11]["stopping"] = True
    assert roll(world, tmp_path, "4.4.0").outcome is Outcome.DONE


@pytest.mark.parametrize(("after_ms", "refused"), [(9_000, True), (11_000, False)])
def test_node_that_registered_within_the_gate_interval_refuses_the_run(
    tmp_path: Path, after_ms: int, refused: bool
) -> None:
    found = roll(ObservedLater(cluster(), after_ms), tmp_path, "4.4.0")
    assert ("concurrent-roll" in ids(found)) is refused
    if refused:  # controllers register, too
        assert {"controller 1", "broker 11"} <= set(about(found, "concurrent-roll"))


def test_node_of_another_cluster_comes_first_and_everything_else_follows(tmp_path: Path) -> None:
    made = cluster().topic("single", [11])
    world = ObservedLater(made, 9_000, STRANGER)
    found = roll(world, tmp_path, "4.4.0")
    assert found.outcome is Outcome.REFUSED
    assert ids(found)[0] == "node-of-another-cluster"
    assert {"concurrent-roll", "partition-stops-while-down"} <= set(ids(found))
    assert len(ids(found)) == len(set(map(str, found.findings)))
    assert (world.stopped, world.started) == ([], [])


@pytest.mark.parametrize("prepare", [lambda world: world.crash(1, 2), lambda world: world.crash(12)])
def test_no_node_is_started_while_a_node_of_another_cluster_answers(tmp_path: Path, prepare: Any) -> None:
    world = ObservedLater(cluster(), 20_000, STRANGER)
    prepare(world)
    found = roll(world, tmp_path, "4.4.0")
    assert (found.outcome, ids(found)[0]) == (Outcome.REFUSED, "node-of-another-cluster")
    assert world.started == []
