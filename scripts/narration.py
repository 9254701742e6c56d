"""How the demo speaks: titles, a sentence, a command line and what it really prints."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = Path(sys.executable).with_name("kafkactl")
WIDTH = 96


class DemoError(Exception):
    """Something did not go as the demo promises."""


def title(text: str) -> None:
    """A new part."""
    line = "─" * max(4, WIDTH - len(text) - 4)
    print(f"\n{_painted('1;36', f'── {text} {line}')}\n", flush=True)


def say(text: str) -> None:
    """A sentence or two."""
    print(textwrap.fill(text, WIDTH), flush=True)


def kafkactl(*arguments: str, expect: int = 0) -> None:
    """Show a command line, run it, let it print; it has to end with this exit code."""
    print(f"\n{_painted('1', f'$ kafkactl {shlex.join(arguments)}')}", flush=True)
    run = subprocess.run([str(PROGRAM), *arguments], cwd=ROOT, stdin=subprocess.DEVNULL, check=False)
    print(_painted("2", f"(exit code {run.returncode})"), flush=True)
    if run.returncode != expect:
        raise DemoError(f"`kafkactl {shlex.join(arguments)}` ended with {run.returncode}, expected {expect}")


def quote(command: str, lines: Sequence[str]) -> None:
    """Show what another tool printed."""
    print(f"\n{_painted('1', f'$ {command}')}", flush=True)
    for line in lines:
        print(f"  {line}", flush=True)


def _painted(code: str, text: str) -> str:
    if os.environ.get("NO_COLOR") or not sys.stdout.isatty():
        return text
    return f"\x1b[{code}m{text}\x1b[0m"
