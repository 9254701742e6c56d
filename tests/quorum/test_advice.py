"""Advice next to a refusal: numbers, directories and the next step."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkactl.cluster.quorum.liveness import unproven
from kafkactl.cluster.quorum.voters import socket_host
from kafkactl.cluster.registrations import BrokerRegistration, Registrations
from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding, Outcome
from kafkactl.core.values import Endpoint, Role, Uuid
from kafkactl.files.journal import open_journal
from kafkactl.quorum.change.goals import reassignment
from kafkactl.quorum.change.journal import SUBJECT, begin_entry, open_request, step_entry
from kafkactl.quorum.change.ports import ChangeResult
from kafkactl.quorum.change.steps import _edit_configs, _not_well
from kafkactl.quorum.guard import Circumstances
from kafkactl.quorum.guard_candidate import check_candidate
from kafkactl.quorum.health import check_health
from kafkactl.quorum.outcome import Answer, judge
from kafkactl.quorum.plan import plan_conversion, plan_reassignment, plan_removal
from kafkactl.quorum.step import Step
from kafkactl.quorum.target import parse_target
from tests.quorum.worlds import CLUSTER_ID, directory, endpoint, key, world

HEALTHY = world("1 2 3", observers="4 5").observe()


def finding_of(findings, id: str) -> Finding:
    (found,) = (finding for finding in findings if finding.id == id)
    return found


def broker(node_id: int) -> BrokerRegistration:
    return BrokerRegistration(
        id=node_id, epoch=1, incarnation_id=Uuid(bytes(16)), fenced=False, in_controlled_shutdown=False, features={},
        endpoints=(), directory_ids=(),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("nodes", "ids"),
    [
        ({}, ["broker-only-node"]),
        ({4: replace(HEALTHY.nodes[4], answers=False)}, ["broker-only-node"]),
        ({4: replace(HEALTHY.nodes[4], role=Role.CONTROLLER)}, []),
        ({4: replace(HEALTHY.nodes[4], role=Role.BROKER)}, ["broker-only-node"]),
    ],
)
def test_registration_shows_the_role_of_a_silent_node(nodes, ids):
    known = Registrations(brokers={4: broker(4)}, controllers={}, levels={})
    state = replace(HEALTHY, registrations=known, nodes=nodes)
    assert [finding.id for finding in check_candidate(state, key(4), (endpoint(4),))] == ids


def test_large_target_has_the_number_of_voters_for_each_commit():
    many = world("1 2 3 4 5 6 7", observers="8 9 10 11").observe()
    plan = plan_reassignment(many, parse_target(",".join(map(str, range(1, 12)))), Circumstances())
    assert "every commit waits for 6 of them" in finding_of(plan.findings, "too-many-voters").message


def test_lost_majority_names_the_voters_to_restart():
    wedge = finding_of(plan_removal(world("1 2 3", dead="3").observe(), key(1), Circumstances()).findings,
                       "quorum-would-wedge")  # fmt: skip
    assert wedge.next_step == "Bring back {3}, or remove dead voters first."
    assert (wedge.evidence["voters_after"], wedge.evidence["alive"], wedge.evidence["majority"]) == ([2, 3], [2], 2)


def test_replaced_disk_is_shown_with_the_one_that_votes():
    state = world("1 2 3", dead="3", observers="3b").observe()
    finding = finding_of(check_health(state), "voter-runs-on-another-disk")
    assert finding.evidence == {"voter": str(directory("a")), "observer": str(directory("b"))}


def test_every_voter_has_the_reason_why_liveness_is_unproven():
    state = unproven(HEALTHY)
    reasons = {replica.evidence for replica in (*state.voters, *state.observers)}
    assert reasons == {"could not be watched: the leader or the voters changed meanwhile"}


def removal(alive: str) -> Step:
    """Return the removal of voter 3 of three while these are alive."""
    step = plan_removal(HEALTHY, key(3), Circumstances()).steps[-1]
    return replace(step, alive=frozenset(key(int(id)) for id in alive.split()))


@pytest.mark.parametrize(
    ("alive", "reads", "is_warned"),
    [
        ("1", [HEALTHY], True),
        ("1 2", [HEALTHY], False),
        ("1 2", [], True),
        ("1 2", [world("1 2 3", dead="2 3").observe()], True),
    ],
    ids=["a rescue", "on thin ice, and a leader is there", "nothing was read", "nobody leads"],
)
def test_lost_disk_is_warned_of_only_if_the_change_needs_it(alive, reads, is_warned):
    may_happen = judge(removal(alive), Answer(code=None), reads, watched_ms=1, unread_ms=10_000).may_happen
    assert len(may_happen) == 2 + is_warned
    assert may_happen[0].startswith("the removal of 3 may still commit")


def test_invalid_target_has_an_example():
    with pytest.raises(InputError) as refused:
        parse_target("one")
    assert refused.value.next_step == "Write --target 1,2,3"


def test_five_numbers_are_a_name_and_no_address():
    assert socket_host("1.2.3.4.0") == "1.2.3.4.0"


def test_journal_has_the_target_voters():
    goal = reassignment(f"1,2,4@{directory('b')}")
    assert goal.description == {"verb": "reassign", "target": ["1", "2", f"4@{directory('b')}"]}
    assert (goal.is_journey, goal.replan) == (True, False)


def test_result_names_the_cluster_that_was_seen_first():
    result = ChangeResult(outcome=Outcome.DONE, steps=(), findings=(), before=HEALTHY, after=None)
    assert result.to_dict()["cluster_id"] == CLUSTER_ID
    assert replace(result, before=None).to_dict()["cluster_id"] is None


@pytest.mark.parametrize(
    ("hosts", "servers"),
    [
        (("c1", "c2", "c3"), "c1:9093,c2:9093,c3:9093"),
        (("2001:db8::1", "::1", "c3"), "[2001:db8::1]:9093,[::1]:9093,c3:9093"),
        ((), "HOST:PORT,…"),
    ],
)
def test_after_a_conversion_the_line_to_write_is_spelled_out(hosts, servers):
    endpoints = [(Endpoint(listener="CONTROLLER", host=host, port=9093),) for host in hosts] or [()] * 3
    voters = tuple(replace(voter, endpoints=at) for voter, at in zip(HEALTHY.voters, endpoints, strict=True))
    finding = _edit_configs(replace(HEALTHY, voters=voters))
    assert f"controller.quorum.bootstrap.servers={servers} in its place" in str(finding.next_step)


def test_completed_step_is_named_when_the_quorum_became_unhealthy():
    assert _not_well(removal("1 2"), None).message.startswith("step 1 is done")
    assert _not_well(None, None).message.startswith("the conversion is done")


def conversion() -> Step:
    (step,) = plan_conversion(world("1 2 3", static=True).observe(), Circumstances()).steps
    return step


@pytest.mark.parametrize(
    ("step", "what"), [(removal("1 2"), "remove 3"), (conversion(), "the conversion")], ids=["removal", "conversion"]
)
def test_request_whose_outcome_is_unknown_is_named(tmp_path, step, what):
    path = tmp_path / "journal"
    assert open_request(None, str(path), CLUSTER_ID) is None
    with open_journal(str(path), subject=SUBJECT, cluster_id=CLUSTER_ID) as journal:
        journal.append("begin", begin_entry({"verb": "x"}, HEALTHY))
        assert open_request(path.read_bytes(), str(path), CLUSTER_ID) is None
        journal.append("intent", step_entry(step, HEALTHY, sets=(), unread_ms=10_000))
    found = open_request(path.read_bytes(), str(path), CLUSTER_ID)
    assert found is not None
    assert f"an earlier run sent {what}, and did not see what became of it" in found.message
    assert found.evidence == {"journal": str(path)}
