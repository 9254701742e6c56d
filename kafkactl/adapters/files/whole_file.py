"""Files and folders written whole or not at all: under a temporary name, synced, renamed, and their folder synced."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from kafkactl.adapters.files.found import sync_found_name

_FOLDER_MODE: Final = 0o700


def write_whole(
    path: Path, data: bytes, *, mode: int, exclusive: bool = False, owner: tuple[int, int] | None = None
) -> None:
    """Put `data` at `path`, as `whole_file` does. Raises OSError, for `exclusive` FileExistsError."""
    with whole_file(path, mode=mode, exclusive=exclusive, owner=owner) as file:
        file.write(data)


@contextlib.contextmanager
def whole_file(
    path: Path, *, mode: int, exclusive: bool = False, owner: tuple[int, int] | None = None
) -> Iterator[BinaryIO]:
    """A file to write to. When the body ends it replaces what is at `path`; if the body raises, nothing is replaced.

    With `exclusive` it must not replace anything. The temporary file has mode 0600 until `mode` is set. `owner` (uid,
    gid) is set if this user may do so, through the open file, because the name could lead to another file by then.
    Raises OSError; with `exclusive` FileExistsError.
    """
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:200]}.", suffix=".tmp")
    try:
        with os.fdopen(descriptor, "w+b") as file:
            yield file
            file.flush()
            if owner is not None and owner != (os.geteuid(), os.getegid()):
                with contextlib.suppress(PermissionError):
                    os.fchown(file.fileno(), *owner)
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        if exclusive:
            os.link(temporary, path)
        else:
            Path(temporary).replace(path)
        sync_folder(path.parent)
    finally:
        with contextlib.suppress(FileNotFoundError):
            Path(temporary).unlink()


@contextlib.contextmanager
def whole_folder(place: Path) -> Iterator[Path]:
    """A folder to write in that is at `place` when the body ends; not where it fails.

    Only where nothing or an empty folder stands. What is written in it is synced, and it and the folders in it have
    mode 0700. Raises OSError.
    """
    work = Path(tempfile.mkdtemp(dir=place.parent, prefix=f".{place.name[:100]}.", suffix=".tmp"))
    try:
        yield work
        for folder, _, files in os.walk(work, topdown=False):
            for name in files:
                _sync(Path(folder, name), os.O_RDONLY)
            Path(folder).chmod(_FOLDER_MODE)
            sync_folder(Path(folder))
        work.rename(place)  # onto an empty folder, too
        sync_folder(place.parent)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def make_folders(folder: Path, *, mode: int = 0o777) -> None:
    """Make a folder, and those above it that are missing; the names of all are on the disk when this returns.

    `mode`, less the umask, is that of the folder itself. Raises OSError.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    sync_found_name(missing[-1].parent if missing else folder)
    for path in reversed(missing):
        path.mkdir(mode=mode if path == folder else 0o777, exist_ok=True)
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk. Raises OSError."""
    _sync(folder, os.O_RDONLY | os.O_DIRECTORY)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
