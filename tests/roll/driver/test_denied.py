"""Rolls whose login loses a right in the middle: nothing more is stopped, and a node that is down is started."""

from __future__ import annotations

from pathlib import Path

from kafkactl.change.hooks.node import Request
from kafkactl.change.hooks.words import Verb
from kafkactl.core.findings import Outcome, warning
from kafkactl.core.frozen import changed
from kafkactl.roll.observation import RollObservation
from tests.fakes.rolling_cluster import FAIL, LIE, FakeRoll, runs
from tests.roll.driver.test_run import NODES, cluster, roll
from tests.roll.rolls import Roll

GRANT = "Have an administrator add the right: kafka-acls.sh --operation Describe --cluster"


class Guarded(FakeRoll):
    """A cluster that denies DescribeQuorum, and so the metadata log, from the stop of broker 11 on."""

    def __init__(self, roll: Roll, *, crashes: tuple[int, ...] = ()) -> None:
        super().__init__(roll)
        self.crashes, self.denies = crashes, False

    def observe(self, refresh: frozenset[int] | None) -> RollObservation:
        seen = super().observe(refresh)
        if not self.denies:
            return seen
        reason = warning("cluster-not-observed", "quorum", "the quorum could not be observed: denied", GRANT)
        return changed(
            seen, quorum=None, quorum_view=None, nodes_list=None, listed={}, log=None, findings=(*seen.findings, reason)
        )

    def _act(self, request: Request) -> None:
        super()._act(request)
        if (request.verb, request.node) == (Verb.STOP, 11):
            self.denies = True
            self.crash(11, *self.crashes)


def test_stopped_broker_is_started_though_the_quorum_may_not_be_asked(tmp_path: Path) -> None:
    world = Guarded(cluster())
    found = roll(world, tmp_path, "4.4.0")
    assert (found.outcome, world.down, world.started[-1]) == (Outcome.PARTIAL, set(), 11)
    unknown = next(finding for finding in found.findings if finding.id == "node-not-back")
    assert unknown.message.startswith("it is unknown if node 11 is back: ")
    assert unknown.next_step == f"{GRANT} Then run the same command again."
    assert {finding.advice for finding in found.findings if finding is not unknown} == {GRANT}

    world.denies = False
    again = roll(world, tmp_path, "4.4.0")
    assert (again.outcome, set(runs(world).values())) == (Outcome.DONE, {"4.4.0"})
    assert sorted(world.stopped) == list(NODES)
    assert world.harm == []


def test_broker_that_ends_at_its_start_is_not_blamed_on_a_quorum_that_was_not_asked(tmp_path: Path) -> None:
    world = Guarded(cluster())
    world.wrong[Verb.START, 11] = LIE
    found = roll(world, tmp_path)
    ids = {finding.id for finding in found.findings}
    assert (found.outcome, "start-failed" in ids, "start-without-quorum" in ids) == (Outcome.PARTIAL, True, False)


def test_broker_waits_if_a_majority_of_the_voters_is_down(tmp_path: Path) -> None:
    world = Guarded(cluster(), crashes=(1, 2))
    world.wrong[Verb.START, 1] = world.wrong[Verb.START, 2] = FAIL
    found = roll(world, tmp_path)
    assert (found.outcome, 11 in world.started) == (Outcome.PARTIAL, False)
