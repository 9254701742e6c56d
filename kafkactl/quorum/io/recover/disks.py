"""Log directories read for a recovery: identity, lock, metadata log, partition folders. Nothing here writes.

The metadata log is read whole, twice: once for what is wrong with it and how it compares with others, once for the
image of the disks that need one. What a disk lacks is a value; only a path that cannot be looked at is an error.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from kafkactl.core.errors import DecodeError, InputError
from kafkactl.core.file_read import FileRead
from kafkactl.core.findings import Finding, warning
from kafkactl.core.frozen import changed
from kafkactl.core.kafka_names import METADATA_LOG
from kafkactl.files.input_files import open_regular
from kafkactl.metadata.io.check import read_node_log
from kafkactl.metadata.io.image import LoadedImage, Point, load_image
from kafkactl.metadata.io.metadata_log import scan_checkpoint_file
from kafkactl.metadata.io.source import open_source
from kafkactl.metadata.log.quorum_state import QuorumStateFile, decode_quorum_state
from kafkactl.metadata.verify.check import NodeLog
from kafkactl.protocol.text.meta_properties import MetaProperties, parse_meta_properties
from kafkactl.quorum.io.recover.partitions import read_folders
from kafkactl.quorum.recover.candidate import Candidate, Snapshot, candidate_of
from kafkactl.quorum.recover.observed_disks import DiskImage, DiskSeen, SourceFile
from kafkactl.storage.io.directories import observe_directory
from kafkactl.storage.model import QUORUM_STATE, DirectoryState, ObservedDirectory

_READ_BYTES: Final = 4 * 1024 * 1024
_OF_THE_LOG: Final = (".log", ".checkpoint")


def read_disk(path: str) -> DiskSeen:
    """Read one log directory; a path may also be `__cluster_metadata-0` itself.

    Raises InputError `log-dir-unreadable` for a path that is not a directory, or one without any file of Kafka, and
    for what this user may not read in it: another one may.
    """
    directory = _directory(path)
    observed = observe_directory(directory)
    if observed.state is not DirectoryState.DIRECTORY:
        raise _unreadable(path, observed.error or "there is nothing at this path")
    findings: list[Finding] = []
    meta = _meta(observed, findings)
    state = _quorum_state(observed, findings)
    node_id = None if meta is None else meta.stored_id
    directory_id = None if meta is None else meta.directory_id
    unread = functools.partial(_of_a_partition, findings)
    folders = tuple(read_folders(directory, broker=node_id, directory_id=directory_id, unread=unread))
    has_log = observed.metadata_log is not None
    if not has_log and not folders and meta is None:
        raise _unreadable(path, "it holds neither meta.properties nor a metadata log nor partitions")
    log = _log(directory) if has_log else None
    snapshots = _snapshots(directory, log) if log is not None else []
    return DiskSeen(
        path=path,
        cluster_id=(meta.cluster_id if meta else None) or (state.cluster_id if state else None) or None,
        node_id=node_id,
        directory_id=directory_id,
        lock_holder=(observed.lock_holder_pid or 0) if observed.locked_by_process else None,
        quorum_state=state,
        log=log,
        candidate=None if log is None else candidate_of(changed(log, path=path), snapshots),
        folders=folders,
        files=tuple(_files(directory)) if log is not None else (),
        findings=tuple(findings),
    )


def disk_place(path: str) -> str:
    """Return the real path of the log directory that a path names: equal for all paths to one directory."""
    return os.path.realpath(_directory(path))


def _directory(path: str) -> str:
    return str(Path(path).parent) if Path(path).name == METADATA_LOG else path


def _unreadable(path: str, why: str) -> InputError:
    return InputError(f"{path} cannot be read as a log directory: {why}", id="log-dir-unreadable")


def _meta(observed: ObservedDirectory, findings: list[Finding]) -> MetaProperties | None:
    file = observed.meta_properties
    if file is None or file.content is None:
        findings.append(_not_read(f"{observed.path}/meta.properties", "who this disk belongs to", file))
        return None
    try:
        return parse_meta_properties(file.content, file=file.path)
    except DecodeError as error:
        findings.append(_not_read(file.path, "who this disk belongs to", error.reason))
        return None


def _quorum_state(observed: ObservedDirectory, findings: list[Finding]) -> QuorumStateFile | None:
    file = observed.metadata_files.get(QUORUM_STATE)
    if file is None:
        return None
    try:
        return decode_quorum_state(file.content or b"", file=file.path)
    except DecodeError as error:
        findings.append(_not_read(file.path, "which epochs this node has seen", file.error or error.reason))
        return None


def _of_a_partition(findings: list[Finding], path: Path, error: OSError) -> None:
    """Report a partition file that cannot be read; refuse it if permission is missing, since the plan would omit it."""
    if isinstance(error, PermissionError):
        raise unreadable_part(path, error) from error
    words = error.strerror or str(error)
    findings.append(warning("disk-not-read", str(path), f"{path}: what is in it is not known: {words}", ""))


def unreadable_part(path: Path, error: OSError) -> InputError:
    """Return the error of a file or folder in a log directory."""
    return InputError(
        f"{path} cannot be read: {error.strerror or error}",
        id="log-dir-unreadable",
        next_step="Run the command as a user who may read all of the log directory: the one that runs Kafka, or root.",
    )


def _not_read(path: str, what: str, why: FileRead | str | None) -> Finding:
    words = why if isinstance(why, str) else "the file is missing" if why is None else why.error
    return warning(
        "disk-not-read",
        path,
        f"{path}: {what} is not known: {words}",
        "Copy meta.properties and quorum-state of the log directory with the log, as a user who may read them.",
    )


def _log(directory: str) -> NodeLog | None:
    """Read the metadata log; None for a folder without a segment and a checkpoint: a disk that never had a log."""
    try:
        return read_node_log(directory)
    except InputError as error:
        if error.id in ("no-metadata-log", "empty-folder"):
            return None
        raise


def _snapshots(directory: str, log: NodeLog) -> list[Snapshot]:
    """Return the snapshots, newest first, read down to the first that is sound; those before it need no look."""
    found = []
    for snapshot in sorted(log.facts.snapshots, key=lambda snapshot: (snapshot.offset, snapshot.epoch), reverse=True):
        if snapshot.offset == 0:
            continue
        facts = snapshot
        if facts.contents is None and facts.error is None:
            (facts,) = scan_checkpoint_file(str(Path(directory, METADATA_LOG, snapshot.name))).snapshots
        problem = facts.problem
        found.append(Snapshot(name=snapshot.name, offset=snapshot.offset, epoch=snapshot.epoch, problem=problem))
        if problem is None:
            break
    return found


def _files(directory: str) -> Iterator[SourceFile]:
    """Yield the metadata log files on which a plan depends, with checksums."""
    folder = Path(directory, METADATA_LOG)
    for name in sorted(os.listdir(folder)):  # noqa: PTH208  # names, not paths
        path = folder / name
        if path.is_file() and (name.endswith(_OF_THE_LOG) or name == QUORUM_STATE):
            yield checksum(str(path))


def checksum(path: str, *, at: int | None = None) -> SourceFile:
    """Return size and SHA-256 of a file, read in pieces. Raise InputError `log-dir-unreadable`.

    With `at`, the descriptor of its directory, only the last name of `path` is looked up, and no link is followed.
    """
    digest, size = hashlib.sha256(), 0
    try:
        name = path if at is None else Path(path).name
        with os.fdopen(open_regular(name, follow=at is None, at=at), "rb", buffering=0) as opened:
            while piece := opened.read(_READ_BYTES):
                digest.update(piece)
                size += len(piece)
    except OSError as error:
        raise unreadable_part(Path(path), error) from error
    return SourceFile(path=path, size=size, sha256=digest.hexdigest())


def read_image(disk: DiskSeen, *, end_offset: int | None = None) -> DiskImage:
    """Return the image of what counts on a disk, or of what lies below an offset of it."""
    assert disk.candidate is not None, "only such disks have an image"
    loaded = _loaded(disk, disk.candidate, disk.candidate.end_offset if end_offset is None else end_offset)
    return DiskImage(
        path=disk.path,
        image=loaded.image,
        timestamp_ms=-1 if loaded.position is None else loaded.position.timestamp_ms,
        findings=loaded.findings,
    )


def _loaded(disk: DiskSeen, counts: Candidate, end_offset: int) -> LoadedImage:
    """Load the image from the candidate's first snapshot (an earlier end needs the log from 0, or an earlier
    snapshot)."""
    source = open_source(disk.path)
    wanted = [
        log_file
        for log_file in source.checkpoints
        if log_file.base_offset == 0 or Path(log_file.name).name == counts.snapshot
    ]
    if end_offset < counts.snapshot_offset:
        wanted = list(source.checkpoints)
    return load_image(changed(source, checkpoints=tuple(wanted)), Point(offset=end_offset - 1))


def read_images(disks: Sequence[DiskSeen]) -> dict[str, DiskImage]:
    """Return the image of each of these disks, by path."""
    return {disk.path: read_image(disk) for disk in disks}
