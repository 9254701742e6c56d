"""Requests of changes over a network that fails in all ways: sent at most once, no guess, no hang."""

from __future__ import annotations

import time
from typing import Any

import pytest

from kafkactl.change.clock import Deadline
from kafkactl.commands.demo.broker import SILENCE, FakeBroker
from kafkactl.core.errors import UnknownOutcomeError, UnreachableError
from kafkactl.core.values import ZERO_UUID, Role
from kafkactl.kafka import client as clients
from kafkactl.kafka.client import Client, Limits
from kafkactl.kafka.connection import Access, Connection
from kafkactl.kafka.retries import Backoff
from kafkactl.net.transport import Address
from kafkactl.protocol.schema.definitions import message
from tests.fakes.proxy import Fault, FaultyProxy

LIMITS = Limits(timeout_ms=4000, request_timeout_ms=400, backoff=Backoff(first_ms=1, rounds=3))
VOTER = {"VoterId": 3, "VoterDirectoryId": ZERO_UUID}
CHANGES: dict[str, dict[str, Any]] = {
    "UpdateFeatures": {"timeoutMs": 1000, "FeatureUpdates": []},
    "AddRaftVoter": {"TimeoutMs": 1000, "Listeners": []} | VOTER,
    "RemoveRaftVoter": VOTER,
    "UnregisterBroker": {"BrokerId": 3},
}
QUESTIONS: dict[str, dict[str, Any]] = {
    "DescribeQuorum": {"Topics": []},
    "DescribeCluster": {},
    "DescribeConfigs": {"Resources": []},
}


def api_key(name: str) -> int:
    return message(f"{name}Request").api_key or 0


def network_to(node: FakeBroker) -> FaultyProxy:
    return FaultyProxy(node.address)


def client_of(network: FaultyProxy, role: Role) -> Client:
    return Client([network.address], role, limits=LIMITS)


@pytest.mark.slow
@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("fault", Fault)
@pytest.mark.parametrize("name", CHANGES)
def test_change_is_there_at_most_once_and_its_outcome_is_not_guessed(name: str, fault: Fault, role: Role) -> None:
    versions = {52: (0, 2)} if role is Role.CONTROLLER else {}
    with FakeBroker(versions=versions) as node, network_to(node) as network, client_of(network, role) as client:
        network.arm(fault, api_key(name))
        began = time.monotonic()
        if fault.answers:
            assert client.ask_active_controller(name, CHANGES[name], changes=True).name == name
        else:
            with pytest.raises(UnknownOutcomeError) as caught:
                client.ask_active_controller(name, CHANGES[name], changes=True)
            assert caught.value.id == "reply-lost"
        assert time.monotonic() - began < 30
        assert (network.struck, node.names().count(name)) == (1, fault.arrivals)
        client.ask_active_controller("DescribeQuorum", QUESTIONS["DescribeQuorum"])


@pytest.mark.slow
@pytest.mark.parametrize("fault", Fault)
@pytest.mark.parametrize("name", QUESTIONS)
def test_question_is_asked_again_until_it_is_answered(name: str, fault: Fault) -> None:
    with FakeBroker() as node, network_to(node) as network, client_of(network, Role.BROKER) as client:
        network.arm(fault, api_key(name))
        assert client.ask_any(name, QUESTIONS[name]).name == name
        assert network.struck == 1


def test_calls_share_the_time_that_is_left_and_a_change_leaves_half_of_it() -> None:
    with FakeBroker(lambda asked: SILENCE if asked.name in CHANGES else None) as node:
        ends = time.monotonic() + 2.0
        with Client(
            [node.address], Role.BROKER, time_left=lambda: max(0.0, 1_000 * (ends - time.monotonic()))
        ) as client:
            client.ask_any("DescribeQuorum", QUESTIONS["DescribeQuorum"])
            with pytest.raises(UnknownOutcomeError):
                client.ask_active_controller("UpdateFeatures", CHANGES["UpdateFeatures"], changes=True)
            assert 0.2 < ends - time.monotonic() < 1.6
            client.ask_any("DescribeQuorum", QUESTIONS["DescribeQuorum"])
            time.sleep(max(0.0, ends - time.monotonic()))
            with pytest.raises(UnreachableError, match="no node was asked"):
                client.ask_any("DescribeQuorum", QUESTIONS["DescribeQuorum"])


def test_node_that_used_up_the_time_is_named() -> None:
    # What asks again after an answer that did not come in time has no time left for it.
    with FakeBroker(greeting=SILENCE) as node:
        address, ends = node.address, time.monotonic() + 0.2
        with Client([address], Role.BROKER, time_left=lambda: max(0.0, 1_000 * (ends - time.monotonic()))) as client:
            client.versions([address])
            with pytest.raises(UnreachableError) as caught:
                client.ask_any("DescribeQuorum", QUESTIONS["DescribeQuorum"])
    assert caught.value.message == f"{address} did not answer, and no time was left to ask again"


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault is not Fault.GARBAGE])
def test_change_is_sent_after_all_where_only_the_greeting_was_lost(fault: Fault) -> None:
    with FakeBroker() as node, network_to(node) as network, client_of(network, Role.BROKER) as client:
        network.arm(fault, api_key("ApiVersions"))
        client.ask_active_controller("UpdateFeatures", CHANGES["UpdateFeatures"], changes=True)
        assert node.names() == ["UpdateFeatures"]


def test_greeting_in_another_language_ends_it() -> None:
    with FakeBroker() as node, network_to(node) as network, client_of(network, Role.BROKER) as client:
        network.arm(Fault.GARBAGE, api_key("ApiVersions"))
        with pytest.raises(UnreachableError) as caught:
            client.ask_active_controller("UpdateFeatures", CHANGES["UpdateFeatures"], changes=True)
        assert (caught.value.id, node.names()) == ("not-kafka", [])


def test_connection_to_another_node_that_is_opened_too_late_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    # A thread that waits for one node goes on to the next one after the command has closed the client.
    opened: list[Connection] = []
    connect = clients.connect

    def connected(address: Address, access: Access, deadline: Deadline) -> Connection:
        opened.append(connect(address, access, deadline))
        return opened[-1]

    monkeypatch.setattr(clients, "connect", connected)
    with FakeBroker() as first, FakeBroker() as second:
        with Client([first.address, second.address], Role.BROKER, limits=LIMITS) as client:
            client.cluster()
        with pytest.raises(UnreachableError):
            client.ask_node(second.address, "DescribeCluster", {})
    assert opened[1:]
    assert all(connection.is_stale(0) for connection in opened)
