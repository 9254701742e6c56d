"""A session with a ZooKeeper that stops answering: reported in time, and closed without waiting for its answer."""

from __future__ import annotations

import contextlib
import itertools
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from kafkactl.change.clock import Deadline
from kafkactl.core.errors import InputError, KafkactlError, UnreachableError
from kafkactl.files.clock import SystemClock
from kafkactl.migration.io.zookeeper import read as zookeeper_read
from kafkactl.migration.io.zookeeper.client import open_zookeeper
from kafkactl.migration.io.zookeeper.multi import GET_DATA
from kafkactl.migration.io.zookeeper.settings import zookeeper_settings

_CLOSE = struct.pack(">i", -11)
_SESSION_MS = 18_000


class SilentServer:
    """Server that gives a session and answers one request, and no other, as a stopped process."""

    def __init__(self, third: bytes | None = None) -> None:
        """Take as `third` what the third request is answered with, the number of the request in the place of `#ID#`."""
        self._third = third
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream, contextlib.suppress(OSError):
            count = 0
            while len(head := stream.read(4)) == 4:
                body = stream.read(*struct.unpack(">i", head))
                if body[4:8] == _CLOSE:  # ZooKeeper hangs up, and a client that closes waits for that
                    return
                count += 1
                if count == 1:
                    answer = struct.pack(">iiqi16s?", 0, _SESSION_MS, 77, 16, bytes(16), False)
                elif count == 2:
                    answer = body[:4] + struct.pack(">qi", 5, 0) + bytes(68)  # a znode's stat
                elif self._third is not None:
                    answer = self._third.replace(b"#ID#", body[:4])
                else:
                    continue
                connection.sendall(struct.pack(">i", len(answer)) + answer)


@pytest.fixture
def server() -> Iterator[SilentServer]:
    made = SilentServer()
    yield made
    made.close()


@pytest.mark.parametrize(
    ("asks", "id"),
    [
        (lambda zookeeper, deadline: zookeeper.read("/controller", deadline=deadline), "zookeeper-timed-out"),
        (lambda zookeeper, deadline: zookeeper.delete("/controller", 3, deadline=deadline), "zookeeper-write-unknown"),
    ],
)
def test_server_that_falls_silent_is_left_at_once(asks, id: str, server: SilentServer) -> None:
    with pytest.raises(KafkactlError) as caught, open_zookeeper(server.address, timeout_ms=60_000) as zookeeper:
        began = time.monotonic()
        asks(zookeeper, Deadline.after(600, SystemClock()))
    assert caught.value.id == id and caught.value.advice
    assert time.monotonic() - began < _SESSION_MS / 1000


def test_server_that_enforces_sasl_is_a_typed_error_with_the_missing_line() -> None:
    # ZooKeeper 3.7 and newer answer with this number (SESSIONCLOSEDREQUIRESASLAUTH) and close the session.
    enforcing = SilentServer(b"#ID#" + struct.pack(">qi", 5, -124))
    try:
        with (
            pytest.raises(UnreachableError) as caught,
            open_zookeeper(enforcing.address, timeout_ms=60_000) as zookeeper,
        ):
            zookeeper.read_tree()
    finally:
        enforcing.close()
    assert caught.value.id == "zookeeper-requires-login"
    assert "java.security.auth.login.config" in caught.value.advice


def test_other_refusal_of_the_first_question_about_the_tree_is_typed() -> None:
    refusing = SilentServer(b"#ID#" + struct.pack(">qi", 5, -118))
    try:
        with (
            pytest.raises(UnreachableError) as caught,
            open_zookeeper(refusing.address, timeout_ms=60_000) as zookeeper,
        ):
            zookeeper.read_tree()
    finally:
        refusing.close()
    assert caught.value.id == "zookeeper-request-failed"


def test_session_of_a_silent_server_is_given_up_before_the_time_for_the_tree() -> None:
    # Connect as plaintext to a TLS port: `dryrun zk-migration` has an hour for a tree, and seconds for a session.
    from kafkactl.migration.io.zookeeper.client import SESSION_MS

    assert SESSION_MS <= 15_000
    began = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(UnreachableError) as caught:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        open_zookeeper(address, timeout_ms=3_600_000, session_ms=300)
    assert time.monotonic() - began < 60
    assert caught.value.id == "zookeeper-unreachable"
    assert "TLS or SASL" in str(caught.value.cause)


class LargeServer(SilentServer):
    """Announces answers of a size from the request `number` on, and then trickles."""

    def __init__(self, size: int, number: int) -> None:
        self._size, self._number, self.given = size, number, 0
        super().__init__()

    def _talk(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream, contextlib.suppress(OSError):
            for count in itertools.count(1):
                if len(head := stream.read(4)) < 4:  # the client hung up between two requests
                    return
                body = stream.read(*struct.unpack(">i", head))
                if count >= self._number:
                    connection.sendall(struct.pack(">i", self._size))
                    while True:
                        connection.sendall(bytes(1000))
                        self.given += 1000
                        time.sleep(0.001)
                session = struct.pack(">iiqi16s?", 0, _SESSION_MS, 77, 16, bytes(16), False)
                answer = session if count == 1 else body[:4] + struct.pack(">qi", 5, 0) + bytes(68)
                connection.sendall(struct.pack(">i", len(answer)) + answer)


@pytest.mark.parametrize(
    ("size", "number", "words"),
    [
        (2**31 - 1, 1, "at most 1048576 are taken before there is a session"),
        ((1 << 20) + 1, 2, "at most 1048576 are taken before there is a session"),
        ((32 << 20) + 1, 3, "at most 33554432 are taken"),
        (2**31 - 1, 3, "an answer of 2147483647 bytes; at most 33554432 are taken"),
    ],
)
def test_answer_that_is_announced_too_large_is_not_waited_for(size: int, number: int, words: str) -> None:
    server = LargeServer(size, number)
    try:
        with pytest.raises(UnreachableError, match=words) as caught, open_zookeeper(server.address) as zookeeper:
            zookeeper.read_tree()
    finally:
        server.close()
    assert (caught.value.id, bool(caught.value.advice)) == ("zookeeper-answer-too-large", True)
    assert server.given < 10_000_000


def test_tree_without_an_end_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    class Link:
        connect = "zk1:2181"

    monkeypatch.setattr(zookeeper_read, "MOST_ZNODES", 1000)
    reader = zookeeper_read.Reader(Link(), "/kafka", Deadline.after(1000, SystemClock()))  # type: ignore[arg-type]
    stat = (1, 1, 1, 1, 0, 0, 0, 0, 0, 9, 1)
    monkeypatch.setattr(
        reader, "_read",
        lambda operation, paths: iter([(b"", stat) if operation == GET_DATA else list("abcdefghi") for _ in paths]),
    )  # fmt: skip
    with pytest.raises(UnreachableError, match="more than 1000 znodes below /kafka") as caught:
        reader.walk(["/brokers"])
    assert caught.value.id == "zookeeper-tree-too-large"
    monkeypatch.setattr(zookeeper_read, "MOST_UNPACKED_BYTES", 100)
    monkeypatch.setattr(reader, "_read", lambda operation, paths: iter([(bytes(60), stat) for _ in paths]))
    with pytest.raises(UnreachableError, match="more than 100 bytes"):
        reader.walk(["/brokers", "/config"])


@pytest.mark.parametrize(
    "answer",
    [
        b"#ID#" + struct.pack(">qiii", 5, 0, 1, 3) + b"\xff\xfe\xfd" + bytes(68),  # a name that is not UTF-8
        struct.pack(">iqi", 4711, 5, 0) + bytes(68),  # the answer to another request
        b"#ID#" + struct.pack(">qii", 5, 0, 2**31 - 1),  # more names than there are bytes
        b"#ID#" + struct.pack(">qi", 5, 0),  # nothing
        b"",
    ],
)
def test_answer_that_cannot_be_read_is_a_typed_error_without_a_traceback(
    answer: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    server = SilentServer(answer)
    try:
        with pytest.raises(KafkactlError) as caught, open_zookeeper(server.address, timeout_ms=1_500) as zookeeper:
            zookeeper.read_tree()
    finally:
        server.close()
    expected_ids = ("answer-unreadable", "timed-out", "connection-lost", "unreachable")
    assert caught.value.id.removeprefix("zookeeper-") in expected_ids
    assert caught.value.advice
    captured = capfd.readouterr()
    assert "Traceback" not in captured.err + captured.out


@pytest.mark.parametrize("has_login", [True, False])
def test_only_a_login_needs_the_library_of_sasl(
    has_login: bool, server: SilentServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The installation without the extra, as kazoo without its own extra sees it.
    monkeypatch.setitem(sys.modules, "puresasl", None)
    monkeypatch.setitem(sys.modules, "puresasl.client", None)
    if not has_login:
        open_zookeeper(server.address, timeout_ms=60_000).close()
        return
    module = "org.apache.zookeeper.server.auth.DigestLoginModule"
    settings = zookeeper_settings(
        {"zookeeper.sasl.jaas.config": f'{module} required username="a" password="passw0rd-b";'}
    )
    with pytest.raises(InputError) as caught:
        open_zookeeper(server.address, settings=settings, timeout_ms=60_000)
    assert caught.value.id == "zookeeper-sasl-needs-extra"
    assert caught.value.advice and "-py3-none-any.whl[zookeeper-sasl]'" in caught.value.advice
