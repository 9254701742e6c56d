"""A copy of a log directory with what a recovery needs of it: the metadata log whole, of partitions the small files.

One tar file, made whole or not at all, readable by its owner only (the log holds credentials). The segments of
partitions are left out; a manifest says where they end.
"""

from __future__ import annotations

import io
import json
import os
import shlex
import tarfile
from pathlib import Path
from typing import Final, NoReturn

from kafkactl.adapters.files.input_files import open_regular
from kafkactl.adapters.files.whole_file import check_place, whole_file
from kafkactl.adapters.recover.disks import unreadable_part
from kafkactl.adapters.recover.partitions import MANIFEST, log_ends
from kafkactl.errors import FailedError, InputError
from kafkactl.frozen import frozen
from kafkactl.kafka_names import METADATA_LOG
from kafkactl.recover.folders import parse_folder_name
from kafkactl.storage.model import LOG_STARTS, META_PROPERTIES
from kafkactl.storage.verify.log import LEADER_EPOCH_CHECKPOINT, PARTITION_METADATA

_MODE: Final = 0o600
_OF_A_PARTITION: Final = (PARTITION_METADATA, LEADER_EPOCH_CHECKPOINT)
_NO_NEED: Final = (".index", ".timeindex", ".snapshot")


@frozen
class Copied:
    """How much was copied: whole files and their bytes, and partitions, of which only what a recovery needs."""

    files: int
    bytes: int
    partitions: int


def collect(directory: str, to: str) -> Copied:
    """Write the copy. Raises InputError `log-dir-unreadable`, also for a directory without any file of Kafka,
    `collected-file-exists`, FailedError `copy-not-written`."""
    if os.path.lexists(to):
        raise InputError(f"{to} exists already", id="collected-file-exists")
    try:
        check_place(Path(to))
    except OSError as error:
        raise _not_written(directory, to, error) from error
    try:
        names = _names(directory)
    except OSError as error:
        raise unreadable_part(Path(error.filename or directory), error) from error
    if not names:
        raise _no_log_dir(directory)
    try:
        return _written(Path(directory), names, Path(to))
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


def _names(directory: str) -> list[str]:
    """What is copied, relative to the directory. Raises OSError."""
    found = []
    for name in sorted(os.listdir(directory)):  # noqa: PTH208  # names, not paths
        path = Path(directory, name)
        if name in (META_PROPERTIES, LOG_STARTS):
            found.append(name)
        elif name == METADATA_LOG and path.is_dir():
            inside = sorted(os.listdir(path))  # noqa: PTH208
            found += [
                f"{name}/{inner}" for inner in inside if not inner.endswith(_NO_NEED) and (path / inner).is_file()
            ]
        elif parse_folder_name(name) is not None and path.is_dir():
            found += [f"{name}/{inner}" for inner in _OF_A_PARTITION if (path / inner).is_file()]
    return found


def _written(directory: Path, names: list[str], to: Path) -> Copied:
    folders = [name for name in sorted(os.listdir(directory)) if _is_partition(directory, name)]  # noqa: PTH208
    held = {"folders": {name: log_ends(str(directory / name), _refuse).to_dict() for name in folders}}
    with (
        whole_file(to, mode=_MODE, exclusive=True) as opened,
        tarfile.open(fileobj=opened, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for name in folders:
            _folder(tar, name)
        sizes = [_file(tar, directory, name) for name in names]
        _bytes(tar, MANIFEST, json.dumps(held, indent=1).encode())
    return Copied(files=len(names), bytes=sum(sizes), partitions=len(folders))


def _refuse(path: Path, error: OSError) -> NoReturn:
    raise unreadable_part(path, error) from error


def _is_partition(directory: Path, name: str) -> bool:
    return parse_folder_name(name) is not None and (directory / name).is_dir()


def _folder(tar: tarfile.TarFile, name: str) -> None:
    info = tarfile.TarInfo(name)
    info.type, info.mode = tarfile.DIRTYPE, 0o700
    tar.addfile(info)


def _file(tar: tarfile.TarFile, directory: Path, name: str) -> int:
    """As long as it was when it was opened: a running node may append to it."""
    try:
        descriptor = open_regular(directory / name)
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
