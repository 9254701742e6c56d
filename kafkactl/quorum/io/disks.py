"""Quorum state on the disks of controllers: votes, end of each log, voters.

The disks are only read, and nothing on them raises an error: what cannot be read is None, and a finding reports why. A
log that ends in damage is read up to the damage, because that is what a node keeps when it starts. Only control batches
of the log and the head of the snapshot are decoded; memory is bounded by one batch. A running node may write meanwhile.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from kafkactl.cluster.quorum.observation import DiskSeen
from kafkactl.cluster.quorum.voter_sets import Voter, voters_of
from kafkactl.core.errors import DecodeError, InputError
from kafkactl.core.findings import Finding, warning
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import METADATA_LOG
from kafkactl.files.input_files import InputKind, open_regular, read_whole
from kafkactl.metadata.log.quorum_state import QuorumStateFile, decode_quorum_state
from kafkactl.metadata.log.scan import FoundBatch, Stop, walk_batches
from kafkactl.metadata.verify.folder import parse_snapshot_name
from kafkactl.protocol.control_records import ControlType, decode_control_record
from kafkactl.protocol.record_batch import decode_records
from kafkactl.protocol.text.meta_properties import META_PROPERTIES, MetaProperties, parse_meta_properties
from kafkactl.storage.model import QUORUM_STATE

_PIECE_BYTES = 1024 * 1024
_SEGMENT_SUFFIX = ".log"
_SEGMENT_DIGITS = 20


@frozen
class DiskReading:
    """A directory: what it says, and what of it could not be read."""

    seen: DiskSeen
    findings: tuple[Finding, ...] = ()


def read_disks(paths: Sequence[str]) -> tuple[DiskReading, ...]:
    """Return the metadata directories of several nodes, one reading each; a path may also be `__cluster_metadata-0`
    itself.

    Raises InputError `log-dir-unreadable` for a path that is not a directory with a metadata log.
    """
    return tuple(read_disk(path) for path in paths)


def read_disk(path: str) -> DiskReading:
    """Read one metadata directory. Raise InputError `log-dir-unreadable`."""
    directory = Path(path)
    log = directory if directory.name == METADATA_LOG else directory / METADATA_LOG
    names = _names(path, log)
    findings: list[Finding] = []
    meta = _meta(log.parent, findings)
    election = _election(log, findings)
    found = _read_log(log, names, findings)
    seen = DiskSeen(
        path=path,
        node_id=None if meta is None else meta.stored_id,
        cluster_id=(meta and meta.cluster_id) or (election and election.cluster_id) or None,
        directory_id=None if meta is None else meta.directory_id,
        leader_id=None if election is None else election.leader_id,
        leader_epoch=None if election is None else election.leader_epoch,
        last_epoch=found.last_epoch,
        log_end_offset=found.end_offset,
        kraft_version=found.kraft_version,
        voters=found.voters,
        static_voters=() if election is None else election.current_voters,
    )
    return DiskReading(seen=seen, findings=tuple(findings))


def _names(path: str, log: Path) -> list[str]:
    try:
        if not stat.S_ISDIR(log.stat().st_mode):
            raise NotADirectoryError(20, "Not a directory")
        return sorted(os.listdir(log))  # noqa: PTH208  # names, not paths
    except (OSError, ValueError) as error:
        words = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise InputError(
            f"{path} holds no metadata log that can be read: {log}: {words}", id="log-dir-unreadable"
        ) from error


def _meta(directory: Path, findings: list[Finding]) -> MetaProperties | None:
    file = directory / META_PROPERTIES
    try:
        return parse_meta_properties(_small(file), file=str(file))
    except (OSError, DecodeError) as error:
        findings.append(_unread(file, "who this node is", error))
        return None


def _election(log: Path, findings: list[Finding]) -> QuorumStateFile | None:
    file = log / QUORUM_STATE
    try:
        return decode_quorum_state(_small(file), file=str(file))
    except FileNotFoundError:
        return None  # a node that was formatted and never started has none
    except (OSError, DecodeError) as error:
        findings.append(_unread(file, "in which epoch this node is", error))
        return None


def _small(file: Path) -> bytes:
    return read_whole(file, InputKind.QUORUM_STATE)


def _unread(file: Path, what: str, error: OSError | DecodeError | str) -> Finding:
    words = error if isinstance(error, str) else error.message if isinstance(error, DecodeError) else error.strerror
    return warning("disk-not-read", str(file), f"{file}: {what} is not known: {words}")


class _LogEnd:
    """Result of a walk through snapshot and segments."""

    def __init__(self) -> None:
        self.end_offset = 0
        self.last_epoch = -1
        self.kraft_version: int | None = None
        self.voters: tuple[Voter, ...] | None = None

    def take(self, batch: FoundBatch, file: str) -> None:
        """Read the control records of a batch; of other records only their presence counts."""
        if not batch.header.is_control:
            return
        for record in decode_records(batch.data, batch.header, file=file, base=batch.header.position):
            control = decode_control_record(record.key, record.value, file=file)
            if control.type is ControlType.KRAFT_VERSION:
                self.kraft_version = control.data["KRaftVersion"]
            elif control.type is ControlType.KRAFT_VOTERS:
                self.voters = voters_of(control.data)


def _read_log(log: Path, names: Sequence[str], findings: list[Finding]) -> _LogEnd:
    found = _LogEnd()
    snapshots = sorted((at, name) for name in names if (at := parse_snapshot_name(name)) is not None)
    if snapshots:
        (found.end_offset, found.last_epoch), newest = snapshots[-1]
        _read_head(log / newest, found, findings)
    # Segments may reach back behind the snapshot: what they say of voters there, it says too.
    for name in names:
        if not _is_segment(name):
            continue
        if not _read_segment(log / name, found, findings):
            break
    return found


def _is_segment(name: str) -> bool:
    number = name.removesuffix(_SEGMENT_SUFFIX)
    return name != number and len(number) == _SEGMENT_DIGITS and number.isascii() and number.isdigit()


def _read_head(file: Path, found: _LogEnd, findings: list[Finding]) -> None:
    """Read the control batch at the head of a snapshot: version and voters (KIP-853)."""
    before = len(findings)
    first = next(_batches(file, findings), None)
    if isinstance(first, FoundBatch) and first.header.is_control:
        _taken(found, first, file, findings)
    elif len(findings) == before:
        words = first.message if isinstance(first, Stop) else "the file does not begin with a control batch"
        findings.append(_unread(file, "who votes by this snapshot", words))


def _read_segment(file: Path, found: _LogEnd, findings: list[Finding]) -> bool:
    """Return True if the next segment still belongs to the log."""
    for batch in _batches(file, findings):
        if isinstance(batch, Stop):
            findings.append(_cut_short(file, batch, found.end_offset))
            return False
        if batch.header.last_offset < found.end_offset:
            continue
        if not _taken(found, batch, file, findings):
            return False
        found.end_offset = batch.header.last_offset + 1
        found.last_epoch = batch.header.partition_leader_epoch
    return True


def _taken(found: _LogEnd, batch: FoundBatch, file: Path, findings: list[Finding]) -> bool:
    try:
        found.take(batch, str(file))
    except DecodeError as error:
        findings.append(_unread(file, "what a control record says", error))
        return False
    return True


def _batches(file: Path, findings: list[Finding]) -> Iterator[FoundBatch | Stop]:
    try:
        with os.fdopen(open_regular(file), "rb") as opened:
            size = os.fstat(opened.fileno()).st_size
            pieces = iter(lambda: opened.read(_PIECE_BYTES), b"")
            yield from walk_batches(pieces, size, file=str(file))
    except OSError as error:
        findings.append(_unread(file, "what this file of the log holds", error))


def _cut_short(file: Path, stop: Stop, end_offset: int) -> Finding:
    return warning(
        "log-cut-short",
        str(file),
        f"the log breaks off at byte {stop.position} of {file.name}: {stop.message}; what stands behind offset "
        f"{end_offset} does not count",
        position=stop.position,
        end_offset=end_offset,
    )
