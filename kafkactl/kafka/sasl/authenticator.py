"""Authentication: the SASL exchange on a new connection, and the mechanisms by name.

SaslHandshake names the mechanism, SaslAuthenticate carries its messages (KIP-43, KIP-152, KIP-368). A mechanism is a
small state machine over bytes, one for each connection; it has no socket. No message of a mechanism, no password and
no token appears in a repr or an error; user names may.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kafkactl.change.clock import Deadline
from kafkactl.core.errors import InputError, UnreachableError
from kafkactl.kafka.connection import Connection
from kafkactl.kafka.sasl.maker import MakeMechanism
from kafkactl.protocol.sasl.mechanism import exchange_broken, required_option
from kafkactl.protocol.schema.error_codes import error_code
from kafkactl.protocol.schema.rights import server_text
from kafkactl.protocol.text.client_properties import ClientProperties
from kafkactl.protocol.text.jaas import JaasEntry, parse_jaas

_UNSUPPORTED_MECHANISM, _ILLEGAL_STATE, _FAILED = 33, 34, 58
_MOST_STEPS = 10  # no mechanism here takes more than two


class Sasl:
    """Runner of SASL exchanges; implements `connection.Authenticator`."""

    def __init__(self, name: str, make: MakeMechanism, *, user: str | None = None) -> None:
        """Keep the mechanism's name in Kafka, and `make`, which may fetch a token or a ticket within the deadline.

        `user` is the name that the server takes as it is; None for a token or a ticket, which it maps by own rules.
        """
        self._name = name
        self._make = make
        self.user = user

    def authenticate(self, connection: Connection, deadline: Deadline) -> float | None:
        """Run one exchange; how long the session lasts in milliseconds, None without an end."""
        mechanism = self._make(connection.address, deadline)
        self._shake_hands(connection, deadline)
        message = mechanism.first()
        for _ in range(_MOST_STEPS):
            body = connection.ask("SaslAuthenticate", {"AuthBytes": message}, deadline=deadline).body
            if body["ErrorCode"]:
                raise self._refused(connection, body["ErrorCode"], body["ErrorMessage"])
            following = mechanism.answer(body["AuthBytes"])
            if following is None:
                return float(body["SessionLifetimeMs"]) or None
            message = following
        raise exchange_broken(self._name, "the server never comes to an end")

    def _shake_hands(self, connection: Connection, deadline: Deadline) -> None:
        body = connection.ask("SaslHandshake", {"Mechanism": self._name}, deadline=deadline).body
        code = body["ErrorCode"]
        if code == _UNSUPPORTED_MECHANISM:
            offered = ", ".join(sorted(body["Mechanisms"])) or "none"
            raise UnreachableError(
                f"{connection.address} does not take the SASL mechanism {self._name}; it takes {offered}",
                id="sasl-mechanism-not-offered",
            )
        if code == _ILLEGAL_STATE:
            raise UnreachableError(f"{connection.address} is a listener without SASL", id="sasl-not-spoken")
        if code:
            raise self._refused(connection, code, None)

    def _refused(self, connection: Connection, code: int, text: str | None) -> UnreachableError:
        name = error_code(code).name
        words = "the credentials are refused" if code == _FAILED else f"the exchange ended with {name}"
        return UnreachableError(
            f"{connection.address} does not let kafkactl in by {self._name}: {words}",
            id="authentication-failed",
            cause=server_text(text) or None,
        )


def authenticator(properties: ClientProperties) -> Sasl:
    """Return the exchange that a client's properties ask for. Raises InputError."""
    name = properties.get("sasl.mechanism", "GSSAPI")
    make = _MECHANISMS.get(name)
    if make is None:
        raise InputError(
            f"the value of sasl.mechanism is none of {', '.join(_MECHANISMS)}", id="sasl-mechanism-not-supported"
        )
    text = properties.get("sasl.jaas.config")
    if text is None:
        raise InputError("sasl.jaas.config is not set", id="missing-jaas-line")
    entry = parse_jaas(text)
    return Sasl(name, make(name, entry, properties), user=_user(name, entry))


def _user(name: str, entry: JaasEntry) -> str | None:
    is_named = name == "PLAIN" or (name.startswith("SCRAM-") and entry.options.get("tokenauth", "").lower() != "true")
    return entry.options.get("username") if is_named else None


def _plain(_name: str, entry: JaasEntry, _properties: ClientProperties) -> MakeMechanism:
    from kafkactl.protocol.sasl.plain import Plain

    username, password = required_option(entry, "username"), required_option(entry, "password")
    return lambda _address, _deadline: Plain(username, password)


def _scram(name: str, entry: JaasEntry, _properties: ClientProperties) -> MakeMechanism:
    import os

    from kafkactl.protocol.sasl.scram import Scram

    username, password = required_option(entry, "username"), required_option(entry, "password")
    by_token = entry.options.get("tokenauth", "").lower() == "true"
    return lambda _address, _deadline: Scram(name, username, password, nonce=os.urandom(24), by_token=by_token)


def _oauthbearer(_name: str, entry: JaasEntry, properties: ClientProperties) -> MakeMechanism:
    from kafkactl.kafka.sasl.token import token_source
    from kafkactl.protocol.sasl.oauthbearer import OAuthBearer, extensions_of

    source, extensions = token_source(entry, properties), extensions_of(entry)
    return lambda _address, deadline: OAuthBearer(source.token(deadline), extensions)


def _gssapi(_name: str, entry: JaasEntry, properties: ClientProperties) -> MakeMechanism:
    from kafkactl.kafka.sasl.gssapi import mechanisms

    return mechanisms(entry, properties)


_MECHANISMS: Mapping[str, Callable[[str, JaasEntry, ClientProperties], MakeMechanism]] = {
    "PLAIN": _plain,
    "SCRAM-SHA-256": _scram,
    "SCRAM-SHA-512": _scram,
    "OAUTHBEARER": _oauthbearer,
    "GSSAPI": _gssapi,
}
