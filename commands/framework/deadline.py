"""The time limit of a whole command (`--timeout`).

A signal ends the command wherever it is, also inside a read from a dead network disk; writing is crash-safe
and needs no help from here. The clock is stopped while the operator is asked something.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import click

from kafkactl.core.errors import KafkactlError, UnknownOutcomeError, limit_behind

# How a command ends that has something to say, be it of the time limit.
_ANSWERS = (KafkactlError, click.ClickException, click.exceptions.Exit)
# Python ignores an exception in a destructor or in a callback of the garbage collector. The limit is raised again
# after this time, outside of it.
_LOST_LIMIT_AGAIN_S = 0.001


@contextmanager
def deadline(timeout_ms: int) -> Iterator[None]:
    """Raise UnknownOutcomeError `timed-out` in the body after this time. Only the main thread can be timed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    timed_out = UnknownOutcomeError(
        f"not finished after {_spoken(timeout_ms)}, the limit set by --timeout", id="timed-out"
    )

    def give_up(_signal: int, _frame: FrameType | None) -> None:
        raise timed_out

    ignored = sys.unraisablehook

    def raise_again(event: sys.UnraisableHookArgs) -> None:
        if isinstance(event.exc_value, Exception) and limit_behind(event.exc_value) is timed_out:
            signal.setitimer(signal.ITIMER_REAL, _LOST_LIMIT_AGAIN_S)
        else:
            ignored(event)

    before = signal.signal(signal.SIGALRM, give_up)
    sys.unraisablehook = raise_again
    signal.setitimer(signal.ITIMER_REAL, timeout_ms / 1000)
    try:
        yield
    except Exception as error:
        if not isinstance(error, _ANSWERS) and limit_behind(error) is timed_out:
            raise timed_out from None
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.unraisablehook = ignored
        signal.signal(signal.SIGALRM, before)


@contextmanager
def paused() -> Iterator[None]:
    """Stop the clock of the running deadline for the body: a person is thinking."""
    remaining_s, _ = signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        yield
    finally:
        if remaining_s:
            signal.setitimer(signal.ITIMER_REAL, remaining_s)


@contextmanager
def ends_clean() -> Iterator[None]:
    """End the body at SIGTERM, and at SIGHUP of a closed terminal, as Ctrl-C does.

    Temporary files are removed, and a change reports its progress. A SIGHUP that is ignored (`nohup`) stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    ending = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, interrupt) for number in ending}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def left_ms() -> float:
    """Return the remaining time in ms of the running deadline; infinite without one, or after `stop_clock`."""
    remaining_s, _ = signal.getitimer(signal.ITIMER_REAL)
    return remaining_s * 1000 if remaining_s else float("inf")


def stop_clock() -> None:
    """Stop the clock before a known answer is printed, so that no timeout interrupts the output."""
    signal.setitimer(signal.ITIMER_REAL, 0)


def _spoken(timeout_ms: int) -> str:
    return f"{timeout_ms // 1000} s" if timeout_ms % 1000 == 0 else f"{timeout_ms} ms"
