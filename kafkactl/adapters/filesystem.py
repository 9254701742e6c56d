"""The port through which every file of a node is changed: one method, one operation that can fail or be the last.

Nothing here decides anything. Whoever writes to a disk goes through `Filesystem`, so that a test can make the nth
operation fail in every way, or end the process there, and look at what is left (tests/crash/).
Reading needs no port: it changes nothing.
"""

from __future__ import annotations

import fcntl
import os
from typing import Protocol


class Filesystem(Protocol):
    """What writing to a node's directories needs of an operating system. Every method may raise OSError."""

    def create(self, path: str, mode: int) -> int:
        """Create a file that must not exist yet and return its descriptor; `mode` is subject to the umask."""
        ...

    def lock(self, path: str) -> int:
        """Open or create a file and lock it for this open file alone. Raises BlockingIOError where it is locked."""
        ...

    def write(self, descriptor: int, data: bytes) -> int:
        """Write some of `data`; returns how many bytes were taken, which may be fewer than given."""
        ...

    def fsync(self, descriptor: int) -> None:
        """Return only when the file's content is on the disk."""
        ...

    def close(self, descriptor: int) -> None:
        """Give the descriptor back."""
        ...

    def mkdir(self, path: str) -> None:
        """Create one directory, whose parent exists."""
        ...

    def rename(self, source: str, target: str) -> None:
        """Put `source` in the place of `target` in one step, on one file system. EXDEV is an error, never a copy."""
        ...

    def fsync_directory(self, path: str) -> None:
        """Return only when the names in this directory are on the disk."""
        ...

    def chmod(self, path: str, mode: int) -> None:
        """Set the permission bits."""
        ...

    def chown(self, path: str, uid: int, gid: int) -> None:
        """Give a file or directory to a user and a group (-1: leave as is); links are not followed."""
        ...

    def unlink(self, path: str) -> None:
        """Remove a name of a file."""
        ...

    def rmdir(self, path: str) -> None:
        """Remove an empty directory."""
        ...


class OsFilesystem:
    """The real one."""

    def create(self, path: str, mode: int) -> int:
        """O_EXCL and O_NOFOLLOW: a file or link that somebody put there meanwhile is an error."""
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)

    def lock(self, path: str) -> int:
        """flock(2), which unlike a POSIX lock also keeps out other threads of this process."""
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    def write(self, descriptor: int, data: bytes) -> int:
        """One write(2)."""
        return os.write(descriptor, data)

    def fsync(self, descriptor: int) -> None:
        """One fsync(2)."""
        os.fsync(descriptor)

    def close(self, descriptor: int) -> None:
        """One close(2)."""
        os.close(descriptor)

    def mkdir(self, path: str) -> None:
        """One mkdir(2); the mode is the umask's."""
        os.mkdir(path)  # noqa: PTH102 - the port speaks in operations, not in paths

    def rename(self, source: str, target: str) -> None:
        """One rename(2)."""
        os.rename(source, target)  # noqa: PTH104

    def fsync_directory(self, path: str) -> None:
        """fsync(2) on the directory's own descriptor."""
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def chmod(self, path: str, mode: int) -> None:
        """One chmod(2)."""
        os.chmod(path, mode)  # noqa: PTH101

    def chown(self, path: str, uid: int, gid: int) -> None:
        """One lchown(2)."""
        os.chown(path, uid, gid, follow_symlinks=False)

    def unlink(self, path: str) -> None:
        """One unlink(2)."""
        os.unlink(path)  # noqa: PTH108

    def rmdir(self, path: str) -> None:
        """One rmdir(2)."""
        os.rmdir(path)  # noqa: PTH106
