"""Gates of feature levels and registrations on a quorum simulated in time: nodes killed, paused, cut off, elections."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkactl.cluster.followers import is_long_enough, watch_followers
from kafkactl.cluster.node import ClusterNode, Silence
from kafkactl.cluster.quorum.liveness import FRESH_MS, with_lives
from kafkactl.cluster.state import ClusterState
from kafkactl.cluster.unregister_plan import plan_unregister
from kafkactl.core.findings import Outcome
from kafkactl.core.values import Role
from kafkactl.features.change.proof import prove
from kafkactl.features.plan.plan import plan_change
from kafkactl.features.plan.request import FeatureRequest, Operation
from tests.fakes.living_quorum import Event, LivingQuorum
from tests.features.clusters import cluster
from tests.quorum.worlds import key
from tests.sampling import one_in

AGO = [0.0, 100.0, 500.0, 1_000.0, 2_000.0, 3_000.0, 5_000.0]
METADATA = FeatureRequest(operation=Operation.UPGRADE, levels={"metadata.version": 30})
CONVERSION = FeatureRequest(operation=Operation.UPGRADE, levels={"kraft.version": 1})
BROKER = 11
TEXT = f"levels metadata.version=29\ncontrollers 1* 2 3\nbrokers {BROKER}"


def silence_of(node) -> Silence | None:
    """Return how a node of the simulation looks from here."""
    if node.answers:
        return None
    return Silence.UNREACHED if node.cut else Silence.HANGS if node.runs else Silence.REFUSED


def observed(quorum: LivingQuorum, *, fenced: bool = False, doubted: int | None = None) -> ClusterState:
    """Return the state that `cluster.io.view` makes of the simulation: every node asked, then the leader watched."""
    state = cluster(TEXT)
    roles = {node: Role.BROKER if node == BROKER else Role.CONTROLLER for node in quorum.nodes}
    nodes = tuple(
        replace(
            state.node(roles[id_], id_) or ClusterNode(id=id_, role=roles[id_], answers=None), **_answer(node, state)
        )
        for id_, node in quorum.nodes.items()
    )
    quorum.sleep_ms(20.0)
    known = state.registrations
    assert known is not None
    brokers = {BROKER: replace(known.brokers[BROKER], fenced=fenced)}
    state = replace(state, nodes=nodes, registrations=replace(known, brokers=brokers))
    first = quorum.sample()
    listed = () if first is None else first.replicas
    found = watch_followers(quorum, nodes, listed=listed, whole=frozenset({doubted} if doubted else ()))
    if found is None:
        return replace(state, active_controller=None, quorum=None, watched_enough=False)
    return replace(
        state,
        active_controller=found.last.state.leader_id,
        quorum=with_lives(found.last.state, found),
        watched_ms=found.watched_ms,
        watched_enough=is_long_enough(found),
    )


def _answer(node, state: ClusterState):
    seen = state.nodes[0]
    return {
        "answers": node.answers,
        "versions": seen.versions if node.answers else None,
        "named_itself": node.answers,
        "silence": silence_of(node),
    }


def struck(what: str, *node_ids: int, ago_ms: float) -> LivingQuorum:
    quorum = LivingQuorum(observers=(BROKER,), events=[Event(0, what, id_) for id_ in node_ids])
    quorum.sleep_ms(ago_ms)
    return quorum


@pytest.mark.parametrize("ago_ms", AGO)
@pytest.mark.parametrize("what", ["kill", "pause", "isolate"])
def test_no_level_is_changed_where_both_followers_have_gone(what: str, ago_ms: float) -> None:
    state = observed(struck(what, 2, 3, ago_ms=ago_ms))
    plan = plan_change(state, METADATA)
    assert plan.outcome is Outcome.REFUSED
    assert {finding.id for finding in plan.findings} & {"majority-not-proven", "no-active-controller"}


@pytest.mark.parametrize("ago_ms", AGO)
@pytest.mark.parametrize("what", ["kill", "pause", "isolate"])
def test_one_follower_less_leaves_a_majority_and_no_conversion(what: str, ago_ms: float) -> None:
    state = observed(struck(what, 3, ago_ms=ago_ms))
    assert plan_change(state, METADATA).outcome is Outcome.PLANNED
    conversion = plan_change(state, CONVERSION)
    assert "voter-not-ready" in {finding.id for finding in conversion.findings if finding.subject == "controller 3"}
    assert conversion.outcome is Outcome.REFUSED


@pytest.mark.parametrize("ago_ms", AGO)
def test_voters_that_cannot_be_reached_from_here_and_follow_are_alive(ago_ms: float) -> None:
    state = observed(struck("cut", 2, 3, ago_ms=ago_ms))
    plan = plan_change(state, CONVERSION)
    assert plan.outcome is Outcome.PLANNED, plan.findings
    silent = [finding for finding in plan.findings if finding.id == "node-does-not-answer"]
    assert len(silent) == 2 and all("it is alive" in finding.message for finding in silent)


@pytest.mark.parametrize("ago_ms", AGO)
@pytest.mark.parametrize("what", ["kill", "pause"])
def test_leader_goes_with_a_follower(what: str, ago_ms: float) -> None:
    assert plan_change(observed(struck(what, 1, 3, ago_ms=ago_ms)), METADATA).outcome is Outcome.REFUSED


@pytest.mark.parametrize("at_ms", [0.0, 100.0, 300.0, 500.0, 1_000.0])
def test_election_in_the_middle_is_waited_out_or_refused(at_ms: float) -> None:
    # Nothing is planned on what the last leader saw, unless it was seen a moment before the election.
    quorum = LivingQuorum(observers=(BROKER,), events=[Event(at_ms, "elect", 2), Event(at_ms, "kill", 3)])
    state = observed(quorum)
    plan = plan_change(state, METADATA)
    if plan.outcome is Outcome.PLANNED and quorum.at_ms - at_ms > FRESH_MS + 500:
        assert state.active_controller == quorum.leader_id
        assert {voter.id for voter in state.voters or () if voter.alive} <= {1, 2}


@pytest.mark.parametrize("at_ms", [50.0, 150.0, 300.0, 450.0, 700.0])
@pytest.mark.parametrize("what", ["kill", "pause"])
def test_change_is_refused_after_followers_went(what: str, at_ms: float) -> None:
    # What happens after the last observation is unknown; evidence is at most one interval older than that.
    quorum = LivingQuorum(observers=(BROKER,), events=[Event(at_ms, what, number) for number in (2, 3)])
    plan = plan_change(observed(quorum), METADATA)
    assert plan.outcome is Outcome.REFUSED or quorum.at_ms - at_ms <= FRESH_MS + 500


@pytest.mark.parametrize("ago_ms", one_in(3, AGO))
@pytest.mark.parametrize("fenced", [True, False])
@pytest.mark.parametrize("what", ["kill", "pause", "cut", "isolate", "nothing"])
def test_broker_is_unregistered_only_where_it_is_gone(what: str, ago_ms: float, *, fenced: bool) -> None:
    quorum = LivingQuorum(observers=(BROKER,), events=[] if what == "nothing" else [Event(0, what, BROKER)])
    quorum.sleep_ms(ago_ms)
    state = observed(quorum, fenced=fenced, doubted=BROKER)
    plan = plan_unregister(state, BROKER)
    assert (plan.outcome is Outcome.PLANNED) is (what == "kill" and fenced), plan.findings
    vouched = plan_unregister(state, BROKER, stopped=True)
    assert (vouched.outcome is Outcome.PLANNED) is (what in ("kill", "pause") and fenced), "a word settles doubt only"


@pytest.mark.parametrize("ago_ms", AGO)
def test_paused_broker_that_cannot_be_reached_is_doubt(ago_ms: float) -> None:
    quorum = LivingQuorum(observers=(BROKER,), events=[Event(0, "pause", BROKER), Event(0, "cut", BROKER)])
    quorum.sleep_ms(ago_ms)
    plan = plan_unregister(observed(quorum, fenced=True, doubted=BROKER), BROKER)
    assert [finding.id for finding in plan.findings] == ["node-liveness-unknown"]


@pytest.mark.parametrize("at_ms", [0.0, 100.0, 500.0, 1_000.0, 1_900.0])
def test_broker_is_not_called_gone_by_a_leader_that_just_took_over(at_ms: float) -> None:
    # No node has fetched from a new leader at first: what is not listed there may be on its way.
    events = [Event(0, "cut", BROKER), Event(at_ms, "elect", 2)]
    quorum = LivingQuorum(observers=(BROKER,), events=events)
    assert plan_unregister(observed(quorum, fenced=True, doubted=BROKER), BROKER).outcome is Outcome.REFUSED


@pytest.mark.parametrize("ago_ms", AGO)
@pytest.mark.parametrize(("what", "holds"), [("kill", True), ("cut", False), ("pause", False)])
def test_proof_leaves_out_nodes_that_are_gone_and_no_others(what: str, ago_ms: float, *, holds: bool) -> None:
    state = observed(struck(what, BROKER, ago_ms=ago_ms), fenced=True, doubted=BROKER)
    assert prove(state, {"metadata.version": 29}).holds is holds


def test_simulation_knows_the_true_liveness() -> None:
    quorum = struck("kill", 3, ago_ms=0.0)
    assert quorum.true_life == {key(1), key(2), key(BROKER)}
