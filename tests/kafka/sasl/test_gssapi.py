"""GSSAPI: the login line, and the exchange with a scripted context; tests/lab/client/test_kerberos.py has a realm."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafkactl.change.clock import Deadline
from kafkactl.core.errors import InputError, KafkactlError, UnreachableError
from kafkactl.files.clock import SystemClock
from kafkactl.kafka.client_config import read_client_config
from kafkactl.kafka.connection import connect
from kafkactl.kafka.sasl.authenticator import Sasl
from kafkactl.kafka.sasl.gssapi import Gssapi, Login, read_login, within
from kafkactl.protocol.text.client_properties import read_client_properties
from kafkactl.protocol.text.jaas import parse_jaas
from tests.kafka.sasl.test_sasl import Server, deadline

MODULE = "com.sun.security.auth.module.Krb5LoginModule required"


class TicketError(Exception):
    """Exception that the scripted context raises."""

    min_code = 7

    def get_all_statuses(self, code: int, is_major: bool) -> list[str]:
        return [f"status {code}", "of Kerberos"]


class Context:
    """A security context that seals by a prefix and is complete when the server has sent its token."""

    def __init__(self, fails: bool = False, one_turn: bool = False) -> None:
        self.complete = False
        self.fails = fails
        self.one_turn = one_turn

    def step(self, token: bytes | None) -> bytes | None:
        if self.fails:
            raise TicketError
        if token is None:
            self.complete = self.one_turn
            return b"ticket"
        assert token == b"proof"
        self.complete = True
        return None

    def unwrap(self, data: bytes) -> Any:
        if not data.startswith(b"sealed:"):
            raise TicketError
        return SimpleNamespace(message=data.removeprefix(b"sealed:"))

    def wrap(self, data: bytes, encrypt: bool) -> Any:
        assert not encrypt
        return SimpleNamespace(message=b"sealed:" + data)


def exchange(server: Server, context: Context) -> None:
    def make(_address: object, until: Deadline) -> Gssapi:
        return Gssapi(context, TicketError, "kafka/host", until)

    access = SimpleNamespace(client_id="x", setup_timeout_ms=5000.0, wrapper=None, authenticator=Sasl("GSSAPI", make))
    with server:
        connect(server.address, access, deadline()).close()  # type: ignore[arg-type]


def failed(act: Callable[[], object]) -> KafkactlError:
    with pytest.raises(KafkactlError) as caught:
        act()
    return caught.value


class TestExchange:
    def test_no_layer_is_taken_and_no_other_identity(self) -> None:
        server = Server(b"proof", b"sealed:\x07\x00\xff\xff", b"")
        exchange(server, Context())
        assert server.messages == [b"ticket", b"", b"sealed:\x01\x00\x00\x00"]

    def test_offer_of_layers_at_once_is_answered(self) -> None:
        server = Server(b"sealed:\x01\x00\x00\x00", b"")
        exchange(server, Context(one_turn=True))
        assert server.messages == [b"ticket", b"sealed:\x01\x00\x00\x00"]

    @pytest.mark.parametrize(
        "offer", [b"sealed:\x06\x00\xff\xff", b"sealed:", b"sealed:\x01", b"sealed:\x01\x00\x00\x00\x00", b"open"]
    )
    def test_unusable_offer_is_refused(self, offer: bytes) -> None:
        server = Server(b"proof", offer, b"")
        assert failed(lambda: exchange(server, Context())).id == "sasl-exchange-broken"
        assert len(server.messages) == 2

    def test_endless_exchange_is_refused(self) -> None:
        server = Server(b"proof", b"sealed:\x01\x00\x00\x00", b"more")
        assert failed(lambda: exchange(server, Context())).id == "sasl-exchange-broken"

    def test_missing_ticket_for_the_service_is_reported(self) -> None:
        error = failed(lambda: exchange(Server(), Context(fails=True)))
        assert (error.id, error.cause, error.exit_code) == ("kerberos-service-failed", "status 7; of Kerberos", 4)

    def test_refused_ticket_is_reported(self) -> None:
        assert failed(lambda: exchange(Server(58), Context())).id == "authentication-failed"


class TestLogin:
    @staticmethod
    def read(options: str, service: str = "kafka", module: str = MODULE) -> Login:
        properties = read_client_properties(
            {"sasl.kerberos.service.name": service} if service else {}, file="client.properties"
        )
        return read_login(parse_jaas(f"{module} {options};"), properties)

    def test_login_line_is_read(self, tmp_path: Path) -> None:
        keytab = tmp_path / "k"
        keytab.touch()
        assert self.read(f'useKeyTab=true storeKey=true keyTab="{keytab}" principal="a@R" debug=true') == Login(
            service="kafka", principal="a@R", uses_keytab=True, keytab=str(keytab)
        )
        assert self.read("useTicketCache=TRUE", service="kafka") == Login(service="kafka", uses_ticket_cache=True)
        assert self.read('useTicketCache=true serviceName="other"', service="").service == "other"

    @pytest.mark.parametrize(
        ("options", "service", "id"),
        [
            ("", "kafka", "invalid-kerberos-login"),
            ("useKeyTab=false useTicketCache=false", "kafka", "invalid-kerberos-login"),
            ("useKeyTab=true", "kafka", "invalid-kerberos-login"),
            ('useKeyTab=true principal="a" keyTab="/none/keytab"', "kafka", "invalid-kerberos-login"),
            ('useTicketCache=true serviceName="other"', "kafka", "invalid-kerberos-login"),
            ("useTicketCache=true", "", "kerberos-service-not-named"),
        ],
    )
    def test_line_without_a_ticket_is_refused(self, options: str, service: str, id: str) -> None:
        error = failed(lambda: self.read(options, service))
        assert (error.id, type(error)) == (id, InputError)

    def test_another_login_module_is_refused(self) -> None:
        module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
        assert failed(lambda: self.read('username="u"', module=module)).id == "invalid-kerberos-login"

    def test_login_without_the_extra_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "gssapi", None)
        lines = ["security.protocol=SASL_PLAINTEXT", "sasl.mechanism=GSSAPI", "sasl.kerberos.service.name=kafka"]
        lines += [f"sasl.jaas.config={MODULE} useTicketCache=true;"]
        config = read_client_config("\n".join(lines).encode(), file="c")
        assert config.findings == ()
        error = failed(config.access)
        assert (error.id, error.exit_code) == ("gssapi-needs-extra", 2)
        assert ".whl[gssapi]" in (error.next_step or "")


class TestWithin:
    def test_results_and_errors_are_returned_within_a_deadline(self) -> None:
        assert within(lambda: 3, deadline()) == 3
        with pytest.raises(ZeroDivisionError):
            within(lambda: 1 // 0, deadline())

    def test_endless_call_is_ended_by_the_deadline(self) -> None:
        released = threading.Event()
        with pytest.raises(UnreachableError) as caught:
            within(lambda: released.wait(30), Deadline.after(50, SystemClock()))
        released.set()
        assert caught.value.id == "kerberos-timed-out"
