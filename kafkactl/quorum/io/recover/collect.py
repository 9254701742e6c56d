"""A copy of a log directory with what a recovery needs of it: the metadata log whole, of partitions the small files.

One tar file, made whole or not at all, readable by its owner only (the log holds credentials). The segments of
partitions are left out; a manifest states where they end.

Root may read what the owner of the directory may not, and the copy is carried to other hosts. So only names that Kafka
writes are copied, no link is followed below the directory, and everything else in the metadata log is listed.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import stat
import tarfile
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path
from typing import Final, NoReturn

from kafkactl.core.errors import FailedError, InputError
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import METADATA_LOG
from kafkactl.files.input_files import open_regular
from kafkactl.files.whole_file import check_place, remove_leftovers, whole_file
from kafkactl.metadata.verify.folder import LEADER_EPOCH_CHECKPOINT, PARTITION_METADATA
from kafkactl.protocol.text.meta_properties import META_PROPERTIES
from kafkactl.quorum.io.recover.disks import unreadable_part
from kafkactl.quorum.io.recover.partitions import MANIFEST, log_ends
from kafkactl.quorum.recover.folders import parse_folder_name
from kafkactl.storage.model import LOG_STARTS, QUORUM_STATE

_MODE: Final = 0o600
_OF_A_PARTITION: Final = frozenset({PARTITION_METADATA, LEADER_EPOCH_CHECKPOINT})
_OF_THE_LOG: Final = re.compile(
    rf"[0-9]{{20}}\.log|[0-9]{{20}}-[0-9]{{10}}\.checkpoint|{QUORUM_STATE}|{LEADER_EPOCH_CHECKPOINT}|{PARTITION_METADATA}"
)
# What Kafka derives from the files above, has deleted, or has not finished.
_NO_NEED: Final = re.compile(
    r"[0-9]{20}\.(index|timeindex|txnindex|snapshot)|[0-9]{20}(-[0-9]{10})?\.[a-z]+\.(deleted|cleaned|swap|part)"
)


@frozen
class Copied:
    """The amount that was copied: whole files and their bytes, and partitions, of which only what a recovery needs.

    `left_out` are names, relative to the directory, that were not copied: Kafka does not write them, or they are links.
    """

    files: int
    bytes: int
    partitions: int
    left_out: tuple[str, ...] = ()


@frozen
class _Contents:
    """Names in a log directory, relative to it."""

    files: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def collect(directory: str, to: str) -> Copied:
    """Write the copy. Raises InputError `log-dir-unreadable`, also for a directory without any file of Kafka,
    `collected-file-exists`, FailedError `copy-not-written`."""
    if os.path.lexists(to):
        remove_leftovers(Path(to), mode=_MODE)
        raise InputError(f"{to} exists already", id="collected-file-exists")
    try:
        check_place(Path(to))
    except OSError as error:
        raise _not_written(directory, to, error) from error
    with contextlib.ExitStack() as stack:
        try:
            at = stack.enter_context(_opened(directory))
            found = _contents(at)
        except OSError as error:
            raise unreadable_part(Path(directory, error.filename or ""), error) from error
        if not found.files:
            raise _no_log_dir(directory)
        try:
            return _written(Path(directory), at, found, Path(to))
        except OSError as error:
            raise _not_written(directory, to, error) from error


def _not_written(directory: str, to: str, error: OSError) -> FailedError:
    return FailedError(
        f"the copy of {directory} could not be written to {to}: {error.strerror or error}", id="copy-not-written"
    )


def _no_log_dir(directory: str) -> InputError:
    within = Path(os.path.abspath(directory))  # noqa: PTH100  # a link stays the name that was given
    holds = "it holds neither meta.properties nor a metadata log nor partitions"
    is_inside = within.name == METADATA_LOG or parse_folder_name(within.name) is not None
    return InputError(
        f"{directory} cannot be read as a log directory: {holds}",
        id="log-dir-unreadable",
        next_step=f"Name the log directory that it is in: {shlex.quote(str(within.parent))}." if is_inside else None,
    )


def _contents(at: int) -> _Contents:
    """Return the files of an open log directory that are copied, and those left out. Raise OSError."""
    found = _Contents()
    for name in _names(at):
        is_partition = parse_folder_name(name) is not None
        kind = stat.S_IFMT(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode)
        if name in (META_PROPERTIES, LOG_STARTS):
            (found.files if kind == stat.S_IFREG else found.left_out).append(name)
        elif (name == METADATA_LOG or is_partition) and kind == stat.S_IFDIR:
            if is_partition:
                found.folders.append(name)
            with _opened(name, at) as folder:
                _add_contents(found, folder, name)
        elif name == METADATA_LOG or (is_partition and kind == stat.S_IFLNK):
            found.left_out.append(name)
    return found


def _add_contents(found: _Contents, at: int, folder: str) -> None:
    for name in _names(at):
        is_wanted = _OF_THE_LOG.fullmatch(name) if folder == METADATA_LOG else name in _OF_A_PARTITION
        is_file = stat.S_ISREG(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode)
        if is_wanted and is_file:
            found.files.append(f"{folder}/{name}")
        elif is_wanted or (folder == METADATA_LOG and not (is_file and _NO_NEED.fullmatch(name))):
            found.left_out.append(f"{folder}/{name}")


def _names(at: int) -> list[str]:
    return sorted(os.listdir(at))


@contextlib.contextmanager
def _opened(name: str, at: int | None = None) -> Iterator[int]:
    """Open a directory; one in an open directory is not opened through a link."""
    follow = 0 if at is None else os.O_NOFOLLOW
    descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | follow, dir_fd=at)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _written(directory: Path, at: int, found: _Contents, to: Path) -> Copied:
    ends = {}
    for name in found.folders:
        with _opened(name, at) as folder:
            ends[name] = log_ends(str(directory / name), _refuse, at=folder).to_dict()
    with (
        whole_file(to, mode=_MODE, exclusive=True) as opened,
        tarfile.open(fileobj=opened, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for name in found.folders:
            _folder(tar, name)
        sizes = [_file(tar, directory, at, name) for name in found.files]
        _bytes(tar, MANIFEST, json.dumps({"folders": ends}, indent=1).encode())
    return Copied(
        files=len(found.files), bytes=sum(sizes), partitions=len(found.folders), left_out=tuple(found.left_out)
    )


def _refuse(path: Path, error: OSError) -> NoReturn:
    raise unreadable_part(path, error) from error


def _folder(tar: tarfile.TarFile, name: str) -> None:
    info = tarfile.TarInfo(name)
    info.type, info.mode = tarfile.DIRTYPE, 0o700
    tar.addfile(info)


def _file(tar: tarfile.TarFile, directory: Path, at: int, name: str) -> int:
    """Add a file with its length when it was opened: a running node may append to the file."""
    try:
        above, _, last = name.rpartition("/")
        with _opened(above or ".", at) as folder:
            descriptor = open_regular(last, follow=False, at=folder)
    except OSError as error:
        raise unreadable_part(directory / name, error) from error
    with os.fdopen(descriptor, "rb") as opened:
        found = os.fstat(opened.fileno())
        info = tarfile.TarInfo(name)
        info.size, info.mtime, info.mode = found.st_size, int(found.st_mtime), 0o600
        tar.addfile(info, opened)
        return found.st_size


def _bytes(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), 0o600
    tar.addfile(info, io.BytesIO(data))
