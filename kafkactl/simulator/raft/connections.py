"""Connections to peers: one request at a time to each peer, timeouts, the pause after a failure.

Follows `RequestManager` (3.9 and later; 3.7 has the same rules by node id). A peer is identified by the id under which
the sender knows it, which is negative for a bootstrap server. `open` follows Kafka's network client: a connection that
is open for an id is used until it breaks, whatever address a request names.
"""

from __future__ import annotations

from typing import Final

from kafkactl.core.values import Endpoint

NEVER: Final = 1 << 62  # later than every time
READY: Final = 0
AWAITING_RESPONSE: Final = 1
BACKING_OFF: Final = 2


class Connection:
    """The request that is on its way to one peer, or the pause after one that failed."""

    __slots__ = ("correlation_id", "last_fail", "last_send", "peer", "state")

    def __init__(self, peer: int) -> None:
        self.peer = peer
        self.state = READY
        self.last_send = 0
        self.last_fail = 0
        self.correlation_id = -1


class Connections:
    """Connections to all peers of one node. Times are in microseconds."""

    __slots__ = ("by_peer", "in_flight", "open", "request_timeout", "retry_backoff")

    def __init__(self, retry_backoff: int, request_timeout: int) -> None:
        self.retry_backoff = retry_backoff
        self.request_timeout = request_timeout
        self.by_peer: dict[int, Connection] = {}
        self.in_flight: dict[int, Connection] = {}
        self.open: dict[int, Endpoint] = {}

    def reset_all(self) -> None:
        """Forget every request; responses to them will be dropped."""
        self.by_peer.clear()
        self.in_flight.clear()

    def reset(self, peer: int) -> None:
        """Forget the request to one peer."""
        connection = self.by_peer.pop(peer, None)
        if connection is not None:
            self.in_flight.pop(connection.correlation_id, None)

    def is_ready(self, peer: int, now: int) -> bool:
        """Return True if a request may be sent; one that timed out is forgotten by asking."""
        connection = self.by_peer.get(peer)
        if connection is None or connection.state == READY:
            return True
        if connection.state == BACKING_OFF:
            ready = now >= connection.last_fail + self.retry_backoff
        else:
            ready = now >= connection.last_send + self.request_timeout
        if ready:
            self.reset(peer)
        return ready

    def has_timed_out(self, peer: int, now: int) -> bool:
        """Return True if the request to this peer is too old."""
        connection = self.by_peer.get(peer)
        return (
            connection is not None
            and connection.state == AWAITING_RESPONSE
            and now >= connection.last_send + self.request_timeout
        )

    def backoff_left(self, peer: int, now: int) -> int:
        """Return the rest of the pause after a failure, 0 if there is none."""
        connection = self.by_peer.get(peer)
        if connection is None or connection.state != BACKING_OFF:
            return 0
        return max(0, connection.last_fail + self.retry_backoff - now)

    def sent(self, peer: int, correlation_id: int, now: int) -> None:
        """Record a request to this peer."""
        connection = self.by_peer.get(peer)
        if connection is None:
            connection = self.by_peer[peer] = Connection(peer)
        connection.state = AWAITING_RESPONSE
        connection.last_send = now
        connection.correlation_id = correlation_id
        self.in_flight[correlation_id] = connection

    def awaited(self, correlation_id: int) -> Connection | None:
        """Return the connection that waits for this response, or None if it is not awaited (any more)."""
        return self.in_flight.get(correlation_id)

    def answered(self, connection: Connection, correlation_id: int, success: bool, now: int) -> None:
        """Record the end of a request. Without success the peer is not asked again before the retry back-off.

        A change of state during the handling may have removed the request; then nothing is to do.
        """
        if self.in_flight.pop(correlation_id, None) is None:
            return
        connection.correlation_id = -1
        if success:
            connection.state = READY
        else:
            connection.state = BACKING_OFF
            connection.last_fail = now

    def has_any_in_flight(self, now: int) -> bool:
        """Return True if any request waits for its response.

        Forgets, as Kafka does, what timed out or has paused enough.
        """
        is_any = False
        over: list[int] = []
        for connection in self.by_peer.values():
            if connection.state == AWAITING_RESPONSE:
                if now < connection.last_send + self.request_timeout:
                    is_any = True
                    break
                over.append(connection.peer)
            elif connection.state == BACKING_OFF and now >= connection.last_fail + self.retry_backoff:
                over.append(connection.peer)
        for peer in over:
            self.reset(peer)
        return is_any

    def wait_for_bootstrap(self, servers: list[int], now: int) -> int:
        """Return the time until a bootstrap server may be asked (`backoffBeforeAvailableBootstrapServer`)."""
        shortest = self.retry_backoff
        for peer, connection in list(self.by_peer.items()):
            if connection.state == AWAITING_RESPONSE:
                left = connection.last_send + self.request_timeout - now
                if left > 0:
                    return left
                self.reset(peer)
            elif connection.state == BACKING_OFF:
                left = connection.last_fail + self.retry_backoff - now
                if left > 0:
                    shortest = min(shortest, left)
                else:
                    self.reset(peer)
        return 0 if any(self.is_ready(peer, now) for peer in servers) else shortest

    def broken(self, peer: int) -> None:
        """Remove the broken connection to this peer: the next request opens a connection to its own address."""
        self.open.pop(peer, None)
