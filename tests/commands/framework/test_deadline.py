from __future__ import annotations

import gc
import signal
import sys
import threading
import time

import click
import pytest

from kafkactl.commands.framework.deadline import deadline, ends_clean, paused, stop_clock
from kafkactl.core.errors import UnknownOutcomeError


def test_deadline_ends_a_long_body_and_restores_the_handler():
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(UnknownOutcomeError) as caught, deadline(20):
        time.sleep(5)
    assert caught.value.id == "timed-out"
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_thread_that_is_being_started_does_not_hide_the_limit(monkeypatch: pytest.MonkeyPatch):
    name = next(name for name in ("_start_joinable_thread", "_start_new_thread") if hasattr(threading, name))
    start, runs = getattr(threading, name), threading.Event()

    def start_and_wait(*arguments, **more):
        start(*arguments, **more)
        runs.wait(60)
        signal.raise_signal(signal.SIGALRM)  # it finds the main thread here, and the started thread at work

    monkeypatch.setattr(threading, name, start_and_wait)
    with pytest.raises(UnknownOutcomeError) as caught, deadline(60_000):
        threading.Thread(target=runs.set).start()
    assert caught.value.id == "timed-out"
    assert isinstance(caught.value.__context__, KeyError)


@pytest.mark.parametrize("place", ["destructor", "garbage collection"])
def test_limit_reached_where_python_ignores_errors_still_ends_the_body(place: str):
    class Freed:
        def __del__(self):
            signal.raise_signal(signal.SIGALRM)

    def collected(phase: str, _info: dict[str, int]) -> None:
        if phase == "stop":
            gc.callbacks.remove(collected)
            signal.raise_signal(signal.SIGALRM)

    hook = sys.unraisablehook
    with pytest.raises(UnknownOutcomeError) as caught, deadline(60_000):
        if place == "destructor":
            Freed()
        else:
            gc.callbacks.append(collected)
            gc.collect()
        threading.Event().wait(60)
    assert caught.value.id == "timed-out"
    assert sys.unraisablehook is hook


def test_other_error_of_a_destructor_is_still_shown(monkeypatch: pytest.MonkeyPatch):
    class Freed:
        def __del__(self):
            raise ValueError("of the destructor")

    shown: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda event: shown.append(str(event.exc_value)))
    with deadline(60_000):
        Freed()
    assert shown == ["of the destructor"]


def test_other_error_is_not_reported_as_the_limit():
    with pytest.raises(KeyError), deadline(60_000):
        {}["missing"]
    with pytest.raises(click.exceptions.Exit), deadline(20):
        try:
            time.sleep(5)
        except UnknownOutcomeError:
            raise click.exceptions.Exit(6)  # noqa: B904  an answer that says so


def test_sigterm_ends_it_as_ctrl_c_does_and_restores_the_handler():
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), ends_clean():
        signal.raise_signal(signal.SIGTERM)
        time.sleep(5)
    assert signal.getsignal(signal.SIGTERM) is before


def test_closed_terminal_ends_it_too_but_for_nohup():
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests themselves may run under nohup
    try:
        with pytest.raises(KeyboardInterrupt), ends_clean():
            signal.raise_signal(signal.SIGHUP)
            time.sleep(5)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_DFL
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        with ends_clean():
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_clock_does_not_advance_while_the_operator_thinks():
    with deadline(60_000):
        with paused():
            assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0


def test_nothing_is_cut_off_once_the_answer_is_known():
    with deadline(60_000):
        stop_clock()
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_outside_the_main_thread_there_is_no_limit():
    done = []

    def work() -> None:
        with deadline(10):
            time.sleep(0.03)
        done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]
