"""A view that lives: lines in a pipe, a page on a terminal, and a clean end either way."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest

from tests.adapters.quorum_nodes import Quorum, running

WATCH = ("quorum", "describe", "--watch", "--interval", "100ms")


@pytest.fixture
def quorum():
    with running(Quorum()) as one:
        yield one


def addresses(quorum):
    return "--bootstrap-controller", ",".join(str(one.address) for one in quorum.controllers.values())


def started(quorum, *words, **streams):
    command = [sys.executable, "-m", "kafkactl", *WATCH, *addresses(quorum), *words]
    # A size in the environment would count for more than that of the screen.
    inherited = {name: value for name, value in os.environ.items() if name not in ("LINES", "COLUMNS")}
    return subprocess.Popen(command, env=inherited | {"LC_ALL": "C.UTF-8", "TERM": "xterm"}, **streams)


def test_in_a_pipe_each_look_is_a_line_until_the_time_is_over(kafkactl, quorum):
    begun = time.monotonic()
    run = kafkactl(*WATCH, *addresses(quorum), "--timeout", "1s")
    looks = [json.loads(line) for line in run.stdout.splitlines()]
    assert (run.code, run.stderr) == (0, "")
    assert 0.9 < time.monotonic() - begun < 10
    assert len(looks) >= 3
    assert {(one["kind"], one["leader_id"]) for one in looks} == {("quorum.describe", 2)}
    assert [one["time_ms"] for one in looks] == sorted(one["time_ms"] for one in looks)


def test_the_last_look_gives_the_exit_code(kafkactl, quorum):
    quorum.leader_id = 9
    assert kafkactl(*WATCH, *addresses(quorum), "--timeout", "1s", "-o", "jsonl").code == 7


def test_yaml_is_one_document_a_look(kafkactl, quorum):
    assert kafkactl(*WATCH, *addresses(quorum), "--timeout", "1s", "-o", "yaml").stdout.count("---\n") >= 2


def test_a_first_look_that_fails_ends_it(kafkactl):
    run = kafkactl(*WATCH, "--bootstrap-controller", "127.0.0.1:1", "-o", "json")
    assert (run.code, run.stdout, run.error["id"]) == (4, "", "connection-refused")


def test_what_cannot_be_reached_later_is_told_and_looked_at_again(quorum):
    with started(quorum, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline()
        for node in quorum.controllers.values():
            node.__exit__(None, None, None)
        assert "127.0.0.1" in process.stderr.readline()
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130


def test_ctrl_c_ends_it_without_a_word(quorum):
    with started(quorum, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert json.loads(process.stdout.readline())["leader_id"] == 2
        process.send_signal(signal.SIGINT)
        assert (process.wait(10), process.stderr.read()) == (130, "")


def test_nobody_reading_ends_it(quorum):
    with started(quorum, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(10) == 0


def test_on_a_terminal_the_page_is_drawn_over_itself_and_stays(quorum):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 100, 0, 0))
    with started(quorum, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        shown = read_until(ours, lambda text: text.count("Controller 2 leads") >= 2)
        quorum.leader_id = 3
        shown += read_until(ours, lambda text: "Controller 3 leads" in text)
        process.send_signal(signal.SIGINT)
        shown += read_until(ours, lambda text: False)
        assert process.wait(10) == 130
    os.close(ours)
    assert "\x1b[2K" in shown  # lines that are drawn anew
    assert "Traceback" not in shown and "interrupted" not in shown
    last = shown[shown.rindex("\x1b[2K") :]  # what stays when the view is gone
    assert "Controller 3 leads; the quorum survives 1 failure" in last and "CONTROLLER://" in last


def read_until(terminal, holds, timeout_s=15.0):
    """What the terminal shows until that holds, or until the process has hung up."""
    text, deadline = "", time.monotonic() + timeout_s
    while not holds(text) and time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                text += os.read(terminal, 65_536).decode("utf-8", "replace")
            except OSError:
                return text
    return text


def test_a_screen_that_is_too_small_says_so_in_the_letters_that_it_has(quorum):
    """And what stays behind is whole."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 6, 100, 0, 0))
    with started(quorum, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        shown = read_until(ours, lambda text: text.count("more lines") >= 2)
        assert "… " in shown and "CONTROLLER://" not in shown
        process.send_signal(signal.SIGINT)
        shown += read_until(ours, lambda text: False)
        assert process.wait(10) == 130
    os.close(ours)
    assert "CONTROLLER://" in shown
