"""Runs of a simulated quorum: the supervisor that starts processes again, and plans whose faults come denser."""

from __future__ import annotations

import pytest

from kafkactl.simulator.actions import Operator
from kafkactl.simulator.campaign import Asked, plan_for, quorum_of
from kafkactl.simulator.profiles import TimedStep
from kafkactl.simulator.quorum import Quorum
from kafkactl.simulator.run import run_in
from kafkactl.simulator.script import Step
from kafkactl.simulator.world import World

SECOND_US = 1_000_000


def test_of_two_processes_that_end_within_a_second_both_are_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    # The supervisor of a host starts one each second; without both of two voters nothing is committed.
    world = World(Quorum(voters=(1, 2)), 1)
    world.run_until(5 * SECOND_US)
    ends = list(world.machines.values())
    append = Operator.append

    def ends_one(operator: Operator, records: int) -> None:
        if ends:
            world.end(ends.pop())
        append(operator, records)

    monkeypatch.setattr(Operator, "append", ends_one)
    settle = Step(verb="settle", args=(60 * SECOND_US,))
    outcome = run_in(world, [TimedStep(at_us=world.now, step=settle)], 1)
    assert not ends
    assert outcome.committed and all(machine.runs for machine in world.machines.values())


@pytest.mark.parametrize("profile", ["chaos", "voter-change"])
def test_dense_run_has_the_plan_of_a_longer_one(profile: str) -> None:
    long, short = (
        Asked(profile=profile, duration_us=seconds * SECOND_US, density=density)
        for seconds, density in ((60, 1), (5, 12))
    )
    quorum, _ = quorum_of(long)
    slow, quick = plan_for(long, quorum, 7), plan_for(short, quorum, 7)
    assert [timed.step for timed in quick] == [timed.step for timed in slow]
    assert [timed.at_us for timed in quick] == [timed.at_us // 12 for timed in slow]
    assert quick[-1].step.verb == "settle"
