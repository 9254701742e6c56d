"""The connection that a client keeps to one address, for one thread at a time."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Final

from kafkactl.change.clock import Deadline
from kafkactl.core.errors import UnreachableError
from kafkactl.kafka.connection import Connection
from kafkactl.net.transport import Address

TIMED_OUT: Final = "connection-timed-out"


class Line:
    """The kept connection to one address. A thread uses it only while it is `held`."""

    __slots__ = ("connection", "is_closed", "lock", "silences")

    def __init__(self, *, is_closed: bool = False) -> None:  # in Python 3.13 a dataclass would import `inspect`: 10 ms
        self.lock = threading.Lock()
        self.connection: Connection | None = None
        self.silences = 0  # attempts in a row in which the node did not answer in time
        self.is_closed = is_closed

    @contextlib.contextmanager
    def held(self, address: Address, deadline: Deadline) -> Iterator[None]:
        """Lock the line for the caller. Raise UnreachableError if another thread uses the node for all that time."""
        if not self.lock.acquire(timeout=min(deadline.left_ms / 1000, threading.TIMEOUT_MAX)):
            raise UnreachableError(f"{address} did not answer in time", id=TIMED_OUT)
        try:
            yield
        finally:
            self.lock.release()

    def hang_up(self) -> None:
        """Close it, and what a thread that still waits for the node may open."""
        self.is_closed = True
        if self.connection is not None:
            self.connection.close()
