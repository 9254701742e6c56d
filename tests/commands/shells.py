"""Real shells in which a word is completed, as a person would: keys through a terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

SECONDS = 60  # ten times what a loaded machine takes
READY = "READY>"


def needs(shell: str) -> str:
    """Return the path of a shell; the test is skipped if there is none."""
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed (Debian: apt-get install {shell})")
    return path


def offered_by_fish(script: Path, line: str, environment: Mapping[str, str]) -> set[str]:
    """Return what fish offers behind a line: its own completion engine is asked."""
    run = subprocess.run(
        [needs("fish"), "--no-config", "-c", f"source {script}; complete -C '{line}'"],
        capture_output=True, text=True, timeout=SECONDS, check=False, env=dict(environment),
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return {offer.partition("\t")[0] for offer in run.stdout.splitlines()}


class Terminal:
    """An interactive shell behind a terminal. `typed(keys)` types and waits until a pattern was printed."""

    def __init__(self, command: list[str], environment: Mapping[str, str], folder: Path) -> None:
        self.text = ""
        self._pid, self._master = pty.fork()
        if not self._pid:
            os.chdir(folder)
            os.execve(command[0], command, {**environment, "TERM": "dumb", "COLUMNS": "200"})

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        os.kill(self._pid, 9)
        os.waitpid(self._pid, 0)
        os.close(self._master)

    def typed(self, keys: str, until: str) -> str:
        """Return what was printed since these keys, as soon as it fits `until` (a regular expression)."""
        self.text = ""
        os.write(self._master, keys.encode())
        deadline = time.monotonic() + SECONDS
        while not re.search(until, self.text):
            assert time.monotonic() < deadline, f"no {until!r} within {SECONDS} s: {self.text!r}"
            if select.select([self._master], [], [], 0.1)[0]:
                self.text += os.read(self._master, 65536).decode("utf-8", "replace")
        return self.text


def completed(shell: str, script: Path, line: str, until: str, environment: Mapping[str, str], folder: Path) -> str:
    """Return what bash or zsh shows after a line and the Tab key, as soon as it fits `until`."""
    path = needs(shell)
    options = {"bash": ["--norc", "--noprofile", "-i"], "zsh": ["-f", "-i"]}[shell]
    setup = {
        "bash": f"bind 'set bell-style none'; source {script}; PS1='{READY[:3]}''{READY[3:]}'\n",
        "zsh": f"autoload -Uz compinit; compinit -u -D; source {script}; PROMPT='{READY[:3]}''{READY[3:]}'\n",
    }[shell]
    tabs = {"bash": "\t\t\t", "zsh": "\t\t"}[shell]  # bash lists only behind a Tab that changed nothing
    with Terminal([path, *options], environment, folder) as terminal:
        terminal.typed(setup, READY)
        return terminal.typed(f"{line}{tabs}", until)
