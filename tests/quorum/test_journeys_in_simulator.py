"""Journeys of all changes of voters, carried out by the engine in the simulator, with a fault in the middle.

No fault makes the quorum lose a majority that no plan announced, and after it is mended the same change arrives.
The campaign takes every fault at every event between a request and its end, and a part of all others; its figures go to
docs/proof/simulator.md.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from kafkactl.core.findings import Outcome
from kafkactl.quorum.order import VoterKeys
from kafkactl.quorum.step import Action
from tests.quorum.faulted_journeys import CASES, Case, Fault, begun, faults, judged, run_case, undisturbed
from tests.sampling import one_in

RELEASES = ("3.9", "4.4")
EVERY = [(case, release) for case in CASES for release in RELEASES if not case.converts or release == "4.4"]
SAMPLE = 2  # of each journey; the campaign has all of them
STEP = 20


def _name(value: object) -> str:
    return value.name if isinstance(value, Case) else str(value)


def places_of(case: Case, release: str, seed: int) -> tuple[bytes, list[Fault], list[Fault]]:
    world = begun(case, release, seed)
    _, asked, other = undisturbed(case, world)
    return world, list(faults(case, asked)), list(faults(case, other))


@pytest.mark.parametrize(("case", "release"), one_in(3, EVERY), ids=_name)
def test_journey_arrives(case, release):
    result, asked, _ = undisturbed(case, begun(case, release, 1))
    assert result.outcome is Outcome.DONE
    assert asked, "requests were sent"
    sets: list[VoterKeys] = [step.voters_after for step in result.steps]
    assert tuple(sorted(key.node_id for key in sets[-1])) == case.wanted
    assert all(step.tolerates_after >= 0 for step in result.steps if step.action is not Action.UPGRADE)


@pytest.mark.parametrize(("case", "release"), one_in(5, EVERY), ids=_name)
def test_no_fault_costs_a_majority_that_was_not_announced(case, release):
    world, asked, other = places_of(case, release, 1)
    draw = random.Random(f"{case.name} {release}")
    for fault in [*draw.sample(asked, min(SAMPLE, len(asked))), *draw.sample(other, SAMPLE // 2)]:
        assert judged(case, fault, run_case(case, world, fault)) == "", fault


def test_loss_that_no_plan_announced_is_seen():
    # While a disk is replaced, two of three voters are left: the plan says so, and a loss it did not tell is wrong.
    case = next(case for case in CASES if case.name == "replace a disk")
    world = begun(case, "3.9", 1)
    _, asked, _ = undisturbed(case, world)
    fault = Fault("kill", 1, asked[0])
    run = run_case(case, world, fault)
    assert (run.able, run.announced) == (False, 0)
    assert judged(case, fault, run) == ""
    assert "the majority is lost" in judged(case, fault, replace(run, announced=1))
    assert "nothing is committed" in judged(case, fault, replace(run, able=True))
    assert "nothing is committed" in judged(case, fault, replace(run, mended=None))
