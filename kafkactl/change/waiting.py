"""Waiting: how long, how often, and the one loop that observes until something is so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from kafkactl.change.clock import Deadline

Found = TypeVar("Found")


class WaitPolicy(Protocol):
    """Timeouts of a journey that the engine reads, in milliseconds. Each journey has more of them."""

    @property
    def observe_every_ms(self) -> int:
        """Return the time between two observations during a wait."""
        ...

    @property
    def passing_ms(self) -> int:
        """Return the time in ms to wait for temporary findings to disappear before they refuse a step."""
        ...

    @property
    def attempts(self) -> int:
        """Return the number of attempts for one step whose earlier requests certainly had no effect."""
        ...


def _silently(_found: object) -> None:
    """Ignore the findings that the run waits for."""


def wait_until(
    observe: Callable[[], Found],
    is_over: Callable[[Found], bool],
    *,
    until: Deadline,
    every_ms: float,
    waiting: Callable[[Found], None] = _silently,
) -> Found:
    """Observe until `is_over`, at least once; the last observation, also if the time ran out before.

    `waiting` is called with each observation after which is waited.
    """
    while True:
        found = observe()
        if is_over(found) or until.passed:
            return found
        waiting(found)
        until.clock.sleep_ms(every_ms)
