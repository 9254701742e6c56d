"""Problems found in an observation of a quorum, and when the quorum is called broken."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkactl.cluster.quorum.state import Mode, Probe, Replica
from kafkactl.core.findings import Finding, Severity
from kafkactl.core.values import Role
from kafkactl.quorum.health import check_health, is_broken
from tests.quorum.worlds import World, directory, endpoint, key


def found(state):
    findings = check_health(state)
    return {(finding.id, finding.subject) for finding in findings}, is_broken(state, findings)


def world(*alive, **changes):
    voters = frozenset(key(id) for id in (1, 2, 3))
    return World(voters=voters, alive=frozenset(key(id) for id in alive), **changes)


def probes(*ids, **changes):
    return tuple(Probe(**({"endpoint": endpoint(id), "answers": True, "node_id": id} | changes)) for id in ids)


def test_healthy_quorum_has_no_findings():
    assert found(world(1, 2, 3).observe(probes=probes(1, 2, 3))) == (set(), False)
    assert found(world(1, 2, 3, static=True).observe()) == (set(), False)


def test_dead_voter_is_a_warning():
    assert found(world(1, 2).observe()) == ({("voter-is-dead", "controller 3")}, False)


def test_without_a_leader_the_dead_are_in_the_sum_and_not_reported_one_by_one():
    assert found(world(1).observe()) == ({("no-quorum-leader", "quorum")}, True)


def test_without_voters_no_sum_is_shown():
    state = world().observe(leader_id=-1, voters=(), observers=())
    (finding,) = check_health(state)
    assert (finding.message, is_broken(state, (finding,))) == ("no controller leads the quorum", True)


@pytest.mark.parametrize(("alive", "may_elect"), [((1,), False), ((1, 2), True), ((), False)])
def test_election_is_named_unless_too_few_voters_are_alive(alive: tuple[int, ...], may_elect: bool):
    (finding,) = check_health(world(*alive).observe(leader_id=-1))
    assert (finding.id, finding.advice.startswith("An election may be under way")) == ("no-quorum-leader", may_elect)


def test_election_is_named_where_the_voters_are_not_known():
    (finding,) = check_health(world().observe(leader_id=-1, voters=(), observers=()))
    assert finding.advice.startswith("An election may be under way")


def test_leader_without_a_majority_is_broken_already():
    state = world(1, 2, 3).observe(voters=world(1).observe().voters)
    assert found(state) == (
        {("majority-lost", "quorum"), ("voter-is-dead", "controller 2"), ("voter-is-dead", "controller 3")}, True,
    )  # fmt: skip


def test_unknown_liveness_is_not_a_lost_majority():
    voters = tuple(Replica(id=id, directory_id=directory("a")) for id in (1, 2, 3))
    assert found(world(1, 2, 3).observe(voters=voters)) == (set(), False)


def test_leader_that_has_committed_nothing_is_broken():
    assert found(world(1, 2, 3).observe(high_watermark=None)) == ({("high-watermark-unknown", "controller 1")}, True)


def test_two_looks_show_that_nothing_is_committed():
    earlier = world(1, 2, 3).observe()
    grown = tuple(replace(voter, log_end_offset=1_005) for voter in earlier.voters)
    stuck = world(1, 2, 3).observe(voters=grown)
    assert {finding.id for finding in check_health(stuck, earlier)} == {"change-not-committed"}
    assert is_broken(stuck, check_health(stuck, earlier))
    assert check_health(world(1, 2, 3).observe(voters=grown, high_watermark=1_004), earlier) == ()
    assert check_health(earlier, earlier) == ()


@pytest.mark.parametrize(
    ("probe", "id"),
    [
        ({"answers": False, "node_id": None}, "voter-endpoint-silent"),
        ({"node_id": 1}, "voter-endpoint-of-another"),
        ({"role": Role.BROKER}, "voter-endpoint-of-another"),
        ({"cluster_id": "AAAAAAAAAAAAAAAAAAAAEQ"}, "voter-endpoint-of-another"),
    ],
)
def test_endpoint_of_another_process_is_reported(probe, id):
    state = world(1, 2, 3).observe(probes=probes(1, 2) + probes(3, **probe))
    assert found(state) == ({(id, "controller 3")}, False)


def test_replaced_disk_is_reported():
    alive = frozenset({key(1), key(2), key(3, "b")})
    state = World(voters=world().voters, alive=alive).observe()
    reported, broken = found(state)
    assert reported == {("voter-is-dead", "controller 3"), ("voter-runs-on-another-disk", "controller 3")}
    assert not broken


def test_finding_is_reported_once_and_those_of_the_observation_too():
    finding = Finding(id="superseded-leader", severity=Severity.WARNING, subject="controller 9", message="old")
    state = world(1, 2, 3).observe(findings=(finding, finding), mode=Mode.DYNAMIC)
    assert check_health(state) == (finding,)


def test_majority_that_was_not_seen_is_named_next_to_a_silent_voter():
    # Voter 3 is dead, and of voter 2 nothing is known: whether a change commits is open, and no fault is claimed.
    state = world(1, 2).observe()
    unknown = tuple(replace(voter, alive=None, evidence=None) if voter.id == 2 else voter for voter in state.voters)
    findings = check_health(replace(state, voters=unknown))
    assert [(finding.id, finding.severity) for finding in findings] == [
        ("majority-not-proven", Severity.WARNING),
        ("voter-is-dead", Severity.WARNING),
    ]
    none_dead = tuple(replace(voter, alive=None) if voter.alive is False else voter for voter in unknown)
    nodes = {id: replace(facts, answers=True) for id, facts in state.nodes.items()}
    assert check_health(replace(state, voters=none_dead, nodes=nodes)) == ()
