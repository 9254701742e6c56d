"""Levels at the end of a roll: by their name only, after the proof of the binaries, and after a question."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkactl.core.findings import Finding, Outcome, Severity, blocker
from kafkactl.roll.case import Until
from kafkactl.roll.driver.acts import Act
from tests.fakes.rolling_cluster import FakeRoll
from tests.roll.driver.test_run import cluster, roll


def decline(act: Act, _cluster_id: str | None) -> Finding | None:
    return blocker("not-confirmed", "levels", "the levels are not confirmed") if act.raises_levels else None


@pytest.mark.parametrize("until", [None, Until.BINARIES, Until.PROOF])
def test_roll_to_its_proof_raises_no_level(tmp_path: Path, until: Until | None) -> None:
    world = FakeRoll(cluster())
    found = roll(world, tmp_path, "4.4.0", until=until)
    assert (found.outcome, world.raised, found.steps[-1].action) == (Outcome.DONE, [], "verify")


@pytest.mark.parametrize("first", [None, Until.BINARIES])
def test_levels_are_raised_after_the_proof(tmp_path: Path, first: Until | None) -> None:
    world = FakeRoll(cluster())
    if first is not None:
        assert roll(world, tmp_path, "4.4.0", until=first).outcome is Outcome.DONE
    found = roll(world, tmp_path, "4.4.0", until=Until.LEVELS)
    assert (found.outcome, world.raised) == (Outcome.DONE, ["4.4"])
    assert [step.action for step in found.steps if step.state == "done"][-2:] == ["verify", "raise-levels"]
    assert roll(world, tmp_path, "4.4.0", until=Until.LEVELS).outcome is Outcome.NOTHING_TO_DO
    assert world.raised == ["4.4"]


def test_levels_of_a_roll_that_leaves_nodes_out_are_refused_before_the_first_stop(tmp_path: Path) -> None:
    world = FakeRoll(cluster())
    found = roll(world, tmp_path, "4.4.0", until=Until.LEVELS, only=frozenset({1, 2, 3, 11}))
    assert (found.outcome, world.stopped, world.raised) == (Outcome.REFUSED, [], [])
    assert [finding.id for finding in found.findings if finding.severity is Severity.BLOCKER] == ["partial-roll"]


def test_levels_of_a_partial_roll_are_raised_if_the_other_nodes_run_the_goal(tmp_path: Path) -> None:
    world = FakeRoll(cluster())
    assert roll(world, tmp_path, "4.4.0").outcome is Outcome.DONE
    found = roll(world, tmp_path, "4.4.0", until=Until.LEVELS, only=frozenset({11}))
    assert (found.outcome, world.raised) == (Outcome.DONE, ["4.4"])


def test_levels_are_not_raised_before_a_node_is_back(tmp_path: Path) -> None:
    world = FakeRoll(cluster())
    assert roll(world, tmp_path, "4.4.0").outcome is Outcome.DONE
    world.roll.fence(12)
    found = roll(world, tmp_path, "4.4.0", until=Until.LEVELS)
    assert (found.outcome, world.raised) == (Outcome.PARTIAL, [])
    assert "unfenced" in [finding.id for finding in found.findings]


def test_levels_that_are_not_confirmed_refuse_a_run_that_changed_nothing(tmp_path: Path) -> None:
    world = FakeRoll(cluster())
    found = roll(world, tmp_path, "4.4.0", until=Until.LEVELS, ask=decline)
    assert (found.outcome, len(world.stopped), world.raised) == (Outcome.PARTIAL, 6, [])
    found = roll(world, tmp_path, "4.4.0", until=Until.LEVELS, ask=decline)
    assert (found.outcome, len(world.stopped), world.raised) == (Outcome.REFUSED, 6, [])
    assert roll(world, tmp_path, "4.4.0", until=Until.LEVELS).outcome is Outcome.DONE
