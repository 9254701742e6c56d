"""The connection that a client keeps to one address, for one thread at a time."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from kafkactl.adapters.kafka.connection import Connection
from kafkactl.adapters.net.transport import Address
from kafkactl.change.clock import Deadline
from kafkactl.errors import UnreachableError

TIMED_OUT: Final = "connection-timed-out"


@dataclass(slots=True)
class Line:
    """The kept connection to one address. A thread uses it only while it is `held`."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    connection: Connection | None = None
    silences: int = 0  # attempts in a row in which the node did not answer in time
    is_closed: bool = False

    @contextlib.contextmanager
    def held(self, address: Address, deadline: Deadline) -> Iterator[None]:
        """For the caller alone. Raises UnreachableError where another thread waits for the node for all that time."""
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
