"""Time for whatever waits: a clock that never goes back, and deadlines measured by it.

The clock is an argument everywhere, so that tests of retries and timeouts need not wait.
"""

from __future__ import annotations

from typing import Protocol

from kafkactl.core.frozen import frozen


class Clock(Protocol):
    """Clock for waiting. Only differences of `now_ms` have a meaning."""

    def now_ms(self) -> float:
        """Return the milliseconds since some fixed moment."""
        ...

    def sleep_ms(self, duration_ms: float) -> None:
        """Return after this time."""
        ...


@frozen(kw_only=False)
class Deadline:
    """A moment by which something must be done."""

    clock: Clock
    at_ms: float

    @classmethod
    def after(cls, duration_ms: float, clock: Clock) -> Deadline:
        """Return the moment that far from now."""
        return cls(clock, clock.now_ms() + duration_ms)

    @property
    def left_ms(self) -> float:
        """Return the time in ms until the deadline; never below 0."""
        return max(0.0, self.at_ms - self.clock.now_ms())

    @property
    def passed(self) -> bool:
        """Return True if the moment is over."""
        return self.left_ms <= 0

    def at_most(self, duration_ms: float) -> Deadline:
        """Return the earlier of this moment and that far from now."""
        return Deadline(self.clock, min(self.at_ms, self.clock.now_ms() + duration_ms))
