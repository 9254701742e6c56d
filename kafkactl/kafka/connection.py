"""Connection to one node: opened, secured, its API versions negotiated, then requests and responses in turn.

A call ends by its deadline, with the response or with an error that says what is known. A request that only reads
raises UnreachableError (exit 4). A request that changes something raises it only if the node cannot have acted on it;
after the request was sent completely and no response arrived, the error is UnknownOutcomeError (exit 6), whatever the
reason. After any error but one about arguments the connection is closed and cannot be used again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final, Protocol

from kafkactl._version import __version__
from kafkactl.change.clock import Deadline
from kafkactl.core.closing import Closing
from kafkactl.core.errors import DecodeError, UnknownOutcomeError, UnreachableError
from kafkactl.core.frozen import frozen
from kafkactl.net.transport import Address, NotSentError, Transport, Wrapper
from kafkactl.net.transport import connect as connect_transport
from kafkactl.protocol.api_versions import (
    FIRST_VERSION,
    NodeVersions,
    next_version,
    node_versions,
    request_body,
    usable_version,
)
from kafkactl.protocol.framing import Framing, Response
from kafkactl.protocol.schema.definitions import message
from kafkactl.protocol.schema.error_codes import error_code
from kafkactl.protocol.schema.rights import Login

DEFAULT_SETUP_TIMEOUT_MS = 10_000.0
_HANDSHAKE = "SaslHandshake"
_UNSUPPORTED_MECHANISM = 33
_PROBE_MS = 2_000.0
_TLS_ALERT = 0x15
CHANGES_SENT: Final[list[str]] = []
"""Names of the requests of this process that may have changed something, from the moment before each left."""


class Authenticator(Protocol):
    """Authentication of the client on a new connection (SASL)."""

    def authenticate(self, connection: Connection, deadline: Deadline) -> float | None:
        """Run the exchange; how long the session lasts in milliseconds, None for as long as the connection.

        Raises UnreachableError if the other side refuses.
        """
        ...


@frozen
class Access:
    """Credentials and properties that every connection of a client shares. The repr holds no secret."""

    client_id: str | None = "kafkactl"
    setup_timeout_ms: float = DEFAULT_SETUP_TIMEOUT_MS
    wrapper: Wrapper | None = None
    authenticator: Authenticator | None = None
    login: Login = field(default_factory=Login)


class Connection(Closing):
    """Connection, made by `connect`. One thread at a time; close it when done, or use it as a context manager."""

    def __init__(self, transport: Transport, access: Access) -> None:
        self._transport = transport
        self._access = access
        self._framing = Framing(client_id=access.client_id, peer=str(transport.address))
        self._was_answered = False  # anything but ApiVersions, which a listener answers to everybody
        self._versions: NodeVersions | None = None
        self._expires_at_ms: float | None = None

    @property
    def address(self) -> Address:
        """Return the address of the node."""
        return self._transport.address

    @property
    def login(self) -> Login:
        """Return the user that the node takes requests from, as far as the client knows it."""
        return self._access.login

    @property
    def is_secured(self) -> bool:
        """Return True if TLS is around it."""
        return self._transport.is_secured

    @property
    def versions(self) -> NodeVersions:
        """Return the versions that the node reported at connect. Finalized levels may have changed since."""
        assert self._versions is not None, "the connection was not opened by connect()"
        return self._versions

    def is_stale(self, now_ms: float) -> bool:
        """Return True if it is of no more use: hung up on, or its SASL session about to end (KIP-368)."""
        expired = self._expires_at_ms is not None and now_ms >= self._expires_at_ms
        return expired or self._framing.broken is not None or self._transport.is_stale()

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        self._transport.close()

    def ask(
        self,
        name: str,
        body: Mapping[str, Any],
        *,
        deadline: Deadline,
        changes: bool = False,
        version: int | None = None,
    ) -> Response:
        """Send a request and wait for its response; error codes in it are the caller's.

        `version` is the highest that both sides know unless given. `changes`: the request may change something.
        Raises UnreachableError, UnknownOutcomeError `reply-lost`, and EncodeError for a body that does not fit.
        """
        if version is None:
            version = usable_version(message(f"{name}Request"), self.versions, peer=str(self.address))
        self._check_sound()
        request = self._framing.send(name, version, body)
        if changes:
            CHANGES_SENT.append(name)
        try:
            self._transport.send(request, deadline)
            response = self._answer(deadline)
            self._was_answered = self._was_answered or name != "ApiVersions"
            return response
        except UnreachableError as error:
            if (reason := self._login_expected(name, error, deadline)) is not None:
                raise reason from error
            if not changes or isinstance(error, NotSentError):
                raise
            raise _reply_lost(name, self.address, error) from error
        except BaseException:
            self.close()  # interrupted half way: the next bytes on the connection belong to no request
            raise

    def refresh_versions(self, deadline: Deadline) -> NodeVersions:
        """Ask the node again for its versions and feature levels. Only after authentication."""
        self._versions = self._negotiated(deadline, self.versions.version)
        return self._versions

    def open(self, access: Access, deadline: Deadline) -> None:
        """Learn the node's versions and prove who we are. `connect` calls this."""
        self._versions = self._negotiated(deadline, FIRST_VERSION)
        if access.authenticator is None:
            return
        lifetime_ms = access.authenticator.authenticate(self, deadline)
        if lifetime_ms is not None and lifetime_ms > 0:  # as Kafka's own client
            # As Kafka's clients: renew well before the end, so that no request meets it half way.
            self._expires_at_ms = deadline.clock.now_ms() + 0.85 * lifetime_ms

    def _negotiated(self, deadline: Deadline, version: int) -> NodeVersions:
        while True:
            response = self.ask("ApiVersions", request_body(__version__), deadline=deadline, version=version)
            lower = next_version(version, response.body, peer=str(self.address))
            if lower is None:
                break
            version = lower
        if response.body["ErrorCode"]:
            raise UnreachableError(
                f"{self.address} refuses ApiVersions: {error_code(response.body['ErrorCode']).name}",
                id="api-versions-refused",
            )
        return node_versions(version, response.body)

    def _login_expected(self, name: str, error: UnreachableError, deadline: Deadline) -> UnreachableError | None:
        """Return the error if a listener closed the first request after ApiVersions because it requires SASL.

        Such a listener closes the connection without a response, before it reads the request.
        """
        if error.id != "connection-closed" or self._was_answered or self._access.authenticator is not None:
            return None
        # ApiVersions is answered once without a login: the second one is hung up on like any other request.
        if self._versions is None or name == _HANDSHAKE or self._framing.has_part_of_response:
            return None
        offered = _offered_mechanisms(self.address, self._access, deadline.at_most(_PROBE_MS))
        return None if offered is None else _sasl_expected(self.address, offered)

    def _check_sound(self) -> None:
        """Check that the last answer had no excess bytes before anything is sent."""
        if (broken := self._framing.broken) is not None:
            self.close()
            reason = _malformed(broken)
            raise NotSentError(reason.message, id=reason.id, cause=reason.cause, next_step=reason.next_step)

    def _answer(self, deadline: Deadline) -> Response:
        """Return the response to the one open request. Every error closes the connection."""
        try:
            while True:
                responses = self._read(self._transport.receive(deadline))
                if responses:
                    return responses[0]
        except UnreachableError:
            self.close()
            raise

    def _read(self, data: bytes) -> list[Response]:
        nothing_before = not self._framing.has_part_of_response
        try:
            return self._framing.receive(data)
        except DecodeError as error:
            if self._versions is not None:
                raise _malformed(error) from error
            begins_with_alert = nothing_before and data[0] == _TLS_ALERT and not self.is_secured
            raise (_tls_expected(self.address) if begins_with_alert else _not_kafka(self.address, error)) from error


def connect(address: Address, access: Access, deadline: Deadline) -> Connection:
    """Connect, put TLS around it, learn the node's versions, authenticate. Raises UnreachableError."""
    transport = connect_transport(
        address, deadline=deadline, setup_timeout_ms=access.setup_timeout_ms, wrapper=access.wrapper
    )
    connection = Connection(transport, access)
    try:
        connection.open(access, deadline)
    except BaseException:
        connection.close()
        raise
    return connection


def _offered_mechanisms(address: Address, access: Access, deadline: Deadline) -> tuple[str, ...] | None:
    """Return the SASL mechanisms of a listener; None if it has no SASL, or does not say.

    A listener without SASL answers a handshake with ILLEGAL_SASL_STATE, one with SASL refuses an unknown mechanism and
    lists its own.
    """
    try:
        with connect(address, access, deadline) as probe:
            body = probe.ask(_HANDSHAKE, {"Mechanism": ""}, deadline=deadline).body
    except UnreachableError:
        return None
    return tuple(sorted(body["Mechanisms"])) if body["ErrorCode"] == _UNSUPPORTED_MECHANISM else None


def _sasl_expected(address: Address, offered: tuple[str, ...]) -> UnreachableError:
    return UnreachableError(
        f"{address} is a SASL listener, and the client has no login configured: the listener closed the connection",
        id="sasl-login-expected",
        cause=f"The listener accepts the mechanisms: {', '.join(offered) or 'none'}.",
    )


def _reply_lost(name: str, address: Address, error: UnreachableError) -> UnknownOutcomeError:
    return UnknownOutcomeError(
        f"{name} was sent to {address} and the response was lost: whether it was executed is unknown",
        id="reply-lost",
        cause=error.message,
    )


def _not_kafka(address: Address, error: DecodeError) -> UnreachableError:
    return UnreachableError(f"{address} answers, but not in Kafka's protocol", id="not-kafka", cause=error.message)


def _tls_expected(address: Address) -> UnreachableError:
    return UnreachableError(f"{address} requires TLS, and kafkactl connected without it", id="tls-expected")


def _malformed(error: DecodeError) -> UnreachableError:
    return UnreachableError(
        f"a response that cannot be read: {error.message}",
        id="malformed-response",
        cause="The data is not a response of the requested version.",
    )
