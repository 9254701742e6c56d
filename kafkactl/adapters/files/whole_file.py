"""A file that is there whole or not at all: written beside, synced, then named, and its folder synced."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


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
    """A file to write to that is at `path` when the body ends, in place of what stood there; not where it fails.

    `exclusive`: only where nothing stands. The temporary file has mode 0600 until it has `mode`. `owner` (uid, gid) is
    set where this user may set it, through the open file: a name could lead elsewhere by then. Raises OSError, for
    `exclusive` FileExistsError.
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


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
