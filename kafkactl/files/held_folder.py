"""A folder that is opened once and then reached by its descriptor.

Root may write into a folder whose owner is another user. That user may rename it, or the folders in it, and leave a
link in its place between two calls that name the same path. A path that begins with `/proc/PID/fd/N` always leads to
the folder that was opened. Without such a file system the path itself is used.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def held_folder(folder: Path, *, follow: bool = True) -> Iterator[Path]:
    """Yield a path that leads to the folder as it is now, whatever is done to its name.

    Raise OSError, also for a link that another user than root or this one made.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    try:
        descriptor = os.open(folder, flags | os.O_NOFOLLOW)
    except NotADirectoryError:
        if not follow or not folder.is_symlink():
            raise
        descriptor = os.open(_target_of(folder), flags)
    try:
        yield held_path(descriptor, folder)
    finally:
        os.close(descriptor)


def _target_of(link: Path) -> Path:
    """Return the target of a link that root or this user made. Raise OSError for others, and if it is replaced."""
    before = link.lstat()
    target = link.readlink()
    after = link.lstat()
    if before.st_uid not in {0, os.geteuid()}:
        raise OSError(errno.ELOOP, f"it is a link of another user to {target}", str(link))
    if (before.st_dev, before.st_ino, before.st_ctime_ns) != (after.st_dev, after.st_ino, after.st_ctime_ns):
        raise OSError(errno.ELOOP, "it is a link that another process replaces", str(link))
    return link.parent / target


def held_path(descriptor: int, folder: Path) -> Path:
    """Return the path of an open folder by its descriptor; `folder` itself if the system has no such path."""
    held = Path(f"/proc/{os.getpid()}/fd/{descriptor}")
    with contextlib.suppress(OSError):
        if os.path.samestat(held.stat(), os.fstat(descriptor)):
            return held
    return folder


def is_others(folder: Path) -> bool:
    """Return True if another user than root or this one may rename what is in a folder."""
    found = folder.stat()
    if found.st_uid not in {0, os.geteuid()}:
        return True
    return bool(found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)) and not found.st_mode & stat.S_ISVTX


def remove_held(descriptor: int, folder: Path) -> None:
    """Remove an open folder with its contents. Of a folder that took its name only an empty one is removed."""
    held = held_path(descriptor, folder)
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(descriptor)):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(held / entry.name, ignore_errors=True)
            else:
                os.unlink(entry.name, dir_fd=descriptor)
    with contextlib.suppress(OSError):
        folder.rmdir()
