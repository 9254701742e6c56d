"""Progress of long work: readers and counters report to the listener of their caller.

    with heard_by(bar):
        load_image("/disk1/__cluster_metadata-0")

Amounts are in one unit for one piece of work: the bytes of a log, or runs of a simulation. Without a listener
nothing happens. A listener is that of its thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class Listener(Protocol):
    """A listener for the progress of work."""

    def expect(self, amount: int) -> None:
        """Add an amount to the work that is expected."""
        ...

    def advance(self, amount: int) -> None:
        """Add an amount to the work that is done."""
        ...


_LISTENER: ContextVar[Listener | None] = ContextVar("progress", default=None)


@contextmanager
def heard_by(listener: Listener | None) -> Iterator[None]:
    """Report to this listener in the body; None: to no listener."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def is_heard() -> bool:
    """Return True if there is a listener."""
    return _LISTENER.get() is not None


def expect(amount: int) -> None:
    """Report that this amount is still to be done. Work of unknown amount reports nothing."""
    listener = _LISTENER.get()
    if listener is not None:
        listener.expect(amount)


def counted(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the pieces unchanged; the bytes of a piece count as done when the next is requested, or the body ends."""
    for piece in pieces:
        held, size = [piece], len(piece)
        del piece  # it may be large: it is its user's alone
        try:
            yield held.pop()
        finally:
            advance(size)


def advance(amount: int) -> None:
    """Report the amount that was done since the last report."""
    listener = _LISTENER.get()
    if listener is not None:
        listener.advance(amount)
