"""SASL GSSAPI with Kerberos (RFC 4752, KIP-12): tickets of the operating system's own Kerberos, by the extra `gssapi`.

The login line is that of Java's `Krb5LoginModule`: `useKeyTab`, `keyTab`, `principal`, `useTicketCache` and
`ticketCache` mean what they mean there (a ticket that is there goes before a keytab). `storeKey`, `refreshKrb5Config`,
`debug` and their kin concern a JVM and change nothing. A password is never asked for, as Kafka's clients do not.
Of the layers that RFC 4752 offers for what follows, none is taken: Kafka knows none.

What talks to the key distribution center is a library in C that knows no deadline of ours, so it works in a thread of
its own, and who waits for it does so no longer than he may.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeVar

from kafkactl.change.clock import Deadline
from kafkactl.core.errors import InputError, UnreachableError
from kafkactl.core.extras import install_advice
from kafkactl.core.frozen import frozen
from kafkactl.kafka.sasl.maker import MakeMechanism
from kafkactl.net.transport import Address
from kafkactl.protocol.sasl.mechanism import Mechanism, exchange_broken
from kafkactl.protocol.text.client_properties import ClientProperties
from kafkactl.protocol.text.jaas import JaasEntry

_KERBEROS = "1.2.840.113554.1.2.2"
_NO_LAYER = 1  # RFC 4752 3.1: the first octet is a set of layers, then three of the largest message
_LAYERS_LENGTH = 4
_COMPLETE, _OFFERED, _ANSWERED = range(3)
T = TypeVar("T")


@frozen
class Login:
    """Content of a login line of `Krb5LoginModule`. At least one of the uses is true."""

    service: str
    principal: str | None = None
    uses_keytab: bool = False
    keytab: str | None = None
    uses_ticket_cache: bool = False
    ticket_cache: str | None = None


def read_login(entry: JaasEntry, properties: ClientProperties) -> Login:
    """Parse a login line. Raises InputError `invalid-kerberos-login`, `kerberos-service-not-named`."""
    if entry.short_name != "Krb5LoginModule":
        raise _invalid(
            f"sasl.mechanism is GSSAPI (or not set, which is the same), so a Krb5LoginModule is needed, and "
            f"sasl.jaas.config names {entry.shown_module}"
        )
    options = entry.options
    login = Login(
        service=_service(options, properties),
        principal=options.get("principal"),
        uses_keytab=_is_true(options, "useKeyTab"),
        keytab=options.get("keyTab"),
        uses_ticket_cache=_is_true(options, "useTicketCache"),
        ticket_cache=options.get("ticketCache"),
    )
    if not (login.uses_keytab or login.uses_ticket_cache):
        raise _invalid("the login line has neither useKeyTab=true nor useTicketCache=true, so there is no ticket")
    if login.uses_keytab and login.principal is None:
        raise _invalid("with useKeyTab=true the login line needs a principal")
    if login.uses_keytab and login.keytab is not None and not _is_readable(login.keytab):
        raise _invalid(f"the keytab {login.keytab} cannot be read")
    return login


def _is_readable(path: str) -> bool:
    return "\0" not in path and os.access(path, os.R_OK)


def mechanisms(entry: JaasEntry, properties: ClientProperties) -> MakeMechanism:
    """Make the exchanges of a login line. Raise InputError, `gssapi-needs-extra` if the library is missing."""
    login = read_login(entry, properties)
    try:
        gssapi: Any = import_module("gssapi")
    except ImportError:
        raise InputError(
            "sasl.mechanism GSSAPI (Kerberos) needs the extra `gssapi`",
            id="gssapi-needs-extra",
            next_step=f"{install_advice('gssapi')}; it is built against the system's Kerberos (libkrb5-dev).",
        ) from None
    tickets = _Tickets(gssapi, login)

    def make(address: Address, deadline: Deadline) -> Mechanism:
        credentials = tickets.credentials(deadline)
        name = gssapi.Name(f"{login.service}@{address.host}", gssapi.NameType.hostbased_service)
        mechanism = gssapi.OID.from_int_seq(_KERBEROS)
        flags = [gssapi.RequirementFlag.mutual_authentication, gssapi.RequirementFlag.integrity]
        context = gssapi.SecurityContext(name=name, creds=credentials, mech=mechanism, flags=flags, usage="initiate")
        return Gssapi(context, gssapi.exceptions.GSSError, f"{login.service}/{address.host}", deadline)

    return make


class Gssapi:
    """An exchange: the context is made in turns, then the server offers layers, and none is taken.

    `context` is a `gssapi.SecurityContext`, `problem` what it raises; arguments for the sake of tests.
    """

    def __init__(self, context: Any, problem: type[Exception], service: str, deadline: Deadline) -> None:
        self._context = context
        self._problem = problem
        self._service = service
        self._deadline = deadline
        self._state = _COMPLETE

    def first(self) -> bytes:
        """Return the ticket for the service, which the key distribution center gives now."""
        return self._step(None)

    def answer(self, challenge: bytes) -> bytes | None:
        """Return the next token of the context; then the answer to the layers on offer; None after that."""
        if not self._context.complete:
            return self._step(challenge)
        if self._state is _COMPLETE:
            self._state = _ANSWERED
            return self._choose_layer(challenge)
        if challenge:
            raise self._broken("the server asks for more than there is to say")
        return None

    def _step(self, token: bytes | None) -> bytes:
        try:
            made = within(lambda: self._context.step(token), self._deadline)
        except self._problem as error:
            raise self._no_ticket(error) from error
        return bytes(made or b"")

    def _choose_layer(self, challenge: bytes) -> bytes:
        try:
            offered = bytes(self._context.unwrap(challenge).message)
            if len(offered) != _LAYERS_LENGTH or not offered[0] & _NO_LAYER:
                raise self._broken("the server insists on a layer of its own around all that follows")
            # No layer, so no largest message; no other identity to act as.
            return bytes(self._context.wrap(bytes((_NO_LAYER, 0, 0, 0)), False).message)
        except self._problem as error:
            raise self._broken(f"the server's offer of layers is not sealed by its key ({said(error)})") from error

    def _no_ticket(self, error: Exception) -> UnreachableError:
        return UnreachableError(
            f"Kerberos gives no ticket for the service {self._service}, or the service cannot prove itself",
            id="kerberos-service-failed",
            cause=said(error),
        )

    def _broken(self, words: str) -> UnreachableError:
        return exchange_broken("GSSAPI", words)


class _Tickets:
    """The user's own credentials: from a cache, or by a keytab into a cache in memory that all connections share."""

    def __init__(self, gssapi: Any, login: Login) -> None:
        self._gssapi = gssapi
        self._login = login
        self._memory = f"MEMORY:kafkactl-{os.getpid()}-{id(self)}"
        self._lock = threading.Lock()

    def credentials(self, deadline: Deadline) -> Any:
        """Return credentials that are valid now. Raise UnreachableError `kerberos-login-failed`."""
        with self._lock:
            failures: list[Exception] = []
            for store in self._stores():
                try:
                    return within(lambda store=store: self._acquire(store), deadline)  # type: ignore[misc]
                except self._gssapi.exceptions.GSSError as error:
                    failures.append(error)
        raise UnreachableError(
            f"Kerberos does not let {self._login.principal or 'the owner of the ticket cache'} in",
            id="kerberos-login-failed",
            cause="; ".join(dict.fromkeys(said(error) for error in failures)),
        ) from failures[-1]

    def _stores(self) -> list[dict[str, str]]:
        """Return the stores of tickets in Java's order."""
        stores: list[dict[str, str]] = []
        if self._login.uses_ticket_cache:
            stores.append({"ccache": f"FILE:{self._login.ticket_cache}"} if self._login.ticket_cache else {})
        if self._login.uses_keytab:
            keytab = {"client_keytab": self._login.keytab} if self._login.keytab else {}
            stores.append({"ccache": self._memory, **keytab})
        return stores

    def _acquire(self, store: Mapping[str, str]) -> Any:
        gssapi = self._gssapi
        name = None
        if self._login.principal is not None:
            name = gssapi.Name(self._login.principal, gssapi.NameType.kerberos_principal)
        mechanisms = [gssapi.OID.from_int_seq(_KERBEROS)]
        found = gssapi.Credentials(name=name, usage="initiate", mechs=mechanisms, store=dict(store) or None)
        found.lifetime  # noqa: B018 - a ticket that has expired says so now
        return found


def within(work: Callable[[], T], deadline: Deadline) -> T:
    """Return the result of a call that knows no deadline, or UnreachableError `kerberos-timed-out`.

    Its thread is left.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # raised again below: an exception of a thread does not reach the caller
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(max(0.0, deadline.left_ms / 1000))
    if errors:
        raise errors[0]
    if not results:
        raise UnreachableError("Kerberos did not answer in time", id="kerberos-timed-out")
    return results[0]


def said(error: Exception) -> str:
    """Return the text of a Kerberos error, without the numbers."""
    words = getattr(error, "min_code", 0) and error.get_all_statuses(error.min_code, False)  # type: ignore[attr-defined]
    texts = [word.decode("utf-8", "replace") if isinstance(word, bytes) else str(word) for word in words or ()]
    return "; ".join(texts) or type(error).__name__


def _service(options: Mapping[str, str], properties: ClientProperties) -> str:
    by_line, by_property = options.get("serviceName"), properties.get("sasl.kerberos.service.name")
    if by_line and by_property and by_line != by_property:
        raise _invalid("serviceName of the login line and sasl.kerberos.service.name differ")
    found = by_line or by_property
    if not found:
        raise InputError(
            "neither sasl.kerberos.service.name nor serviceName in sasl.jaas.config is set",
            id="kerberos-service-not-named",
        )
    return str(found)


def _is_true(options: Mapping[str, str], name: str) -> bool:
    return options.get(name, "").lower() == "true"


def _invalid(words: str) -> InputError:
    return InputError(words, id="invalid-kerberos-login")
