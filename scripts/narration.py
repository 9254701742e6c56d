"""How the demo speaks: titles, a sentence, a command line and what it really prints."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from scripts.terminal_capture import on_a_terminal

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = Path(sys.executable).with_name("kafkactl")
WIDTH = 96
COLUMNS = 100


class DemoError(Exception):
    """Something did not go as the demo promises."""


def title(text: str) -> None:
    """A new part."""
    line = "─" * max(4, WIDTH - len(text) - 4)
    print(f"\n{_painted('1;36', f'── {text} {line}')}", flush=True)


def say(text: str) -> None:
    """A sentence or two."""
    print(f"\n{textwrap.fill(text, WIDTH)}", flush=True)


def kafkactl(*arguments: str, expect: int = 0) -> None:
    """Show a command line, run it, show what it prints; it has to end with this exit code."""
    line = textwrap.wrap(
        f"$ kafkactl {shlex.join(arguments)}", WIDTH - 2, break_long_words=False, break_on_hyphens=False
    )
    print("\n" + _painted("1", " \\\n    ".join(line)), flush=True)
    color = {} if _has_color() else {"NO_COLOR": "1"}
    code, text = on_a_terminal([str(PROGRAM), *arguments], folder=ROOT, columns=COLUMNS, environment=color)
    print(f"{text}{_painted('2', f'(exit code {code})')}", flush=True)
    if code != expect:
        raise DemoError(f"`kafkactl {shlex.join(arguments)}` ended with {code}, expected {expect}")


def in_a_line(promise: str, arguments: Sequence[str]) -> None:
    """Run a command whose output would only repeat what was shown; say that it kept its promise."""
    run = subprocess.run([str(PROGRAM), *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if run.returncode:
        raise DemoError(f"`kafkactl {shlex.join(arguments)}` ended with {run.returncode}:\n{run.stdout}{run.stderr}")
    print(f"  {promise}", flush=True)


def quote(command: str, lines: Sequence[str]) -> None:
    """Show what another tool printed, its padding squeezed."""
    print(f"\n{_painted('1', f'$ {command}')}", flush=True)
    for line in lines:
        words = " ".join(line.split())
        print(
            textwrap.fill(words, WIDTH, initial_indent="  ", subsequent_indent="      ", break_on_hyphens=False),
            flush=True,
        )


def _painted(code: str, text: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if _has_color() else text


def _has_color() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
