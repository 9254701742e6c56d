"""The port through which every file of a node is changed: one method, one operation that can fail or be the last.

With `at`, the descriptor of an open directory, an operation is on the path's last name in that directory, no link is
followed, and the whole path serves for errors and tests only: while root is at work, another user may rename and
replace the folders that a path leads through. `publish` never replaces anything.

Nothing here decides anything. All code that writes to a disk uses `Filesystem`, so that a test can make the nth
operation fail in every way, or end the process there, and examine what is left (tests/campaigns/crash/).
Reading needs no port: it changes nothing.
"""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path, PurePath
from typing import Final, Protocol


class Filesystem(Protocol):
    """Operations of an operating system for writing to a node's directories. Every method may raise OSError."""

    def open_folder(self, path: str, *, at: int | None = None) -> int:
        """Open a directory, over links only without `at`, and return its descriptor."""
        ...

    def create(self, path: str, mode: int, *, at: int | None = None) -> int:
        """Create a file that must not exist yet and return its descriptor; `mode` is subject to the umask."""
        ...

    def lock(self, path: str, *, at: int | None = None) -> int:
        """Open or create a file and lock it for this open file alone. Raises BlockingIOError if it is locked."""
        ...

    def write(self, descriptor: int, data: bytes) -> int:
        """Write some of `data`, and return the number of bytes written, which may be fewer than given."""
        ...

    def fsync(self, descriptor: int) -> None:
        """Return only when the file's content is on the disk."""
        ...

    def close(self, descriptor: int) -> None:
        """Give the descriptor back."""
        ...

    def mkdir(self, path: str, *, at: int | None = None) -> None:
        """Create one directory, whose parent exists."""
        ...

    def rename(self, source: str, target: str) -> None:
        """Rename `source` to `target` in one step, on one file system. EXDEV is an error, never a copy."""
        ...

    def publish(self, source: str, target: str, *, at: int) -> None:
        """Give a file of the directory `at` another name in it. Raises FileExistsError if the name is taken."""
        ...

    def fsync_directory(self, path: str, *, at: int | None = None) -> None:
        """Return only when the names in this directory, whose own descriptor is `at`, are on the disk."""
        ...

    def chmod(self, descriptor: int, mode: int) -> None:
        """Set the permission bits of an open file."""
        ...

    def chown(self, descriptor: int, uid: int, gid: int) -> None:
        """Give an open file or directory to a user and a group (-1: leave as is)."""
        ...

    def unlink(self, path: str, *, at: int | None = None) -> None:
        """Remove a name of a file."""
        ...

    def rmdir(self, path: str, *, at: int | None = None) -> None:
        """Remove an empty directory."""
        ...


class OsFilesystem:
    """The real one."""

    def open_folder(self, path: str, *, at: int | None = None) -> int:
        """Open a directory, with `at` without following a link: a link in the place of a directory is an error."""
        follow = os.O_NOFOLLOW if at is not None else 0
        return os.open(_name(path, at), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | follow, dir_fd=at)

    def create(self, path: str, mode: int, *, at: int | None = None) -> int:
        """Create a file, with O_EXCL and O_NOFOLLOW: a file or link that exists by now is an error. A descriptor."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(_name(path, at), flags, mode, dir_fd=at)

    def lock(self, path: str, *, at: int | None = None) -> int:
        """Lock with flock(2), which unlike a POSIX lock also keeps out other threads of this process."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        descriptor = os.open(_name(path, at), flags, 0o644, dir_fd=at)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    def write(self, descriptor: int, data: bytes) -> int:
        """Call write(2) once."""
        return os.write(descriptor, data)

    def fsync(self, descriptor: int) -> None:
        """Call fsync(2)."""
        os.fsync(descriptor)

    def close(self, descriptor: int) -> None:
        """Call close(2)."""
        os.close(descriptor)

    def mkdir(self, path: str, *, at: int | None = None) -> None:
        """Call mkdir(2); the mode is the umask's."""
        os.mkdir(_name(path, at), dir_fd=at)  # the port speaks in operations, not in paths

    def rename(self, source: str, target: str) -> None:
        """Call rename(2)."""
        os.rename(source, target)  # noqa: PTH104

    def publish(self, source: str, target: str, *, at: int) -> None:
        """Rename with RENAME_NOREPLACE (renameat2(2)); without it, link the second name and remove the first."""
        old, new = _name(source, at), _name(target, at)
        if not _renamed(old, new, at):
            os.link(old, new, src_dir_fd=at, dst_dir_fd=at, follow_symlinks=False)
            os.unlink(old, dir_fd=at)

    def fsync_directory(self, path: str, *, at: int | None = None) -> None:
        """Sync the directory by fsync(2) on its own descriptor."""
        if at is not None:
            os.fsync(at)
            return
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def chmod(self, descriptor: int, mode: int) -> None:
        """Call fchmod(2)."""
        os.fchmod(descriptor, mode)

    def chown(self, descriptor: int, uid: int, gid: int) -> None:
        """Call fchown(2)."""
        os.fchown(descriptor, uid, gid)

    def unlink(self, path: str, *, at: int | None = None) -> None:
        """Call unlink(2)."""
        os.unlink(_name(path, at), dir_fd=at)

    def rmdir(self, path: str, *, at: int | None = None) -> None:
        """Call rmdir(2)."""
        os.rmdir(_name(path, at), dir_fd=at)


def _name(path: str, at: int | None) -> str:
    return path if at is None else PurePath(path).name or path


_NO_REPLACE: Final = 1  # linux/fs.h, RENAME_NOREPLACE
_EXCHANGE: Final = 2  # linux/fs.h, RENAME_EXCHANGE
_AT_CWD: Final = -100  # linux/fcntl.h, AT_FDCWD
_NOT_THERE: Final = frozenset({errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM})


def exchanged(new: Path, old: Path) -> bool:
    """Exchange two names of one file system in one step; return False if the system cannot. Raises OSError."""
    return _renameat2(str(new), str(old), _AT_CWD, _EXCHANGE)


def _renamed(old: str, new: str, at: int) -> bool:
    """Rename without replacing; False if the C library, the kernel or the file system cannot."""
    return _renameat2(old, new, at, _NO_REPLACE)


def _renameat2(old: str, new: str, at: int, flags: int) -> bool:
    import ctypes  # a command that writes nothing need not load it

    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, "renameat2"):
        return False
    if library.renameat2(at, os.fsencode(old), at, os.fsencode(new), ctypes.c_uint(flags)) == 0:
        return True
    number = ctypes.get_errno()
    if number in _NOT_THERE:
        return False
    raise OSError(number, os.strerror(number), new)
