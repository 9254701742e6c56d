"""Batches of a rack under the driver: one broker that does not come back, and voters that do not start."""

from __future__ import annotations

from pathlib import Path

from kafkactl.change.hooks.words import Verb
from kafkactl.core.findings import Outcome
from tests.fakes.rolling_cluster import LIE, FakeRoll, runs
from tests.roll.driver.test_run import roll
from tests.roll.rolls import Roll


def racks() -> Roll:
    """Return one controller, brokers 11 and 12 in one rack, 13 and 14 in another; a partition across both."""
    cluster = Roll("4.3.1", controllers=(1,), brokers=(11, 12, 13, 14))
    for id, rack in ((11, "a"), (12, "a"), (13, "b"), (14, "b")):
        cluster.change(id, rack=rack)
    return cluster.topic("orders", [11, 13], [12, 14], [13, 12], min_insync_replicas="1")


ACCEPTED = frozenset({"quorum-without-spare", "partial-roll"})


def test_brokers_of_a_rack_are_stopped_in_one_step(tmp_path: Path) -> None:
    world = FakeRoll(racks())
    found = roll(world, tmp_path, "4.4.0", batch=0, accepted=ACCEPTED)
    assert found.outcome is Outcome.DONE, found.findings
    stops = [step for step in found.steps if step.action == "stop"]
    assert sorted(sorted(step.nodes) for step in stops) == [[1], [11, 12], [13, 14]]
    assert world.harm == []


def test_next_step_undoes_only_the_broker_of_a_batch_that_does_not_start(tmp_path: Path) -> None:
    world = FakeRoll(racks())
    world.wrong[Verb.START, 12] = LIE
    found = roll(world, tmp_path, "4.4.0", batch=0, order=(11, 12, 13, 14), accepted=ACCEPTED)
    assert found.outcome is Outcome.PARTIAL
    failed = next(finding for finding in found.findings if finding.id == "start-failed")
    assert str(failed.next_step).endswith("--to 4.3.1 --only 12")
    assert world.down == {12}
    del world.wrong[Verb.START, 12]
    back = roll(world, tmp_path, "4.3.1", only=frozenset({12}), accepted=ACCEPTED)
    assert back.outcome is Outcome.DONE, back.findings
    assert (runs(world)[11], runs(world)[12]) == ("4.4.0", "4.3.1")
    assert world.stopped == [1, 11, 12]


def test_broker_of_a_batch_that_hangs_is_the_only_one_named(tmp_path: Path) -> None:
    world = FakeRoll(racks())
    world.hangs = {12}
    found = roll(world, tmp_path, "4.4.0", batch=0, order=(11, 12, 13, 14), accepted=ACCEPTED)
    late = next(finding for finding in found.findings if finding.id == "node-not-back")
    assert late.evidence["nodes"] == [12]
    assert str(late.next_step).endswith("--only 12")


def test_controller_that_ends_without_a_leader_is_not_excused(tmp_path: Path) -> None:
    # Only a broker exits because there is no leader.
    world = FakeRoll(Roll("4.3.1", controllers=(1,), brokers=(11, 12)))
    world.crash(1)
    world.wrong[Verb.START, 1] = LIE
    found = roll(world, tmp_path, "4.4.0", accepted=ACCEPTED)
    assert [finding.id for finding in found.findings if finding.severity == "blocker"] == ["start-failed"]
    assert world.stopped == []


def test_voter_that_does_not_start_does_not_keep_the_others_down(tmp_path: Path) -> None:
    world = FakeRoll(Roll("4.3.1"))
    world.crash(1, 2)
    world.wrong[Verb.START, 1] = LIE
    found = roll(world, tmp_path, "4.4.0")
    assert world.started[:1] == [2]
    assert world.down == {1}
    assert "start-failed" in [finding.id for finding in found.findings]
    assert world.harm == []
