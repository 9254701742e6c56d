"""Sources of a metadata log: a folder, single files, or a live cluster; read piece by piece, never changed.

A folder is `__cluster_metadata-0` or the log directory around it; files of other kinds in it are ignored. A file that
a running node appends to is read up to the size that it has when it is opened, and one that it takes out of its log
meanwhile is read under the name that it has until it is deleted.
"""

from __future__ import annotations

import errno
import itertools
import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kafkactl.core.errors import DecodeError, FailedError, InputError
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.kafka_names import METADATA_LOG
from kafkactl.core.progress import counted, expect
from kafkactl.core.values import METADATA_TOPIC_ID, Uuid
from kafkactl.files.input_files import InputKind, irregular, open_regular, read_advice, read_whole
from kafkactl.metadata.io.deleted_files import open_of_log
from kafkactl.metadata.verify.folder import PARTITION_METADATA, parse_snapshot_name
from kafkactl.protocol.control_records import ControlType, decode_control_record
from kafkactl.protocol.record_batch import HEADER_BYTES, MAGIC, MAGIC_POSITION, decode_header, decode_records
from kafkactl.protocol.text.meta_properties import META_PROPERTIES, parse_meta_properties

if TYPE_CHECKING:
    from kafkactl.kafka.client import Client

PIECE_BYTES = 6 * 1024 * 1024
# What is made of a piece takes several times its size, so that for a short log, whose state is small, it is most of
# the memory: pieces are short at first, and grow with what was read before.
_SHORT_PIECE_BYTES = 1024 * 1024
_PIECES_BEFORE = 8
SEGMENT, CHECKPOINT = "segment", "checkpoint"
BOOTSTRAP = "bootstrap.checkpoint"
_SEGMENT_NAME = re.compile(r"(\d{20})\.log")
_PARTITION_FOLDER = re.compile(r".+-\d+")
_SNIFFED_BYTES = 1024 * 1024
_COMPRESSED = {
    b"\x1f\x8b\x08": ("gzip", "gunzip -k {}"),
    b"\x28\xb5\x2f\xfd": ("zstd", "unzstd -k {}"),
    b"\xfd7zXZ\0": ("xz", "unxz -k {}"),
    b"BZh": ("bzip2", "bunzip2 -k {}"),
    b"PK\x03\x04": ("ZIP", "unzip {}"),
}
_LONGEST_MARK = 6


@frozen
class LogFile:
    """A segment or a checkpoint. `name` is how it is shown; `base_offset` the first offset of a segment, the end offset
    of a checkpoint, None if its name does not say; `epoch` that of a checkpoint.
    """

    name: str
    kind: str
    base_offset: int | None = None
    epoch: int | None = None
    pieces: Callable[[], Iterable[bytes]] = field(repr=False)


@frozen
class LogSource:
    """A metadata log: segments in order, checkpoints in order of their offsets. `name` is what the operator gave.

    `is_folder` says that the files belong together, so that a missing one is a gap; `cluster_id` is that of the
    meta.properties in the log's folder or the one above it, if there is one; so are `node_id` and `directory_id`.
    """

    name: str
    segments: tuple[LogFile, ...]
    checkpoints: tuple[LogFile, ...]
    is_folder: bool
    cluster_id: str | None = None
    node_id: int | None = None
    directory_id: Uuid | None = None

    def files(self, *, checkpoints: bool) -> tuple[LogFile, ...]:
        """Return the files to read: the segments, after the checkpoints if `checkpoints` is true."""
        return (*self.checkpoints, *self.segments) if checkpoints or not self.segments else self.segments


def open_source(path: str) -> LogSource:
    """Return the log that a path names. Only names and the beginning of a single file are read.

    Raises InputError: `input-file-unreadable`, `empty-folder`, `no-metadata-log`, `not-a-metadata-log`,
    `not-a-log-file`, `log-file-not-regular`.
    """
    if not path:  # pathlib takes it for the current directory
        raise InputError(
            "the path of the log is empty",
            id="input-file-unreadable",
            next_step="Name the directory or file; a shell variable in the command line may not be set.",
        )
    try:
        folder = Path(path)
        return _folder(path, _log_folder(path)) if folder.is_dir() else _single(path)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error


def segments_from(segments: Sequence[LogFile], offset: int) -> list[LogFile]:
    """Return the segments without those that end before an offset."""
    behind = itertools.zip_longest(segments, (later.base_offset for later in segments[1:]))
    return [file for file, next_base in behind if next_base is None or next_base > offset]


def log_folder(path: str) -> str | None:
    """Return the folder with the segments that a path means; None for a file. Raise InputError as `open_source`."""
    try:
        return str(_log_folder(path)) if Path(path).is_dir() else None
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error


def log_place(path: str) -> str:
    """Return the folder of the log that a path means, without links: equal for all paths to one log. Raise as
    `open_source`."""
    folder = log_folder(path)
    try:
        return os.path.realpath(folder or path)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error


def without_links(source: LogSource) -> LogSource:
    """Return a source of files whose pieces are not read through a link, for commands that copy them."""

    def copied(file: LogFile) -> LogFile:
        return changed(file, pieces=lambda: read_pieces(file.name, follow=False))

    return changed(
        source, segments=tuple(map(copied, source.segments)), checkpoints=tuple(map(copied, source.checkpoints))
    )


def _log_folder(path: str) -> Path:
    folder = Path(path)
    inside = folder / METADATA_LOG
    return inside if inside.is_dir() else folder


def _folder(given: str, folder: Path) -> LogSource:
    names = sorted(os.listdir(folder))  # noqa: PTH208  # names, not paths
    segments = [name for name in names if _SEGMENT_NAME.fullmatch(name) and _is_file(folder / name)]
    checkpoints = [name for name in names if parse_snapshot_name(name) and _is_file(folder / name)]
    if not segments and not checkpoints:
        raise _no_log(given, folder, names)
    _refuse_other_topic(given, folder, segments)
    return _owned(
        folder,
        LogSource(
            name=given,
            segments=tuple(_disk_file(folder / name, SEGMENT, int(name[:20]), None) for name in segments),
            checkpoints=tuple(
                _disk_file(folder / name, CHECKPOINT, *(parse_snapshot_name(name) or ())) for name in checkpoints
            ),
            is_folder=True,
        ),
    )


def _is_file(path: Path) -> bool:
    """Return False if the file has been removed meanwhile. Raise InputError `log-file-not-regular` for anything else
    that is not a regular file: if it were skipped, the log would seem to be complete without it."""
    words = irregular(path)
    if words is not None:
        raise InputError(f"{path} is {words}, expected was a regular file", id="log-file-not-regular")
    return path.exists()


def _no_log(given: str, folder: Path, names: list[str]) -> InputError:
    if not names:
        return InputError(f"{given} is an empty folder", id="empty-folder")
    logs = [name for name in names if _PARTITION_FOLDER.fullmatch(name) and (folder / name).is_dir()]
    if logs:
        more = f", and {len(logs) - 1} more" if len(logs) > 1 else ""
        text = f"{given} has no {METADATA_LOG}, only logs of other partitions: {logs[0]}{more}"
        return InputError(text, id="no-metadata-log")
    text = f"{given} holds neither segments nor checkpoints of a metadata log"
    return InputError(text, id="no-metadata-log")


def _refuse_other_topic(given: str, folder: Path, segments: list[str]) -> None:
    """Refuse a folder whose files name another topic."""
    marker = folder / PARTITION_METADATA
    if marker.is_file():
        text = read_whole(marker, InputKind.PARTITION_METADATA).decode("utf-8", "replace")
        found = re.search(r"(?m)^topic_id: *(\S+)", text)
        if found is not None and found[1] != str(METADATA_TOPIC_ID):
            raise _other_topic(given, f"its {PARTITION_METADATA} names the topic id {found[1]}")
    elif segments:
        why = _foreign(folder / segments[0])
        if why is not None:
            raise _other_topic(given, why)


def _other_topic(given: str, why: str) -> InputError:
    text = f"{given} is the log of another topic: {why}"
    return InputError(text, id="not-a-metadata-log")


def _owned(folder: Path, source: LogSource) -> LogSource:
    """Return the source with what the meta.properties above its folder, or in the folder itself, says."""
    for place in (folder.parent, folder):
        try:
            data = read_whole(place / META_PROPERTIES, InputKind.META_PROPERTIES)
            meta = parse_meta_properties(data, file=str(place / META_PROPERTIES))
        except (OSError, DecodeError):
            continue
        return changed(source, cluster_id=meta.cluster_id, node_id=meta.stored_id, directory_id=meta.directory_id)
    return source


def _single(given: str) -> LogSource:
    path = Path(given)
    os.close(open_regular(path))  # raises what is wrong with the path
    _refuse_compressed(given, path)
    segment, snapshot = (
        _SEGMENT_NAME.fullmatch(path.name),
        parse_snapshot_name(path.name.split(".checkpoint")[0] + ".checkpoint"),
    )
    kind = SEGMENT if segment else CHECKPOINT if snapshot or path.name == BOOTSTRAP else _kind_by_content(path)
    if kind is None:
        text = f"{given} is neither a segment nor a checkpoint, neither by its name nor by its content"
        raise InputError(text, id="not-a-log-file")
    why = _foreign(path) if kind == SEGMENT else None
    if why is not None:
        raise _other_topic(given, why)
    if kind == SEGMENT:
        offset, epoch = (int(segment[1]) if segment else None), None
        file = _disk_file(path, SEGMENT, offset, epoch)
        return _owned(path.parent, LogSource(name=given, segments=(file,), checkpoints=(), is_folder=False))
    file = _disk_file(path, CHECKPOINT, *(snapshot or (None, None)))
    return _owned(path.parent, LogSource(name=given, segments=(), checkpoints=(file,), is_folder=False))


def _refuse_compressed(given: str, path: Path) -> None:
    """Refuse a file that begins as a compressed one, whatever its name. A batch begins with its offset, 0 or small."""
    begin = _beginning(path)[:_LONGEST_MARK]
    for mark, (name, command) in _COMPRESSED.items():
        if begin.startswith(mark):
            raise InputError(
                f"{given} is compressed ({name}), and is not read as it is",
                id="compressed-log-file",
                next_step=f"Decompress a copy of it, and name that: {command.format(shlex.quote(given))}",
            )


def _kind_by_content(path: Path) -> str | None:
    data = _beginning(path)
    if len(data) < HEADER_BYTES or data[MAGIC_POSITION] != MAGIC:
        return None
    try:
        header = decode_header(data, 0)
        if header.is_control:
            first = decode_records(data, header)[0]
            if decode_control_record(first.key, first.value).type is ControlType.SNAPSHOT_HEADER:
                return CHECKPOINT
    except (DecodeError, IndexError):
        pass
    return SEGMENT


def _foreign(path: Path) -> str | None:
    """Return why a segment cannot be of a metadata log; None if it can, or if its first batch does not show it."""
    data = _beginning(path)
    try:
        header = decode_header(data, 0)
        if header.is_control:
            return None
        if header.producer_id != -1:
            return f"its first batch is of the producer {header.producer_id}"
        records = decode_records(data, header)
    except DecodeError:
        return None
    if any(record.key is not None or (record.value or b"")[:1] != b"\1" for record in records):
        return "its first batch holds no metadata records"
    return None


def _beginning(path: Path) -> bytes:
    with os.fdopen(open_of_log(str(path)), "rb") as file:
        return file.read(_SNIFFED_BYTES)


def _disk_file(path: Path, kind: str, offset: int | None, epoch: int | None) -> LogFile:
    name = str(path)
    return LogFile(name=name, kind=kind, base_offset=offset, epoch=epoch, pieces=partial(read_pieces, name))


def announce(files: Iterable[LogFile]) -> None:
    """Report the size of files before reading (`kafkactl.core.progress`). Files of a live cluster have no size yet."""
    for file in files:
        with suppress(OSError, ValueError):
            expect(Path(file.name).stat().st_size)


def read_pieces(path: str, *, follow: bool = True) -> Iterator[bytes]:
    """Yield the bytes of a file, up to the size it has now. Raise InputError, FailedError `input-file-unreadable`.

    Without `follow` a link is an error: this is for commands that copy a file which another user may have replaced.
    """
    return counted(_read_pieces(path, follow))


def piece_bytes(at: int) -> int:
    """Return the number of bytes to read of a file at once after so many were read."""
    return min(PIECE_BYTES, max(_SHORT_PIECE_BYTES, at // _PIECES_BEFORE))


def _read_pieces(path: str, follow: bool) -> Iterator[bytes]:
    try:
        with os.fdopen(open_of_log(path, follow=follow), "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            # No name is given to a piece: it would stay in memory while the next one is read.
            yield from iter(lambda: file.read(min(piece_bytes(file.tell()), max(0, size - file.tell()))), b"")
    except FileNotFoundError as error:
        raise InputError(
            f"{path} was removed after the folder was listed",
            id="input-file-unreadable",
            next_step="A running node deletes old segments and snapshots: run the command again, or read a copy.",
        ) from error
    except OSError as error:
        raise _unreadable(path, error) from error


_OF_THE_INPUT = FileNotFoundError | PermissionError | IsADirectoryError | ValueError


def _unreadable(path: str, error: OSError | ValueError) -> InputError | FailedError:
    words = (error.strerror if isinstance(error, OSError) else None) or str(error)
    is_input = isinstance(error, _OF_THE_INPUT) or error.errno in (errno.EINVAL, errno.EFBIG, errno.ENXIO)
    family = InputError if is_input else FailedError
    what = error.filename if isinstance(error, OSError) else None  # a folder in it, or a file
    return family(f"{what or path} cannot be read: {words}", id="input-file-unreadable", next_step=read_advice(error))


def cluster_files(
    client: Client, *, from_offset: int | None, up_to: int | None, whole: bool = False
) -> Iterator[LogFile]:
    """Yield the committed log of a live cluster as files that can be read once each, in this order: snapshot, log.

    `up_to` is the last offset that is wanted; `whole`: all of the log, and not only what stands after the snapshot.
    Raises UnreachableError as `metadata_fetch.iterate_metadata_log` does, also while the pieces are read, and
    InputError `bootstrap-of-several-clusters`: a log does not show whose it is.
    """
    from kafkactl.cluster.io.addresses import check_addresses
    from kafkactl.cluster.io.metadata_fetch import FetchedSnapshot, iterate_metadata_log

    check_addresses(client)
    end = None if up_to is None else up_to + 1
    parts = iterate_metadata_log(client, from_offset=from_offset, up_to=end, whole=whole)
    for is_snapshot, group in itertools.groupby(parts, key=lambda part: isinstance(part, FetchedSnapshot)):
        first = next(group)
        if isinstance(first, FetchedSnapshot):
            yield _fetched(
                f"{first.end_offset:020}-{first.epoch:010}.checkpoint", CHECKPOINT, first.end_offset, first.pieces()
            )
        else:
            rest = (part.data for part in group if not isinstance(part, FetchedSnapshot))
            yield _fetched(
                f"{first.base_offset:020}.log", SEGMENT, first.base_offset, itertools.chain([first.data], rest)
            )
        del is_snapshot


def _fetched(name: str, kind: str, offset: int, data: Iterable[bytes]) -> LogFile:
    return LogFile(name=f"cluster:{METADATA_LOG}/{name}", kind=kind, base_offset=offset, pieces=lambda: counted(data))
