"""The leader's answer: through brokers, or from the controllers if the brokers hold the question."""

from __future__ import annotations

import pytest

from kafkactl.core.errors import UnreachableError
from kafkactl.core.values import Role
from kafkactl.kafka.client import Limits
from kafkactl.playground.broker import SILENCE
from kafkactl.status.io.leader import LeaderSource
from tests.kafka.feature_cluster import FakeCluster

HELD_MS = 2_000.0
PATIENCE_MS = 15_000.0


class _Cluster(FakeCluster):
    limits = Limits(timeout_ms=20_000, request_timeout_ms=20_000)


def asked(cluster: FakeCluster, role: Role, *, named: bool = True) -> int:
    with cluster.client(role) as client:
        if named:
            servers = ",".join(str(node.address) for node in cluster.of(Role.CONTROLLER))
            cluster.dynamic[""] = {"controller.quorum.bootstrap.servers": servers}
        with LeaderSource(client, held_ms=HELD_MS, patience_ms=PATIENCE_MS) as source:
            return source.answer().leader_id


@pytest.mark.parametrize("role", list(Role))
def test_leader_is_asked_once(role: Role):
    cluster = _Cluster()
    assert asked(cluster, role) == 1
    assert cluster.looks == 1


def test_controllers_are_asked_if_all_brokers_hold_the_question():
    cluster = _Cluster()
    for node in cluster.of(Role.BROKER):
        node.answers["DescribeQuorum"] = SILENCE
    assert asked(cluster, Role.BROKER) == 1


def test_reason_of_brokers_is_kept_if_they_name_no_controller():
    cluster = _Cluster()
    for node in cluster.of(Role.BROKER):
        node.answers["DescribeQuorum"] = SILENCE
    with pytest.raises(UnreachableError) as caught:
        asked(cluster, Role.BROKER, named=False)
    assert caught.value.id == "connection-timed-out"


def test_missing_leader_is_reported_by_controllers():
    cluster = _Cluster()
    cluster.leader_id = 9
    for node in cluster.of(Role.BROKER):
        node.answers["DescribeQuorum"] = SILENCE
    with pytest.raises(UnreachableError) as caught:
        asked(cluster, Role.BROKER)
    assert caught.value.id == "no-active-controller"
