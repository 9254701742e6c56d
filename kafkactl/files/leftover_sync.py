"""Sync of files and folders that an earlier run left, before a later run relies on them.

A killed run leaves files and folders that other processes see and that a power failure still removes: it ended between
an operation and its sync. A run that finds them in place syncs them as if they were its own. A sync of what is on
the disk already writes nothing, so that this costs a few system calls.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path

from kafkactl.files.filesystem import Filesystem, OsFilesystem

_NOT_TO_BE_SYNCED = frozenset({errno.ENOENT, errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENOTDIR, errno.ENXIO})


def sync_found_name(path: str | Path, files: Filesystem | None = None) -> None:
    """Sync the name of a file or folder that is there to the disk.

    Not if this user can have no part in that name: the folder around it cannot be written to, or the name is a mount
    point. Raises OSError.
    """
    above = Path(path).parent
    if not os.access(above, os.R_OK | os.W_OK | os.X_OK):
        return
    if Path(path).stat().st_dev == above.stat().st_dev:
        (files or OsFilesystem()).fsync_directory(str(above))


def sync_found_file(path: str | Path, files: Filesystem | None = None, *, at: int | None = None) -> None:
    """Sync the content of a file to the disk; skip a missing file, a link, or a file that this user must not read.

    With `at`, the descriptor of its directory, only the last name of `path` is looked up. Raises OSError.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path if at is None else Path(path).name, flags, dir_fd=at)
    except OSError as error:
        if error.errno in _NOT_TO_BE_SYNCED:
            return
        raise
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, descriptor)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            (files or OsFilesystem()).fsync(descriptor)


def make_found(folder: Path, files: Filesystem, *, mode: int | None = None) -> None:
    """Make a folder and those above it that are missing; the names of all are on the disk when this returns.

    `mode` is that of every folder that is made; None: what the umask leaves. Raises OSError.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    found = missing[-1].parent if missing else folder
    sync_found_name(found, files)
    for path in reversed(missing):
        above = files.open_folder(str(path.parent))
        try:
            with contextlib.suppress(FileExistsError):
                files.mkdir(str(path), at=above)
                if mode is not None:
                    _set_mode(path, mode, files, above)
            files.fsync_directory(str(path.parent), at=above)
        finally:
            files.close(above)


def _set_mode(path: Path, mode: int, files: Filesystem, above: int) -> None:
    """Set the mode of a folder that was just made; a link that has taken its name by now is an error."""
    descriptor = files.open_folder(str(path), at=above)
    try:
        files.chmod(descriptor, mode)
    finally:
        files.close(descriptor)
