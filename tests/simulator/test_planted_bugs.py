"""The invariants find bugs of the protocol: each is planted into the nodes, and runs with random faults break on it."""

from __future__ import annotations

import pytest

from kafkactl.simulator.campaign import Asked, outcome_of, plan_for, quorum_of, shrunk_plan
from kafkactl.simulator.profiles import as_script
from kafkactl.simulator.run import run_plan
from kafkactl.simulator.script import parse_script
from tests.campaigns.simulator.planted_bugs import BUGS, planted, search
from tests.sampling import one_in

# The search takes as long as those of six others; "keeps counting the voters of before" is a change of voters as well.
LATE = "changes voters while a change is not committed"
SAMPLE = [case for case in one_in(3, BUGS, pytest.mark.campaign) if getattr(case, "name", None) != LATE]
REST = [pytest.param(bug, marks=pytest.mark.campaign) for bug in BUGS if bug.name == LATE]


@pytest.mark.slow
@pytest.mark.parametrize("bug", [*SAMPLE, *REST], ids=lambda bug: bug.name)
def test_bug_is_found_soon(bug):
    assert search(bug, 200) is not None


@pytest.mark.parametrize("name", ["commits what it has alone", "fetches on before it synced"])
def test_fewest_faults_of_a_run_that_broke_break_it_again(name):
    # Both break behind the statements that lead there.
    bug = next(bug for bug in BUGS if bug.name == name)
    voters = tuple(range(1, bug.voters + 1))
    asked = Asked(profile=bug.profile, release=bug.release, voters=voters, duration_us=5_000_000, density=12)
    quorum, _ = quorum_of(asked)
    with planted(bug):
        failed = next(
            outcome for seed in range(200) if not (outcome := outcome_of(asked, quorum, seed, traced=False)).passed
        )
        small = shrunk_plan(quorum, plan_for(asked, quorum, failed.seed), failed)
        again = run_plan(quorum, small, failed.seed, traced=True)
        assert again.violations[0].invariant == failed.violations[0].invariant
        assert len(small) < len(plan_for(asked, quorum, failed.seed))
        script = parse_script(as_script(["voters 3"], small), "shrunk")
        assert script.steps[-1].text == f"expect not broken {failed.violations[0].invariant}"


def test_there_are_twenty_bugs():
    assert len({bug.name for bug in BUGS}) == len(BUGS) >= 20


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["chaos", "voter-change", "rolling-restart", "disk-loss"])
@pytest.mark.parametrize("release", ["3.9", "4.4"])
def test_without_a_bug_nothing_is_found(profile, release):
    asked = Asked(profile=profile, release=release)
    quorum, _ = quorum_of(asked)
    broken = [outcome for seed in range(3) if not (outcome := outcome_of(asked, quorum, seed, traced=False)).passed]
    assert not broken
