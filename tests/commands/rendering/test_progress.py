"""The bar of long work: what it says, when it is drawn, and that it leaves nothing behind."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from kafkactl.commands.rendering.progress import progress_text
from tests.commands.captured_logs import unpacked

ROOT = Path(__file__).resolve().parents[3]
WORDS = "Replaying the log"
RUN = """
import sys
from kafkactl.commands.rendering import progress
if sys.argv.pop(1) == "at once":
    progress.FIRST_S = progress.EACH_S = 0.0
from kafkactl.__main__ import run
try:
    run()
finally:
    assert not sys.stderr.isatty() or ("rich.progress" in sys.modules) == (progress.FIRST_S == 0.0)
"""


@pytest.mark.parametrize("done, total, elapsed_s, unit, text", [
    (100_000_000, 400_000_000, 2.0, "bytes", "100.0 MB of 400.0 MB, 50.0 MB/s, 0:06 left"),
    (5_000_000, 0, 2.0, "bytes", "5.0 MB, 2.5 MB/s"),
    (9_000_000, 8_000_000, 2.0, "bytes", "9.0 MB, 4.5 MB/s"),
    (250, 10_000, 5.0, "runs", "250 of 10,000 runs, 50/s, 3:15 left"),
    (1, 100_000, 1.0, "runs", "1 of 100,000 runs, 1/s, 27:46:39 left"),
    (0, 100, 0.0, "runs", "0 of 100 runs, 0/s"),
])  # fmt: skip
def test_progress_bar_shows_amount_and_remaining_time(done, total, elapsed_s, unit, text):
    assert progress_text(done, total, elapsed_s, unit) == text


@pytest.mark.slow
def test_bar_on_a_terminal_is_gone_when_the_answer_comes(tmp_path: Path):
    _, text = shown(["log", "image", str(unpacked("4.4.0", tmp_path))], out_is_terminal=True)
    bar, answer = text.index(WORDS), text.index("The state after offset")
    assert bar < answer and WORDS not in text[answer:]
    assert "/s" in text[bar:answer]
    assert "\x1b[2K" in text[bar:answer], "the line is cleared before anything else is written"


@pytest.mark.slow
def test_bar_is_on_stderr_while_the_answer_goes_to_a_pipe(tmp_path: Path):
    out, text = shown(["log", "image", str(unpacked("4.4.0", tmp_path)), "-o", "json"])
    assert json.loads(out)["kind"] == "log.image"
    assert WORDS in text


@pytest.mark.slow
def test_dump_into_a_pipe_has_a_bar(tmp_path: Path):
    out, text = shown(["log", "dump", str(unpacked("4.4.0", tmp_path))])
    assert all(json.loads(line)["file"] for line in out.splitlines())
    assert "Reading the log" in text


@pytest.mark.parametrize("more", [["-q"], ["-o", "json"], ["-o", "jsonl"]])
def test_progress_is_hidden_if_quiet_or_with_an_answer_for_programs(more, tmp_path: Path):
    words = ["log", "image", str(unpacked("4.4.0", tmp_path)), *more]
    _, text = shown(words, out_is_terminal=True, when="after a second")
    assert "\x1b[2K" not in text and WORDS not in text


def test_no_bar_is_shown_between_records_on_a_terminal(tmp_path: Path):
    words = ["log", "dump", str(unpacked("4.4.0", tmp_path)), "-o", "table"]
    _, text = shown(words, out_is_terminal=True, when="after a second")
    assert "Reading the log" not in text


@pytest.mark.slow
def test_progress_is_hidden_within_the_first_second(tmp_path: Path):
    _, text = shown(["log", "image", str(unpacked("4.4.0", tmp_path))], when="after a second")
    assert text == ""


def test_progress_is_hidden_in_a_pipe(tmp_path: Path):
    words = ["log", "image", str(unpacked("4.4.0", tmp_path))]
    run = subprocess.run(
        [sys.executable, "-c", RUN, "at once", *words], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert run.stderr == ""


def shown(words: list[str], *, out_is_terminal: bool = False, when: str = "at once") -> tuple[str, str]:
    """Return what a command line writes to a pipe, and what to a terminal that is its stderr, or both."""
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    child = subprocess.Popen(
        [sys.executable, "-c", RUN, when, *words],
        stdin=theirs, stdout=theirs if out_is_terminal else subprocess.PIPE, stderr=theirs, cwd=ROOT, text=True,
        env=kept | {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    os.close(theirs)
    text = b""
    with child:
        out = "" if child.stdout is None else child.stdout.read()
        with contextlib.suppress(OSError):  # Linux: EIO when the last writer has closed a terminal
            while chunk := os.read(ours, 65_536):
                text += chunk
        os.close(ours)
    assert child.wait(timeout=60) == 0, text
    return out, text.decode()
