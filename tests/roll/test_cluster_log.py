"""The history of registrations in logs and snapshots that released Kafka wrote."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from kafkactl.core.values import Role
from kafkactl.metadata.io.source import CHECKPOINT, SEGMENT, LogFile
from kafkactl.roll.cluster_log import EventKind, read_cluster_log

IMAGES = Path(__file__).parents[1] / "golden" / "images"


def file_of(path: Path, kind: str) -> LogFile:
    content = gzip.decompress(path.read_bytes())
    return LogFile(name=path.stem, kind=kind, base_offset=int(path.name[:20]), pieces=lambda: [content])


@pytest.mark.parametrize("release", ["3.6.2", "4.0.2"])
def test_registration_in_a_snapshot_has_no_time(release: str) -> None:
    # Kafka writes a snapshot with the time of the snapshot: a broker that registered weeks ago would look new.
    segments = [file_of(path, SEGMENT) for path in sorted((IMAGES / release).glob("*.log.gz"))]
    snapshots = [file_of(path, CHECKPOINT) for path in sorted((IMAGES / release).glob("*.checkpoint.gz"))]
    log = read_cluster_log(1, segments, snapshots)
    registered = [event for event in log.events if event.kind is EventKind.REGISTERED and event.role is Role.BROKER]
    in_log = [event for event in read_cluster_log(1, segments, []).events if event.kind is EventKind.REGISTERED]
    assert {event.at_ms for event in registered} > {None}
    assert {event.at_ms for event in registered} - {None} == {e.at_ms for e in in_log if e.role is Role.BROKER}
