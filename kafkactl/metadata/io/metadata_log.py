"""Reader of a metadata log on disk, in pieces: state of its segments and snapshots, with bounded memory.

Nothing here writes, waits or raises: a file that cannot be read is part of the answer. A log that a running node
appends to is read up to the size that it has when it is opened. What such a node deletes after the folder was listed
is still read if that is possible (`deleted`), and else left out.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from kafkactl.core.file_read import FileRead, dangling_words
from kafkactl.core.kafka_names import METADATA_LOG
from kafkactl.core.progress import counted
from kafkactl.files.input_files import irregular
from kafkactl.files.one_file import read_file
from kafkactl.metadata.io.deleted_files import name_now, open_of_log
from kafkactl.metadata.log.scan import Contents, FoundBatch, Stop, walk_batches
from kafkactl.metadata.log.stretches import Course, walk_stretches
from kafkactl.metadata.verify.folder import (
    LEADER_EPOCH_CHECKPOINT,
    PARTITION_METADATA,
    TO_WRITE,
    MetadataLogFacts,
    SegmentFacts,
    SnapshotFacts,
    parse_snapshot_name,
)
from kafkactl.protocol.log.batch_runs import BatchRun

if TYPE_CHECKING:
    from kafkactl.metadata.replay.columns.contents import ContentScan

PIECE_BYTES = 16 * 1024 * 1024
_SEGMENT = re.compile(r"(\d{20})\.log")
# Opened for writing too, like segments (LogSegment.open, OffsetIndex, TimeIndex).
_INDEXES = (".index", ".timeindex")


def scan_metadata_log(log_dir: str) -> MetadataLogFacts:
    """Read everything in `log_dir/__cluster_metadata-0` that a start depends on."""
    return scan_log_folder(str(Path(log_dir, METADATA_LOG)))


def scan_log_folder(path: str, *, decode_all: bool = False) -> MetadataLogFacts:
    """Read a folder of any name; with `decode_all` every record of the segments is decoded."""
    try:
        found = Path(path).stat()
        if not stat.S_ISDIR(found.st_mode):
            return MetadataLogFacts(path=path, state="not-a-directory", error="Not a directory")
        names = sorted(os.listdir(path))  # noqa: PTH208  # names, not paths
    except (FileNotFoundError, NotADirectoryError):
        return MetadataLogFacts(path=path, state="missing")
    except (OSError, ValueError) as error:
        return MetadataLogFacts(path=path, state="unreadable", error=_words(error))
    return _scan(path, names, Contents(decode_all=decode_all))


def scan_checkpoint_file(path: str) -> MetadataLogFacts:
    """Read a single checkpoint; `state` is then `file`."""
    folder, name = str(Path(path).parent), Path(path).name
    offset, epoch = parse_snapshot_name(name.split(".checkpoint")[0] + ".checkpoint") or (0, 0)
    return MetadataLogFacts(path=folder, state="file", snapshots=(_snapshot(folder, name, offset, epoch),))


def scan_segment_file(path: str) -> MetadataLogFacts:
    """Read a single segment and decode all its records; `state` is then `file`. Its name need not have an offset."""
    folder, name = str(Path(path).parent), Path(path).name
    match, contents = _SEGMENT.fullmatch(name), Contents(decode_all=True)
    base_offset = int(match[1]) if match else _first_offset(path)
    segment, ascends = _segment(folder, name, base_offset, base_offset, contents)
    return MetadataLogFacts(
        path=folder, state="file", segments=(segment,), contents=contents, mixed_offsets=not ascends
    )


def _first_offset(path: str) -> int:
    _, pieces = _pieces(path)
    return int.from_bytes(next(pieces, b"")[:8], "big")


def _scan(path: str, names: list[str], contents: Contents) -> MetadataLogFacts:
    segments, dropped, mixed = _segments(path, names, contents)
    return MetadataLogFacts(
        path=path,
        state="directory",
        segments=tuple(segments),
        dropped_segments=tuple(dropped),
        contents=contents,
        snapshots=tuple(_snapshots(path, names)),
        small_files=_small_files(path, names),
        passed_over=tuple(_passed_over(path, names)),
        unreadable=tuple(_unreadable(path, names)),
        write_error=_write_error(path),
        mixed_offsets=mixed,
        orphaned_indexes=tuple(_orphaned_indexes(names)),
    )


def _orphaned_indexes(names: list[str]) -> Iterator[str]:
    """Yield the names of offset indexes without their segment."""
    present = set(names)
    for name in names:
        stem, suffix = name[:20], name[20:]
        if (
            suffix == ".index"
            and _SEGMENT.fullmatch(f"{stem}.log")
            and not present & {f"{stem}.log", f"{stem}.log.deleted"}
        ):
            yield name


def _segments(path: str, names: list[str], contents: Contents) -> tuple[list[SegmentFacts], list[str], bool]:
    """Return segments up to the first damage, the names of those after it, and whether offsets fail to ascend."""
    found: list[SegmentFacts] = []
    wanted = [name for name in names if _SEGMENT.fullmatch(name) and _may_be_file(_now(path, name))]
    mixed = False
    for index, name in enumerate(wanted):
        base_offset = int(name.removesuffix(".log"))
        expected = found[-1].end_offset if found else base_offset
        segment, ascends = _segment(path, name, base_offset, expected, contents)
        found.append(segment)
        mixed = mixed or not ascends
        if segment.stop is not None:
            return found, wanted[index + 1 :], mixed
    return found, [], mixed


def _now(path: str, name: str) -> Path:
    return Path(name_now(str(Path(path, name))))


def _segment(path: str, name: str, base_offset: int, expected: int, contents: Contents) -> tuple[SegmentFacts, bool]:
    file = str(Path(path, name))
    size, pieces = _pieces(file)
    course, stop = Course(base_offset, expected), None
    scan: ContentScan | None = None
    for found in walk_stretches(pieces, size, file=file):
        if isinstance(found, Stop):
            stop = found
        elif isinstance(found, BatchRun):
            scan = scan or _content_scan(contents, course, file)
            scan.add(found)
        else:
            course.add(found.header.base_offset, found.header.last_offset)
            contents.add(found, file=file)
    end_offset = contents.end_offset if course.first is not None else base_offset
    facts = SegmentFacts(
        name=name,
        base_offset=base_offset,
        size_bytes=size,
        first_offset=course.first,
        end_offset=end_offset,
        stop=stop,
        out_of_range=course.out_of_range,
        gaps=tuple(course.gaps),
    )
    return facts, course.ascends


def _content_scan(contents: Contents, course: Course, file: str) -> ContentScan:
    from kafkactl.metadata.replay.columns.contents import ContentScan

    return ContentScan(contents, course, file=file)


def _pieces(file: str) -> tuple[int, Iterator[bytes]]:
    """Return the size of a file and its bytes, piece by piece. A file that cannot be opened has none."""
    try:
        descriptor = open_of_log(file)
    except OSError:
        return 0, iter(())
    size = os.fstat(descriptor).st_size
    return size, counted(_read_pieces(descriptor, size))


def _read_pieces(descriptor: int, size: int) -> Iterator[bytes]:
    try:
        left = size
        while left > 0:
            piece = os.read(descriptor, min(PIECE_BYTES, left))
            if not piece:
                return
            left -= len(piece)
            yield piece
    except OSError:
        return
    finally:
        os.close(descriptor)


def _snapshots(path: str, names: list[str]) -> Iterator[SnapshotFacts]:
    """Yield all snapshots, oldest first. The first is read, and from the newest on those down to a sound one."""
    known = {parsed: name for name in names if (parsed := parse_snapshot_name(name)) and _is_there(path, name)}
    found: list[SnapshotFacts] = []
    has_sound = False
    for (offset, epoch), name in sorted(known.items(), reverse=True):
        if has_sound and (offset, epoch) != (0, 0):
            size = _size(Path(name_now(str(Path(path, name)))))
            found.append(SnapshotFacts(name=name, offset=offset, epoch=epoch, size_bytes=size))
        else:
            found.append(_snapshot(path, name, offset, epoch))
            has_sound = has_sound or found[-1].problem is None
    yield from reversed(found)


def _is_there(path: str, name: str) -> bool:
    return os.path.lexists(name_now(str(Path(path, name))))


def _snapshot(path: str, name: str, offset: int, epoch: int) -> SnapshotFacts:
    file = name_now(str(Path(path, name)))
    error = _access_error(Path(file), os.R_OK)
    if error is not None:
        return SnapshotFacts(name=name, offset=offset, epoch=epoch, size_bytes=0, error=error)
    size, pieces = _pieces(file)
    contents, stop, crc_problem = Contents(), None, None
    for found in walk_batches(pieces, size, file=file, check_crc=False):
        if isinstance(found, FoundBatch):
            contents.add(found, file=file)
            crc_problem = crc_problem or (str(found.problem) if found.problem else None)
        else:
            stop = found
    return SnapshotFacts(
        name=name,
        offset=offset,
        epoch=epoch,
        size_bytes=size,
        contents=contents,
        stop=stop,
        crc_problem=crc_problem,
    )


def _small_files(path: str, names: list[str]) -> dict[str, FileRead]:
    wanted = (PARTITION_METADATA, LEADER_EPOCH_CHECKPOINT)
    return {name: read_file(str(Path(path, name))) for name in wanted if name in names}


def _passed_over(path: str, names: list[str]) -> Iterator[tuple[str, str]]:
    """Yield names and kinds of segments that are not regular files."""
    for name in names:
        try:
            words = irregular(Path(path, name)) if _SEGMENT.fullmatch(name) else None
        except OSError:
            continue  # `_unreadable` reports a file that cannot be examined
        if words is not None:
            yield name, words


def _unreadable(path: str, names: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the files that cannot be read, in the order of a start, which examines all names before any segment."""
    for suffixes, needed in (("", os.R_OK), (".log", os.W_OK), (_INDEXES, os.W_OK)):
        for name in names:
            file = Path(path, name)
            error = _access_error(file, needed) if name.endswith(suffixes) and _may_be_file(file) else None
            if error is not None:
                yield name, error if needed == os.R_OK else error + TO_WRITE


def _may_be_file(path: Path) -> bool:
    """Return True for a regular file, and for one in a folder whose names may be read and whose files may not be
    examined."""
    try:
        return path.is_file()
    except OSError:
        return True


def _write_error(path: str) -> str | None:
    allowed = os.access(path, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids)
    return None if allowed else "Permission denied"


def _access_error(file: Path, needed: int) -> str | None:
    try:
        if file.is_symlink() and not file.exists():
            return dangling_words(str(file.readlink()))
        if not file.is_file():
            return "Is a directory" if file.is_dir() else "Not a regular file"
        allowed = os.access(file, needed, effective_ids=os.access in os.supports_effective_ids)
    except OSError as error:
        return _words(error)
    return None if allowed else "Permission denied"


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _words(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
