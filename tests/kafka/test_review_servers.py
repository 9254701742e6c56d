"""Hostile servers of a security review (docs/proof/security.md) without another test: refused, or bounded by time."""

from __future__ import annotations

import base64
import contextlib
import socket
import ssl
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkactl.change.clock import Deadline
from kafkactl.commands.demo.broker import FakeBroker
from kafkactl.core.errors import KafkactlError
from kafkactl.files.clock import SystemClock
from kafkactl.kafka.client_config import read_client_config
from kafkactl.kafka.connection import connect
from kafkactl.kafka.sasl.token import token_source
from kafkactl.migration.io.zookeeper.client import open_zookeeper
from kafkactl.migration.io.zookeeper.multi import GET_CHILDREN, GET_DATA, MultiRead
from kafkactl.migration.io.zookeeper.settings import zookeeper_settings
from kafkactl.net.transport import Address
from kafkactl.protocol.text.client_properties import read_client_properties
from kafkactl.protocol.text.jaas import parse_jaas
from tests.fakes.talkers import HttpTalker, Talker, ZooKeeperTalker
from tests.kafka.sasl.test_sasl import SECRET, Server, connected
from tests.net.certificates import Authority
from tests.net.test_tls import server

DIGEST = "org.apache.zookeeper.server.auth.DigestLoginModule required"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"

_SYNC, _CHILDREN, _ACL = 9, 12, 6
_STAT = struct.pack(">qqqqiiiqiiq", 0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0)  # of a znode with a child
_DATA = struct.pack(">i", 2) + b"{}" + _STAT


def deadline(duration_ms: float = 60_000) -> Deadline:
    return Deadline.after(duration_ms, SystemClock())


@pytest.mark.parametrize("lifetime_ms", [(1 << 63) - 1, -5, -(1 << 63)])
def test_life_of_a_session_may_be_any_number(lifetime_ms: int) -> None:
    broker = Server(b"", lifetime_ms=lifetime_ms)
    with broker, connected(broker, "PLAIN", f'username="u" password="{SECRET}"') as connection:
        now_ms = SystemClock().now_ms()
        assert not connection.is_stale(now_ms + 3_600_000)


@pytest.mark.parametrize(
    "first",
    ["r={nonce}x,s=c2FsdA==,i=1", "r={nonce}x,s=c2FsdA==,i=9999999999", "r={nonce}x,s=c2FsdA==,i=-5",
     "m=x,r={nonce}x,s=c2FsdA==,i=4096", "r=other,s=c2FsdA==,i=4096", "r={nonce},s=c2FsdA==,i=4096",
     "r={nonce}x,s=@@@@,i=4096"],
)  # fmt: skip
def test_invalid_first_messages_of_scram_are_refused(first: str) -> None:
    class Echo(Server):
        """Server that puts the client's nonce into its message."""

        def __init__(self) -> None:
            super().__init__(b"", b"")
            self.messages = _Answered(self)

    class _Answered(list):  # type: ignore[type-arg]
        def __init__(self, server: Server) -> None:
            super().__init__()
            self.server = server

        def append(self, message: bytes) -> None:
            nonce = message.decode().partition(",r=")[2]
            self.server.steps[0] = first.replace("{nonce}", nonce).encode()
            super().append(message)

    with Echo() as broker, pytest.raises(KafkactlError) as caught:
        connected(broker, "SCRAM-SHA-256", f'username="u" password="{SECRET}"')
    assert caught.value.id == "sasl-exchange-broken"
    assert len(broker.messages) == 1, "no proof is sent"
    assert SECRET not in str(caught.value.to_dict())


@pytest.mark.parametrize("says", [b"", b"v=", b"v=" + base64.b64encode(bytes(32)), b"\xff" * 1_000_000])
def test_server_without_the_password_is_not_believed(says: bytes) -> None:
    with Server(says, says) as broker, pytest.raises(KafkactlError) as caught:
        connected(broker, "SCRAM-SHA-512", f'username="u" password="{SECRET}"')
    assert caught.value.id == "sasl-exchange-broken"


class TestTls:
    def asked(self, broker: FakeBroker, folder: Path, authority: Authority) -> KafkactlError:
        (folder / "ca.pem").write_text(authority.pem)
        text = f"security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location={folder}/ca.pem\n"
        with pytest.raises(KafkactlError) as caught:
            connect(broker.address, read_client_config(text.encode(), file="f").access(), deadline())
        return caught.value

    def test_alert_before_the_handshake_is_reported(self, tmp_path: Path) -> None:
        class Alert(Talker):
            def serve(self, connection: socket.socket) -> None:
                connection.recv(10)
                connection.sendall(b"\x15\x03\x03\x00\x02\x02\x28")

        with Alert() as talker:
            host, _, port = talker.address.partition(":")
            text = b"security.protocol=SSL\n"
            with pytest.raises(KafkactlError) as caught:
                connect(Address(host, int(port)), read_client_config(text, file="f").access(), deadline())
        assert caught.value.id in ("tls-handshake-failed", "tls-not-spoken")

    def test_certificate_that_has_its_name_in_the_subject_alone(self, tmp_path: Path) -> None:
        # As Java does: a common name counts if there is no other name, and only for the host that it is.
        authority = Authority("ca")
        with FakeBroker(tls=server(tmp_path, authority.identity("localhost", hosts=()))) as broker:
            assert self.asked(broker, tmp_path, authority).id == "certificate-host-mismatch"
            text = f"security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location={tmp_path}/ca.pem\n"
            access = read_client_config(text.encode(), file="f").access()
            connect(Address("localhost", broker.address.port), access, deadline()).close()

    def test_old_version_of_tls_is_refused(self, tmp_path: Path) -> None:
        authority = Authority("ca")
        context = server(tmp_path, authority.identity("n"))
        with contextlib.suppress(ValueError), pytest.warns(DeprecationWarning):
            context.minimum_version = ssl.TLSVersion.TLSv1
            context.maximum_version = ssl.TLSVersion.TLSv1_1
        context.set_ciphers("ALL:@SECLEVEL=0")
        with FakeBroker(tls=context) as broker:
            assert self.asked(broker, tmp_path, authority).id == "tls-handshake-failed"
            assert broker.asked == []


@pytest.mark.parametrize("status", ["302 Found", "307 Temporary Redirect", "308 Permanent Redirect"])
def test_secret_follows_no_redirect(status: str) -> None:
    met: list[bytes] = []

    class Elsewhere(HttpTalker):
        def serve(self, connection: socket.socket) -> None:
            met.append(connection.recv(65_536))

    with Elsewhere() as elsewhere, HttpTalker() as talker:
        for place in (f"http://{elsewhere.address}/", "file:///etc/passwd", "ftp://127.0.0.1/"):
            talker.answer = f"HTTP/1.1 {status}\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n".encode()
            assert _token_error(f"http://{talker.address}/t").id == "token-not-available"
    assert not met


@pytest.mark.parametrize(
    "answer",
    [
        b'HTTP/1.1 200 OK\r\n\r\n{"access_token": "a\\u0001auth=x"}',
        b'HTTP/1.1 200 OK\r\n\r\n{"access_token": ["a", "b"]}',
        b'HTTP/1.1 200 OK\r\n\r\n{"access_token": {"a": 1}}',
        f"HTTP/1.1 401 No\r\n\r\n<html>{SECRET}</html>".encode(),
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000,
    ],
)
def test_answers_that_are_not_a_token(answer: bytes) -> None:
    with HttpTalker() as talker:
        talker.answer = answer
        error = _token_error(f"http://user:{SECRET}@{talker.address}/t")
    assert error.id == "token-not-available"


def _token_error(url: str) -> KafkactlError:
    entry = parse_jaas(f'{OAUTH} clientId="a" clientSecret="{SECRET}";')
    properties = read_client_properties({"sasl.oauthbearer.token.endpoint.url": url}, file="f")
    with pytest.raises(KafkactlError) as caught:
        token_source(entry, properties).token(deadline())
    assert SECRET not in str(caught.value.to_dict())
    return caught.value


def read(
    talker: ZooKeeperTalker, capfd: pytest.CaptureFixture[str], *, with_login: bool = False, session_ms: float = 600
) -> KafkactlError:
    """Return what stops the reading of a tree, within 600 ms, without a traceback of any thread."""
    login = zookeeper_settings({"zookeeper.sasl.jaas.config": f'{DIGEST} username="a" password="{SECRET}";'})
    began = time.monotonic()
    with (
        pytest.raises(KafkactlError) as caught,
        open_zookeeper(talker.address, settings=login if with_login else None, timeout_ms=session_ms) as zookeeper,
    ):
        zookeeper.read_tree(deadline=Deadline.after(600, SystemClock()))
    assert time.monotonic() - began < 120
    captured = capfd.readouterr()
    assert "Traceback" not in captured.err + captured.out
    assert SECRET not in str(caught.value.to_dict())
    return caught.value


class EndlessTree(ZooKeeperTalker):
    """A server that answers every read: each znode has the same children again."""

    children: tuple[str, ...] = ()

    def serve(self, connection: socket.socket) -> None:
        with connection.makefile("rb") as stream:
            is_first = True
            while len(head := stream.read(4)) == 4:
                body = stream.read(*struct.unpack(">i", head))
                answer = struct.pack(">iiqi16s?", 0, 18_000, 77, 16, bytes(16), False) if is_first else self.said(body)
                is_first = False
                connection.sendall(struct.pack(">i", len(answer)) + answer)

    def said(self, body: bytes) -> bytes:
        (kind,) = struct.unpack_from(">i", body, 4)
        head = body[:4] + struct.pack(">qi", 5, 0)
        if kind == MultiRead.type:
            return head + b"".join(self._answered(body)) + struct.pack(">iBi", -1, 1, -1)
        answers = {
            _SYNC: body[8:],
            _CHILDREN: self._list() + _STAT,
            GET_CHILDREN: self._list(),
            GET_DATA: _DATA,
            _ACL: bytes(4) + _STAT,
        }
        return head + answers.get(kind, _STAT)

    def _answered(self, body: bytes) -> Iterator[bytes]:
        at = 8
        while True:
            operation, is_done, _ = struct.unpack_from(">iBi", body, at)
            if is_done:
                return
            (length,) = struct.unpack_from(">i", body, at + 9)
            at += 9 + 4 + length + 1
            yield struct.pack(">iBi", operation, 0, 0) + (self._list() if operation == GET_CHILDREN else _DATA)

    def _list(self) -> bytes:
        texts = b"".join(struct.pack(">i", len(child.encode())) + child.encode() for child in self.children)
        return struct.pack(">i", len(self.children)) + texts


@pytest.mark.slow
@pytest.mark.parametrize("found", [("a",), ("a", "b", "c"), ("../../etc",), ("a/b",), ("",), ("x\x1b[2J\n",)])
def test_tree_without_end_is_ended_by_time(found: tuple[str, ...], capfd: pytest.CaptureFixture[str]) -> None:
    with EndlessTree() as talker:
        talker.children = found
        error = read(talker, capfd, session_ms=60_000)
    assert error.id in ("zookeeper-timed-out", "zookeeper-tree-too-large", "zookeeper-answer-unreadable"), error.id
    assert error.id != "zookeeper-answer-unreadable" or "" in found or "/" in "".join(found)


@pytest.mark.parametrize("count", [-5, (1 << 31) - 1])
def test_counts_of_children_that_cannot_be(count: int, capfd: pytest.CaptureFixture[str]) -> None:
    with ZooKeeperTalker() as talker:
        talker.answer = b"#ID#" + struct.pack(">qii", 5, 0, count) + bytes(68)
        assert read(talker, capfd).id.startswith("zookeeper-")


@pytest.mark.parametrize("length", [-1, -(1 << 31)])
def test_negative_length_is_a_typed_error(length: int, capfd: pytest.CaptureFixture[str]) -> None:
    with ZooKeeperTalker() as talker:
        talker.answer, talker.is_framed, talker.from_request = struct.pack(">i", length) * 100, False, 2
        assert read(talker, capfd).id.startswith("zookeeper-")


@pytest.mark.parametrize(
    "challenge",
    [
        b"", b"garbage", b'realm="x"', b"rspauth=00000000000000000000000000000000", b"\xff\xfe",
        b'realm="r",nonce="n",qop="auth-conf",charset=utf-8,algorithm=md5-sess',
        b'realm="r",nonce="n",qop="auth",charset=utf-8,algorithm=md5-sess',
    ],
    ids=["empty", "garbage", "no nonce", "no challenge", "no text", "auth-conf", "the same again and again"],
)  # fmt: skip
def test_login_at_an_unproven_server_is_refused(challenge: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    # Nor does the password go to it: what is sent is looked through.
    sent: list[bytes] = []

    class Listening(ZooKeeperTalker):
        def serve(self, connection: socket.socket) -> None:
            with connection.makefile("rb") as stream:
                while len(head := stream.read(4)) == 4:
                    body = stream.read(*struct.unpack(">i", head))
                    sent.append(body)
                    answer = struct.pack(">iiqi16s?", 0, 18_000, 77, 16, bytes(16), False)
                    if len(sent) > 1:
                        answer = body[:4] + struct.pack(">qii", 5, 0, len(challenge)) + challenge
                    connection.sendall(struct.pack(">i", len(answer)) + answer)

    with Listening() as talker:
        assert read(talker, capfd, with_login=True).id in ("zookeeper-login-refused", "zookeeper-timed-out")
    assert SECRET.encode() not in b"".join(sent)
