"""Files and folders written whole or not at all: under a temporary name, synced, renamed, and their folder synced.

The folder around them may be another user's: it is opened once, and what is written goes there, or nowhere.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from kafkactl.files.filesystem import OsFilesystem, exchanged
from kafkactl.files.held_folder import held_folder, held_path, is_others, remove_held
from kafkactl.files.leftover_sync import sync_found_name

_FOLDER_MODE: Final = 0o700
_DRAWN: Final = "[a-z0-9_]{8}"  # what `tempfile` puts into a name


def check_place(path: Path) -> None:
    """Raise the OSError that a new file or folder at `path` would meet because of the folder around it.

    To be asked before the work that fills it: a command that reads disks for an hour, or a plan that is only shown,
    should not find out at the end.
    """
    folder = path.absolute().parent
    try:
        kind = folder.stat().st_mode
    except FileNotFoundError:
        raise FileNotFoundError(2, f"the folder {folder} does not exist") from None
    if not stat.S_ISDIR(kind):
        raise NotADirectoryError(20, f"{folder} is not a folder")
    if os.access(folder, os.W_OK | os.X_OK, effective_ids=True):
        return
    if os.statvfs(folder).f_flag & os.ST_RDONLY:
        raise OSError(30, f"the file system of {folder} is read-only")
    raise PermissionError(13, f"this user may not make files in {folder}")


def write_whole(
    path: Path, data: bytes, *, mode: int, exclusive: bool = False, owner: tuple[int, int] | None = None
) -> None:
    """Write `data` to `path`, as `whole_file` does. Raises OSError, for `exclusive` FileExistsError."""
    with whole_file(path, mode=mode, exclusive=exclusive, owner=owner) as file:
        file.write(data)


@contextlib.contextmanager
def whole_file(
    path: Path, *, mode: int, exclusive: bool = False, owner: tuple[int, int] | None = None
) -> Iterator[BinaryIO]:
    """Yield a file that replaces `path` when the body ends; if the body raises, nothing is replaced.

    With `exclusive` no file is replaced. The temporary file has mode 0600 until `mode` is set. `owner` (uid, gid) is
    set if this user may do so, through the open file, because the name could lead to another file by then. Leftovers of
    a killed process are removed. Raises OSError; with `exclusive` FileExistsError.
    """
    with held_folder(path.parent) as folder:
        yield from _whole_file(folder / path.name, mode=mode, exclusive=exclusive, owner=owner)


def _whole_file(path: Path, *, mode: int, exclusive: bool, owner: tuple[int, int] | None) -> Iterator[BinaryIO]:
    remove_leftovers(path, mode=mode)
    descriptor, temporary = _made(lambda: tempfile.mkstemp(dir=path.parent, prefix=_prefix(path), suffix=".tmp"))
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
            _publish(Path(temporary), path)
        else:
            Path(temporary).replace(path)
        sync_folder(path.parent)
    finally:
        with contextlib.suppress(FileNotFoundError):
            Path(temporary).unlink()


def remove_leftovers(path: Path, *, mode: int = 0o600) -> None:
    """Remove what killed processes of this user left of a file at `path`, also if the file itself stays."""
    _remove_leftovers(path.parent, _prefix(path), stat.S_IFREG, (0o600, mode))


def _prefix(path: Path) -> str:
    return f".{path.name[:200]}."


def _publish(temporary: Path, path: Path) -> None:
    """Give the file its name in one step, so that a kill leaves no second name of it. Raise FileExistsError."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        OsFilesystem().publish(str(temporary), str(path), at=folder)
    finally:
        os.close(folder)


@contextlib.contextmanager
def whole_folder(place: Path) -> Iterator[Path]:
    """Yield a folder that is moved to `place` when the body ends; if the body raises, nothing is moved.

    `place` must be free or an empty folder. The content is synced, and the folder and its folders have mode 0700.
    Leftovers of a killed process are removed. Raises OSError.
    """
    with held_folder(place.parent) as above, _staged(above, f".{place.name[:100]}.") as (descriptor, work):
        yield held_path(descriptor, work)
        # By descriptors: the owner of the folder around it may have put a link in its place by now.
        for _, _, files, folder in os.fwalk(".", topdown=False, dir_fd=descriptor):
            for name in files:
                _sync(name, os.O_RDONLY | os.O_NOFOLLOW, folder)
            os.fchmod(folder, _FOLDER_MODE)
            os.fsync(folder)
        if not os.path.samestat(os.fstat(descriptor), os.lstat(work)):
            raise OSError(errno.ESTALE, "another folder has taken the place of the temporary one", str(place))
        work.rename(above / place.name)  # onto an empty folder, too
        sync_folder(above)


@contextlib.contextmanager
def staging_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """Yield a temporary folder in `parent` that is removed at the end; leftovers of a killed process are removed first.

    Raises OSError.
    """
    with _staged(parent, prefix) as (descriptor, work):
        yield held_path(descriptor, work)


@contextlib.contextmanager
def _staged(parent: Path, prefix: str) -> Iterator[tuple[int, Path]]:
    _remove_leftovers(parent, prefix, stat.S_IFDIR, (_FOLDER_MODE,))
    descriptor, temporary = _made(lambda: _new_folder(parent, prefix))
    try:
        yield descriptor, Path(temporary)
    finally:
        if os.path.lexists(temporary):
            remove_held(descriptor, Path(temporary))
        os.close(descriptor)


def put_in_place(new: Path, place: Path, old: Path) -> None:
    """Move a folder to its place; a folder that is there is exchanged in one step if the system can, else by `old`.

    After an exchange the earlier folder is at `new`. At `old` it is removed by its descriptor, because another user may
    own the folder around it and put a folder of root's there. Raises OSError.
    """
    try:
        earlier = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        new.rename(place)
        return
    try:
        if exchanged(new, place):
            return
        place.rename(old)
        try:
            new.rename(place)
        except OSError:
            with contextlib.suppress(OSError):
                old.rename(place)
            raise
        remove_held(earlier, old)
    finally:
        os.close(earlier)


def _new_folder(parent: Path, prefix: str) -> tuple[int, str]:
    while True:
        work = tempfile.mkdtemp(dir=parent, prefix=prefix, suffix=".tmp")
        with contextlib.suppress(FileNotFoundError):  # another process has removed it before it could be locked
            return os.open(work, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW), work


def _made(make: Callable[[], tuple[int, str]]) -> tuple[int, str]:
    """Create a temporary file or folder with `make` and lock it while it is open: the lock marks a live process.

    Another process may find and remove it before it is locked: then the next one is created.
    """
    while True:
        descriptor, path = make()
        with contextlib.suppress(OSError):  # a file system without locks: there nothing is removed, either
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), os.lstat(path)):
                return descriptor, path
        os.close(descriptor)


def _remove_leftovers(parent: Path, prefix: str, kind: int, modes: tuple[int, ...]) -> None:
    """Remove what this user's killed processes left under temporary names: it may be large, and hold secrets.

    Only what has such a name, kind and mode, and is not locked by a process that is alive.
    """
    with contextlib.suppress(OSError):
        if kind == stat.S_IFDIR and is_others(parent):  # a folder of this user's may have been moved there
            return
    is_ours = re.compile(re.escape(prefix) + _DRAWN + re.escape(".tmp")).fullmatch
    with contextlib.suppress(OSError):
        for name in filter(is_ours, os.listdir(parent)):  # noqa: PTH208  # names, not paths
            with contextlib.suppress(OSError):
                _remove_leftover(parent / name, kind, modes)


def _remove_leftover(path: Path, kind: int, modes: tuple[int, ...]) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        found = os.fstat(descriptor)
        if stat.S_IFMT(found.st_mode) != kind or stat.S_IMODE(found.st_mode) not in modes:
            return
        if found.st_uid != os.geteuid():
            return
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(found, os.lstat(path)):
            if kind == stat.S_IFDIR:
                remove_held(descriptor, path)
            else:
                path.unlink()
    finally:
        os.close(descriptor)


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
    """Sync the names in a folder to the disk. Raises OSError."""
    _sync(folder, os.O_RDONLY | os.O_DIRECTORY)


def _sync(path: Path | str, flags: int, at: int | None = None) -> None:
    descriptor = os.open(path, flags, dir_fd=at)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
