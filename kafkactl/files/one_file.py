"""Small file of a log directory, read with its owner, mode and time."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path

from kafkactl.core.file_read import FileRead, dangling_words
from kafkactl.files.input_files import InputKind, check_regular, read_open


def read_file(path: str, *, at: int | None = None) -> FileRead:
    """Return a file's bytes with owner, mode and time, or the reason why there are none. It never waits and never
    raises.

    With `at`, the descriptor of its directory, no link is followed.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        name, more = (path, 0) if at is None else (Path(path).name, os.O_NOFOLLOW)
        descriptor = os.open(name, flags | more, dir_fd=at)
    except OSError as error:
        return FileRead(path=path, content=None, error=_open_words(path, error))
    try:
        return _read_open(path, descriptor)
    except OSError as error:
        return FileRead(path=path, content=None, error=error_words(error))
    finally:
        os.close(descriptor)


def _read_open(path: str, descriptor: int) -> FileRead:
    found = os.fstat(descriptor)
    content, error = None, None
    try:
        check_regular(found, path)
        content = read_open(descriptor, InputKind.OF_LOG_DIRECTORY, path)
    except OSError as refused:
        error = error_words(refused)
    return FileRead(
        path=path,
        content=content,
        error=error,
        mode=stat.S_IMODE(found.st_mode),
        owner_uid=found.st_uid,
        mtime_ms=found.st_mtime_ns // 1_000_000,
    )


def _open_words(path: str, error: OSError) -> str:
    """Return the error of opening a file. A link that leads to no file is not a file that is missing."""
    with contextlib.suppress(OSError):
        if error.errno in (errno.ENOENT, errno.ELOOP):
            return dangling_words(str(Path(path).readlink()))
    return error_words(error)


def error_words(error: OSError) -> str:
    """Return the operating system's text of an error."""
    return error.strerror or str(error)
