"""Answers about a cluster of which little or nothing was observed: unknown is neither good nor zero."""

from __future__ import annotations

from kafkactl.core.findings import Finding, warning
from kafkactl.core.frozen import changed
from kafkactl.core.remedies import remedy_of
from kafkactl.roll.case import RollCase, RollRequest, make_case
from kafkactl.roll.checks import binaries, evidence
from kafkactl.roll.driver.answer import proof_of
from kafkactl.roll.gates import gates_before
from kafkactl.roll.observation import RollNode
from kafkactl.roll.planning import plan_roll
from kafkactl.roll.position import roll_status
from kafkactl.roll.rollback_path import rollback_path
from kafkactl.roll.start_gates import gates_after
from tests.roll.rolls import Roll


def cluster() -> Roll:
    return Roll("4.3.1").topic("orders", [11, 12, 13], [12, 13, 11], min_insync_replicas="2")


def without_log(to: str | None = None) -> RollCase:
    return make_case(changed(cluster().observation(), log=None), RollRequest(to=to))


def unobserved(to: str | None = None) -> RollCase:
    seen = cluster().observation()
    bare = [changed(node, alive=None, release=None, java=None, config=None, features=None) for node in seen.nodes]
    return make_case(
        changed(seen, nodes=tuple(bare), log=None, quorum=None, quorum_view=None), RollRequest(to=to)
    )  # fmt: skip


def test_sums_of_a_plan_without_a_log_are_null() -> None:
    totals = plan_roll(without_log("4.4.0")).totals
    assert (totals.leader_changes, totals.offline, totals.under_min_isr) == (None, None, None)
    totals = plan_roll(cluster().case("4.4.0")).totals
    assert (totals.offline, totals.under_min_isr) == (0, 0)


def test_gates_about_registrations_are_unknown_without_a_log() -> None:
    passed = {gate.id: gate.passed for gate in gates_before(without_log(), [11])}
    assert (passed["nobody-else-is-down"], passed["nothing-moves"]) == (None, None)


def test_gate_about_movement_is_unknown_without_the_quorum() -> None:
    roll = cluster()
    roll.quorum = None
    passed = {gate.id: gate.passed for gate in gates_before(roll.case(), [11])}
    assert (passed["nobody-else-is-down"], passed["nothing-moves"]) == (True, None)


def test_phase_of_an_unobserved_cluster_is_unknown() -> None:
    for to in (None, "4.4.0"):
        status = roll_status(unobserved(to))
        assert status.phase is None
        assert status.next_action.startswith("Observe again")
        assert [finding.subject for finding in status.findings] == ["metadata log", "quorum"]
        assert (status.rollback.possible, status.rollback.how) == (None, "no")


def test_proof_of_an_unobserved_node_is_unknown() -> None:
    assert {(proof.release, proof.ranges_ok) for proof in proof_of(unobserved())} == {(None, None)}


def test_majority_is_unknown_without_voters() -> None:
    seen = cluster().observation()
    assert seen.log is not None
    case = make_case(
        changed(
            seen,
            quorum=None,
            quorum_view=None,
            log=changed(seen.log, loaded=changed(seen.log.loaded, voters=frozenset())),
        ),
        RollRequest(to="4.4.0"),
    )
    stops = [step.predicted for step in plan_roll(case).steps if step.predicted is not None]
    assert stops
    assert {(stop.majority, stop.tolerates) for stop in stops} == {(None, None)}


def test_status_between_two_releases_without_a_goal_does_not_offer_a_restart() -> None:
    status = roll_status(cluster().runs("4.4.0", 1, 2).case())
    assert "kafkactl roll status --inventory FILE --to 4.4.0" in status.next_action
    assert "kafkactl roll rollback --inventory FILE --to 4.3.1" in status.next_action
    assert "roll run" not in status.next_action


def test_node_that_is_down_does_not_make_the_old_release_unknown() -> None:
    path = rollback_path(cluster().kill(12).case())
    assert (path.how, path.reason) == ("none-needed", "no roll to another release is under way")
    path = rollback_path(cluster().kill(12).case("4.4.0"))
    assert (path.to, path.how) == ("4.3.1", "none-needed")


def test_plan_with_nothing_left_needs_no_rollback() -> None:
    step = plan_roll(Roll("4.4.0", level=30).case("4.4.0")).steps[-1]
    assert (step.action, step.rollback) == ("verify", "yes")
    assert step.rollback_reason == "no node of a line before Kafka 4.4.0 ever registered"


GRANT = "Have an administrator add the right: kafka-acls.sh --bootstrap-server k1:9092 --operation Describe --cluster"
LOGIN = "Give the controllers' file."


def denied(*findings: Finding, **unknown: None) -> RollCase:
    """Return a case with these reasons for parts that are unknown."""
    seen = cluster().observation()
    return make_case(changed(seen, findings=findings, **unknown), RollRequest(to="4.4.0"))


def steps_of(case: RollCase, id: str) -> set[str]:
    return {item.finding.advice for row in evidence.ROWS for item in row.find(case) if item.finding.id == id}


def test_quorum_that_was_denied_names_the_right_and_no_hook() -> None:
    reason = warning("cluster-not-observed", "quorum", "the quorum could not be observed: denied", GRANT)
    case = denied(reason, log=None, quorum=None, quorum_view=None)
    assert steps_of(case, "cluster-evidence-missing") == {GRANT}
    assert steps_of(case, "start-unknown") == {GRANT}
    assert roll_status(case).next_action == f"Make the quorum observable, stop nothing before: {GRANT}"


def test_log_that_was_denied_names_the_right_before_any_stop() -> None:
    case = denied(
        warning("metadata-log-not-observed", "metadata log", "the log was not fetched: denied", GRANT), log=None
    )
    assert steps_of(case, "cluster-evidence-missing") == {GRANT}
    assert roll_status(case).next_action == f"Make the metadata log readable, stop nothing before: {GRANT}"


def test_node_that_refuses_the_login_is_neither_restarted_nor_given_a_hook() -> None:
    case = denied(warning("node-not-observed", "controller 2", "controller 2 did not let kafkactl in", LOGIN))
    bare = [
        changed(node, alive=None, release=None, features=None, java=None) if node.id == 2 else node
        for node in case.observation.nodes
    ]
    case = make_case(changed(case.observation, nodes=tuple(bare)), RollRequest(to="4.4.0"))
    assert steps_of(case, "start-unknown") == {LOGIN}
    unlogged = make_case(changed(case.observation, log=None), RollRequest(to="4.4.0"))
    unknown = [item.finding for item in binaries.check_releases(unlogged)]
    assert [(finding.subject, finding.advice) for finding in unknown] == [("controller 2", LOGIN)]
    assert roll_status(case).next_action == f"Let kafkactl ask controller 2, stop nothing before: {LOGIN}"


def test_unknown_gates_have_the_step_of_the_reason_and_none_for_a_node() -> None:
    reason = warning("metadata-log-not-observed", "metadata log", "the log was not fetched: denied", GRANT)
    for gates in (gates_before(denied(reason, log=None), [11]), gates_after(denied(reason, log=None), node_of(11))):
        steps = {finding.advice for gate in gates if gate.passed is None for finding in gate.findings}
        assert steps == {GRANT}


def test_unknown_gate_without_a_reason_asks_for_another_observation() -> None:
    (gate,) = [gate for gate in gates_before(without_log(), [11]) if gate.id == "others-are-alive"]
    assert [finding.advice for finding in gate.findings] == [remedy_of("cluster-evidence-missing")]


def node_of(id: int) -> RollNode:
    return next(node for node in cluster().observation().nodes if node.id == id)


def test_node_that_refuses_the_login_is_not_stopped_because_its_return_could_not_be_proved() -> None:
    case = denied(warning("node-not-observed", "broker 12", "broker 12 did not let kafkactl in", LOGIN))
    nodes = tuple(changed(node, alive=None) if node.id == 12 else node for node in case.observation.nodes)
    case = make_case(changed(case.observation, nodes=nodes), RollRequest())
    (gate,) = [gate for gate in gates_before(case, [12]) if gate.id == "others-are-alive"]
    assert gate.passed is None
    assert [(finding.subject, finding.advice) for finding in gate.findings] == [("broker 12", LOGIN)]
