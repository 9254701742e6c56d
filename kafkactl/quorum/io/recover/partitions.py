"""Partition folders of a log directory: whose they are and how far they reach, from small files and batch headers.

Only headers of two segments of each folder are read, the oldest and the last; nothing is written. What is missing is
None, and so is what cannot be read, which is reported to the caller. A copy made by `collect` has no segments: its
manifest states what they held.
"""

from __future__ import annotations

import errno
import os
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from kafkactl.core.answers import by_fields
from kafkactl.core.errors import InputDecodeError
from kafkactl.core.frozen import frozen
from kafkactl.core.json_input import JsonInputError, parse_json
from kafkactl.core.values import Uuid
from kafkactl.files.input_files import InputKind, open_regular, read_whole
from kafkactl.metadata.verify.folder import LEADER_EPOCH_CHECKPOINT, PARTITION_METADATA
from kafkactl.quorum.recover.folders import parse_folder_name, parse_largest_epoch
from kafkactl.quorum.recover.observed_disks import PartitionFolder
from kafkactl.storage.epoch_checkpoints import parse_leader_epochs, parse_offsets
from kafkactl.storage.model import LOG_STARTS
from kafkactl.storage.partition_folders import parse_topic_id

MANIFEST: Final = "kafkactl-collected.json"
Unread = Callable[[Path, OSError], None]
"""Called with a file or folder that is there and cannot be read, and the error; it may raise."""
_SEGMENT: Final = re.compile(r"[0-9]{20}\.log")
_HEADER: Final = struct.Struct(">qi4xB6xi8xq")  # base offset, length, magic, last offset delta, largest timestamp
_LENGTH_END: Final = 12
_SMALLEST: Final = 49


def _pass_over(path: Path, error: OSError) -> None:
    """Report nothing."""


def read_folders(
    path: str, *, broker: int | None, directory_id: Uuid | None, unread: Unread = _pass_over
) -> Iterator[PartitionFolder]:
    """Yield the partition folders in a log directory, by name. For what is in them only `unread` may raise."""
    collected = _manifest(Path(path, MANIFEST), unread)
    starts = _log_starts(path, unread)
    for name in sorted(os.listdir(path)):  # noqa: PTH208  # names, not paths
        parsed = parse_folder_name(name)
        folder = Path(path, name)
        if parsed is None or not folder.is_dir():
            continue
        ends = _ends(folder, unread) or _collected(collected.get(name))
        epochs = _small(folder / LEADER_EPOCH_CHECKPOINT, unread)
        yield PartitionFolder(
            disk=path,
            broker=broker,
            directory_id=directory_id,
            name=name,
            kind=parsed.kind,
            topic=parsed.topic,
            partition=parsed.partition,
            topic_id=parse_topic_id(_small(folder / PARTITION_METADATA, unread)),
            leader_epoch=parse_largest_epoch(epochs),
            log_end_offset=ends.log_end_offset,
            size_bytes=ends.size_bytes,
            oldest_timestamp_ms=ends.oldest_timestamp_ms,
            oldest_bytes=ends.oldest_bytes,
            oldest_offset=ends.oldest_offset,
            log_start_offset=starts.get((parsed.topic, parsed.partition)),
            first_epoch_offset=_first_epoch_offset(epochs),
        )


def _log_starts(path: str, unread: Unread) -> dict[tuple[str, int], int]:
    """Return the log start offsets in the directory's checkpoint; empty if the checkpoint cannot be read."""
    try:
        return parse_offsets(_small(Path(path, LOG_STARTS), unread), file=LOG_STARTS)
    except InputDecodeError:
        return {}


def _first_epoch_offset(content: bytes) -> int | None:
    try:
        epochs = parse_leader_epochs(content, file=LEADER_EPOCH_CHECKPOINT)
    except InputDecodeError:
        return None
    return min((start for _, start in epochs), default=None)


@frozen
class LogEnds:
    """Content of the segments of a partition."""

    log_end_offset: int | None = None
    size_bytes: int = 0
    oldest_timestamp_ms: int | None = None
    oldest_bytes: int = 0
    oldest_offset: int | None = None

    to_dict = by_fields


def log_ends(folder: str, unread: Unread = _pass_over, *, at: int | None = None) -> LogEnds:
    """Return the ends that the segments of a partition's folder show; all None and 0 if the folder has no segment.

    With `at`, the descriptor of the folder, no link is followed.
    """
    return _ends(Path(folder), unread, at) or LogEnds()


def _ends(folder: Path, unread: Unread, at: int | None = None) -> LogEnds | None:
    segments = _segments(folder, unread, at)
    if not segments:
        return None
    sizes = [_size(path, at) for path in segments]
    end, _ = _walked(segments[-1], unread, at)
    _, oldest = _walked(segments[0], unread, at)
    return LogEnds(
        log_end_offset=int(segments[-1].stem) if end is None else end,
        size_bytes=sum(sizes),
        oldest_timestamp_ms=oldest,
        oldest_bytes=sizes[0],
        oldest_offset=int(segments[0].stem),
    )


def _segments(folder: Path, unread: Unread, at: int | None) -> list[Path]:
    try:
        names = os.listdir(folder if at is None else at)  # noqa: PTH208  # names, not paths
    except FileNotFoundError:
        return []
    except OSError as error:
        unread(folder, error)
        return []
    return [folder / name for name in sorted(names) if _SEGMENT.fullmatch(name)]


def _walked(segment: Path, unread: Unread, at: int | None) -> tuple[int | None, int | None]:
    """Return the end offset after the last batch, and the largest timestamp; None without a batch. Bodies are
    skipped."""
    end = largest = None
    try:
        name = segment if at is None else segment.name
        with os.fdopen(open_regular(name, follow=at is None, at=at), "rb", buffering=0) as opened:
            size, position = os.fstat(opened.fileno()).st_size, 0
            while position + _HEADER.size <= size:
                opened.seek(position)
                head = opened.read(_HEADER.size)
                if len(head) < _HEADER.size:
                    break
                base, length, magic, delta, timestamp = _HEADER.unpack(head)
                if magic != 2 or length < _SMALLEST or position + _LENGTH_END + length > size:
                    break
                end = base + delta + 1
                largest = timestamp if largest is None else max(largest, timestamp)
                position += _LENGTH_END + length
    except FileNotFoundError:
        pass
    except OSError as error:
        unread(segment, error)
    return end, largest


def _small(file: Path, unread: Unread) -> bytes:
    try:
        return read_whole(file, InputKind.OF_LOG_DIRECTORY)
    except FileNotFoundError:
        return b""
    except OSError as error:
        unread(file, error)
        return b""


def _size(file: Path, at: int | None) -> int:
    try:
        return (file.stat() if at is None else os.stat(file.name, dir_fd=at, follow_symlinks=False)).st_size
    except OSError:
        return 0


def _manifest(file: Path, unread: Unread) -> Mapping[str, Any]:
    """Return a copy's manifest of omitted segments, by folder; empty for a log directory."""
    try:
        held = parse_json(read_whole(file, InputKind.DOCUMENT))
    except FileNotFoundError:
        return {}
    except OSError as error:
        unread(file, error)
        return {}
    except JsonInputError as error:
        unread(file, OSError(errno.EINVAL, f"not JSON: {error}", str(file)))
        return {}
    folders = held.get("folders") if isinstance(held, dict) else None
    if not isinstance(folders, dict):
        unread(file, OSError(errno.EINVAL, "it has no `folders`", str(file)))
        return {}
    return folders


def _collected(held: Any) -> LogEnds:
    fields = held if isinstance(held, dict) else {}
    numbers = {name: value for name, value in fields.items() if type(value) is int}
    return LogEnds(
        log_end_offset=numbers.get("log_end_offset"),
        size_bytes=numbers.get("size_bytes", 0),
        oldest_timestamp_ms=numbers.get("oldest_timestamp_ms"),
        oldest_bytes=numbers.get("oldest_bytes", 0),
        oldest_offset=numbers.get("oldest_offset"),
    )
