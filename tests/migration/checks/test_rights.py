"""A question that was denied, and a node that did not let kafkactl in, are unknown: nothing else follows from them."""

from __future__ import annotations

import pytest

from kafkactl.core.findings import Finding, warning
from kafkactl.core.frozen import changed
from kafkactl.core.values import Role
from kafkactl.migration.checks.registry import check
from kafkactl.migration.driver.gate import gates_of
from kafkactl.migration.observed.observation import IdentitySeen, Observation, QuorumSeen
from kafkactl.migration.observed.silence import leader_unknown, refusing, silent_brokers
from kafkactl.migration.state.evidence import evidence_of
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.table import observed_state
from kafkactl.migration.zktree.tree import tree_of
from kafkactl.migration.zktree.znode import Hidden, Znode
from tests.migration.observations import STATES, World, state, world

DENIED = -31
UNDER_REPLICATED = "under-replicated-partitions"


def found(observation: Observation) -> dict[str, Finding]:
    return {finding.id: finding for finding in check(observation)}


def asked_as(observation: Observation, principal: str) -> Observation:
    """Return the observation with the login as which the nodes were asked."""
    seen = IdentitySeen(cluster_id=None, principal=principal)
    nodes = [changed(node, identity=seen) if node.role is Role.CONTROLLER else node for node in observation.nodes]
    return changed(observation, nodes=tuple(nodes))


def closed(seen: World, *names: str, id: str = "node-refuses-client") -> Observation:
    """Return an observation in which these nodes did not let kafkactl in."""
    observation = seen.observation()
    nodes = [
        changed(node, alive=None, mode=None, api_versions=None, quorum=None) if node.name in names else node
        for node in observation.nodes
    ]
    refused = [warning(id, name, "did not let kafkactl in", reason="authentication-failed") for name in names]
    return changed(observation, nodes=tuple(nodes), findings=tuple(refused))


@pytest.mark.parametrize("at", ["M3", "M4", "M4L", "M6", "M8"])
def test_denied_question_is_unknown_instead_of_a_missing_leader(at: str) -> None:
    observation = asked_as(world(at).but(leader=DENIED).observation(), "User:ops")
    findings = found(observation)
    assert "quorum-without-leader" not in findings
    denied = findings["quorum-question-denied"]
    assert "denied DescribeQuorum to User:ops" in denied.message
    assert evidence_of(observation).leads is None
    advice = "\n".join(finding.advice for finding in gates_of(State(at), observation))
    assert "roll back" not in advice
    assert "recover" not in advice


@pytest.mark.parametrize(("at", "word"), [("M3", "super.users"), ("M6", "kafka-acls.sh"), ("M8", "kafka-acls.sh")])
def test_next_step_grants_the_right_where_the_quorum_keeps_it(at: str, word: str) -> None:
    step = found(asked_as(world(at).but(leader=DENIED).observation(), "User:ops"))["quorum-question-denied"].advice
    assert word in step
    assert "User:ops" in step


def test_login_that_names_no_user_leaves_a_place_for_the_name() -> None:
    step = found(world("M6").but(leader=DENIED).observation())["quorum-question-denied"].advice
    assert "--allow-principal User:NAME --operation Describe --cluster" in step


def test_answers_of_followers_alone_are_a_quorum_without_a_leader() -> None:
    assert "quorum-without-leader" in found(world("M6").but(leader=-1).observation())


@pytest.mark.parametrize("answer", [QuorumSeen(error_code=41), QuorumSeen(closed=True), None])
def test_other_answers_than_not_leader_leave_the_leader_unknown(answer: QuorumSeen | None) -> None:
    observation = world("M6").observation()
    nodes = [changed(node, quorum=answer) if node.role is Role.CONTROLLER else node for node in observation.nodes]
    observation = changed(observation, nodes=tuple(nodes))
    assert leader_unknown(observation) is not None
    assert evidence_of(observation).leads is None
    assert "quorum-without-leader" not in found(observation)


@pytest.mark.parametrize("at", STATES)
def test_brokers_that_refuse_the_login_are_not_away(at: str) -> None:
    observation = closed(world(at), "broker 1", "broker 2")
    findings = found(observation)
    assert silent_brokers(observation) == frozenset()
    assert refusing(observation) == {"broker 1", "broker 2"}
    assert not {UNDER_REPLICATED, "broker-down", "offline-partitions", "last-replica-at-risk"} & set(findings)
    assert "node-refuses-client" in findings


def test_observation_of_an_earlier_version_has_one_id_for_both() -> None:
    assert refusing(closed(world("M6"), "broker 1", id="node-not-observed")) == {"broker 1"}


def test_replica_that_zookeeper_shows_out_of_sync_is_reported_with_a_refused_login() -> None:
    seen = world("M0").znode("/brokers/topics/orders/partitions/0/state", state(leader=1, isr=[1]))
    findings = found(closed(seen, "broker 1"))
    assert "catching up" in findings[UNDER_REPLICATED].message


def test_file_of_a_broker_that_could_not_be_asked_does_not_show_its_mode() -> None:
    seen = world("M6").file(1, "zookeeper.metadata.migration.enable", None)
    assert "registered-broker-without-flag" not in found(closed(seen, "broker 1"))


@pytest.mark.parametrize("at", ["M3", "M4", "M6", "M8"])
def test_controllers_that_refuse_the_login_are_not_a_rollback(at: str) -> None:
    observation = closed(world(at), "controller 3001")
    assert observed_state(observation).state is not State.INCOMPLETE_ROLLBACK
    assert "quorum-without-leader" not in found(observation)


@pytest.mark.parametrize("at", ["M0", "M4", "M6"])
@pytest.mark.parametrize("path", ["/brokers/ids", "/brokers/topics", "/config/users", "/kafka-acl"])
def test_znode_whose_children_may_not_be_listed_is_unknown_and_not_empty(at: str, path: str) -> None:
    observation = world(at).observation()
    assert observation.tree is not None
    kept = [
        znode for name, znode in observation.tree.znodes.items() if name != path and not name.startswith(path + "/")
    ]
    closed_one = Znode(path=path, data=None, hidden=Hidden.NO_PERMISSION)
    seen = changed(observation, tree=tree_of([*kept, closed_one]))
    before = set(found(observation))
    assert set(found(seen)) - before == {"znodes-hidden"}
