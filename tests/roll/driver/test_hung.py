"""Nodes whose process runs and does not answer: a start changes nothing there, so a rollback stops it first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafkactl.change.hooks.words import Verb
from kafkactl.core.findings import Outcome
from tests.fakes.interruption import Fuse, killed_at_every_act
from tests.fakes.rolling_cluster import FakeRoll, runs
from tests.roll.driver.test_run import cluster, roll
from tests.roll.rolls import Roll

ACCEPTED = frozenset({"quorum-without-spare", "partial-roll"})


class SilentRoll(FakeRoll):
    """A cluster in which nodes run a bad release without opening their listener, until they are stopped."""

    def _come_up(self, id: int, age: int) -> None:
        if self._runs(id) != self.bad_release:
            super()._come_up(id, age)

    def _runs(self, id: int) -> str:
        """Return the release of the process: that which was installed at its start."""
        return self._process.setdefault(id, self._installed[id])

    @property
    def _process(self) -> dict[int, str]:
        return self.__dict__.setdefault("processes", {})

    def _act(self, request: Any) -> None:
        if request.verb is Verb.STOP and request.node in self._starting:
            self.stopped.append(request.node)
            del self._starting[request.node]
        else:
            super()._act(request)
        if request.verb is Verb.STOP:
            self._process.pop(request.node, None)
        if request.verb is Verb.START:
            self._runs(request.node)


def small() -> Roll:
    return Roll("4.3.1", controllers=(1,), brokers=(11, 12)).topic("t", [11, 12], min_insync_replicas="1")


def silent(made: Roll) -> SilentRoll:
    world = SilentRoll(made)
    world.bad_release = "4.4.0"
    return world


def test_broker_that_runs_and_does_not_answer_returns_to_the_old_binary(tmp_path: Path) -> None:
    world = silent(cluster())
    found = roll(world, tmp_path, "4.4.0", only=frozenset({11}))
    assert (found.outcome, world.is_running(11), world.roll.nodes[11].alive) == (Outcome.PARTIAL, True, False)
    found = roll(world, tmp_path, "4.3.1", only=frozenset({11}))
    assert found.outcome is Outcome.DONE, found.findings
    assert (runs(world)[11], world.stopped) == ("4.3.1", [11, 11])
    assert [step.action for step in found.steps] == ["install", "stop", "start", "verify"]


def test_process_that_was_started_with_the_present_binary_is_not_stopped(tmp_path: Path) -> None:
    # It may recover its log, for hours after an unclean stop.
    world = silent(cluster())
    for _ in range(2):
        assert roll(world, tmp_path, "4.4.0", only=frozenset({11})).outcome is Outcome.PARTIAL
    assert world.stopped == [11]


@pytest.mark.slow
def test_rollback_of_a_silent_broker_that_is_killed_at_any_act_reaches_its_goal(tmp_path: Path) -> None:
    def go(world: SilentRoll, folder: Path, fuse: Fuse) -> Outcome:
        world.fuse = fuse
        return roll(world, folder, "4.3.1", only=frozenset({11}), accepted=ACCEPTED).outcome

    def begin(world: SilentRoll, folder: Path, fuse: Fuse) -> Outcome:
        assert roll(world, folder, "4.4.0", only=frozenset({11}), accepted=ACCEPTED).outcome is Outcome.PARTIAL
        return go(world, folder, fuse)

    def check(world: SilentRoll) -> None:
        assert (runs(world)[11], world.harm) == ("4.3.1", [])
        assert world.stopped == [11, 11]

    assert killed_at_every_act(tmp_path, lambda: silent(small()), begin, check, resume=go, every=4) > 15


def test_only_controller_that_does_not_come_up_returns_to_the_old_binary(tmp_path: Path) -> None:
    world = FakeRoll(small())
    world.wrong[Verb.START, 1] = "lie"
    found = roll(world, tmp_path, "4.4.0", accepted=ACCEPTED)
    assert found.outcome is Outcome.PARTIAL
    del world.wrong[Verb.START, 1]
    world.bad_release = "4.4.0"
    found = roll(world, tmp_path, "4.3.1", only=frozenset({1}), accepted=ACCEPTED)
    assert found.outcome is Outcome.DONE, found.findings
    assert set(runs(world).values()) == {"4.3.1"}


def test_jars_of_the_only_controller_are_replaced_between_stop_and_start(tmp_path: Path) -> None:
    world = FakeRoll(small())
    found = roll(world, tmp_path, "4.4.0", between=frozenset({1, 11, 12}), accepted=ACCEPTED)
    assert found.outcome is Outcome.DONE, found.findings
    assert (sorted(world.stopped), set(runs(world).values())) == ([1, 11, 12], {"4.4.0"})
