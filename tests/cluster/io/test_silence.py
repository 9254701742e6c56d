"""Description of a silent node, from its address and from the answers of other nodes."""

from __future__ import annotations

import time

import pytest

from kafkactl.cluster.api.list import list_nodes
from kafkactl.cluster.io import nodes as feature_nodes
from kafkactl.cluster.io.view import NODE_TIMEOUT_MS
from kafkactl.commands.demo.broker import SILENCE
from kafkactl.core.errors import UnreachableError
from kafkactl.core.findings import Finding
from kafkactl.core.kafka_names import ZkMigrationState
from kafkactl.core.values import Role
from kafkactl.features.api.description import describe
from tests.kafka.feature_cluster import RANGES, FakeCluster


def silent(cluster: FakeCluster) -> list[Finding]:
    """Return what both commands say of nodes that do not answer; they name the same nodes."""
    with cluster.client(Role.BROKER) as client:
        listed = list_nodes(client, timeout_ms=6_000).findings
        described = describe(client).findings
    assert [finding.subject for finding in described] == [finding.subject for finding in listed]
    return list(listed)


def test_paused_voter_is_not_one_that_is_stopped() -> None:
    cluster = FakeCluster()
    cluster.nodes[2].greeting, cluster.stuck = SILENCE, {2}
    (paused,) = silent(cluster)
    (at,) = paused.evidence["addresses"]
    assert (paused.id, paused.subject) == ("node-silent", "controller 2")
    assert paused.message.startswith(f"controller 2 does not answer: {at} takes connections and does not answer")
    assert "it is a voter, and counts for every majority" in paused.message and "is stopped" in paused.next_step
    assert paused.evidence["silence"] == "hangs"


def test_silent_node_costs_a_share_of_the_time() -> None:
    cluster = FakeCluster()
    cluster.nodes[2].greeting = SILENCE
    with cluster.client(Role.BROKER) as client:
        began = time.monotonic()
        found = describe(client, timeout_ms=2_000)
        assert time.monotonic() - began < NODE_TIMEOUT_MS / 1000
    assert [finding.id for finding in found.findings] == ["node-silent"]


def test_nothing_listens_where_a_node_is_registered() -> None:
    cluster = FakeCluster()
    cluster.gone = {13: Role.BROKER, 14: Role.BROKER}
    cluster.registered |= {13: RANGES, 14: RANGES}
    cluster.fetching = {14}
    with cluster.client(Role.BROKER) as client:
        gone, starting = list_nodes(client, timeout_ms=6_000).findings
    assert "127.0.0.1:1 refuses connections: no process listens there" in gone.message
    assert "blocks changes to levels that its registration lacks (metadata.version above" in gone.message
    assert starting.evidence["fetches"] is True
    assert "it fetches the metadata log, so its process runs" in starting.message


def test_no_connection_is_established(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = FakeCluster()
    visit_node = feature_nodes.visit_node

    def cut_off(connection, **more):  # type: ignore[no-untyped-def]
        if connection.address == cluster.nodes[2].address:
            raise UnreachableError("no route to host", id="connection-failed")
        return visit_node(connection, **more)

    monkeypatch.setattr(feature_nodes, "visit_node", cut_off)
    (unreached,) = silent(cluster)
    assert unreached.evidence["silence"] == "unreached"
    assert "cannot be reached: no connection is established" in unreached.message and "firewall" in unreached.next_step
    # A paused process looks like this, too, as soon as 50 connections wait for it.
    assert "socket.listen.backlog.size" in unreached.message and "state T" in unreached.next_step


def test_silent_node_that_no_other_names_has_a_quarter_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, float] = {}

    def contact(address, deadline, *, role=None):
        given[str(address)] = deadline.left_ms
        raise UnreachableError("it did not answer in time", id="connection-timed-out")

    with FakeCluster().client(Role.BROKER) as client:
        silent, other = client.bootstrap
        client._silent.add(silent)
        monkeypatch.setattr(client, "kept_connection", contact)
        found = feature_nodes.named_at_start(client, (), node_timeout_ms=40_000)
    assert (found.places, found.unnamed) == ((), ())
    assert given[str(silent)] <= 10_000 < given[str(other)]


def test_full_queue_of_a_node_that_hangs_costs_a_quarter_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float] = []

    def queue_is_full(address, *, deadline, setup_timeout_ms, wrapper):
        limits.append(max(deadline.left_ms, setup_timeout_ms))
        raise UnreachableError("it did not take a connection in time", id="connection-timed-out")

    monkeypatch.setattr(feature_nodes, "connect", queue_is_full)
    cluster = FakeCluster()
    cluster.nodes[2].greeting, cluster.stuck = SILENCE, {2}
    with cluster.client(Role.BROKER) as client:
        (paused,) = list_nodes(client, timeout_ms=800).findings
    assert paused.evidence["silence"] == "unreached"
    assert [limit <= 200 for limit in limits] == [True]


def test_brokers_that_have_not_entered_a_migration_are_missing_with_a_reason() -> None:
    cluster = FakeCluster(brokers=())
    cluster.migration = ZkMigrationState.PRE_MIGRATION
    with cluster.client(Role.CONTROLLER) as client:
        for answer in (list_nodes(client), describe(client)):
            assert [node.id for node in answer.nodes] == [1, 2]
            (found,) = answer.findings
            assert found.id == "zk-migration-not-finished"
            assert "no broker entered, and ZooKeeper alone knows" in found.message
