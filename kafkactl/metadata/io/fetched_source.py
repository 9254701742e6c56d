"""A metadata log that was fetched from its leader, as a source that other readers of logs take."""

from __future__ import annotations

from kafkactl.cluster.io.metadata_fetch import FetchedLog
from kafkactl.metadata.io.source import CHECKPOINT, SEGMENT, LogFile, LogSource


def source_of(log: FetchedLog) -> LogSource:
    """Return the source: the snapshot, if the leader offered one, and one segment with the records after it."""
    segments: tuple[LogFile, ...] = ()
    checkpoints: tuple[LogFile, ...] = ()
    if (snapshot := log.snapshot) is not None:
        name = f"{snapshot.end_offset:020}-{snapshot.epoch:010}.checkpoint"
        end, epoch = snapshot.end_offset, snapshot.epoch
        checkpoints = (LogFile(name=name, kind=CHECKPOINT, base_offset=end, epoch=epoch, pieces=snapshot.pieces),)
    if (first := log.first_offset) is not None:
        segments = (LogFile(name=f"{first:020}.log", kind=SEGMENT, base_offset=first, pieces=log.pieces),)
    name = f"controller {log.leader_id}"
    return LogSource(name=name, segments=segments, checkpoints=checkpoints, is_folder=True)
