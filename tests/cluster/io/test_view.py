"""The feature levels of a cluster as they are seen from outside, whole and in part."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from kafkactl.cluster.io import view as views
from kafkactl.cluster.io.fetched_registrations import fetch_registrations
from kafkactl.cluster.io.view import ObservedCluster, observe_cluster_state, observe_levels
from kafkactl.commands.demo.broker import CLOSE, SILENCE, Action, Asked, FakeBroker, Raw, Reply
from kafkactl.core.errors import UnreachableError
from kafkactl.core.values import Role
from kafkactl.kafka.client import Client, Limits
from tests.kafka.feature_cluster import LEVELS, LIMITS, RANGES, FakeCluster, FakeNode

OLD = {"metadata.version": (1, 21)}


def seen(cluster: FakeCluster, listener: Role = Role.BROKER, *, with_log: bool = True) -> ObservedCluster:
    with cluster.client(listener) as client:
        return observe_cluster_state(client, with_log=with_log, node_timeout_ms=1200)


def ids(view: ObservedCluster) -> list[str]:
    return [finding.id for finding in view.findings]


@pytest.mark.parametrize("listener", list(Role))
@pytest.mark.parametrize("with_log", [True, False])
def test_healthy_cluster_is_seen_whole_from_either_side(listener: Role, with_log: bool) -> None:
    view = seen(FakeCluster(), listener, with_log=with_log)
    state = view.state
    assert (state.cluster_id, state.active_controller, state.leader_epoch) == ("fake", 1, 3)
    assert (dict(state.finalized), state.finalized_epoch, view.findings) == (LEVELS, 40, ())
    members = [(member.name, member.answers) for member in state.members]
    assert members == [("controller 1", True), ("controller 2", True), ("broker 11", True), ("broker 12", True)]
    assert state.voter_ids == {1, 2}
    read = with_log or listener is Role.CONTROLLER
    assert {member.registered for member in state.members} == {True if read else None}


def test_registered_node_that_is_gone_is_reported_as_silent() -> None:
    cluster = FakeCluster()
    cluster.gone = {3: Role.CONTROLLER, 13: Role.BROKER}
    cluster.registered |= {3: OLD, 13: OLD}
    state = seen(cluster).state
    assert [member.name for member in state.members if member.stale] == ["controller 3", "broker 13"]


def test_node_that_hangs_costs_its_own_answer_only() -> None:
    cluster = FakeCluster()
    cluster.nodes[12].greeting = SILENCE
    view = seen(cluster)
    assert {member.name: member.answers for member in view.state.members if member.answers is not True} == {
        "broker 12": False
    }


@pytest.mark.parametrize("with_log", [True, False])
def test_node_that_is_slow_delays_no_question_to_others_and_counts(
    monkeypatch: pytest.MonkeyPatch, with_log: bool
) -> None:
    # Each paused node was waited for twice: 5 s before anything was asked, and 5 s again at its own address.
    monkeypatch.setattr(views, "_SOON_MS", 1.0)
    cluster = FakeCluster()
    cluster.limits = Limits()
    answer, others_are_asked = cluster.answer, threading.Event()

    def slowly(asked: Asked, node: FakeNode) -> Action | None:
        if asked.name == "DescribeQuorum":
            others_are_asked.set()
        if asked.name == "ApiVersions" and node.node_id == 12 and not others_are_asked.wait(10):
            return CLOSE
        return answer(asked, node)

    cluster.answer = slowly  # type: ignore[method-assign]
    with cluster.client(Role.BROKER) as client:
        view = observe_cluster_state(client, with_log=with_log, node_timeout_ms=60_000)
    assert {member.name: member.answers for member in view.state.members if not member.answers} == {}
    assert cluster.nodes[12].connections == (2 if with_log else 1)


def test_log_is_asked_of_the_leader_first() -> None:
    # A paused controller that brokers name before it took half of the time of a call.
    cluster = FakeCluster()
    cluster.leader_id, cluster.nodes[1].greeting = 2, SILENCE
    with cluster.client(Role.BROKER) as client:
        assert set(fetch_registrations(client).brokers) == {11, 12}
    assert cluster.nodes[1].connections == 0


def test_listener_that_refuses_this_client_leaves_its_node_unknown() -> None:
    cluster = FakeCluster()
    cluster.nodes[12].greeting = Raw(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 20)
    cluster.nodes[2].ranges = dict(cluster.nodes[11].ranges)  # a broker where a controller should be
    view = seen(cluster)
    unknown = {member.name: member.answers for member in view.state.members if member.answers is not True}
    assert unknown == {"controller 2": None, "broker 12": None}
    assert ids(view) == ["node-not-asked", "node-not-asked"]
    assert not any(member.stale for member in view.state.members)


def test_unresolved_host_name_leaves_its_node_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = FakeCluster()
    described = cluster._described

    def inner_names(role: Role) -> dict[str, Any]:
        answer = described(role)
        answer["Brokers"][1]["Host"] = "broker-12.inside.invalid"
        return answer

    monkeypatch.setattr(cluster, "_described", inner_names)
    with cluster.client(Role.BROKER) as client, client.sibling(Role.BROKER, client.bootstrap[:1]) as first:
        found = observe_cluster_state(client, with_log=False, node_timeout_ms=1200).state.members
        view = observe_cluster_state(first, with_log=False, node_timeout_ms=1200)
    assert [member.answers for member in found if member.id == 12] == [True], "it answers at an address of the start"
    assert [member.answers for member in view.state.members if member.id == 12] == [None]
    assert "broker-12.inside.invalid" in view.findings[0].message


@pytest.mark.parametrize(
    ("later", "words"),
    [
        (None, "and who leads now is not known: 127.0.0.1:"),
        (Reply(body={"ErrorCode": 0, "Topics": [{"Partitions": [{"ErrorCode": 6}]}]}), "no controller that answers"),
    ],
)
def test_leader_that_answers_no_more_may_still_lead(later: Action | None, words: str) -> None:
    cluster = FakeCluster(controllers=(1,))
    answer, cluster.stuck = cluster.answer, {1}  # so that the leader is watched for longer than one answer

    def first_only(asked: Asked, node: FakeNode) -> Action | None:
        if asked.name == "DescribeQuorum" and cluster.looks:
            node.greeting = SILENCE if later is None else node.greeting
            return later or CLOSE
        return answer(asked, node)

    cluster.answer = first_only  # type: ignore[method-assign]
    view = seen(cluster, Role.CONTROLLER)
    (lost,) = [finding for finding in view.findings if finding.id == "quorum-not-seen"]
    assert lost.message.startswith("controller 1 led the quorum when the observation began, ") and words in lost.message
    assert view.state.voters is None


def test_broker_that_waits_for_the_active_controller_is_not_called_silent() -> None:
    cluster = FakeCluster()
    for broker in cluster.of(Role.BROKER):
        broker.answers["DescribeQuorum"] = SILENCE
    with cluster.client(Role.BROKER) as client:
        view, port = observe_cluster_state(client, node_timeout_ms=1200), cluster.nodes[11].address.port
    (unseen,) = [finding for finding in view.findings if finding.id == "quorum-not-seen"]
    assert f"the broker 127.0.0.1:{port} answers, but not DescribeQuorum, which it forwards" in unseen.message
    assert "quorum describe --bootstrap-controller" in (unseen.next_step or "")
    assert "paused" not in unseen.message


class TestNoPermission:
    def test_log_is_unknown_without_the_right_to_read_it(self) -> None:
        cluster = FakeCluster()
        cluster.denied = {"Fetch"}
        view = seen(cluster)
        assert (ids(view), view.state.registrations) == (["metadata-log-not-read"], None)
        assert "CLUSTER_AUTHORIZATION_FAILED" in view.state.log_error.reason
        assert len(view.state.members) == 4

    def test_brokers_are_unknown_without_the_right_to_read_the_log_of_a_controller(self) -> None:
        cluster = FakeCluster()
        cluster.denied = {"Fetch"}
        view = seen(cluster, Role.CONTROLLER)
        assert ids(view) == ["metadata-log-not-read", "brokers-not-known"]
        assert {member.role for member in view.state.members} == {Role.CONTROLLER}

    def test_quorum_is_unknown_without_its_right(self) -> None:
        cluster = FakeCluster()
        cluster.denied = {"DescribeQuorum"}
        view = seen(cluster)
        assert (view.state.active_controller, view.state.voters) == (None, None)
        assert ids(view) == ["quorum-not-seen", "metadata-log-not-read"]
        assert (dict(view.state.finalized), [member.id for member in view.state.members]) == (LEVELS, [11, 12])

    def test_cluster_id_is_unknown_without_its_right(self) -> None:
        cluster = FakeCluster()
        cluster.denied = {"DescribeCluster"}
        view = seen(cluster)
        assert (view.state.cluster_id, ids(view)) == (None, ["cluster-not-seen"])
        assert len(view.state.members) == 4

    def test_cluster_id_is_known_from_brokers_in_the_log(self) -> None:
        # Brokers that the log names tell the cluster's id too.
        cluster = FakeCluster()
        for node in cluster.of(Role.CONTROLLER):
            del node.ranges[60]
        view = seen(cluster, Role.CONTROLLER)
        assert (view.state.cluster_id, ids(view)) == ("fake", [])


def test_no_answer_at_all_is_an_error() -> None:
    with FakeBroker() as gone:
        address = gone.address
    with Client([address], Role.BROKER, limits=LIMITS) as client, pytest.raises(UnreachableError) as caught:
        observe_cluster_state(client)
    assert caught.value.id == "connection-refused"


def test_wrong_kind_of_port_is_an_error() -> None:
    cluster = FakeCluster()
    with cluster.client(Role.CONTROLLER) as controllers:
        wrong = Client(controllers.bootstrap, Role.BROKER, limits=LIMITS)
        with wrong, pytest.raises(UnreachableError) as caught:
            observe_cluster_state(wrong)
    assert caught.value.id == "wrong-endpoint-type"


@pytest.mark.slow
def test_levels_are_those_of_the_active_controller_else_of_who_read_furthest() -> None:
    cluster = FakeCluster()
    cluster.nodes[1].finalized = {"metadata.version": 30}
    assert seen(cluster).state.finalized == {"metadata.version": 30}
    cluster = FakeCluster()
    cluster.nodes[1].greeting = SILENCE
    assert seen(cluster).state.finalized == LEVELS


def test_levels_are_observed_again_after_a_change() -> None:
    cluster = FakeCluster()
    with cluster.client(Role.BROKER) as client:
        view = observe_cluster_state(client)
        cluster.levels["metadata.version"] = 26
        again = observe_levels(client, view)
    assert again.state.level("metadata.version") == 26
    assert again.state.registrations == view.state.registrations
    fetched = [name for node in cluster.nodes.values() for name in node.names()].count("Fetch")
    assert fetched == 1
    assert set(RANGES) == {"metadata.version", "group.version", "kraft.version"}
