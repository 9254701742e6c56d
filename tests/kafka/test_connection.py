"""A connection against a broker that follows a script: what is known at the end of each, and in which words."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

import pytest

from kafkactl.change.clock import Deadline
from kafkactl.commands.demo.broker import CLOSE, SILENCE, Action, Asked, FakeBroker, Raw, Reply
from kafkactl.core.errors import InputError, KafkactlError, UnknownOutcomeError, UnreachableError
from kafkactl.files.clock import SystemClock
from kafkactl.kafka.connection import Access, Connection, connect
from kafkactl.net.transport import Address, NotSentError, parse_addresses
from kafkactl.protocol.schema.spec import Versions

CLUSTER = {"ClusterId": "abc", "ControllerId": 3}
UPDATE = {"timeoutMs": 1000, "FeatureUpdates": []}


def deadline(duration_ms: float = 60_000) -> Deadline:
    return Deadline.after(duration_ms, SystemClock())


def connected(broker: FakeBroker, duration_ms: float = 5000) -> Connection:
    return connect(broker.address, Access(), deadline(duration_ms))


def refused(act: Callable[[], object], kind: type[KafkactlError] = UnreachableError) -> KafkactlError:
    with pytest.raises(kind) as caught:
        act()
    return caught.value


class TestNegotiation:
    @pytest.mark.parametrize(("newest", "asked"), [(5, [4]), (4, [4]), (3, [4, 3]), (2, [4, 2]), (0, [4, 0])])
    def test_versions_of_every_release_are_read(self, newest: int, asked: list[int]) -> None:
        broker = FakeBroker(
            versions={18: (0, newest)}, supported={"kraft.version": (0, 1)}, finalized={"metadata.version": 9}
        )
        with broker, connected(broker) as connection:
            assert [asked.version for asked in broker.asked] == asked
            assert connection.versions.version == asked[-1]
            if asked[-1] >= 3:
                assert connection.versions.supported == {"kraft.version": Versions(0, 1)}
                assert connection.versions.finalized == {"metadata.version": 9}

    def test_server_that_says_unsupported_without_a_range_is_asked_in_version_0(self) -> None:
        def script(asked: object) -> Action | None:
            return Reply(body={"ErrorCode": 35}, version=0) if getattr(asked, "version", 0) else None

        with FakeBroker(script) as broker, connected(broker):
            assert [asked.version for asked in broker.asked] == [4, 0]

    def test_server_that_never_agrees_is_not_asked_without_end(self) -> None:
        with FakeBroker(lambda asked: Reply(body={"ErrorCode": 35}, version=0)) as broker:
            assert refused(lambda: connected(broker)).id == "no-common-version"
            assert len(broker.asked) == 2

    def test_another_error_is_reported_by_name(self) -> None:
        with FakeBroker(lambda asked: Reply(body={"ErrorCode": 42})) as broker:
            error = refused(lambda: connected(broker))
            assert (error.id, "INVALID_REQUEST" in error.message) == ("api-versions-refused", True)

    def test_finalized_levels_are_asked_again(self) -> None:
        with FakeBroker(finalized={"metadata.version": 9}) as broker, connected(broker) as connection:
            broker.finalized = {"metadata.version": 10}
            assert connection.versions.finalized == {"metadata.version": 9}
            assert connection.refresh_versions(deadline()).finalized == {"metadata.version": 10}

    def test_client_names_itself(self) -> None:
        with FakeBroker() as broker, connected(broker):
            assert broker.asked[0].client_id == "kafkactl"
            assert broker.asked[0].body["ClientSoftwareName"] == "kafkactl"


class TestAsking:
    def test_highest_common_version_is_used(self) -> None:
        with FakeBroker(lambda asked: Reply(body=CLUSTER) if asked.name == "DescribeCluster" else None) as broker:
            broker.ranges[60] = (0, 1)
            with connected(broker) as connection:
                answer = connection.ask("DescribeCluster", {"EndpointType": 2}, deadline=deadline())
                assert (answer.version, answer.body["ControllerId"]) == (1, 3)
                assert broker.asked[-1].body["EndpointType"] == 2

    def test_request_the_node_does_not_know_is_not_sent(self) -> None:
        with FakeBroker() as broker:
            del broker.ranges[60]
            with connected(broker) as connection:
                error = refused(lambda: connection.ask("DescribeCluster", {}, deadline=deadline(), changes=True))
                assert error.id == "request-not-supported"
                assert broker.names() == []
                assert not connection.is_stale(0)

    @pytest.mark.parametrize(
        ("action", "read_id"),
        [
            (CLOSE, "connection-closed"),
            (SILENCE, "connection-timed-out"),
            (Reply(correlation_id=77), "malformed-response"),
            (Reply(tail=b"\0\0"), "malformed-response"),
            (Reply(cut=3), "connection-closed"),
            (Reply(cut=9), "connection-closed"),
            (Raw(b"\x7f\xff\xff\xff"), "malformed-response"),
            (Raw(b"\0\0\0\1\0"), "malformed-response"),
        ],
    )
    def test_lost_answer_to_a_change_is_an_unknown_outcome(self, action: Action, read_id: str) -> None:
        for changes in (False, True):
            with FakeBroker(lambda asked: None if asked.name == "ApiVersions" else action) as broker:
                connection = connected(broker)
                began = time.monotonic()
                ask = lambda: connection.ask("UpdateFeatures", UPDATE, deadline=deadline(300), changes=changes)  # noqa: B023, E731
                error = refused(ask, UnknownOutcomeError if changes else UnreachableError)
                assert time.monotonic() - began < 30
                assert error.id == ("reply-lost" if changes else read_id)
                assert error.exit_code == (6 if changes else 4)
                assert not changes or error.cause
                assert connection.is_stale(0)
                asked_why = ["SaslHandshake"] if action == CLOSE else []  # on a connection of its own
                assert broker.names() == ["UpdateFeatures", *asked_why]

    @pytest.mark.parametrize("changes", [False, True])
    def test_sasl_listener_hangs_up_before_anything_looks_at_the_request(self, *, changes: bool) -> None:
        def script(asked: Asked) -> Action | None:
            handshake = Reply(body={"ErrorCode": 33, "Mechanisms": ["PLAIN"]})
            return {"ApiVersions": None, "SaslHandshake": handshake}.get(asked.name, CLOSE)

        with FakeBroker(script) as broker, connected(broker) as connection:
            error = refused(lambda: connection.ask("UpdateFeatures", UPDATE, deadline=deadline(), changes=changes))
            assert (error.id, error.exit_code) == ("sasl-login-expected", 4)
            assert broker.names() == ["UpdateFeatures", "SaslHandshake"]

    def test_node_that_answered_before_is_not_asked_for_sasl(self) -> None:
        with FakeBroker(lambda asked: CLOSE if asked.name == "DescribeQuorum" else None) as broker:
            with connected(broker) as connection:
                connection.ask("DescribeCluster", {}, deadline=deadline())
                error = refused(lambda: connection.ask("DescribeQuorum", {"Topics": []}, deadline=deadline()))
            assert (error.id, broker.names()) == ("connection-closed", ["DescribeCluster", "DescribeQuorum"])

    def test_request_that_cannot_leave_was_not_carried_out(self) -> None:
        with FakeBroker() as broker:
            connection = connected(broker)
            connection.close()
            error = refused(lambda: connection.ask("UpdateFeatures", UPDATE, deadline=deadline(), changes=True))
            assert isinstance(error, NotSentError)
            assert broker.names() == []

    def test_interrupted_call_leaves_no_connection_behind(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupted(*_: object) -> bytes:
            raise KeyboardInterrupt

        with FakeBroker() as broker, connected(broker) as connection:
            monkeypatch.setattr("kafkactl.net.transport.Transport.receive", interrupted)
            with pytest.raises(KeyboardInterrupt):
                connection.ask("DescribeCluster", {}, deadline=deadline())
            assert connection.is_stale(0)

    def test_no_time_left_means_not_sent(self) -> None:
        with FakeBroker() as broker:
            connection = connected(broker)
            error = refused(lambda: connection.ask("UpdateFeatures", UPDATE, deadline=deadline(-1), changes=True))
            connection.close()
            assert (type(error), error.id) == (NotSentError, "connection-timed-out")

    def test_answers_that_drip_do_not_stretch_the_deadline(self) -> None:
        def drip(asked: object) -> Action:
            time.sleep(0.2)
            return Raw(b"\0")

        with FakeBroker(greeting=None, script=drip) as broker:
            began = time.monotonic()
            error = refused(lambda: connected(broker, 500))
            assert error.id == "connection-timed-out"
            assert time.monotonic() - began < 30

    @pytest.mark.parametrize(
        ("size", "login", "error_id"),
        [
            (2**31 - 1, True, "not-kafka"),
            ((1 << 20) + 1, True, "not-kafka"),
            (1 << 20, True, "connection-timed-out"),  # announced, and never sent whole
            (2**31 - 1, False, "malformed-response"),
            ((48 << 20) + 1, False, "malformed-response"),
        ],
    )
    def test_answer_is_judged_by_its_announced_size(self, size: int, login: bool, error_id: str) -> None:
        # A large one that trickles costs neither memory nor the time limit.
        def announce(asked: Asked) -> Action | None:
            return Raw(size.to_bytes(4, "big") + bytes(5000)) if login or asked.name != "ApiVersions" else None

        def talk() -> None:
            with connected(broker, 400) as connection:
                connection.ask("DescribeCluster", {}, deadline=deadline(400))

        with FakeBroker(announce) as broker:
            assert refused(talk).id == error_id

    def test_small_answers_without_an_end_are_those_of_another(self) -> None:
        frames = b"".join((8).to_bytes(4, "big") + bytes(8) for _ in range(100_000))
        with FakeBroker(lambda asked: Raw(frames)) as broker:
            assert refused(lambda: connected(broker)).id in ("not-kafka", "malformed-response")

    def test_connection_that_was_hung_up_on_is_stale(self) -> None:
        with FakeBroker() as broker, connected(broker) as connection:
            assert not connection.is_stale(0)
            broker.hang_up()
            assert any(connection.is_stale(0) or time.sleep(0.02) for _ in range(100))


class TestPortsOfOtherServers:
    @pytest.mark.parametrize(
        ("greeting", "error_id"),
        [
            (Raw(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "not-kafka"),
            (Raw(b"SSH-2.0-OpenSSH_9.2\r\n"), "not-kafka"),
            (Raw(b"\0\0\0\x08\0\0\0\0\0\0\xff\xff"), "not-kafka"),
            (Raw(b"\x15\x03\x03\x00\x02\x02\x46"), "tls-expected"),
            (CLOSE, "connection-closed"),
            (SILENCE, "connection-timed-out"),
        ],
    )
    def test_other_protocol_is_reported_with_the_address(self, greeting: Action, error_id: str) -> None:
        with FakeBroker(greeting=greeting) as broker:
            error = refused(lambda: connected(broker, 500))
            assert (error.id, error.exit_code) == (error_id, 4)
            assert str(broker.address) in error.message

    def test_closed_port_is_reported(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        error = refused(lambda: connect(Address("127.0.0.1", port), Access(), deadline()))
        assert (error.id, error.exit_code) == ("connection-refused", 4)

    def test_unknown_host_is_reported(self) -> None:
        error = refused(lambda: connect(Address("no-such-host.invalid", 9092), Access(), deadline()))
        assert error.id == "unknown-host"

    def test_port_without_room_for_a_connection_is_reported_after_its_timeout(self) -> None:
        server = socket.socket()
        with server:
            server.bind(("127.0.0.1", 0))
            server.listen(0)
            address = Address(*server.getsockname())
            filling = [socket.socket() for _ in range(3)]
            for filler in filling:
                filler.setblocking(False)
                filler.connect_ex((address.host, address.port))
            try:
                began = time.monotonic()
                error = refused(lambda: connect(address, Access(setup_timeout_ms=300), deadline()))
                assert error.id == "connection-timed-out"
                assert time.monotonic() - began < 30
            finally:
                for filler in filling:
                    filler.close()


class TestAddresses:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("a:1", [("a", 1)]),
            (" a:1 , b:2,", [("a", 1), ("b", 2)]),
            ("[::1]:9092", [("::1", 9092)]),
            ("PLAINTEXT://a:1", [("a", 1)]),
        ],
    )
    def test_addresses_are_parsed(self, text: str, expected: list[tuple[str, int]]) -> None:
        assert [(address.host, address.port) for address in parse_addresses(text)] == expected

    @pytest.mark.parametrize(
        "text", ["", ",", "a", "a:", ":1", "a:x", "a:70000", "::1:9092", "a:-1", "a:1;b:2", "a\x1b[31m:1", "a b:1"]
    )
    def test_invalid_address_is_refused(self, text: str) -> None:
        error = refused(lambda: parse_addresses(text), InputError)
        assert (error.id, error.exit_code) == ("invalid-bootstrap-address", 2)

    def test_ipv6_is_written_in_brackets(self) -> None:
        assert str(Address("::1", 9)) == "[::1]:9"
