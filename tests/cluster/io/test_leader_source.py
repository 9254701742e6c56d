"""The leader's answer: through brokers, or from the controllers if the brokers hold the question."""

from __future__ import annotations

import pytest

from kafkactl.cluster.io.leader_source import LeaderSource, describe_quorum
from kafkactl.commands.demo.bodies import quorum_body
from kafkactl.commands.demo.broker import SILENCE, Action, Asked, Reply
from kafkactl.core.errors import UnreachableError
from kafkactl.core.values import Role
from kafkactl.kafka.client import Limits
from kafkactl.net.transport import Address
from tests.kafka.feature_cluster import FakeCluster, FakeNode

HELD_MS = 2_000.0
SOON_MS = 50.0


class _Cluster(FakeCluster):
    limits = Limits(timeout_ms=15_000, request_timeout_ms=15_000)

    def hold(self, *, named: bool = True) -> None:
        """Make the brokers hold the question; `named`: their configuration names the controllers."""
        for node in self.of(Role.BROKER):
            node.answers["DescribeQuorum"] = SILENCE
        if named:
            servers = ",".join(str(node.address) for node in self.of(Role.CONTROLLER))
            self.dynamic[""] = {"controller.quorum.bootstrap.servers": servers}


@pytest.mark.parametrize("role", list(Role))
def test_leader_is_asked_once(role: Role):
    cluster = _Cluster()
    with cluster.client(role) as client, LeaderSource(client, held_ms=HELD_MS) as source:
        assert source.answer().leader_id == 1
    assert cluster.looks == 1


def test_controllers_are_asked_if_all_brokers_hold_the_question():
    cluster = _Cluster()
    with cluster.client(Role.BROKER) as client, LeaderSource(client, held_ms=SOON_MS) as source:
        cluster.hold()
        assert source.answer().leader_id == 1


def test_one_question_is_answered_by_controllers_if_all_brokers_hold_it():
    cluster = _Cluster()
    with cluster.client(Role.BROKER) as client:
        cluster.hold()
        assert describe_quorum(client).leader_id == 1


def test_brokers_that_held_a_question_do_not_delay_the_next_one():
    cluster = _Cluster()
    with cluster.client(Role.BROKER) as client:
        cluster.hold()
        with LeaderSource(client, held_ms=HELD_MS) as source:
            source.answer()
            clock, begin_ms = client.clock, client.clock.now_ms()
            assert source.answer(most_ms=10_000).leader_id == 1
            assert clock.now_ms() - begin_ms < HELD_MS


class _LateBrokers(_Cluster):
    """A cluster whose brokers hold the first question, and answer the second one."""

    questions = 0

    def answer(self, asked: Asked, node: FakeNode) -> Action | None:
        if asked.name == "DescribeQuorum" and node.role is Role.BROKER:
            self.questions += 1
            return SILENCE if self.questions == 1 else super().answer(asked, node)
        return super().answer(asked, node)


def test_answer_that_a_broker_gives_after_the_limit_counts_if_no_controller_is_named():
    cluster = _LateBrokers(brokers=(11,))
    with cluster.client(Role.BROKER) as client, LeaderSource(client, held_ms=SOON_MS) as source:
        assert source.answer().leader_id == 1
    assert cluster.questions == 2


class _Election(_Cluster):
    """A cluster whose brokers meet no leader in the first questions."""

    questions = 0

    def answer(self, asked: Asked, node: FakeNode) -> Action | None:
        if asked.name == "DescribeQuorum" and node.role is Role.BROKER:
            self.questions += 1
            if self.questions <= 2:
                return Reply(body=quorum_body({"ErrorCode": 6}))
        return super().answer(asked, node)


def test_election_that_takes_longer_than_the_limit_is_waited_for():
    cluster = _Election()
    with cluster.client(Role.BROKER) as client, LeaderSource(client, held_ms=SOON_MS) as source:
        assert source.answer().leader_id == 1
    assert cluster.questions == 3


def test_brokers_that_are_not_reached_hold_no_question():
    cluster = _Cluster()
    asked = []
    with cluster.client(Role.BROKER) as client:
        gone = client.sibling(Role.BROKER, [Address("127.0.0.1", 1)], timeout_ms=1_000)
        gone.cluster = lambda: asked.append(1)
        with gone, LeaderSource(gone, held_ms=SOON_MS) as source, pytest.raises(UnreachableError) as caught:
            source.answer()
    assert (caught.value.id, asked) == ("connection-refused", [])


def test_reason_of_brokers_is_kept_if_they_name_no_controller():
    cluster = _Cluster()
    with (
        cluster.client(Role.BROKER) as client,
        LeaderSource(client, held_ms=SOON_MS) as source,
        pytest.raises(UnreachableError) as caught,
    ):
        cluster.hold(named=False)
        source.answer(most_ms=500)
    assert caught.value.id == "connection-timed-out"


def test_missing_leader_is_reported_by_controllers():
    cluster = _Cluster()
    cluster.leader_id = 9
    with (
        cluster.client(Role.BROKER) as client,
        LeaderSource(client, held_ms=SOON_MS) as source,
        pytest.raises(UnreachableError) as caught,
    ):
        cluster.hold()
        source.answer(most_ms=2_000)
    assert caught.value.id == "no-active-controller"
