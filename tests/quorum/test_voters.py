"""Voters as operators write them: Kafka's grammar, Kafka's words."""

from __future__ import annotations

import pytest

from kafkactl.cluster.quorum.voters import (
    DynamicVoter,
    StaticVoter,
    hash_order,
    parse_host_port,
    parse_static_voters,
    parse_voters,
    socket_host,
    standalone_voter,
)
from kafkactl.core.errors import InputError
from kafkactl.core.values import Endpoint, Uuid

ID = "JEXY6aqzQY-32P5TStzaFg"
OTHER = "MvDxzVmcRsaTz33bUuRU6A"


def test_example_of_kafka_is_parsed():
    first, second = parse_voters(f"0@example.com:8082:{ID},1@[::1]:8083:{OTHER}")
    assert first == DynamicVoter(node_id=0, host="example.com", port=8082, directory_id=Uuid.parse(ID))
    assert (second.host, second.stored_host) == ("::1", "0:0:0:0:0:0:0:1")
    assert str(second) == f"1@[::1]:8083:{OTHER}"


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        (f" 2@b:1:{ID} , 1@a:1:{ID} ", [1, 2]),
        (f"1@a:1:{ID},,2@b:1:{ID},", [1, 2]),
        (f"1@:0:{ID}", [1]),
        (f"+1@a:+5:{ID}", [1]),
        (f"1@a b:65535:{ID}==", [1]),
    ],
)
def test_voters_that_kafka_accepts_are_parsed(text: str, ids: list[int]):
    assert [voter.node_id for voter in parse_voters(text)] == ids


@pytest.mark.parametrize(
    ("text", "id", "words"),
    [
        ("", "no-voters", "No voters given."),
        (" , ", "no-voters", "No voters given."),
        (",", "no-voters", "No voters given."),
        (f"1@a:1:{ID}, ,2@a:1:{ID}", "voter-without-at-sign", "No @ found"),
        ("1", "voter-without-at-sign", "No @ found in dynamic voter string."),
        ("@a:1:x", "voter-without-node-id", "Invalid @ at beginning of dynamic voter string."),
        ("x@a:1:x", "invalid-voter-node-id", "Failed to parse node id in dynamic voter string."),
        ("2147483648@a:1:x", "invalid-voter-node-id", "Failed to parse node id"),
        ("-1@a:1:x", "invalid-voter-node-id", "Invalid negative node id -1 in dynamic voter string."),
        ("1@", "voter-without-host", "No hostname found after node id."),
        ("1@[::1:1:x", "voter-host-without-bracket", "no right bracket was found"),
        ("1@a", "voter-without-port", "No colon following hostname could be found."),
        ("1@[::1]1:x", "voter-without-port", "Port section must start with a colon."),
        ("1@a:1", "voter-without-directory-id", "No colon following port could be found."),
        ("1@::1:9093:x", "invalid-voter-port", "Failed to parse port in dynamic voter string."),
        ("1@a:x:y", "invalid-voter-port", "Failed to parse port"),
        ("1@a:65536:x", "invalid-voter-port", "Invalid port 65536 in dynamic voter string."),
        ("1@a:-1:x", "invalid-voter-port", "Invalid port -1"),
        ("1@a:1:x", "invalid-voter-directory-id", "Failed to parse directory ID in dynamic voter string."),
        (f"1@a:1:{ID}:2", "invalid-voter-directory-id", "Failed to parse directory ID"),
        (f"1@a:1:{ID},1@b:1:{OTHER}", "duplicate-voter", "Node id 1 was specified more than once."),
        (f"1@a:1:{ID},1@b:1:{OTHER},2", "voter-without-at-sign", "No @ found in dynamic voter string."),
    ],
)
def test_voters_that_kafka_refuses_are_refused(text: str, id: str, words: str):
    with pytest.raises(InputError) as caught:
        parse_voters(text)
    error = caught.value
    assert (error.id, error.exit_code) == (id, 2)
    assert words in error.message
    assert error.advice


def test_error_names_the_invalid_voter():
    with pytest.raises(InputError, match=r"voter 2 of 3: '2@b:x:y'"):
        parse_voters(f"1@a:1:{ID},2@b:x:y,3@c:1:{ID}")


def test_standalone_voter_is_written_and_a_bad_port_is_refused():
    voter = standalone_voter(node_id=1, host=None, port=9093, directory_id=Uuid.parse(ID))
    assert str(voter) == f"1@localhost:9093:{ID}"
    with pytest.raises(InputError) as caught:
        standalone_voter(node_id=1, host="::1", port=9093, directory_id=Uuid.parse(ID))
    assert (caught.value.id, caught.value.exit_code) == ("standalone-ipv6-listener", 2)
    assert "Failed to parse port" in caught.value.message
    assert "1@[::1]:9093" in caught.value.advice


@pytest.mark.parametrize(
    ("entries", "voters"),
    [
        ([], []),
        (["1@a:1", "2@[::1]:2"], [(1, "a", 1), (2, "::1", 2)]),
        (["1@a:1", "1@b:2"], [(1, "b", 2)]),
        (["1@a:1@"], [(1, "a", 1)]),
        (["-1@:0"], [(-1, "", 0)]),
        (["1@http://a:1"], [(1, "a", 1)]),
    ],
)
def test_static_voters_are_parsed(entries: list[str], voters: list[tuple[int, str, int]]):
    expected = tuple(StaticVoter(node_id=node_id, host=host, port=port) for node_id, host, port in voters)
    assert parse_static_voters(entries) == expected


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("", "Invalid configuration value for controller.quorum.voters"),
        ("1", "Invalid configuration value for controller.quorum.voters"),
        ("1@a:1@b", "Invalid configuration value for controller.quorum.voters"),
        ("x@a:1", "Failed to parse voter ID as an integer from x"),
        ("1@a", "Failed to parse host name"),
        ("1@a b:1", "Failed to parse host name"),
        ("1@a:99999999999", "Failed to parse host name"),
        ("1@a:65536", "port out of range:65536"),
    ],
)
def test_wrong_static_voters_are_refused(entry: str, words: str):
    with pytest.raises(InputError) as caught:
        parse_static_voters(["0@a:1", entry])
    assert (caught.value.id, caught.value.exit_code) == ("invalid-quorum-voters", 2)
    assert words in caught.value.message
    assert "{id}@{host}:{port}" in caught.value.message


def test_text_before_the_host_was_overlooked_once():
    assert parse_host_port("x y/a:1") is None
    assert parse_host_port("x y/a:1", anything_before_host=True) == ("a", 1)


@pytest.mark.parametrize(
    ("host", "stored"),
    [
        ("", "localhost"),
        ("Broker-1.example", "Broker-1.example"),
        ("::1", "0:0:0:0:0:0:0:1"),
        ("2001:DB8::a", "2001:db8:0:0:0:0:0:a"),
        ("::ffff:1.2.3.4", "1.2.3.4"),
        ("fe80::1%1", "fe80:0:0:0:0:0:0:1%1"),
        ("1:2", "1:2"),
        ("127.1", "127.0.0.1"),
        ("1", "0.0.0.1"),
        ("010.1.1.1", "10.1.1.1"),
        ("256.1.1.1", "256.1.1.1"),
        ("1.2.3.4.5", "1.2.3.4.5"),
        ("4294967296", "4294967296"),
        ("1..2", "1..2"),
    ],
)
def test_hosts_are_stored_as_in_java(host: str, stored: str):
    assert socket_host(host) == stored


def test_endpoint_is_written_with_ipv6_in_brackets():
    assert str(Endpoint(listener="CONTROLLER", host="::1", port=9093)) == "CONTROLLER://[::1]:9093"
    assert str(Endpoint(listener="", host="c1", port=9093)) == "c1:9093"


def test_voters_are_ordered_as_on_disk():
    assert hash_order([100, 17, 1]) == [1, 17, 100]
    assert hash_order([33, 1, 16, 2]) == [16, 1, 33, 2]
