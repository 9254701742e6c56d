"""Output of a command on a terminal of a given width, with colours."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path

_WIPED = re.compile(r"[^\n]*\r\x1b\[K|\r")


def on_a_terminal(
    command: Sequence[str], *, folder: Path, columns: int, environment: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Run a command on a terminal of its own; its exit code, and what is left to read there, ends of line as `\\n`.

    A line of progress that the command wiped is not.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    child = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, env=_environment(columns, environment or {})
    )
    os.close(theirs)
    text = b""
    try:
        while chunk := os.read(ours, 65536):
            text += chunk
    except OSError:
        pass  # Linux says EIO when the last writer has closed a terminal
    finally:
        os.close(ours)
        child.wait()
    return child.returncode, _WIPED.sub("", text.decode("utf-8", "replace").replace("\r\n", "\n"))


def _environment(columns: int, added: Mapping[str, str]) -> dict[str, str]:
    unwanted = ("KAFKACTL_", "NO_COLOR", "FORCE_COLOR", "LC_", "LANG")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
    return kept | {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "COLUMNS": str(columns)} | dict(added)
