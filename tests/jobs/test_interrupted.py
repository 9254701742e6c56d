"""Signals while the JVM is forked: handled after it, none lost."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from types import FrameType

import pytest

from kafkactl.jobs.jvm import _interruptions_kept


class Interrupted(Exception):
    """Exception that the handler of this test raises."""


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    def interrupt(number: int, _frame: FrameType | None) -> None:
        raise Interrupted(number)

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGALRM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_signal_is_handled_after_the_body() -> None:
    done = []
    with pytest.raises(Interrupted) as raised, _interruptions_kept():
        signal.raise_signal(signal.SIGALRM)
        signal.raise_signal(signal.SIGTERM)
        done.append("body")
    assert (done, raised.value.args) == (["body"], (signal.SIGALRM,))
    with pytest.raises(Interrupted):  # and the handlers are those of before
        signal.raise_signal(signal.SIGTERM)


def test_handler_outside_of_python_is_kept() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with _interruptions_kept():
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
