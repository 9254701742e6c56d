"""Rolls without a hook for the release, without a broker that is lost, and of two voters."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkactl.core.findings import Outcome, Severity
from kafkactl.core.frozen import changed
from kafkactl.roll.driver.observed_effect import effect_of_stop, missed
from kafkactl.roll.observation import RollObservation
from kafkactl.roll.planning import plan_roll
from tests.fakes.interruption import Fuse, killed_at_every_act
from tests.fakes.rolling_cluster import FakeRoll, runs
from tests.roll.driver.interrupted_rolls import ACCEPTED, small
from tests.roll.driver.test_run import NODES, cluster, entries, roll
from tests.roll.rolls import Roll

UNKNOWN = frozenset({"release-unknown"})


class WithoutReleases(FakeRoll):
    """A cluster without the hooks `running` and `installed`: its nodes show only the ranges of their line."""

    def observe(self, refresh: frozenset[int] | None) -> RollObservation:
        seen = super().observe(refresh)
        return changed(seen, nodes=tuple(changed(node, release=None, installed=None) for node in seen.nodes))


@pytest.mark.parametrize(("before", "to"), [("4.3.0", "4.3.1"), ("4.3.1", "4.3.0"), ("4.3.1", "4.4.0")])
def test_release_that_no_hook_names_is_rolled_to_once(before: str, to: str, tmp_path: Path) -> None:
    world = WithoutReleases(cluster(before))
    found = roll(world, tmp_path, to, accepted=UNKNOWN)
    assert found.outcome is Outcome.DONE, found.findings
    assert set(runs(world).values()) == {to}
    again = roll(world, tmp_path, to, accepted=UNKNOWN)
    assert again.outcome is Outcome.NOTHING_TO_DO
    assert sorted(world.stopped) == list(NODES)
    assert world.harm == []


def test_kill_of_a_roll_to_a_patch_release_that_no_hook_names_restarts_no_node_twice(tmp_path: Path) -> None:
    def start() -> WithoutReleases:
        return WithoutReleases(small("4.3.0"))

    def go(world: WithoutReleases, folder: Path, fuse: Fuse) -> Outcome:
        world.fuse = fuse
        accepted = UNKNOWN | ACCEPTED | {"partition-stops-while-down"}
        return roll(world, folder, "4.3.1", accepted=accepted).outcome

    def check(world: WithoutReleases) -> None:
        assert set(runs(world).values()) == {"4.3.1"}
        assert sorted(world.stopped) == [1, 11, 12]
        assert world.harm == []

    assert killed_at_every_act(tmp_path, start, go, check, every=3) > 20


def test_patch_release_that_no_hook_names_is_a_warning_before_the_first_stop(tmp_path: Path) -> None:
    world = WithoutReleases(cluster("4.3.0"))
    found = roll(world, tmp_path, "4.3.1")
    assert (found.outcome, world.stopped) == (Outcome.REFUSED, [])
    assert {"release-unknown", "warnings-not-accepted"} <= {finding.id for finding in found.findings}


def test_patch_release_that_no_hook_names_is_rolled_back(tmp_path: Path) -> None:
    world = WithoutReleases(cluster("4.3.0"))
    for to in ("4.3.1", "4.3.0"):
        world.stopped.clear()
        assert roll(world, tmp_path, to, accepted=UNKNOWN).outcome is Outcome.DONE
        assert sorted(world.stopped) == list(NODES)
        assert set(runs(world).values()) == {to}


def test_roll_without_a_lost_broker_goes_to_its_end(tmp_path: Path) -> None:
    world = FakeRoll(Roll("4.3.1").topic("orders", [11, 12, 13], [12, 13, 11], min_insync_replicas="1"))
    world.crash(13)
    accepted = frozenset({"broker-down", "isr-not-whole"})
    found = roll(world, tmp_path, "4.4.0", skip=frozenset({13}), accepted=accepted)
    assert found.outcome is Outcome.DONE, found.findings
    assert world.stopped == [1, 2, 3, 11, 12]
    assert all("while [13] is down" in text or "ISR" in text for text in world.harm)


def test_quorum_of_two_voters_is_rolled_if_that_was_accepted(tmp_path: Path) -> None:
    for accepted, outcome in ((frozenset[str](), Outcome.REFUSED), (frozenset({"quorum-without-spare"}), Outcome.DONE)):
        world = FakeRoll(cluster(controllers=(1, 2)))
        found = roll(world, tmp_path, "4.4.0", accepted=accepted)
        assert found.outcome is outcome, found.findings
    assert world.stopped[:2] == [1, 2]
    assert world.harm == []


def test_start_that_ends_without_a_leader_proves_nothing_about_the_binary(tmp_path: Path) -> None:
    # Controllers 1 and 2 fail as broker 11 starts; it ends after that, and all that is needed is started again.
    world = FakeRoll(cluster())

    def fail() -> None:
        if 11 not in world.started:
            world.then[world.observations + 1] = fail
        else:
            world.crash(1, 2, 11)

    world.then[1] = fail
    found = roll(world, tmp_path, "4.4.0", only=frozenset({11}))
    assert found.outcome is Outcome.DONE, found.findings
    assert (world.stopped, world.started) == ([11], [11, 1, 11])
    failed = [entry.data for entry in entries(tmp_path) if entry.entry == "failed"]
    assert failed
    assert all(data.get("came_up") is None for data in failed)


def test_stop_with_another_effect_than_predicted_is_a_note(tmp_path: Path) -> None:
    world = FakeRoll(cluster())
    effect = effect_of_stop(world.roll.case(), world.roll.kill(11).case(), [11])
    predicted = next(step.predicted for step in plan_roll(cluster().case("4.4.0")).steps if 11 in step.nodes
                     and step.predicted is not None)  # fmt: skip
    assert missed("node 11", predicted, effect) is not None
    found = missed("node 11", predicted, changed(effect, leader_changes=predicted.leader_changes,
                   under_min_isr=predicted.under_min_isr, offline=predicted.offline + 2))  # fmt: skip
    assert found is not None
    assert (found.id, found.severity) == ("prediction-missed", Severity.INFO)
    assert found.message.endswith(f"offline {predicted.offline + 2} instead of {predicted.offline}")
