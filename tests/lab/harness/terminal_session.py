"""A command on a terminal of its own, with an operator in front of it who reads, answers and presses Ctrl-C.

::

    with TerminalSession(["kafkactl", "migrate", "status", "--watch"], cwd=folder, columns=80) as session:
        session.until(lambda text: "M6: " in text)
        session.interrupt()
        assert session.ended() == 130
        print(session.frames[-1])
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.lab.harness.errors import LabError

_REDRAWN = re.compile(r"\r?(?:\x1b\[2K|\x1b\[1?A|\r)*\x1b\[2K(?:\x1b\[1?A|\x1b\[2K|\r)*")
_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
ROOT = Path(__file__).parents[3]


class TerminalSession:
    """Session of a command at a terminal. `answers` maps a regular expression of a question to the input."""

    def __init__(
        self, command: Sequence[str], *, cwd: Path, columns: int = 200, lines: int = 60,
        answers: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.columns = columns
        self._command, self._cwd, self._size = list(command), cwd, (lines, columns)
        self._answers = {re.compile(rf"(?:{question})\s*$"): said for question, said in (answers or {}).items()}
        self._text = ""
        self._answered = 0
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *self._size, 0, 0))
        environment = os.environ | {"LC_ALL": "C.UTF-8", "TERM": "xterm-256color", "PYTHONPATH": str(ROOT)}
        for name in ("COLUMNS", "LINES", "NO_COLOR"):
            environment.pop(name, None)
        self.process = subprocess.Popen(
            self._command, cwd=self._cwd, env=environment, stdin=theirs, stdout=theirs, stderr=theirs,
            start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join(10)
        os.close(self._ours)

    @property
    def text(self) -> str:
        """Return all that was shown so far, without colours and cursor movements."""
        return plain(self._text)

    @property
    def frames(self) -> list[str]:
        """Return what was on the screen, one frame after the other, of a view that is drawn over itself."""
        return [plain(part) for part in _REDRAWN.split(self._text) if plain(part).strip()]

    def until(self, holds: Callable[[str], object], timeout_s: float = 60) -> str:
        """Return the text as soon as that holds. Raises LabError if it does not, with the end of what was shown."""
        deadline = time.monotonic() + timeout_s
        while not holds(text := self.text):
            if time.monotonic() > deadline or (self.process.poll() is not None and not self._reader.is_alive()):
                raise LabError(f"what was waited for was not shown:\n{text[-3000:]}")
            time.sleep(0.1)
        return text

    def interrupt(self) -> None:
        """Send Ctrl-C, as the terminal does."""
        os.killpg(self.process.pid, signal.SIGINT)

    def ended(self, timeout_s: float = 60) -> int:
        """Return the exit code, once everything was read."""
        code = self.process.wait(timeout_s)
        self._reader.join(10)
        return code

    def _read(self) -> None:
        raw = b""
        while True:
            try:
                part = os.read(self._ours, 1 << 16)
            except OSError:  # the other side hung up
                return
            if not part:
                return
            raw += part
            self._text = raw.decode("utf-8", "replace")
            self._answer()

    def _answer(self) -> None:
        asked = plain(self._text[self._answered :])
        for question, said in self._answers.items():
            if question.search(asked):
                self._answered = len(self._text)
                os.write(self._ours, f"{said}\n".encode())


def plain(text: str) -> str:
    """Remove the codes that move the cursor and colour letters."""
    return _CODES.sub("", text).replace("\r\n", "\n")
