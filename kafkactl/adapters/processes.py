"""Work on one piece after the other, done on several processors: children of this process make what it shows in order.

A child is forked for each piece, so that nothing has to be sent to it, and sends back bytes. This process is the judge:
a piece whose child could not do it, for whatever reason, comes back without bytes, and is done here.
"""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final, Generic, TypeVar

Piece = TypeVar("Piece")
Work = Callable[[Piece], Sequence[bytes] | None]

MOST_PROCESSES: Final = 4
_SIZE: Final = struct.Struct(">Q")
_READ_BYTES: Final = 1024 * 1024
_HANDLED: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)


def useful_processes() -> int:
    """How many children are of use here: 1, which is none, where forking is not safe or there is one processor."""
    if sys.platform != "linux" or threading.active_count() > 1:
        return 1
    return min(len(os.sched_getaffinity(0)), MOST_PROCESSES)


def done_ahead(
    pieces: Iterable[Piece], work: Work[Piece], processes: int, *, alone: Callable[[Piece], bool]
) -> Iterator[tuple[Piece, list[bytes] | None]]:
    """Each piece, in order, with the result of `work` on it in a child process; None if this process has to do it.

    `work` returns None for a piece that it leaves to this process; `alone` says for which pieces that is known before.
    At most `processes` children are at work, and as many pieces are held. Raises what `pieces` raises, after the pieces
    before it. When the generator is closed, children that are still at work are killed.
    """
    waiting: deque[tuple[Piece, _Child[Piece] | None]] = deque()
    failure: BaseException | None = None
    source = iter(pieces)
    try:
        while failure is None or waiting:
            while failure is None and len(waiting) < processes:
                try:
                    piece = next(source)
                except Exception as error:  # the end is one, too: what was begun is finished first
                    failure = error
                else:
                    is_alone = alone(piece)
                    with _signals_held():  # one between the fork and here would leave a child that nobody stops
                        waiting.append((piece, None if is_alone else _Child.started(work, piece)))
            if waiting:
                piece, child = waiting.popleft()
                try:
                    made = None if child is None else child.result()
                finally:
                    if child is not None:
                        child.stop()
                yield piece, made
    finally:
        for _, child in waiting:
            if child is not None:
                child.stop()
    if failure is not None and not isinstance(failure, StopIteration):
        raise failure


@contextmanager
def _signals_held() -> Iterator[None]:
    """Let the signals that end a run wait for the end of the block."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Child(Generic[Piece]):
    """A child at work on one piece."""

    def __init__(self, pid: int, pipe: int) -> None:
        self._pid: int | None = pid
        self._pipe = pipe

    @classmethod
    def started(cls, work: Work[Piece], piece: Piece) -> _Child[Piece] | None:
        """None where the system has no room for another process."""
        ours, theirs = os.pipe()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # threads of numpy's, which no child uses
                pid = os.fork()
        except OSError:
            os.close(ours)
            os.close(theirs)
            return None
        if pid == 0:
            os.close(ours)  # else a child whose parent was killed would wait for itself to read
            _be_child(theirs, work, piece)
        os.close(theirs)
        with suppress(OSError, AttributeError):  # fewer turns; a system may allow less
            fcntl.fcntl(ours, fcntl.F_SETPIPE_SZ, _READ_BYTES)
        return cls(pid, ours)

    def result(self) -> list[bytes] | None:
        """What it sends; None where that is not all."""
        head = b""
        while len(head) < _SIZE.size and (data := os.read(self._pipe, _SIZE.size - len(head))):
            head += data
        if len(head) < _SIZE.size:
            return None
        left = int(_SIZE.unpack(head)[0])
        made: list[bytes] = []
        while left > 0 and (data := os.read(self._pipe, _READ_BYTES)):
            made.append(data)
            left -= len(data)
        return None if left else made

    def stop(self) -> None:
        """Let nothing of it stay behind, done or not."""
        if self._pid is not None:
            pid, self._pid = self._pid, None
            os.close(self._pipe)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):  # with SIGCHLD ignored, the kernel has reaped the child
                os.waitpid(pid, 0)


def _be_child(pipe: int, work: Work[Piece], piece: Piece) -> None:
    """Do the work, send its result, and end. After an error nothing is sent: the parent does the piece and meets the
    same error."""
    try:
        for number in _HANDLED:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED)
        parts = work(piece)
        if parts is not None:
            for part in (_SIZE.pack(sum(map(len, parts))), *parts):
                view = memoryview(part)
                while view:
                    view = view[os.write(pipe, view) :]
    finally:
        os.kill(os.getpid(), signal.SIGKILL)  # nothing of the parent may be flushed or ended here
