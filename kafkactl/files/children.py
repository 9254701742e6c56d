"""Work on one piece after the other, done on several processors: children of this process make what it shows in order.

A child is forked for each piece, so that nothing has to be sent to it, and leaves bytes in memory that both processes
have open as a file: it never waits for this process to read. What counts is what this process does: a piece whose child
could not do it, for whatever reason, comes back without bytes, and is done here.
"""

from __future__ import annotations

import os
import select
import signal
import struct
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, Generic, TypeVar

Piece = TypeVar("Piece")
Work = Callable[[Piece], "Iterable[bytes] | None"]

MOST_PROCESSES: Final = 4
_SIZE: Final = struct.Struct(">Q")
_READ_BYTES: Final = 256 * 1024
_HANDLED: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)


class LeftToParentError(Exception):
    """Raised by work that finds, at whatever point, that its piece has to be done by the parent."""


def useful_processes() -> int:
    """Return the useful number of children: 1, which means none, if forking is unsafe or there is one processor."""
    if sys.platform != "linux" or threading.active_count() > 1:
        return 1
    return min(len(os.sched_getaffinity(0)), MOST_PROCESSES)


def done_ahead(
    pieces: Iterable[Piece],
    work: Work[Piece],
    processes: int,
    *,
    alone: Callable[[Piece], bool],
    held: int | None = None,
) -> Generator[tuple[Piece, Iterator[bytes] | None], None, None]:
    """Yield each piece, in order, with the result of `work` in a child; None if this process must do the work.

    A result must be read before the next piece is requested. `work` returns None or raises for work that it leaves to
    this process (LeftToParentError), and `alone` selects such pieces in advance. At most `processes` children run, and
    `held` pieces are kept (default: as many): more if one piece may take as long as several later ones, and the results
    are small. What `pieces` raises is raised after the earlier pieces; children that still run when the generator is
    closed are killed.
    """
    waiting: deque[tuple[Piece, _Child[Piece] | None]] = deque()
    failure: BaseException | None = None
    source, most = iter(pieces), held or processes
    try:
        while failure is None or waiting:
            while failure is None and len(waiting) < most and _at_work(waiting) < processes:
                try:
                    piece = next(source)
                except Exception as error:  # the end is one, too: what was begun is finished first
                    failure = error
                else:
                    is_alone = alone(piece)
                    with _signals_held():  # one between the fork and here would leave a child that is never stopped
                        waiting.append((piece, None if is_alone else _Child.started(work, piece)))
            head = waiting[0][1] if waiting else None
            if failure is None and len(waiting) < most and head is not None and not head.has_ended():
                _wait_for_one(waiting)  # to begin with the next piece
            elif waiting:
                piece, child = waiting.popleft()
                try:
                    yield piece, None if child is None else child.result()
                finally:
                    if child is not None:
                        child.stop()
    finally:
        for _, child in waiting:
            if child is not None:
                child.stop()
    if failure is not None and not isinstance(failure, StopIteration):
        raise failure


def _at_work(waiting: Iterable[tuple[Piece, _Child[Piece] | None]]) -> int:
    return sum(child is not None and not child.has_ended() for _, child in waiting)


def _wait_for_one(waiting: Iterable[tuple[Piece, _Child[Piece] | None]]) -> None:
    """Wait until one of the working children has ended."""
    select.select([child for _, child in waiting if child is not None and not child.has_ended()], [], [])


@contextmanager
def _signals_held() -> Iterator[None]:
    """Delay the signals that end a run until the end of the block."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Child(Generic[Piece]):
    """A child at work on one piece."""

    def __init__(self, pid: int, pipe: int, memory: int) -> None:
        self._pid: int | None = pid
        self._pipe = pipe
        self._memory = memory
        self._ended = False

    @classmethod
    def started(cls, work: Work[Piece], piece: Piece) -> _Child[Piece] | None:
        """Start a child; return None if the system has no room for another process."""
        opened: list[int] = []
        try:
            opened.append(os.memfd_create("made"))
            opened += os.pipe()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # threads of numpy's, which no child uses
                pid = os.fork()
        except OSError:
            for file in opened:
                os.close(file)
            return None
        memory, ours, theirs = opened
        if pid == 0:
            os.close(ours)  # else a child whose parent was killed would wait for itself to read
            _be_child(theirs, memory, work, piece)
        os.close(theirs)
        return cls(pid, ours, memory)

    def fileno(self) -> int:
        """Return the descriptor that is readable after the child has ended."""
        return self._pipe

    def has_ended(self) -> bool:
        """Return True if it has done its work, or failed."""
        self._ended = self._ended or bool(select.select([self], [], [], 0)[0])
        return self._ended

    def result(self) -> Iterator[bytes] | None:
        """Return the result, to be read before the child is stopped; None if it is incomplete. Wait for its end."""
        head = b""
        while len(head) < _SIZE.size and (data := os.read(self._pipe, _SIZE.size - len(head))):
            head += data
        if len(head) < _SIZE.size:
            return None
        size = int(_SIZE.unpack(head)[0])
        return _parts(self._memory, size) if os.fstat(self._memory).st_size == size else None

    def stop(self) -> None:
        """Kill the child and release its memory, finished or not."""
        if self._pid is not None:
            pid, self._pid = self._pid, None
            os.close(self._pipe)
            os.close(self._memory)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):  # with SIGCHLD ignored, the kernel has reaped the child
                os.waitpid(pid, 0)


def _parts(memory: int, size: int) -> Iterator[bytes]:
    for at in range(0, size, _READ_BYTES):
        yield os.pread(memory, _READ_BYTES, at)


def _be_child(pipe: int, memory: int, work: Work[Piece], piece: Piece) -> None:
    """Run the piece, report its size, and exit. After an error nothing is reported: the parent then does the piece."""
    try:
        for number in _HANDLED:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED)
        parts, size = work(piece), 0
        if parts is not None:
            for part in parts:
                size += len(part)
                view = memoryview(part)
                while view:
                    view = view[os.write(memory, view) :]
            os.write(pipe, _SIZE.pack(size))
    finally:
        os.kill(os.getpid(), signal.SIGKILL)  # nothing of the parent may be flushed or ended here
