"""The contents of a node's log directories, as values. Nothing here writes or waits."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from kafkactl.core.file_read import FileRead
from kafkactl.core.kafka_names import FIRST_CHECKPOINT, METADATA_LOG
from kafkactl.files.one_file import error_words, read_file
from kafkactl.files.processes import holds_lock_as_node
from kafkactl.protocol.text.meta_properties import META_PROPERTIES
from kafkactl.storage.io.locks import lock_holder
from kafkactl.storage.model import (
    BOOTSTRAP_CHECKPOINT,
    CLEANED,
    LOG_STARTS,
    NODE_LOCK,
    QUORUM_STATE,
    RECOVERY_POINTS,
    DirectoryEntry,
    DirectoryState,
    ObservedDirectory,
    ObservedNode,
)

_READ_ONLY = getattr(os, "ST_RDONLY", 1)


class HasDirectories(Protocol):
    """Required part of a node's configuration."""

    @property
    def all_directories(self) -> Sequence[str]:
        """Return every log directory as written, including the metadata log directory."""
        ...

    @property
    def metadata_log_dir(self) -> str:
        """Return the metadata log directory as written."""
        ...


def observe_node(config: HasDirectories) -> ObservedNode:
    """Observe every directory that the configuration names. An unreadable one is a value, too; nothing is raised.

    The metadata directory is looked at last, because a format publishes it last. In the other order a format by another
    process could look like a lost metadata disk: formatted data directories and a blank metadata directory.
    """
    metadata_last = sorted(config.all_directories, key=lambda path: path == config.metadata_log_dir)
    observed = {path: observe_directory(path) for path in metadata_last}
    return ObservedNode(directories=tuple(observed[path] for path in config.all_directories), process_uid=os.geteuid())


def observe_directory(path: str) -> ObservedDirectory:
    """Return the state of one log directory; its path may not exist."""
    if "\0" in path:
        return _describe(path, path, DirectoryState.UNREADABLE, error="a path cannot hold a zero byte")
    real_path = os.path.realpath(path)
    try:
        found = Path(path).stat()
    except OSError as error:
        return _without_directory(path, real_path, error)
    if not stat.S_ISDIR(found.st_mode):
        return _describe(path, real_path, DirectoryState.NOT_A_DIRECTORY, error="Not a directory")
    try:
        entries = _entries(path)
    except OSError as error:
        return _describe(path, real_path, DirectoryState.UNREADABLE, error=error_words(error))
    return _describe(path, real_path, DirectoryState.DIRECTORY, entries=entries)


def _without_directory(path: str, real_path: str, error: OSError) -> ObservedDirectory:
    if error.errno == errno.ENOENT and not Path(path).is_symlink():
        return _describe(path, real_path, DirectoryState.MISSING)
    if error.errno == errno.ENOENT:
        # Kafka's Files.createDirectories fails on a link that leads nowhere: most often a disk that is not mounted.
        words = f"a symbolic link to {real_path}, which does not exist"
        return _describe(path, real_path, DirectoryState.NOT_A_DIRECTORY, error=words)
    if error.errno == errno.ENOTDIR:
        return _describe(path, real_path, DirectoryState.NOT_A_DIRECTORY, error=error_words(error))
    return _describe(path, real_path, DirectoryState.UNREADABLE, error=error_words(error))


def _describe(
    path: str,
    real_path: str,
    state: DirectoryState,
    *,
    error: str | None = None,
    entries: tuple[DirectoryEntry, ...] = (),
) -> ObservedDirectory:
    nearest = nearest_existing(real_path)
    at = nearest.stat()
    above = at if state is DirectoryState.MISSING else nearest.parent.stat()
    flags, free_bytes = _space(nearest)
    holder = lock_holder(str(Path(path, NODE_LOCK))) if state is DirectoryState.DIRECTORY else None
    write_error = _write_error(nearest)
    inside = {entry.name for entry in entries}
    metadata_log, log_error = _metadata_log(path) if METADATA_LOG in inside else (None, None)
    return ObservedDirectory(
        path=path,
        real_path=real_path,
        state=state,
        error=error,
        entries=entries,
        meta_properties=_read_if(inside, path, META_PROPERTIES),
        bootstrap_checkpoint=_read_if(inside, path, BOOTSTRAP_CHECKPOINT),
        metadata_log=metadata_log,
        metadata_log_error=log_error,
        metadata_files=_metadata_files(path, metadata_log),
        offset_checkpoints=_offset_checkpoints(path, inside),
        device=at.st_dev,
        inode=at.st_ino,
        parent_device=above.st_dev,
        mount_point=_mount_point(nearest),
        writable=write_error is None,
        write_error=write_error,
        read_only_filesystem=bool(flags & _READ_ONLY),
        owner_uid=at.st_uid,
        mode=stat.S_IMODE(at.st_mode),
        locked_by_process=holder is not None,
        lock_holder_pid=holder or None,
        lock_holder_is_node=holds_lock_as_node(holder),
        free_bytes=free_bytes,
    )


def nearest_existing(real_path: str) -> Path:
    """Return the path itself or the first of its ancestors that exists and can be looked at."""
    path = Path(real_path)
    for candidate in (path, *path.parents):
        try:
            candidate.stat()
        except (OSError, ValueError):
            continue
        return candidate
    return Path("/")


def _mount_point(nearest: Path) -> str:
    """Return the highest ancestor on the same device. (A bind mount of one device inside itself is not seen.)"""
    device = nearest.stat().st_dev
    top = nearest
    for parent in nearest.parents:
        if parent.stat().st_dev != device:
            break
        top = parent
    return str(top)


def _space(nearest: Path) -> tuple[int, int | None]:
    """Mount flags and the bytes free to this user; some network file systems report neither."""
    try:
        found = os.statvfs(nearest)
    except OSError:
        return 0, None
    return found.f_flag, found.f_bavail * found.f_frsize


def _write_error(nearest: Path) -> str | None:
    """Return the system's reason why nothing can be created here; None if files can be created."""
    try:
        if not stat.S_ISDIR(nearest.stat().st_mode):
            return os.strerror(errno.ENOTDIR)
        if _space(nearest)[0] & _READ_ONLY:
            return os.strerror(errno.EROFS)
        allowed = os.access(nearest, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids)
    except OSError as error:
        return error_words(error)
    return None if allowed else os.strerror(errno.EACCES)


def _entries(path: str) -> tuple[DirectoryEntry, ...]:
    with os.scandir(path) as listing:
        entries = [entry for item in listing if (entry := _entry(item)) is not None]
    return tuple(sorted(entries, key=lambda entry: entry.name))


def _entry(item: os.DirEntry[str]) -> DirectoryEntry | None:
    """Return the entry of a listing; None if the name was removed since."""
    try:
        found = item.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    except OSError:
        return DirectoryEntry(name=item.name, kind="other", size_bytes=0, mtime_ms=0)
    return DirectoryEntry(
        name=item.name,
        kind=_kind(found.st_mode),
        size_bytes=found.st_size,
        mtime_ms=found.st_mtime_ns // 1_000_000,
        links_to_directory=stat.S_ISLNK(found.st_mode) and Path(item.path).is_dir(),
    )


def _kind(mode: int) -> str:
    kinds = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "symlink"}
    return kinds.get(stat.S_IFMT(mode), "other")


def _metadata_log(path: str) -> tuple[tuple[DirectoryEntry, ...], str | None]:
    """Return the entries of `__cluster_metadata-0`; none, with the reason, if it cannot be listed (a file, no
    permission)."""
    try:
        return _entries(str(Path(path, METADATA_LOG))), None
    except OSError as error:
        return (), error_words(error)


def _metadata_files(path: str, listing: tuple[DirectoryEntry, ...] | None) -> dict[str, FileRead]:
    present = {entry.name for entry in listing or ()}
    wanted = (FIRST_CHECKPOINT, QUORUM_STATE)
    return {name: read_file(str(Path(path, METADATA_LOG, name))) for name in wanted if name in present}


def _offset_checkpoints(path: str, present: set[str]) -> dict[str, FileRead]:
    wanted = (RECOVERY_POINTS, LOG_STARTS, CLEANED)
    return {name: read_file(str(Path(path, name))) for name in wanted if name in present}


def _read_if(present: set[str], path: str, name: str) -> FileRead | None:
    return read_file(str(Path(path, name))) if name in present else None
