"""A disk that fails on purpose: the nth operation of a run fails in a chosen way, or is the last that happens.

The real operations are carried out in a scratch directory, so that the result can be examined by the code that
observes real disks. After a kill nothing more is carried out, whatever the caller's `finally` blocks try. With
`power=True` a kill also removes what was not synced: file contents since their last fsync (cut at a random place), and
names since the last fsync of their directory (in each directory the operations since then are undone from the last one
back to a random point).
"""

from __future__ import annotations

import errno
import os
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from kafkactl.files.filesystem import OsFilesystem


class Fault(StrEnum):
    ERROR_BEFORE = "error before"
    ERROR_AFTER = "error after"
    SHORT_WRITE = "short write"
    NO_SPACE = "no space"
    KILL_BEFORE = "kill before"
    KILL_AFTER = "kill after"
    POWER_LOSS = "power loss"


class Killed(BaseException):
    """The process is gone. Not an Exception: nothing may catch it and go on."""


@dataclass
class _Unsynced:
    """Names changed in one directory since its last fsync: how to undo each, oldest first."""

    undo: list[Callable[[], None]] = field(default_factory=list)


class FaultyFilesystem:
    """Filesystem that counts operations: number `fail_at` (from 0) meets `fault`, all others the real disk."""

    def __init__(self, scratch: Path, *, fail_at: int = -1, fault: Fault | None = None, seed: int = 0) -> None:
        self.real = OsFilesystem()
        self.operations: list[str] = []
        self.fail_at = fail_at
        self.fault = fault
        self.dead = False
        self.scratch = scratch
        self.random = random.Random(seed)
        self._names: dict[str, _Unsynced] = {}
        self._contents: dict[int, int] = {}  # inode -> length that is surely on the disk
        self._paths: dict[int, str] = {}  # inode -> where it is now
        self._kept = 0

    def open_folder(self, path: str, *, at: int | None = None) -> int:
        return int(self._step("open folder", lambda: self.real.open_folder(path, at=at)))

    def create(self, path: str, mode: int, *, at: int | None = None) -> int:
        descriptor: int = self._step("create", lambda: self.real.create(path, mode, at=at))
        inode = os.fstat(descriptor).st_ino
        self._contents[inode] = 0
        self._paths[inode] = path
        self._changed(path, lambda: _remove(path))
        return descriptor

    def lock(self, path: str, *, at: int | None = None) -> int:
        there = os.path.lexists(path)
        descriptor: int = self._step("lock", lambda: self.real.lock(path, at=at))
        found = os.fstat(descriptor)
        self._contents[found.st_ino], self._paths[found.st_ino] = found.st_size, path
        if not there:
            self._changed(path, lambda: _remove(path))
        return descriptor

    def write(self, descriptor: int, data: bytes) -> int:
        def short(descriptor: int, data: bytes) -> int:
            return self.real.write(descriptor, data[: max(1, len(data) // 3)])

        return int(self._step("write", self.real.write, descriptor, data, short=short))

    def fsync(self, descriptor: int) -> None:
        found = os.fstat(descriptor)
        self._step("fsync", lambda: None)
        if found.st_ino in self._paths:  # not of what was found in place
            self._contents[found.st_ino] = found.st_size

    def close(self, descriptor: int) -> None:
        if self.dead:
            self.real.close(descriptor)  # the kernel does it
            return
        self._step("close", self.real.close, descriptor)

    def mkdir(self, path: str, *, at: int | None = None) -> None:
        self._step("mkdir", lambda: self.real.mkdir(path, at=at))
        self._changed(path, lambda: shutil.rmtree(path, ignore_errors=True))

    def rename(self, source: str, target: str) -> None:
        before = self._keep(target)
        self._step("rename", self.real.rename, source, target)
        self._paths[os.lstat(target).st_ino] = target

        def undo() -> None:
            if os.path.lexists(target):
                Path(target).rename(source)
            if before is not None:
                Path(before).rename(target)

        self._changed(target, undo)

    def publish(self, source: str, target: str, *, at: int) -> None:
        self._step("publish", lambda: self.real.publish(source, target, at=at))
        self._paths[os.lstat(target).st_ino] = target

        def undo() -> None:
            if os.path.lexists(target):
                Path(target).rename(source)

        self._changed(target, undo)

    def fsync_directory(self, path: str, *, at: int | None = None) -> None:
        self._step("fsync directory", lambda: list(Path(path).iterdir()))
        self._names.pop(path, None)

    def chmod(self, descriptor: int, mode: int) -> None:
        self._step("chmod", self.real.chmod, descriptor, mode)

    def chown(self, descriptor: int, uid: int, gid: int) -> None:
        self._step("chown", self.real.chown, descriptor, uid, gid)

    def unlink(self, path: str, *, at: int | None = None) -> None:
        before = self._keep(path)
        self._step("unlink", lambda: self.real.unlink(path, at=at))

        def undo() -> None:
            if before is not None:
                Path(before).rename(path)

        self._changed(path, undo)

    def rmdir(self, path: str, *, at: int | None = None) -> None:
        self._step("rmdir", lambda: self.real.rmdir(path, at=at))
        self._changed(path, lambda: Path(path).mkdir(parents=True, exist_ok=True))

    def _step(self, name: str, operation: Callable[..., Any], *arguments: Any, short: Any = None) -> Any:
        if self.dead:
            raise Killed
        number = len(self.operations)
        self.operations.append(name)
        if number != self.fail_at:
            return operation(*arguments)
        return self._fail(name, operation, arguments, short)

    def _fail(self, name: str, operation: Callable[..., Any], arguments: tuple[Any, ...], short: Any) -> Any:
        match self.fault:
            case Fault.ERROR_BEFORE:
                raise _error(errno.EIO)
            case Fault.ERROR_AFTER:
                _close_if_opened(name, operation(*arguments))
                raise _error(errno.EIO)
            case Fault.SHORT_WRITE:
                return operation(*arguments) if short is None else short(*arguments)
            case Fault.NO_SPACE:
                if short is not None:
                    short(*arguments)
                raise _error(errno.ENOSPC)
            case Fault.KILL_BEFORE:
                self._kill()
            case Fault.KILL_AFTER:
                _close_if_opened(name, operation(*arguments))
                self._kill()
            case Fault.POWER_LOSS:
                self._kill()
        raise AssertionError(self.fault)

    def _kill(self) -> None:
        self.dead = True
        raise Killed

    def lose_power(self) -> None:
        """Remove from the scratch directory what was never synced. Call after `Killed`."""
        self._lose_contents()
        for unsynced in self._names.values():
            stay = self.random.randint(0, len(unsynced.undo))
            for undo in reversed(unsynced.undo[stay:]):
                undo()

    def _lose_contents(self) -> None:
        for inode, synced in self._contents.items():
            path = self._paths[inode]
            if not os.path.lexists(path) or os.lstat(path).st_ino != inode:
                continue
            size = os.lstat(path).st_size
            if size > synced:
                Path(path).chmod(0o600)
                os.truncate(path, self.random.randint(synced, size))

    def _changed(self, path: str, undo: Callable[[], None]) -> None:
        self._names.setdefault(str(Path(path).parent), _Unsynced()).undo.append(undo)

    def _keep(self, path: str) -> str | None:
        """Return a second name for a file that is about to lose its own, outside the tree that is looked at."""
        if self.dead or not os.path.lexists(path):
            return None
        self._kept += 1
        kept = str(self.scratch / f"kept-{self._kept}")
        os.link(path, kept, follow_symlinks=False)
        return kept


def _error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def _close_if_opened(name: str, result: Any) -> None:
    if name in {"create", "lock", "open folder"}:
        os.close(result)


def _remove(path: str) -> None:
    if os.path.lexists(path):
        Path(path).unlink()
