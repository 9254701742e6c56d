"""Bytes to and from one address, each operation with a deadline, each failure with a name.

Invariant: an operating system's error never leaves this file. What leaves is an UnreachableError that says who did not
answer and how (refused, closed, timed out, no such host), or `NotSentError` if a request did not leave whole, so
that the other side cannot have acted on it.
"""

from __future__ import annotations

import socket
from typing import Any, NoReturn, Protocol

from kafkactl.change.clock import Deadline
from kafkactl.core.errors import InputError, UnreachableError
from kafkactl.core.frozen import frozen
from kafkactl.core.values import host_port

_RECEIVE_BYTES = 64 * 1024
_MAX_PORT = 65535


@frozen(kw_only=False, order=True)
class Address:
    """A host, or its number, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        """Return the address as text; IPv6 addresses are in brackets."""
        return host_port(self.host, self.port)


def parse_addresses(text: str) -> tuple[Address, ...]:
    """Read `host:port,host:port`, as `--bootstrap-server` does; blanks around parts and empty parts are ignored.

    Raises InputError `invalid-bootstrap-address`, also if nothing is left.
    """
    found = tuple(_parse_address(part.strip()) for part in text.split(",") if part.strip())
    if not found:
        raise _invalid(text)
    return found


def _parse_address(text: str) -> Address:
    host, separator, port = text.rpartition(":")
    host = host.rpartition("://")[2]
    bracketed = host.startswith("[") and host.endswith("]")
    if not separator or not host.strip("[]") or not (port.isascii() and port.isdigit()) or int(port) > _MAX_PORT:
        raise _invalid(text)
    if (":" in host and not bracketed) or not host.isprintable() or " " in host:
        raise _invalid(text)
    return Address(host.strip("[]"), int(port))


def _invalid(text: str) -> InputError:
    return InputError(
        f"{text!r} is not an address: expected host:port, or several with commas between them",
        id="invalid-bootstrap-address",
    )


class Wrapper(Protocol):
    """Wrapper that adds TLS to a connected socket, within the timeout that is set on the socket."""

    def wrap(self, plain: socket.socket, address: Address) -> socket.socket:
        """Return the secured socket, to which `plain` belongs from now on. Raises OSError."""
        ...

    def explain(self, error: OSError, address: Address, *, shaking_hands: bool) -> UnreachableError | None:
        """Return the meaning of an error of the secured socket; None if it is not a TLS error."""
        ...


class NotSentError(UnreachableError):
    """A request that did not leave whole: the other side cannot have acted on it."""


class Transport:
    """A connected socket. Close it when done; it closes itself if an operation fails."""

    def __init__(self, connected: socket.socket, address: Address, wrapper: Wrapper | None = None) -> None:
        self._socket = connected
        self._wrapper = wrapper
        self.address = address
        self.closed = False

    @property
    def is_secured(self) -> bool:
        """Return True if TLS is around it."""
        return self._wrapper is not None

    def send(self, data: bytes, deadline: Deadline) -> None:
        """Hand over all of `data`. Raises NotSentError, after which the transport is closed."""
        sent = 0
        try:
            while sent < len(data):
                self._socket.settimeout(_left_s(deadline))
                sent += self._socket.send(data[sent : sent + _RECEIVE_BYTES])
        except OSError as error:
            reason = self._reason(self._said_before_hanging_up(error), "take the request")
            self.close()
            raise NotSentError(reason.message, id=reason.id, cause=reason.cause, next_step=reason.next_step) from error

    def receive(self, deadline: Deadline) -> bytes:
        """Return the next bytes, at least one. Raises UnreachableError, after which the transport is closed."""
        try:
            self._socket.settimeout(_left_s(deadline))
            data = self._socket.recv(_RECEIVE_BYTES)
        except OSError as error:
            self.close()
            raise self._reason(error, "answer") from error
        if not data:
            self.close()
            raise closed_by_peer(self.address)
        return data

    def is_stale(self) -> bool:
        """Return True if the other side has hung up, or said something unasked, while nothing was open.

        Never blocks.
        """
        if self.closed:
            return True
        try:
            self._socket.settimeout(0)
            self._socket.recv(1)
        except OSError as error:
            return not _would_block(error)
        return True

    def close(self) -> None:
        """Give the socket back; harmless twice."""
        self.closed = True
        self._socket.close()

    def _reason(self, error: OSError, verb: str) -> UnreachableError:
        explained = self._wrapper and self._wrapper.explain(error, self.address, shaking_hands=False)
        return explained or _unreachable(error, self.address, verb)

    def _said_before_hanging_up(self, error: OSError) -> OSError:
        """Return the TLS alert that was sent before the connection was closed, else the error."""
        if self._wrapper is None or isinstance(error, TimeoutError):
            return error
        try:
            self._socket.settimeout(0)
            self._socket.recv(1)
        except OSError as alert:
            return error if _would_block(alert) else alert
        return error


def connect(address: Address, *, deadline: Deadline, setup_timeout_ms: float, wrapper: Wrapper | None) -> Transport:
    """Connect to the first of a host's numbers that takes the connection, and put TLS around it.

    Each number has at most `setup_timeout_ms` (`socket.connection.setup.timeout.ms`). Resolving a name is left to the
    operating system's own time-outs. Raises UnreachableError of the last number tried.
    """
    failure: OSError | None = None
    for family, place in _resolved(address):
        attempt = deadline.at_most(setup_timeout_ms)
        plain = socket.socket(family, socket.SOCK_STREAM)
        try:
            plain.settimeout(_left_s(attempt))
            plain.connect(place)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            plain.settimeout(_left_s(attempt))
        except OSError as error:
            plain.close()
            failure = error
            continue
        return Transport(_secured(plain, address, wrapper) if wrapper else plain, address, wrapper)
    _give_up(failure, address)


def _secured(plain: socket.socket, address: Address, wrapper: Wrapper) -> socket.socket:
    try:
        return wrapper.wrap(plain, address)
    except OSError as error:
        plain.close()
        explained = wrapper.explain(error, address, shaking_hands=True)
        raise (explained or _unreachable(error, address, "finish the TLS handshake")) from error


def _give_up(failure: OSError | None, address: Address) -> NoReturn:
    raise _unreachable(failure or TimeoutError(), address, "take a connection") from failure


def _resolved(address: Address) -> list[tuple[socket.AddressFamily, Any]]:
    host = address.host
    try:
        # Python loads the tables of international names for a name that is given as text, whatever is in it.
        named = host.encode("ascii") if host.isascii() and "\0" not in host else host
        found = socket.getaddrinfo(named, address.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UnreachableError(f"the host {address.host!r} is not known here: {error}", id="unknown-host") from error
    return [(family, place) for family, _, _, _, place in found]


def _left_s(deadline: Deadline) -> float:
    left_ms = deadline.left_ms
    if left_ms <= 0:
        raise TimeoutError
    return left_ms / 1000


def _would_block(error: OSError) -> bool:
    # TLS has words of its own for "nothing to read yet": SSLWantReadError, whose errno is 2.
    return isinstance(error, BlockingIOError) or type(error).__name__ == "SSLWantReadError"


def closed_by_peer(address: Address) -> UnreachableError:
    """Return the error of a connection that the other side has closed."""
    return UnreachableError(f"{address} closed the connection without an answer", id="connection-closed")


def _unreachable(error: OSError, address: Address, verb: str) -> UnreachableError:
    if isinstance(error, TimeoutError):
        return UnreachableError(f"{address} did not {verb} in time", id="connection-timed-out")
    if isinstance(error, ConnectionRefusedError):
        return UnreachableError(f"nothing listens on {address}", id="connection-refused")
    if isinstance(error, ConnectionResetError | BrokenPipeError):
        return closed_by_peer(address)
    return UnreachableError(f"{address} cannot be reached: {error.strerror or error}", id="connection-failed")
