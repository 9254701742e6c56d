"""A view that lives: lines in a pipe, a page on a terminal, and a clean end either way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.kafka.quorum_nodes import Quorum, running
from tests.lab.harness.terminal_session import TerminalSession

WATCH = ("quorum", "describe", "--watch", "--interval", "100ms")


@pytest.fixture
def quorum():
    with running(Quorum()) as quorum:
        yield quorum


def addresses(quorum):
    return "--bootstrap-controller", ",".join(str(controller.address) for controller in quorum.controllers.values())


def started(quorum, *words, **streams):
    command = [sys.executable, "-m", "kafkactl", *WATCH, *addresses(quorum), *words]
    # A size in the environment would count for more than that of the screen.
    inherited = {name: value for name, value in os.environ.items() if name not in ("LINES", "COLUMNS")}
    return subprocess.Popen(command, env=inherited | {"LC_ALL": "C.UTF-8", "TERM": "xterm"}, **streams)


def watched(kafkactl, quorum, *words, end, least):
    """Return a watch with so many looks, and its seconds: three seconds are enough but on a busy machine."""
    for seconds in (3, 12, 48):
        run = kafkactl(*WATCH, *addresses(quorum), *words, "--timeout", f"{seconds}s")
        if run.stdout.count(end) >= least:
            break
    assert run.stdout.count(end) >= least
    return run, seconds


def test_in_a_pipe_each_observation_is_a_line_until_the_time_is_over(kafkactl, quorum):
    begun = time.monotonic()
    run, seconds = watched(kafkactl, quorum, end="\n", least=3)
    looks = [json.loads(line) for line in run.stdout.splitlines()]
    assert (run.code, run.stderr) == (0, "")
    assert seconds - 0.1 < time.monotonic() - begun < 120
    assert {(look["kind"], look["leader_id"]) for look in looks} == {("quorum.describe", 2)}
    assert [look["time_ms"] for look in looks] == sorted(look["time_ms"] for look in looks)


def test_time_of_all_looks_is_not_that_of_one(kafkactl, quorum):
    # A leader that takes its time is waited for, though the view is to end soon.
    quorum.late_s[2] = 0.6
    run = kafkactl(*WATCH, *addresses(quorum), "--timeout", "1s")
    assert run.code == 0
    assert {json.loads(line)["leader_id"] for line in run.stdout.splitlines()} == {2}


def test_last_observation_gives_the_exit_code(kafkactl, quorum):
    quorum.leader_id = 9
    assert kafkactl(*WATCH, *addresses(quorum), "--timeout", "1s", "-o", "jsonl").code == 7


def test_yaml_is_one_document_a_look(kafkactl, quorum):
    watched(kafkactl, quorum, "-o", "yaml", end="---\n", least=2)


def test_failed_first_observation_ends_the_watch(kafkactl):
    run = kafkactl(*WATCH, "--bootstrap-controller", "127.0.0.1:1", "-o", "json")
    assert (run.code, run.stdout, run.error["id"]) == (4, "", "connection-refused")


def test_quorum_that_becomes_unreachable_is_reported_and_retried(quorum):
    with started(quorum, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline()
        for node in quorum.controllers.values():
            node.__exit__(None, None, None)
        assert "127.0.0.1" in process.stderr.readline()
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130


def test_ctrl_c_ends_it_without_a_word(quorum):
    with started(quorum, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert json.loads(process.stdout.readline())["leader_id"] == 2
        process.send_signal(signal.SIGINT)
        assert (process.wait(60), process.stderr.read()) == (130, "")


def test_watch_ends_when_the_pipe_is_closed(quorum):
    with started(quorum, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(60) == 0


def on_a_terminal(quorum, *, lines):
    command = [sys.executable, "-m", "kafkactl", *WATCH, *addresses(quorum)]
    return TerminalSession(command, cwd=Path.cwd(), columns=100, lines=lines)


@pytest.mark.slow
def test_on_a_terminal_the_page_is_drawn_over_itself_and_stays(quorum):
    with on_a_terminal(quorum, lines=50) as session:
        session.until(lambda text: text.count("Controller 2 leads") >= 2)
        quorum.leader_id = 3
        session.until(lambda text: "Controller 3 leads" in text)
        session.interrupt()
        assert session.ended() == 130
    assert len(session.frames) > 2  # each frame is drawn over the one before
    assert "Traceback" not in session.text and "interrupted" not in session.text
    last = session.frames[-1]  # what stays when the view is gone
    assert "Controller 3 leads; the quorum survives 1 failure" in last and "CONTROLLER://" in last


def test_small_screen_shows_a_message_that_fits(quorum):
    # And what stays behind is whole.
    with on_a_terminal(quorum, lines=6) as session:
        shown = session.until(lambda text: text.count("more lines") >= 2)
        assert "… " in shown and "CONTROLLER://" not in shown
        session.interrupt()
        assert session.ended() == 130
    assert "CONTROLLER://" in session.text
