"""Rules of retries: errors after which a request is sent again, and the wait before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kafkactl.change.clock import Deadline
from kafkactl.core.errors import KafkactlError
from kafkactl.core.frozen import frozen

# What may be over in a moment: a node that starts, stops, or is being replaced; bytes that something in between has
# spoilt. Everything else stays as it is.
_TRANSIENT = frozenset(
    {"connection-refused", "connection-closed", "connection-timed-out", "connection-failed", "malformed-response"}
)


@frozen
class Backoff:
    """Exponential, with jitter, as `ExponentialBackoff` of Kafka's clients: 100 ms, doubled up to 1 s, each ±20 %."""

    first_ms: float = 100.0
    most_ms: float = 1000.0
    factor: float = 2.0
    jitter: float = 0.2
    rounds: int = 6

    def wait_ms(self, number: int, randomness: Callable[[], float]) -> float:
        """Return the wait after round `number` (from 0); `randomness` returns numbers from 0 up to 1."""
        plain = min(self.most_ms, self.first_ms * self.factor**number)
        return plain * (1 + self.jitter * (2 * randomness() - 1))

    def each_round(self, deadline: Deadline, randomness: Callable[[], float]) -> Iterator[int]:
        """Yield the number of each round, with waits between them, until the last round or the deadline."""
        for number in range(self.rounds):
            if number:
                wait_ms = self.wait_ms(number - 1, randomness)
                if wait_ms >= deadline.left_ms:
                    return
                deadline.clock.sleep_ms(wait_ms)
            yield number


def is_transient(error: KafkactlError) -> bool:
    """Return True if the same question may be answered in a moment."""
    return error.id in _TRANSIENT
