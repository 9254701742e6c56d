"""Locks on a directory: of a running node, and of another kafkactl.

A Kafka node holds an exclusive POSIX record lock on `.lock` in each of its directories from start to stop
(LogManager.lockLogDirs, KafkaRaftManager; Java's FileChannel.tryLock). We only look at that lock: were we to hold
it, a node started a moment after a finished format would die of "Failed to acquire lock". Against a second
kafkactl there is a file of our own, which lives no longer than the work does. A file that a killed kafkactl left is
empty, unlocked and harmless (a node ignores plain files in a log directory); the next run takes it over.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
from collections.abc import Iterator
from pathlib import Path

from kafkactl.core.errors import RefusedError
from kafkactl.files.filesystem import Filesystem
from kafkactl.storage.model import KAFKACTL_LOCK

# struct flock on 64-bit Linux: type, whence, start, length, process id.
_FLOCK = struct.Struct("hhqqi")
_TRIES = 100


def lock_holder(path: str) -> int | None:
    """Return the id of the process that holds an exclusive lock on this file; None if none does or the file does not
    exist.

    0 if the file is locked and the system does not say by which process (another machine, another container). A POSIX
    lock of the calling process is not seen, and would be released by the call.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        return _ask(descriptor)
    finally:
        os.close(descriptor)


def _ask(descriptor: int) -> int | None:
    if not hasattr(fcntl, "F_GETLK") or os.uname().sysname != "Linux":
        return _ask_by_trying(descriptor)
    question = _FLOCK.pack(fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)
    try:
        answer = fcntl.fcntl(descriptor, fcntl.F_GETLK, question)
    except OSError:
        return None
    kind, _, _, _, pid = _FLOCK.unpack(answer[: _FLOCK.size])
    return None if kind == fcntl.F_UNLCK else max(int(pid), 0)


def _ask_by_trying(descriptor: int) -> int | None:
    """Try a shared lock briefly if the layout of struct flock is unknown; return 0 if it is refused, else None."""
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return 0
    fcntl.lockf(descriptor, fcntl.LOCK_UN)
    return None


@contextlib.contextmanager
def directory_lock(directory: str, files: Filesystem, *, at: int | None = None) -> Iterator[None]:
    """Keep every other kafkactl out of this directory, which is open as `at`, while the block runs. It never waits.

    Raises as `file_lock`.
    """
    with file_lock(str(Path(directory, KAFKACTL_LOCK)), directory, files, at=at):
        yield


@contextlib.contextmanager
def file_lock(path: str, directory: str, files: Filesystem, *, at: int | None = None) -> Iterator[None]:
    """Keep every other kafkactl out of `directory` by a lock file, in the open directory `at`, while the block runs.

    Raises RefusedError `another-kafkactl-is-writing`, or OSError if the lock file cannot be made. The file is
    removed at the end of the block, but not when the process is killed in it.
    """
    descriptor = _acquire(path, directory, files, at)
    try:
        yield
    except (Exception, KeyboardInterrupt):
        _remove(path, files, at)
        raise
    else:
        _remove(path, files, at)
    finally:
        os.close(descriptor)


def _remove(path: str, files: Filesystem, at: int | None) -> None:
    """Remove the lock file while it is still locked, so that it is ours; if that fails, the file left is harmless."""
    with contextlib.suppress(OSError):
        files.unlink(path, at=at)


def _acquire(path: str, directory: str, files: Filesystem, at: int | None) -> int:
    for _ in range(_TRIES):
        try:
            descriptor = files.lock(path, at=at)
        except BlockingIOError:
            break
        if _is_still_at(path, descriptor, at):
            return descriptor
        # The former holder removed the name between our open and our lock: what we hold is a lock on nothing.
        os.close(descriptor)
    raise RefusedError(f"another kafkactl is writing to {directory}", id="another-kafkactl-is-writing")


def _is_still_at(path: str, descriptor: int, at: int | None) -> bool:
    try:
        there = os.lstat(path) if at is None else os.stat(Path(path).name, dir_fd=at, follow_symlinks=False)
    except OSError:
        return False
    mine = os.fstat(descriptor)
    return (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)
