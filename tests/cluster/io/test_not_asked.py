"""Unknown answers to questions not asked: a right, login or address is missing, and no other conclusion is drawn."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafkactl.change.clock import Deadline
from kafkactl.cluster.api.list import NodeList, list_nodes
from kafkactl.cluster.api.settings import verify_settings
from kafkactl.cluster.io.leader_source import LeaderSource
from kafkactl.cluster.io.metadata_fetch import iterate_metadata_log
from kafkactl.cluster.io.node_settings import observe_settings
from kafkactl.cluster.io.view import observe_cluster_state
from kafkactl.cluster.levels import level_differences
from kafkactl.cluster.migration import unfinished_migration
from kafkactl.commands.demo.broker import CLOSE, SILENCE, Action, Asked, Reply
from kafkactl.core.errors import UnreachableError
from kafkactl.core.findings import Finding, Outcome, change_exit_code
from kafkactl.core.values import Role
from kafkactl.features.api.cluster import feature_request, plan_change, verify_levels
from kafkactl.features.api.description import describe
from kafkactl.features.plan.plan import plan_change as plan_of_state
from kafkactl.kafka.client import Client
from kafkactl.kafka.cluster_view import role_of
from kafkactl.kafka.connection import Access, Connection
from kafkactl.protocol.schema.rights import Login
from kafkactl.quorum.api.observation import check_leader_reached
from kafkactl.quorum.api.observation import describe as describe_quorum
from kafkactl.status.api import cluster_status
from tests.kafka.feature_cluster import DENIED, FakeCluster, FakeNode

OPS = Access(login=Login(principal="User:ops", brokers="b1:9092"))
UP = feature_request("upgrade", metadata="4.3-IV0")
LEADER, FOLLOWER = 1, 2
UPDATE_METADATA, SASL_HANDSHAKE, DESCRIBE_QUORUM = 6, 17, 55
UNSUPPORTED_MECHANISM = 33


class Bastion(FakeCluster):
    """A cluster that one address of a node leads to; addresses that nodes advertise do not."""

    def __init__(self, to: int = FOLLOWER, *, names_itself: bool = True) -> None:
        super().__init__()
        self.to, self.names_itself = to, names_itself

    @contextlib.contextmanager
    def client(self, role: Role = Role.CONTROLLER) -> Iterator[Client]:
        with contextlib.ExitStack() as stack:
            for node in self.nodes.values():
                stack.enter_context(node)
            client = Client([self.nodes[self.to].address], role, access=OPS, limits=self.limits, randomness=lambda: 0.5)
            yield stack.enter_context(client)

    def answer(self, asked: Asked, node: FakeNode) -> Action | None:
        if asked.name == "DescribeConfigs" and not self.names_itself:
            return Reply(body={"Results": [{"ErrorCode": DENIED}]})
        if asked.name == "Fetch" and "Fetch" not in self.denied and node.node_id != self.leader_id:
            leader = {"LeaderId": self.leader_id, "LeaderEpoch": 3}
            return Reply(body={"Responses": [{"Partitions": [{"ErrorCode": 6, "CurrentLeader": leader}]}]})
        return super().answer(asked, node)

    def _described(self, role: Role) -> dict[str, Any]:
        answer = super()._described(role)
        for number, node in enumerate(answer["Brokers"], start=1):
            node["Port"] = number
        return answer

    def _quorum(self) -> dict[str, Any]:
        answer = super()._quorum()
        for number, node in enumerate(answer["Nodes"], start=1):
            node["Listeners"][0]["Port"] = number
        return answer


def answers(listed: NodeList) -> dict[int, bool | None]:
    return {node.id: node.answers for node in listed.nodes}


def only(findings: tuple[Finding, ...], id: str) -> Finding:
    (found,) = [finding for finding in findings if finding.id == id]
    return found


def only_of(findings: tuple[Finding, ...], id: str, subject: str) -> Finding:
    return only(tuple(finding for finding in findings if finding.subject == subject), id)


def test_leader_out_of_reach_differs_from_a_missing_leader() -> None:
    with Bastion().client() as client, pytest.raises(UnreachableError) as caught:
        plan_change(client, UP)
    assert (caught.value.id, caught.value.exit_code) == ("leader-not-reached", 4)
    assert "controller 2 follows controller 1" in caught.value.message
    assert "forward every controller" in caught.value.advice


def test_levels_behind_a_bastion_are_those_that_the_node_shows() -> None:
    cluster = Bastion()
    with cluster.client() as client:
        found = describe(client)
    levels = {feature.name: feature.finalized for feature in found.features}
    assert levels == {**cluster.levels, "kraft.version": 0}


def test_node_that_answers_at_a_forwarded_port_is_that_node() -> None:
    with Bastion().client() as client:
        listed = list_nodes(client)
    assert answers(listed) == {1: None, 2: True}
    (finding,) = [finding for finding in listed.findings if finding.id == "node-not-asked"]
    assert (finding.subject, "out of reach from here" in finding.message) == ("controller 1", True)
    assert not [finding for finding in listed.findings if finding.id == "node-silent"]


class Walled(Bastion):
    """A cluster of which a firewall lets this host reach one controller alone, at its own address."""

    def _described(self, role: Role) -> dict[str, Any]:
        answer = super()._described(role)
        for node in answer["Brokers"]:
            if node["BrokerId"] == self.to:
                node["Port"] = self.nodes[self.to].address.port
        return answer


def test_followed_controller_that_refuses_connections_is_not_called_stopped() -> None:
    with Walled().client() as client:
        listed = list_nodes(client)
    silent = only(listed.findings, "node-silent")
    assert silent.subject == "controller 1"
    assert "no process listens there, or the network does not let this host through" in silent.message


def test_node_that_does_not_name_itself_may_be_any_of_the_silent_ones() -> None:
    with Bastion(names_itself=False).client() as client:
        listed = list_nodes(client)
    assert answers(listed) == {1: None, 2: None}
    steps = [finding.next_step for finding in listed.findings if finding.id == "node-not-asked"]
    assert all("--operation DescribeConfigs" in step for step in steps) and steps


def test_broker_at_a_forwarded_port_is_that_broker() -> None:
    with Bastion(to=12).client(Role.BROKER) as client:
        listed = list_nodes(client)
    brokers = {row.id: seen.answers for row in listed.nodes for seen in row.seen_as if seen.role == "broker"}
    assert brokers == {11: None, 12: True}


def test_node_that_is_gone_is_silent_where_others_answer_at_their_own_addresses() -> None:
    cluster = FakeCluster()
    cluster.gone, cluster.registered = {13: Role.BROKER}, {**cluster.registered, 13: {}}
    with cluster.client(Role.BROKER) as client:
        assert answers(list_nodes(client))[13] is False


def test_whom_a_follower_follows_may_be_denied() -> None:
    cluster = Bastion()
    cluster.denied = {"Fetch"}
    with cluster.client() as client, pytest.raises(UnreachableError) as caught:
        plan_change(client, UP)
    assert caught.value.id == "not-authorised"
    assert "--allow-principal User:ops --operation ClusterAction --cluster" in caught.value.advice


@pytest.mark.parametrize("role", list(Role))
def test_leader_that_may_not_be_asked_for_differs_from_a_missing_leader(role: Role) -> None:
    cluster = FakeCluster()
    cluster.denied = {"DescribeQuorum"}
    with cluster.client(role) as client, pytest.raises(UnreachableError) as caught:
        plan_change(client, UP)
    assert (caught.value.id, caught.value.exit_code) == ("not-authorised", 4)
    assert "Describe on the cluster is missing" in caught.value.message


def test_levels_that_no_node_shows_are_unknown() -> None:
    cluster = FakeCluster()
    cluster.levels.clear()
    cluster.epoch = -1
    cluster.denied = {"Fetch"}
    with cluster.client(Role.BROKER) as client:
        found = describe(client)
        assert {feature.finalized for feature in found.features} == {None}
        assert "FinalizedVersionLevel: ?" in found.lines[0]
        with pytest.raises(UnreachableError) as caught:
            plan_change(client, UP)
    assert "ClusterAction on the cluster is missing" in caught.value.message


class OtherLogin:
    """A login that controllers refuse."""

    def authenticate(self, connection: Connection, _deadline: Deadline) -> float | None:
        if role_of(connection.versions) is Role.CONTROLLER:
            raise UnreachableError(f"{connection.address} takes PLAIN", id="sasl-mechanism-not-offered")
        return None


class Guarded(FakeCluster):
    """Controllers that take another login than brokers; `controllers` is the one that they get."""

    controllers: Access | None = None

    @contextlib.contextmanager
    def client(self, role: Role = Role.BROKER) -> Iterator[Client]:
        with super().client(role) as given:
            access = Access(authenticator=OtherLogin())
            made = Client(given.bootstrap, role, access=access, controller_access=self.controllers, limits=self.limits)
            with made:
                yield made


def test_second_login_opens_the_controllers() -> None:
    cluster = Guarded()
    cluster.controllers = Access()
    with cluster.client() as client:
        view = observe_cluster_state(client)
    assert [finding.id for finding in view.findings] == []
    assert all(node.answers for node in view.state.nodes)
    assert view.state.registrations is not None


def test_controllers_with_another_login_are_not_asked() -> None:
    with Guarded().client() as client:
        view = observe_cluster_state(client)
        listed = list_nodes(client)
    plan = plan_of_state(view.state, UP)
    stopping = [finding for finding in plan.findings if finding.severity == "blocker"]
    assert {(finding.id, finding.subject) for finding in stopping} == {
        ("controller-not-asked", "controller 1"),
        ("controller-not-asked", "controller 2"),
    }
    assert all("--controller-command-config" in finding.next_step for finding in stopping)
    assert not any("remove it from the voters" in finding.advice for finding in plan.findings)
    assert "release-not-recognised" not in {finding.id for finding in plan.findings}
    assert change_exit_code(Outcome.REFUSED, plan.findings) == 4
    assert {node.id: node.answers for node in listed.nodes if "controller" in node.roles} == {1: None, 2: None}
    assert "--controller-command-config" in only(listed.findings, "metadata-log-not-read").next_step


class OneRefuses:
    """A listener that refuses the login which all others accept."""

    def __init__(self, cluster: FakeCluster, node_id: int, id: str) -> None:
        self.cluster, self.node_id, self.id = cluster, node_id, id

    def authenticate(self, connection: Connection, _deadline: Deadline) -> float | None:
        if connection.address == self.cluster.nodes[self.node_id].address:
            raise UnreachableError(f"{connection.address} refuses", id=self.id)
        return None


@contextlib.contextmanager
def client_that_one_node_refuses(
    node_id: int, id: str, role: Role = Role.BROKER, cluster: FakeCluster | None = None
) -> Iterator[Client]:
    cluster = cluster or FakeCluster()
    with cluster.client(role) as given:
        access = Access(authenticator=OneRefuses(cluster, node_id, id), login=OPS.login)
        with Client(given.bootstrap, role, access=access, limits=cluster.limits) as client:
            yield client


def test_controller_with_another_password_than_the_others_is_the_one_to_compare() -> None:
    with client_that_one_node_refuses(FOLLOWER, "authentication-failed") as client:
        listed = list_nodes(client)
        proof = verify_levels(client)
    assert "Other controllers accept" in only(listed.findings, "node-not-asked").next_step
    unproved = only(proof.findings, "node-not-proved")
    assert (unproved.subject, "refuses" in unproved.message) == ("controller 2", True)
    assert "Other controllers accept" in unproved.next_step


def test_log_of_a_leader_that_refuses_the_login_of_others_names_its_listener() -> None:
    with client_that_one_node_refuses(LEADER, "authentication-failed") as client:
        listed = list_nodes(client)
        with pytest.raises(UnreachableError) as caught:
            list(iterate_metadata_log(client))
    assert caught.value.advice.startswith("Other controllers accept these client properties")
    assert only(listed.findings, "metadata-log-not-read").next_step == caught.value.advice


class Following(Bastion):
    """A cluster whose follower names the leader, all of it in reach."""

    client = FakeCluster.client
    _described = FakeCluster._described
    _quorum = FakeCluster._quorum


@pytest.mark.parametrize("cluster_class", [FakeCluster, Following], ids=["not named by a follower", "named"])
def test_controller_that_refuses_the_login_may_lead(cluster_class: type[FakeCluster]) -> None:
    with client_that_one_node_refuses(LEADER, "authentication-failed", Role.CONTROLLER, cluster_class()) as client:
        found = describe_quorum(client)
        with pytest.raises(UnreachableError) as planned:
            plan_change(client, UP)
        with pytest.raises(UnreachableError) as caught:
            check_leader_reached(found)
    assert found.state.leader_out_of_reach
    missing = only(found.findings, "no-quorum-leader")
    assert missing.message == "no controller that answered leads the quorum"
    assert change_exit_code(Outcome.REFUSED, [missing]) == 4
    assert (planned.value.exit_code, caught.value.exit_code) == (4, 4)
    for error in (planned.value, caught.value):
        assert error.advice.startswith("Other controllers accept these client properties"), error


def test_expired_certificate_is_not_a_missing_right_to_describe_settings() -> None:
    with client_that_one_node_refuses(FOLLOWER, "certificate-expired") as client:
        found = verify_settings(client)
    unread = only(found.verdict.findings, "node-settings-not-read")
    assert unread.subject == "controller 2"
    assert unread.advice.startswith("Install a new certificate on the node")


def test_settings_of_nodes_that_only_the_log_names_are_not_called_equal() -> None:
    cluster = FakeCluster()
    cluster.denied = {"Fetch"}
    with cluster.client(Role.BROKER) as given, Client(given.bootstrap, Role.BROKER, access=OPS) as client:
        found = verify_settings(client)
    unlisted = only(found.findings, "metadata-log-not-read")
    assert "--operation ClusterAction --cluster" in unlisted.next_step


def test_reason_why_settings_are_unknown_is_that_of_the_nodes_themselves() -> None:
    cluster = FakeCluster()
    cluster.denied = {"DescribeQuorum"}
    for node in cluster.nodes.values():
        node.answers["DescribeConfigs"] = Reply(body={"Results": [{"ErrorCode": DENIED}]})
    with cluster.client(Role.BROKER) as given, Client(given.bootstrap, Role.BROKER, access=OPS) as client:
        found = verify_settings(client)
    brokers, controllers = (only_of(found.findings, "no-settings-of-role", role) for role in ("brokers", "controllers"))
    assert "DescribeQuorum" not in brokers.message and "--operation DescribeConfigs" in brokers.next_step
    assert "DescribeQuorum" in controllers.message and "--operation Describe " in controllers.next_step


def test_levels_are_not_proved_if_the_controllers_are_not_known() -> None:
    cluster = FakeCluster()
    cluster.denied = {"DescribeQuorum"}
    with cluster.client(Role.BROKER) as given, Client(given.bootstrap, Role.BROKER, access=OPS) as client:
        proof = verify_levels(client)
    assert not proof.is_proved
    unknown = only(proof.findings, "controllers-not-known")
    assert "Describe on the cluster is missing" in unknown.message
    assert "--allow-principal User:ops --operation Describe --cluster" in unknown.next_step


def test_other_blocker_next_to_missing_access_is_a_refusal() -> None:
    with Guarded().client() as client:
        view = observe_cluster_state(client)
    plan = plan_of_state(view.state, feature_request("downgrade", metadata="3.9-IV0"))
    assert change_exit_code(Outcome.REFUSED, plan.findings) == 3
    assert change_exit_code(Outcome.UNKNOWN, plan.findings) == 6


class OnZooKeeper(FakeCluster):
    """A cluster whose brokers, or the first of them, are in ZooKeeper mode: they take UpdateMetadata."""

    def __init__(self, *, whole: bool) -> None:
        super().__init__()
        for node in self.of(Role.BROKER)[: None if whole else 1]:
            node.ranges = {key: versions for key, versions in node.ranges.items() if key != DESCRIBE_QUORUM}
            node.ranges[UPDATE_METADATA] = (0, 8)
            node.finalized = {}


@pytest.mark.parametrize("ask", [list_nodes, describe, describe_quorum, cluster_status])
def test_cluster_on_zookeeper_is_named_as_that(ask: Callable[[Client], object]) -> None:
    with OnZooKeeper(whole=True).client(Role.BROKER) as client, pytest.raises(UnreachableError) as caught:
        ask(client)
    assert caught.value.id == "zookeeper-mode"


@pytest.mark.parametrize("ask", [list_nodes, describe_quorum])
def test_cluster_of_which_a_broker_is_in_zookeeper_mode_is_described_by_the_others(
    ask: Callable[[Client], object],
) -> None:
    with OnZooKeeper(whole=False).client(Role.BROKER) as client:
        ask(client)


def test_broker_in_zookeeper_mode_is_not_reported_for_levels_or_as_a_controller() -> None:
    with OnZooKeeper(whole=False).client(Role.BROKER) as client:
        view = observe_cluster_state(client)
        quorum = describe_quorum(client)
    assert view.state.on_zookeeper == {11}
    assert [finding.id for finding in unfinished_migration(view.state)] == ["zk-migration-not-finished"]
    assert not list(level_differences(view.state))
    assert not quorum.findings


def test_controllers_are_asked_if_one_broker_holds_the_question_and_the_other_is_in_zookeeper_mode() -> None:
    cluster = OnZooKeeper(whole=False)
    for node in cluster.of(Role.BROKER)[1:]:
        node.answers["DescribeQuorum"] = SILENCE
    with cluster.client(Role.BROKER) as client, LeaderSource(client, held_ms=50.0) as source:
        servers = ",".join(str(node.address) for node in cluster.of(Role.CONTROLLER))
        cluster.dynamic[""] = {"controller.quorum.bootstrap.servers": servers}
        assert source.answer().leader_id == 1


class Unauthenticated(FakeCluster):
    """Controllers with a SASL listener: they answer ApiVersions before a login, and close the connection after."""

    def __init__(self) -> None:
        super().__init__()
        for node in self.of(Role.CONTROLLER):
            node.ranges[SASL_HANDSHAKE] = (0, 1)

    def answer(self, asked: Asked, node: FakeNode) -> Action | None:
        if asked.name == "SaslHandshake":
            return Reply(body={"ErrorCode": UNSUPPORTED_MECHANISM, "Mechanisms": ["PLAIN"]})
        return CLOSE if node.role is Role.CONTROLLER and asked.name != "ApiVersions" else super().answer(asked, node)


def test_settings_of_controllers_with_another_login_have_the_step_of_that_login() -> None:
    with Unauthenticated().client(Role.BROKER) as client:
        found = observe_settings(client, observe_cluster_state(client), node_timeout_ms=500)
    steps = {unread.step for unread in found.unread if unread.role is Role.CONTROLLER}
    assert len(steps) == 1 and "--controller-command-config" in steps.pop()
