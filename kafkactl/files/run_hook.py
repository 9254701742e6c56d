"""Run of a hook: a command of the operator's, with a time limit, bounded output and a result that is always known.

The exit code of a hook is not evidence: the gate after it is observed. A hook that fails, hangs or asks to be tried
again is reported with the last lines of its output. A hook is started without a shell, in a process group of its own
that is killed when the hook ends. A process that is to outlive the hook (a node that it started) has to leave that
group, as `setsid` does.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final

from kafkactl.change.clock import Clock, Deadline
from kafkactl.change.hooks.run import HookEnd, HookRun
from kafkactl.change.hooks.words import CHANGED_MEANWHILE, DONE, TRY_AGAIN
from kafkactl.change.journal_lines import redacted
from kafkactl.core.frozen import frozen
from kafkactl.files.clock import SystemClock

STDOUT_BYTES: Final = 64 << 20
STDERR_BYTES: Final = 64 << 10
_MESSAGE_CHARS: Final = 600
_POLL_S: Final = 0.05
_GRACE_MS: Final = 2_000  # between SIGTERM and SIGKILL
_LAST_WORDS_MS: Final = 300  # for what is still in the pipes when the process has ended


@frozen
class HookLimits:
    """Limits of a hook: the time of one run, the time for "try again", and the pause between two tries."""

    timeout_ms: int = 300_000
    try_again_ms: int = 600_000
    pause_ms: int = 2_000


def run_hook(
    words: Sequence[str],
    *,
    stdin: bytes = b"",
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    limits: HookLimits | None = None,
    clock: Clock | None = None,
    shows_stdout: bool = False,
) -> HookRun:
    """Run a command until it has ended, again as long as it asks for it (exit 75). Nothing is raised for what it does.

    `environment` is the whole of it (that of this process by default), `folder` the working directory, to which a
    relative command is relative. `shows_stdout`: if it fails, the end of its stdout is shown as well; not of a hook
    whose stdout is a configuration file. A time limit, or an interruption, ends the hook's whole process group.
    """
    bounds, time = limits or HookLimits(), clock or SystemClock()
    began_ms, until = time.now_ms(), Deadline.after(bounds.try_again_ms, time)
    attempts = 0
    while True:
        attempts += 1
        deadline = Deadline.after(bounds.timeout_ms, time)
        code, out, err, timed_out = _run_once(words, stdin, environment, folder, deadline)
        if code != TRY_AGAIN or timed_out or until.passed:
            break
        time.sleep_ms(min(bounds.pause_ms, max(1.0, until.left_ms)))
    end = HookEnd.TIMED_OUT if timed_out else _ENDS.get(code, HookEnd.FAILED)
    return HookRun(
        end=end,
        exit_code=code,
        stdout=bytes(out.kept),
        truncated=out.truncated,
        message=_message(words, end, code, bounds, err=err, out=out if shows_stdout else None),
        attempts=attempts,
        elapsed_ms=int(time.now_ms() - began_ms),
    )


_ENDS: Final[Mapping[int | None, HookEnd]] = {
    DONE: HookEnd.DONE,
    TRY_AGAIN: HookEnd.NOT_READY,
    CHANGED_MEANWHILE: HookEnd.CHANGED_MEANWHILE,
    None: HookEnd.NOT_STARTED,
}


class _Kept:
    """The first, or the last, so many bytes of a stream; the rest is read and let go."""

    def __init__(self, bound: int, *, last: bool) -> None:
        self.kept = bytearray()
        self.truncated = False
        self._bound, self._last = bound, last

    def add(self, data: bytes) -> None:
        self.kept += data
        if len(self.kept) > self._bound:
            self.truncated = True
            if self._last:
                del self.kept[: len(self.kept) - self._bound]
            else:
                del self.kept[self._bound :]


def _run_once(
    words: Sequence[str], stdin: bytes, environment: Mapping[str, str] | None, folder: Path | None, deadline: Deadline
) -> tuple[int | None, _Kept, _Kept, bool]:
    out, err = _Kept(STDOUT_BYTES, last=False), _Kept(STDERR_BYTES, last=True)
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(
            list(words), stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True, env=environment, cwd=folder
        )
    except (OSError, ValueError) as error:
        err.add(str(error).encode(errors="replace"))
        return None, out, err, False
    try:
        timed_out = _talk(process, stdin, out, err, deadline)
    except BaseException:
        _end(process, deadline.clock)
        raise
    if timed_out:
        _end(process, deadline.clock)
    return process.returncode, out, err, timed_out


def _talk(process: subprocess.Popen[bytes], stdin: bytes, out: _Kept, err: _Kept, deadline: Deadline) -> bool:
    """Feed and read until the process has ended; whether the time was over before. Closes the pipes."""
    assert process.stdin and process.stdout and process.stderr
    left = memoryview(stdin)
    with selectors.DefaultSelector() as waiting, process.stdin, process.stdout, process.stderr:
        for stream, sink in ((process.stdout, out), (process.stderr, err)):
            os.set_blocking(stream.fileno(), False)
            waiting.register(stream, selectors.EVENT_READ, sink)
        os.set_blocking(process.stdin.fileno(), False)
        waiting.register(process.stdin, selectors.EVENT_WRITE, None)
        last_words: Deadline | None = None
        while True:
            for key, _ in waiting.select(_POLL_S):
                ready: Any = key.fileobj
                if key.data is None:
                    left = _fed(ready, left)
                    if not left:
                        waiting.unregister(ready)
                        _close(ready)
                elif not _read(ready, key.data):
                    waiting.unregister(ready)
            open_ended = any(key.data is not None for key in waiting.get_map().values())
            if process.poll() is not None:
                # A node that the hook started may hold the pipes forever; what the hook itself wrote is there by now.
                last_words = last_words or Deadline.after(_LAST_WORDS_MS, deadline.clock)
                if not open_ended or last_words.passed:
                    return False
            elif deadline.passed:
                return True


def _fed(stream: IO[bytes], left: memoryview) -> memoryview:
    if not left:
        return left
    try:
        return left[os.write(stream.fileno(), left[: 1 << 16]) :]
    except BlockingIOError:
        return left
    except OSError:  # it does not read its input: its exit code says whether that is well
        return left[:0]


def _read(stream: IO[bytes], sink: _Kept) -> bool:
    try:
        data = os.read(stream.fileno(), 1 << 16)
    except BlockingIOError:
        return True
    sink.add(data)
    return bool(data)


def _close(stream: IO[bytes]) -> None:
    with contextlib.suppress(OSError):
        stream.close()


def _end(process: subprocess.Popen[bytes], clock: Clock) -> None:
    """End the process group of a hook: first asked, then made to."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        until = Deadline.after(_GRACE_MS, clock)
        while process.poll() is None and not until.passed:
            clock.sleep_ms(_POLL_S * 1000)
        if process.poll() is not None and number is signal.SIGKILL:
            return


def _message(
    words: Sequence[str], end: HookEnd, code: int | None, limits: HookLimits, *, err: _Kept, out: _Kept | None
) -> str:
    what = {
        HookEnd.DONE: "exit 0",
        HookEnd.TIMED_OUT: f"not ended after {limits.timeout_ms / 1000:g} s",
        HookEnd.NOT_STARTED: "not started",
        HookEnd.NOT_READY: f"still asks to be tried again after {limits.try_again_ms / 1000:g} s",
    }.get(end, f"exit {code}")
    wrote = _end_of(err)
    printed = _end_of(out) if out is not None and end is not HookEnd.DONE else ""
    return f"{words[0]}: {what}" + (f": {wrote}" if wrote else "") + (f"; stdout: {printed}" if printed else "")


def _end_of(stream: _Kept) -> str:
    """Return the last that was written, without what looks like a secret."""
    wrote = str(redacted(bytes(stream.kept).decode("utf-8", "replace").strip()))
    return wrote if len(wrote) <= _MESSAGE_CHARS else "…" + wrote[-_MESSAGE_CHARS:]
