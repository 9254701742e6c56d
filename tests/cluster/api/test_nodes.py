"""Unregistering a node at scripted clusters: what is sent, how often, and what is made of every way it can go."""

from __future__ import annotations

import socket

import pytest

from kafkactl.cluster import followers
from kafkactl.cluster.api.unregister import UnregisteredNode, observe_and_plan, unregister_node
from kafkactl.cluster.io.view import observe_cluster_state
from kafkactl.core.findings import Outcome
from kafkactl.core.values import Role
from tests.kafka.unregistering_cluster import DEAD_BROKER, DEAD_CONTROLLER, UnregisteringCluster

# The leader is watched over real sockets for 2 s: a machine that stalls meanwhile is refused, as it should be.
pytestmark = pytest.mark.flaky(reruns=2, reruns_delay=1)


@pytest.fixture(autouse=True)
def a_short_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followers, "WATCH_MS", 400)


def unregistered(
    cluster: UnregisteringCluster, node_id: int = DEAD_BROKER, listener: Role = Role.CONTROLLER
) -> UnregisteredNode:
    with cluster.client(listener) as client:
        state = observe_cluster_state(client).state
        _, plan = observe_and_plan(client, node_id, None)
        assert plan.outcome is Outcome.PLANNED, plan.findings
        return unregister_node(client, plan, state, outcome_timeout_ms=600)


@pytest.mark.slow
@pytest.mark.parametrize("listener", list(Role))
@pytest.mark.parametrize(
    ("node_id", "request_name"), [(DEAD_BROKER, "UnregisterBroker"), (DEAD_CONTROLLER, "UnregisterController")]
)
def test_dead_node_is_unregistered_and_looked_for_twice(listener: Role, node_id: int, request_name: str) -> None:
    cluster = UnregisteringCluster()
    result = unregistered(cluster, node_id, listener)
    assert (result.outcome, result.findings) == (Outcome.DONE, ())
    assert cluster.sent == [(request_name, node_id)]
    assert cluster.reads_after >= 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "outcome", "ids"),
    [
        ("reply-lost", Outcome.DONE, []),
        ("request-lost", Outcome.UNKNOWN, ["unregister-outcome-unknown"]),
        ("timed-out", Outcome.UNKNOWN, ["unregister-outcome-unknown"]),
        ("refused", Outcome.FAILED, ["unregister-refused"]),
        ("ignored", Outcome.FAILED, ["node-still-registered"]),
        ("comes-back", Outcome.FAILED, ["node-still-registered"]),
        ("unreadable", Outcome.UNKNOWN, ["unregister-outcome-unknown"]),
    ],
)
def test_outcome_is_read_and_never_guessed(how: str, outcome: Outcome, ids: list[str]) -> None:
    cluster = UnregisteringCluster(how)
    result = unregistered(cluster)
    assert (result.outcome, [finding.id for finding in result.findings]) == (outcome, ids)
    assert len(cluster.sent) == 1, "a change is sent once"


def test_node_that_came_back_since_the_plan_is_left_alone() -> None:
    cluster = UnregisteringCluster()
    with cluster.client(Role.CONTROLLER) as client:
        state = observe_cluster_state(client).state
        _, plan = observe_and_plan(client, DEAD_BROKER, None)
        cluster.registered[DEAD_BROKER] = {"metadata.version": (7, 30)}
        result = unregister_node(client, plan, state)
    assert result.outcome is Outcome.REFUSED
    assert [finding.id for finding in result.plan.findings] == ["node-registered-again"]
    assert cluster.sent == []


def test_node_unregistered_by_another_operator_is_left_alone() -> None:
    cluster = UnregisteringCluster()
    with cluster.client(Role.CONTROLLER) as client:
        state = observe_cluster_state(client).state
        _, plan = observe_and_plan(client, DEAD_BROKER, None)
        del cluster.registered[DEAD_BROKER]
        assert unregister_node(client, plan, state).outcome is Outcome.NOTHING_TO_DO
    assert cluster.sent == []


def test_node_with_an_open_port_is_not_unregistered() -> None:
    cluster = UnregisteringCluster()
    with socket.create_server(("127.0.0.1", 0)) as hanging, cluster.client(Role.CONTROLLER) as client:
        cluster.dead_port = hanging.getsockname()[1]
        _, plan = observe_and_plan(client, DEAD_BROKER, None)
    assert plan.outcome is Outcome.REFUSED
    assert [finding.id for finding in plan.findings] == ["node-port-open"]
