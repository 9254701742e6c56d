"""Registrations from fetched batches: what real nodes wrote, and a snapshot that replaces everything before it."""

from __future__ import annotations

import pytest

from kafkactl.cluster.io import fetched_registrations
from kafkactl.cluster.io.fetched_batches import FetchedPiece
from kafkactl.cluster.io.fetched_registrations import fetch_registrations, read_batches, read_snapshot
from kafkactl.cluster.io.metadata_fetch import FetchedSnapshot
from kafkactl.cluster.registrations import RegistrationLog
from kafkactl.core.errors import DecodeError
from kafkactl.protocol.log.frame import encode_record
from kafkactl.protocol.record_batch import encode_batch
from kafkactl.protocol.schema.definitions import message
from tests.metadata.goldens import golden

SEGMENT = golden("segment-4.4.0-standalone.log.bin")
SNAPSHOT = golden("snapshot-4.4.0-standalone.checkpoint.bin")
OTHER_SNAPSHOT = golden("first-4.3.1-14-voters.checkpoint.bin")


def test_log_of_a_real_node_is_read():
    log = RegistrationLog()
    read_batches(log, SEGMENT)
    found = log.registrations()
    assert (set(found.controllers), set(found.brokers)) == ({1}, {1})
    assert found.levels["metadata.version"] >= 30


def test_no_op_batches_of_an_idle_cluster_are_skipped(monkeypatch):
    record = encode_record(message("NoOpRecord"), 0, {})
    idle, two = (_batch(5, [record]), _batch(7, [record, record]))
    assert idle[-len(fetched_registrations._NO_OP) :] == fetched_registrations._NO_OP
    read = []
    monkeypatch.setattr(
        fetched_registrations, "_read_batch", lambda log, data, header, **_: read.append(header.base_offset)
    )
    read_batches(RegistrationLog(), idle + two + idle + two)
    assert read == [7, 7]


def _batch(offset, values):
    return encode_batch([(None, value) for value in values], base_offset=offset, timestamp_ms=1)


@pytest.mark.parametrize("parts", [(SNAPSHOT,), (OTHER_SNAPSHOT, SNAPSHOT)])
def test_snapshot_covers_everything_before_it(monkeypatch, parts):
    given = [FetchedPiece(base_offset=0, end_offset=9, data=SEGMENT)]
    given += [FetchedSnapshot(end_offset=20, epoch=1, pieces=lambda batch=batch: [batch]) for batch in parts]
    monkeypatch.setattr(fetched_registrations, "iterate_metadata_log", lambda client, quorum: iter(given))
    log = RegistrationLog()
    read_snapshot(log, given[-1])
    assert fetch_registrations(None) == log.registrations()
    assert log.registrations().voters and log.registrations().voters_at is None


@pytest.mark.parametrize("data", [SEGMENT[:100], SEGMENT[:61] + b"\xff" * 40 + SEGMENT[101:]])
def test_batches_that_are_none_are_an_error(data):
    with pytest.raises(DecodeError):
        read_batches(RegistrationLog(), data)
