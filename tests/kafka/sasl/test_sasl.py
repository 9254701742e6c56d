"""SASL: the messages by the RFCs' own examples, whole exchanges against a scripted broker, and no secret anywhere."""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from kafkactl.change.clock import Deadline
from kafkactl.commands.demo.broker import Action, Asked, FakeBroker, Reply
from kafkactl.core.errors import InputError, KafkactlError, UnreachableError
from kafkactl.files.clock import SystemClock
from kafkactl.kafka.client_config import read_client_config
from kafkactl.kafka.connection import Connection, connect
from kafkactl.kafka.sasl.token import TokenSource
from kafkactl.protocol.sasl.scram import Scram

SECRET = "hunter2"
MODULES = {"PLAIN": "plain.PlainLoginModule", "OAUTHBEARER": "oauthbearer.OAuthBearerLoginModule"}


def deadline(duration_ms: float = 60_000) -> Deadline:
    return Deadline.after(duration_ms, SystemClock())


def connected(broker: FakeBroker, mechanism: str, options: str, **more: str) -> Connection:
    module = "org.apache.kafka.common.security." + MODULES.get(mechanism, "scram.ScramLoginModule")
    lines = ["security.protocol=SASL_PLAINTEXT", f"sasl.mechanism={mechanism}"]
    lines += [f"sasl.jaas.config={module} required {options};"]
    lines += [f"{key.replace('_', '.')}={value}" for key, value in more.items()]
    config = read_client_config("\n".join(lines).encode(), file="c")
    return connect(broker.address, config.access(), deadline())


def refused(act: Callable[[], object]) -> KafkactlError:
    with pytest.raises(UnreachableError) as caught:
        act()
    assert caught.value.exit_code == 4
    assert SECRET not in str(caught.value.to_dict())
    return caught.value


class Server(FakeBroker):
    """Server side of an exchange: one message after the other; the last may be an error code."""

    def __init__(self, *steps: bytes | int, mechanisms: list[str] | None = None, lifetime_ms: int = 0) -> None:
        self.steps = list(steps)
        self.messages: list[bytes] = []

        def script(asked: Asked) -> Action | None:
            if asked.name == "SaslHandshake":
                offered = mechanisms if mechanisms is not None else [asked.body["Mechanism"]]
                code = 0 if asked.body["Mechanism"] in offered else 33
                return Reply(body={"ErrorCode": code, "Mechanisms": offered})
            if asked.name != "SaslAuthenticate":
                return None
            self.messages.append(asked.body["AuthBytes"])
            step = self.steps[len(self.messages) - 1] if len(self.messages) <= len(self.steps) else 58
            if isinstance(step, int):
                return Reply(body={"ErrorCode": step, "ErrorMessage": "no", "AuthBytes": b""})
            return Reply(body={"AuthBytes": step, "SessionLifetimeMs": lifetime_ms})

        super().__init__(script)


class TestPlain:
    def test_user_and_password_are_accepted(self) -> None:
        login = f'username="\\u00e4lice" password="{SECRET}"'
        with Server(b"") as broker, connected(broker, "PLAIN", login) as connection:
            assert broker.messages == ["\0älice\0hunter2".encode()]
            assert broker.names() == ["SaslHandshake", "SaslAuthenticate"]
            connection.ask("DescribeCluster", {}, deadline=deadline())

    def test_wrong_password_is_refused(self) -> None:
        with Server(58) as broker:
            error = refused(lambda: connected(broker, "PLAIN", f'username="u" password="{SECRET}"'))
            assert (error.id, error.cause) == ("authentication-failed", "no")

    def test_mechanism_without_an_offer_is_refused(self) -> None:
        with Server(mechanisms=["SCRAM-SHA-512", "GSSAPI"]) as broker:
            error = refused(lambda: connected(broker, "PLAIN", f'username="u" password="{SECRET}"'))
            assert error.id == "sasl-mechanism-not-offered"
            assert "GSSAPI, SCRAM-SHA-512" in error.message
            assert broker.messages == [], "no password goes to a server that did not ask for it"

    def test_listener_without_sasl_is_reported(self) -> None:
        script = lambda asked: Reply(body={"ErrorCode": 34}) if asked.name == "SaslHandshake" else None  # noqa: E731
        with FakeBroker(script) as broker:
            error = refused(lambda: connected(broker, "PLAIN", f'username="u" password="{SECRET}"'))
            assert error.id == "sasl-not-spoken"

    def test_session_that_ends_is_renewed_before(self) -> None:
        broker = Server(b"", lifetime_ms=10_000)
        with broker, connected(broker, "PLAIN", 'username="u" password="hunter2"') as connection:
            now_ms = SystemClock().now_ms()
            assert [connection.is_stale(now_ms + later) for later in (0, 8000, 8600)] == [False, False, True]


class TestScram:
    # The example of RFC 7677, section 3.
    NONCE = "rOprNGfwEbeRWgbNEkqO"
    SERVER_NONCE = NONCE + "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    SERVER_FIRST = f"r={SERVER_NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode()
    FINAL = f"c=biws,r={SERVER_NONCE},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=".encode()
    SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="

    def scram(self, name: str = "SCRAM-SHA-256", user: str = "user", **more: Any) -> Scram:
        return Scram(name, user, "pencil", nonce=base64.b64decode(self.NONCE), **more)

    def test_exchange_equals_the_example_of_the_rfc(self) -> None:
        scram = self.scram()
        assert scram.first() == b"n,,n=user,r=" + self.NONCE.encode()
        assert scram.answer(self.SERVER_FIRST) == self.FINAL
        assert scram.answer(self.SERVER_FINAL) is None

    def test_names_are_escaped_and_tokens_announced(self) -> None:
        assert self.scram(user="a=b,c").first().startswith(b"n,,n=a=3Db=2Cc,r=")
        assert self.scram(by_token=True).first().endswith(b",tokenauth=true")

    @pytest.mark.parametrize(
        "server_first",
        [
            b"",
            b"r=other,s=QUJD,i=4096",
            b"r=rOprNGfwEbeRWgbNEkqO,s=QUJD,i=4096",
            b"r=rOprNGfwEbeRWgbNEkqOx,s=QUJD,i=4095",
            b"r=rOprNGfwEbeRWgbNEkqOx,s=QUJD,i=2147483647",
            b"r=rOprNGfwEbeRWgbNEkqOx,s=QUJ,i=4096",
            b"r=rOprNGfwEbeRWgbNEkqOx,i=4096,s=QUJD",
            b"e=unknown-user",
            b"\xff\xfe",
        ],
    )
    def test_first_message_that_is_not_in_order(self, server_first: bytes) -> None:
        assert refused(lambda: self.scram().answer(server_first)).id == "sasl-exchange-broken"

    @pytest.mark.parametrize("last", [b"", b"v=", b"v=AAAA", b"e=other-error", b"v=!", FINAL])
    def test_server_without_the_password_is_refused(self, last: bytes) -> None:
        scram = self.scram()
        scram.answer(self.SERVER_FIRST)
        assert refused(lambda: scram.answer(last)).id == "sasl-exchange-broken"

    def test_broker_that_accepts_without_proof_is_not_believed(self) -> None:
        with Server(b"") as broker:
            login = f'username="u" password="{SECRET}"'
            assert refused(lambda: connected(broker, "SCRAM-SHA-512", login)).id == "sasl-exchange-broken"


class TestOAuthBearer:
    def test_token_is_read_from_a_file(self, tmp_path: Path) -> None:
        file = tmp_path / "token"
        file.write_text(f"{SECRET}.abc\n")
        url = {"sasl_oauthbearer_token_endpoint_url": f"file://{file}"}
        with Server(b"", b"") as broker:
            connected(broker, "OAUTHBEARER", 'extension_logicalCluster="lkc"', **url).close()
            file.write_text("second")
            connected(broker, "OAUTHBEARER", "", **url).close()
        assert broker.messages == [
            f"n,,\x01auth=Bearer {SECRET}.abc\x01logicalCluster=lkc\x01\x01".encode(),
            b"n,,\x01auth=Bearer second\x01\x01",
        ]

    @pytest.mark.parametrize("content", ["", "two words", "a\x01b", None])
    def test_file_without_a_token_is_refused(self, tmp_path: Path, content: str | None) -> None:
        file = tmp_path / "token"
        if content is not None:
            file.write_text(content)
        with Server(b"") as broker:
            url = {"sasl_oauthbearer_token_endpoint_url": f"file://{file}"}
            assert refused(lambda: connected(broker, "OAUTHBEARER", "", **url)).id == "token-not-available"

    def test_unsigned_token_is_sent(self) -> None:
        with Server(b"") as broker:
            options = 'unsecuredLoginStringClaim_sub="alice" unsecuredLoginListClaim_scope="|a|b"'
            connected(broker, "OAUTHBEARER", options).close()
        header, claims, seal = broker.messages[0].split(b"Bearer ")[1].strip(b"\x01").split(b".")
        assert json.loads(base64.urlsafe_b64decode(header + b"==")) == {"alg": "none"}
        found = json.loads(base64.urlsafe_b64decode(claims + b"=="))
        assert (found["sub"], found["scope"], found["exp"] - found["iat"], seal) == ("alice", ["a", "b"], 3600, b"")

    def test_refused_token_is_reported(self) -> None:
        with Server(b'{"status":"invalid_token"}') as broker:
            error = refused(lambda: connected(broker, "OAUTHBEARER", 'unsecuredLoginStringClaim_sub="a"'))
            assert (error.id, "invalid_token" in error.message) == ("authentication-failed", True)

    def test_client_credentials_are_sent(self) -> None:
        with endpoint(200, {"access_token": "abc.def", "expires_in": 60}) as (url, seen), Server(b"") as broker:
            options = f'clientId="me" clientSecret="{SECRET}" scope="a b"'
            connected(broker, "OAUTHBEARER", options, sasl_oauthbearer_token_endpoint_url=url).close()
        assert broker.messages == [b"n,,\x01auth=Bearer abc.def\x01\x01"]
        ((authorization, body),) = seen
        assert base64.b64decode(authorization.removeprefix("Basic ")) == b"me:hunter2"
        assert body == b"grant_type=client_credentials&scope=a%20b"

    @pytest.mark.parametrize(
        ("status", "answer"),
        [(401, {}), (500, {}), (302, {}), (200, {}), (200, {"access_token": "a b"}), (200, []), (200, None)],
    )
    def test_endpoint_without_a_token_is_reported(self, status: int, answer: Any) -> None:
        with endpoint(status, answer) as (url, seen), Server(b"") as broker:
            options = f'clientId="me" clientSecret="{SECRET}"'
            error = refused(
                lambda: connected(
                    broker, "OAUTHBEARER", options, sasl_oauthbearer_token_endpoint_url=url + "?k=" + SECRET
                )
            )
            assert (error.id, len(seen)) == ("token-not-available", 1)

    @pytest.mark.parametrize(
        ("answer", "expected"),
        [
            ({"error": "invalid_client", "error_description": SECRET}, "HTTP status 401, invalid_client"),
            ({"error": "invalid_client " + SECRET}, "HTTP status 401"),
            ({"error": {}}, "HTTP status 401"),
            ([SECRET], "HTTP status 401"),
            (None, "HTTP status 401"),
        ],
    )
    def test_reason_of_a_refusing_endpoint_is_reported(self, answer: Any, expected: str) -> None:
        # By one of RFC 6749's words, and by which server; nothing else that it says is repeated.
        with endpoint(401, answer) as (url, _), Server(b"") as broker:
            options = f'clientId="me" clientSecret="{SECRET}"'
            error = refused(lambda: connected(broker, "OAUTHBEARER", options, sasl_oauthbearer_token_endpoint_url=url))
        assert error.message == f"{url} gives no token: {expected}"

    def test_endpoint_at_an_invalid_port_is_refused(self) -> None:
        options, url = f'clientId="me" clientSecret="{SECRET}"', "https://h:99999/token"
        with Server(b"") as broker, pytest.raises(InputError) as caught:
            connected(broker, "OAUTHBEARER", options, sasl_oauthbearer_token_endpoint_url=url)
        assert caught.value.id == "invalid-token-source"

    @pytest.mark.parametrize(
        "answer",
        [
            b"",
            b"\xff\x00 not http at all\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{}",
            b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
            b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * 100_000,
            b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
        ],
    )
    def test_hostile_endpoint_is_refused(self, answer: bytes) -> None:
        with hostile(answer) as url, Server(b"") as broker:
            options = f'clientId="me" clientSecret="{SECRET}"'
            error = refused(lambda: connected(broker, "OAUTHBEARER", options, sasl_oauthbearer_token_endpoint_url=url))
        assert error.id == "token-not-available"

    def test_hostile_reason_is_reported(self) -> None:
        with Server(b"[" * 100_000) as broker:
            error = refused(lambda: connected(broker, "OAUTHBEARER", 'unsecuredLoginStringClaim_sub="a"'))
        assert error.id == "authentication-failed"

    def test_token_is_kept_until_shortly_before_its_end(self) -> None:
        class Watch:
            at = 0.0

            def now_ms(self) -> float:
                return self.at

            def sleep_ms(self, duration_ms: float) -> None:
                self.at += duration_ms

        clock, made = Watch(), iter("abc")
        source = TokenSource(lambda _: (next(made), 10.0))
        found = []
        for at in (0, 7999, 8000):
            clock.at = at
            found.append(source.token(Deadline.after(1, clock)))
        assert found == ["a", "a", "b"]


@contextmanager
def hostile(answer: bytes) -> Iterator[str]:
    """Yield a server that reads a request and answers with these bytes, whatever they are."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):  # a client may leave before it has all of a long answer
                while (part := connection.recv(65536)) and b"grant_type" not in part:
                    pass
                connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/token"
        thread.join(5)


@contextmanager
def endpoint(status: int, answer: Any) -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """Yield an authorization server that gives every request the same answer."""
    seen: list[tuple[str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = int(self.headers["Content-Length"])
            seen.append((self.headers["Authorization"], self.rfile.read(size)))
            self.send_response(status)
            if status == 302:
                self.send_header("Location", "/elsewhere")
            self.end_headers()
            self.wfile.write(b"no json" if answer is None else json.dumps(answer).encode())

        do_GET = do_POST

        def log_message(self, *_: object) -> None:
            return

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/token", seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
