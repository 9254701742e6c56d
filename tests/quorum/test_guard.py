"""Refusals of the guard: the cause of each, that the change stops, and whether a flag overrides the refusal."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkactl.cluster.node import ClusterNode
from kafkactl.cluster.quorum.state import Probe
from kafkactl.cluster.registrations import BrokerRegistration, ControllerRegistration, Registrations
from kafkactl.core.findings import Outcome, Severity
from kafkactl.core.values import Role, Uuid
from kafkactl.protocol.schema.spec import Versions
from kafkactl.quorum.guard import OVERRIDES, Circumstances
from kafkactl.quorum.guard_steps import check_steps
from kafkactl.quorum.plan import concurrent_change, plan_addition, plan_conversion, plan_reassignment, plan_removal
from kafkactl.quorum.target import parse_target
from tests.quorum.worlds import endpoint, key, versions, world

ALL_FLAGS = frozenset(OVERRIDES.values())
HEALTHY = world("1 2 3", observers="4 5").observe()
OLD = {"metadata.version": Versions(1, 21), "kraft.version": Versions(0, 1)}
V40 = {"metadata.version": Versions(7, 25), "kraft.version": Versions(0, 1)}


def _node(state, node_id, **changes):
    return {**state.nodes, node_id: replace(state.nodes[node_id], **changes)}


def _log(controllers=(1, 2, 3, 4), level=30, wrong=None, **changes):
    return Registrations(
        brokers={},
        controllers={
            controller: ControllerRegistration(
                id=controller,
                incarnation_id=Uuid(bytes(16)),
                features={},
                endpoints=(replace(endpoint(controller), port=9999) if controller == wrong else endpoint(controller),),
            )
            for controller in controllers
        },
        levels={"metadata.version": level},
        **changes,
    )


def _lagging(state, node_id, lag):
    return replace(
        state, voters=tuple(replace(voter, lag=lag) if voter.id == node_id else voter for voter in state.voters)
    )


NO_RPC = versions(requests={52: Versions(0, 1)})
SITUATIONS = {
    "no-quorum-leader": (world("1 2 3", dead="2 3").observe(), Circumstances()),
    "high-watermark-unknown": (replace(HEALTHY, high_watermark=None), Circumstances()),
    "majority-lost": (
        replace(HEALTHY, voters=tuple(replace(voter, alive=voter.id == 1) for voter in HEALTHY.voters)),
        Circumstances(),
    ),
    "quorum-is-static": (world("1 2 3", observers="4", static=True).observe(), Circumstances()),
    "kraft-version-unknown": (replace(HEALTHY, mode=None, kraft_version=None), Circumstances()),
    "voter-changes-not-supported": (replace(HEALTHY, nodes=_node(HEALTHY, 1, versions=NO_RPC)), Circumstances()),
    "change-not-committed": (
        replace(HEALTHY, voters=tuple(replace(voter, log_end_offset=1_009) for voter in HEALTHY.voters)),
        Circumstances(earlier=HEALTHY),
    ),
    "voters-frozen-by-migration": (replace(HEALTHY, registrations=_log(zk_migration_state=2)), Circumstances()),
    "node-of-another-cluster": (replace(HEALTHY, nodes=_node(HEALTHY, 2, cluster_id="other")), Circumstances()),
    "unstable-leader": (HEALTHY, Circumstances(recent_elections=3)),
    "voter-lags": (_lagging(HEALTHY, 2, 5_000), Circumstances()),
}


def _blockers(plan):
    return [finding.id for finding in plan.findings if finding.severity is Severity.BLOCKER]


@pytest.mark.parametrize("id", SITUATIONS)
def test_every_situation_that_forbids_a_change(id):
    state, circumstances = SITUATIONS[id]
    target = parse_target("1,2,4")
    plan = plan_reassignment(state, target, circumstances)
    assert id in _blockers(plan)
    assert plan.outcome is Outcome.REFUSED and plan.next_step is None
    forced = plan_reassignment(state, target, replace(circumstances, overrides=ALL_FLAGS))
    assert (id in _blockers(forced)) is (id not in OVERRIDES)
    reported = next(finding for finding in plan.findings if finding.id == id)
    assert reported.advice
    assert (OVERRIDES.get(id, "no flag") in reported.advice) is (id in OVERRIDES)


@pytest.mark.parametrize(
    ("since", "ended", "ids"),
    [(1, 1, [1]), (9_999, 1, [1]), (10_000, 1, [1]), (10_001, 1, []), (5, 4, [])],
    ids=["just now", "long ago", "at the limit", "too long ago", "no voter any more"],
)
def test_leader_of_before_that_still_runs_is_named(since, ended, ids):
    registrations = _log(led_until={ended: HEALTHY.high_watermark - since})
    plan = plan_reassignment(replace(HEALTHY, registrations=registrations), parse_target("1,2,4"))
    found = [finding for finding in plan.findings if finding.id == "former-leader-not-restarted"]
    assert [finding.subject for finding in found] == [f"controller {node_id}" for node_id in ids]
    assert all(finding.severity is Severity.WARNING and "Restart" in finding.advice for finding in found)


@pytest.mark.parametrize(
    ("node", "ended", "changed", "words"),
    [
        (5, 300, 400, "voters were changed at offset 400"),
        (1, 300, 400, "voters were changed at offset 400"),
        (1, 500, 400, "may not read this change"),
        (5, 500, 400, None),
        (5, 300, None, None),
    ],
    ids=["removed by that change", "still a voter", "led after that change", "led after it, no voter", "long ago"],
)
def test_leader_of_before_may_not_know_the_last_change(node, ended, changed, words):
    registrations = _log(led_until={node: ended}, voters_at=changed)
    plan = plan_reassignment(replace(HEALTHY, registrations=registrations), parse_target("1,2,4"))
    found = [finding.message for finding in plan.findings if finding.id == "former-leader-not-restarted"]
    assert len(found) == (words is not None)
    assert all(words in message for message in found)


def test_all_reasons_are_reported_at_once():
    state = replace(_lagging(HEALTHY, 2, 5_000), registrations=_log(zk_migration_state=1))
    plan = plan_reassignment(state, parse_target("1,2,9"), Circumstances(recent_elections=9))
    assert {"voter-lags", "voters-frozen-by-migration", "unstable-leader", "target-not-fetching"} <= set(
        _blockers(plan)
    )


@pytest.mark.parametrize(
    ("target", "id"),
    [
        ("1,2,3,4", "even-voter-count"),
        ("1", "too-few-voters"),
        ("1,2", "zero-tolerance"),
        ("1,2,3,4,5,6,7,8,9", "too-many-voters"),
    ],
)
def test_sizes_and_thin_ice_need_a_flag(target, id):
    state = world("1 2 3", observers="4 5 6 7 8 9").observe()
    assert id in _blockers(plan_reassignment(state, parse_target(target)))
    forced = plan_reassignment(state, parse_target(target), Circumstances(overrides=ALL_FLAGS))
    assert forced.outcome is Outcome.PLANNED
    overridden = next(finding for finding in forced.findings if finding.id == id)
    assert overridden.evidence["overridden_by"] == OVERRIDES[id]


def test_failure_to_spare_that_a_change_gains_and_gives_up_again_is_reported():
    two, three = world("1 2", observers="3").observe(), world("1 2 3").observe()
    steps = [*plan_addition(two, key(3), (endpoint(3),)).steps, *plan_removal(three, key(3)).steps]
    assert two.tolerates == 0
    assert [finding.id for finding in check_steps(two, steps)] == ["zero-tolerance"]
    assert not list(check_steps(two, steps[:-1]))


def test_single_step_is_the_operators_choice_but_for_the_wedge():
    # The commands of kafka-metadata-quorum: three voters to two is a warning, not a refusal.
    plan = plan_removal(HEALTHY, key(3))
    assert plan.outcome is Outcome.PLANNED
    assert {"zero-tolerance", "passes-two-voters"} <= {finding.id for finding in plan.findings}


CANDIDATES = {
    "candidate-not-identified": {"answers": False, "versions": None},
    "broker-only-node": {"role": Role.BROKER},
    "candidate-without-voter-requests": {"versions": versions(requests={52: Versions(0, 1)})},
    "candidate-cannot-run-features": {"versions": versions(supported=V40)},
}


@pytest.mark.parametrize("id", CANDIDATES)
def test_unfit_candidate_is_refused(id):
    state = replace(HEALTHY, nodes=_node(HEALTHY, 4, **CANDIDATES[id]))
    flags = Circumstances(overrides=ALL_FLAGS)
    assert _blockers(plan_addition(state, key(4), [endpoint(4)], flags)) == [id]
    assert _blockers(plan_reassignment(state, parse_target("1,2,4"), flags)) == [id]


def test_feature_that_an_old_question_hides_is_not_missing():
    hidden = versions(version=3, supported={"metadata.version": Versions(7, 30)})
    state = replace(HEALTHY, nodes=_node(HEALTHY, 4, versions=hidden))
    assert plan_addition(state, key(4), [endpoint(4)]).outcome is Outcome.PLANNED


def test_candidate_that_does_not_fetch_or_whose_id_votes_is_refused():
    assert "candidate-not-fetching" in _blockers(plan_addition(HEALTHY, key(9), [endpoint(9)]))
    state = world("1 2 3", dead="3", observers="3b").observe()
    assert "id-votes-with-another-directory" in _blockers(plan_addition(state, key(3, "b"), [endpoint(3)]))


def test_endpoint_that_would_be_written_is_the_registered_one_and_answers_as_that_node():
    state = replace(HEALTHY, registrations=_log())
    wrong = replace(endpoint(4), port=1)
    assert "candidate-endpoint-differs" in _blockers(plan_addition(state, key(4), [wrong]))
    assert plan_addition(state, key(4), [endpoint(4)]).outcome is Outcome.PLANNED
    for probe, id in (
        (Probe(endpoint=endpoint(4), answers=False), "voter-endpoint-silent"),
        (Probe(endpoint=endpoint(4), answers=True, role=Role.BROKER), "voter-endpoint-of-another"),
        (Probe(endpoint=endpoint(4), answers=True, role=Role.CONTROLLER, node_id=5), "voter-endpoint-of-another"),
        (Probe(endpoint=endpoint(4), answers=True, cluster_id="other"), "voter-endpoint-of-another"),
    ):
        probed = replace(state, probes=(probe,))
        assert _blockers(plan_addition(probed, key(4), [endpoint(4)])) == [id]


def test_wrong_endpoints_in_the_voter_set_are_reported_in_every_plan():
    state = replace(
        HEALTHY,
        registrations=_log(wrong=2),
        probes=(Probe(endpoint=endpoint(3), answers=False), Probe(endpoint=endpoint(1), answers=True, node_id=1)),
    )
    for plan in (
        plan_reassignment(state, parse_target("1,2,4")),
        plan_reassignment(state, parse_target("1,2,3")),
        plan_removal(state, key(3)),
    ):
        reported = {finding.id: finding.subject for finding in plan.findings}
        assert reported["voter-endpoint-not-registered"] == "controller 2"
        assert reported["voter-endpoint-silent"] == "controller 3"
        assert plan.outcome is not Outcome.REFUSED


@pytest.mark.parametrize(
    ("stored", "registered"), [("0:0:0:0:0:0:0:1", "::1"), ("Host-2.example", "host-2.example"), ("", "localhost")]
)
def test_two_spellings_of_one_address_count_as_equal(stored, registered):
    # A disk is formatted with `0:0:0:0:0:0:0:1` for `[::1]`, and a controller of 3.9 keeps that next to its `::1`.
    voters = tuple(replace(voter, endpoints=(_at(stored, voter.id),)) for voter in HEALTHY.voters)
    log = _log()
    controllers = {id: replace(known, endpoints=(_at(registered, id),)) for id, known in log.controllers.items()}
    state = replace(HEALTHY, voters=voters, registrations=replace(log, controllers=controllers))
    plan = plan_addition(state, key(4), [_at(stored, 4)])
    assert plan.outcome is Outcome.PLANNED
    assert "voter-endpoint-not-registered" not in {finding.id for finding in plan.findings}


def _at(host, node_id):
    return replace(endpoint(node_id), host=host)


def test_removal_of_an_auto_joining_controller_is_refused():
    known = Circumstances(auto_join=frozenset({3}))
    assert _blockers(plan_removal(HEALTHY, key(3), known)) == ["removed-node-still-runs"]
    stopped = replace(known, overrides=frozenset({"--node-will-be-stopped"}))
    assert plan_removal(HEALTHY, key(3), stopped).outcome is Outcome.PLANNED
    assert "auto-join-possible" in {finding.id for finding in plan_removal(HEALTHY, key(3)).findings}
    reported = plan_removal(HEALTHY, key(3), Circumstances(auto_join=frozenset())).findings
    assert "auto-join-possible" not in {finding.id for finding in reported}


@pytest.mark.parametrize(("level", "stays"), [(30, True), (33, False)])
def test_permanent_registration_is_reported(level, stays):
    plan = plan_removal(replace(HEALTHY, registrations=_log(level=level)), key(3))
    assert ("registration-stays" in {finding.id for finding in plan.findings}) is stays


@pytest.mark.parametrize(("supported", "raises"), [(30, False), (33, True)])
def test_level_is_raised_first_only_if_there_is_a_higher_one(supported, raises):
    versions_ = versions(supported=V40 | {"metadata.version": Versions(7, supported)})
    state = replace(HEALTHY, registrations=_log(level=30), nodes=_node(HEALTHY, HEALTHY.leader_id, versions=versions_))
    (stays,) = [each for each in plan_removal(state, key(3)).findings if each.id == "registration-stays"]
    assert "4.4-IV2 (33) (now 4.3-IV0 (30))" in stays.message
    assert ("Raise metadata.version first" in stays.advice) is raises


def test_controllers_on_3_9_are_reported():
    nodes = _node(HEALTHY, 2, versions=versions(supported=OLD))
    plan = plan_removal(replace(HEALTHY, nodes=nodes), key(3))
    assert "controller-on-3-9" in {finding.id for finding in plan.findings}


LOST = replace(
    world("1 2", observers="3").observe(),
    voters=tuple(replace(voter, alive=voter.id == 1) for voter in world("1 2").observe().voters),
)


def test_single_request_may_rescue_and_promises_nothing():
    for plan in (plan_removal(LOST, key(2)), plan_addition(LOST, key(3), [endpoint(3)])):
        assert plan.outcome is Outcome.PLANNED
        reported = next(finding for finding in plan.findings if finding.id == "leader-without-majority")
        assert reported.severity is Severity.WARNING and "if it gets there in time" in reported.message


def test_removal_that_does_not_restore_a_majority_is_refused():
    assert {"majority-lost", "quorum-would-wedge"} <= set(_blockers(plan_removal(LOST, key(1))))
    assert plan_removal(world("1 2 3", dead="2 3").observe(), key(2)).outcome is Outcome.REFUSED


def test_no_plan_of_several_steps_counts_on_the_window():
    plan = plan_reassignment(LOST, parse_target("1,3"), Circumstances(overrides=ALL_FLAGS))
    assert _blockers(plan) == ["majority-lost"]


def test_conversion_is_refused_where_the_release_only_pretends():
    static = world("1 2 3", static=True).observe()
    for supported in (OLD, V40):
        nodes = _node(static, 1, versions=versions(supported=supported, finalized={}))
        assert "conversion-not-supported" in _blockers(plan_conversion(replace(static, nodes=nodes)))


def test_conversion_needs_every_node_on_level_1_and_reports_which_were_silent():
    static = world("1 2 3", static=True).observe()
    without = versions(supported={"metadata.version": Versions(7, 30)}, finalized={})
    state = replace(
        static, nodes=_node(static, 2, versions=without) | {7: ClusterNode(id=7, role=Role.CONTROLLER, answers=False)}
    )
    plan = plan_conversion(state, Circumstances(epoch_age_ms=60_000))
    assert _blockers(plan) == ["node-without-kraft-version-1"]
    reported = {finding.id for finding in plan.findings}
    assert "node-did-not-answer" in reported and "epoch-is-young" not in reported


def test_registration_of_a_dead_node_counts_in_a_conversion():
    dead = ControllerRegistration(
        id=9, incarnation_id=Uuid(bytes(16)), features={"metadata.version": Versions(1, 20)}, endpoints=()
    )
    state = world("1 2 3", static=True).observe(registrations=replace(_log(), controllers={9: dead}))
    assert _blockers(plan_conversion(state, Circumstances(epoch_age_ms=60_000))) == ["node-without-kraft-version-1"]


def test_node_that_is_registered_as_a_broker_only_is_one_even_if_it_could_not_be_asked():
    broker = BrokerRegistration(
        id=4, epoch=1, incarnation_id=Uuid(bytes(16)), fenced=False, in_controlled_shutdown=False, features={},
        endpoints=(), directory_ids=(),
    )  # fmt: skip
    log = replace(_log(controllers=(1, 2, 3)), brokers={4: broker})
    nodes = {key: facts for key, facts in HEALTHY.nodes.items() if key != 4}
    plan = plan_reassignment(replace(HEALTHY, nodes=nodes, registrations=log), parse_target("1,2,4"))
    assert "broker-only-node" in _blockers(plan)
    without = plan_reassignment(replace(HEALTHY, nodes=nodes), parse_target("1,2,4"))
    assert "candidate-not-identified" in _blockers(without)


def test_auto_join_setting_of_the_node_replaces_the_assumption():
    def plan(**changes):
        return plan_removal(replace(HEALTHY, nodes=_node(HEALTHY, 3, **changes)), key(3))

    assert "removed-node-still-runs" in _blockers(plan(auto_join=True))
    for auto_join in (False, None):
        found = {finding.id for finding in plan(auto_join=auto_join).findings}
        assert ("auto-join-possible" in found) is (auto_join is None)


def test_set_outside_the_plan_is_a_concurrent_change():
    passed = [frozenset(map(key, ids)) for ids in ((1, 2, 3), (1, 2, 3, 4))]
    assert concurrent_change(HEALTHY, passed) is None
    assert concurrent_change(HEALTHY, []) is None
    for voters, welcome in (
        ("2 3 4", True),
        ("1 2 3 5", True),
        ("1 2 3 4 5", True),
        ("1 3 4", False),
        ("2 3 6", False),
    ):
        seen = world(voters).observe()
        way = [frozenset(map(key, ids)) for ids in ((1, 2, 3), (1, 2, 3, 4), (2, 3, 4, 5))]
        assert (concurrent_change(seen, way) is None) is welcome, voters
    finding = concurrent_change(world("1 2 5").observe(), passed)
    assert finding is not None and finding.id == "concurrent-voter-change"


def test_set_that_is_as_wanted_but_does_not_commit_is_not_done():
    stuck = replace(HEALTHY, voters=tuple(replace(voter, log_end_offset=1_009) for voter in HEALTHY.voters))
    plan = plan_reassignment(stuck, parse_target("1,2,3"), Circumstances(earlier=HEALTHY))
    assert plan.steps == () and _blockers(plan) == ["change-not-committed"]
    assert plan_reassignment(HEALTHY, parse_target("1,2,3")).outcome is Outcome.NOTHING_TO_DO


LEADERLESS = world("1 3 4", dead="3 4").observe()


@pytest.mark.parametrize("state", [LEADERLESS, replace(LEADERLESS, voters=(), mode=None, kraft_version=None)])
def test_nothing_is_planned_without_a_leader(state) -> None:
    # Only a leader names the voters: no step, and no second blocker that follows from an empty voter set.
    plans = [
        plan_reassignment(state, parse_target("1,2,4")),
        plan_reassignment(state, ()),
        plan_addition(state, key(2), ()),
        plan_removal(state, key(3)),
        plan_conversion(state),
    ]
    for plan in plans:
        assert (plan.steps, plan.outcome) == ((), Outcome.REFUSED)
        assert [finding.id for finding in plan.findings] == ["no-quorum-leader"]
        assert "format" not in plan.findings[0].advice
