"""Bytes that Kafka's own serde wrote (3.9.2 and 4.3.1 alike), and values that its classes refuse."""

from __future__ import annotations

import pytest

from kafkactl.core.errors import DecodeError
from kafkactl.core.values import Uuid
from kafkactl.tiered.partitioner import metadata_partition_of
from kafkactl.tiered.records import (
    BaseRecord,
    PartitionDeleteRecord,
    PartitionKey,
    RemoteRecord,
    UpdateRecord,
    decode_frame,
    remote_record,
)
from kafkactl.tiered.states import PartitionDeleteState, SegmentState
from tests.tiered.logs import Topic

KEY = PartitionKey(Uuid.parse("AAECAwQFBgcICQoLDA0ODw").raw, 3)
SEGMENT = Uuid.parse("EBESExQVFhcYGRobHB0eHw").raw
BASE = bytes.fromhex(
    "010000076f7264657273000102030405060708090a0b0c0d0e0f0000000300101112131415161718191a1b1c1d1e1f000000000000000064"
    "00000000000000c7000000020000018bcfe568000000018bcfe56be803000000040000000000000064000000000500000000000000960000"
    "100000000000"
)
UPDATE = bytes.fromhex(
    "010100076f7264657273000102030405060708090a0b0c0d0e0f0000000300101112131415161718191a1b1c1d1e1f00000000020000018b"
    "cfe56fd0040102030100"
)
DELETE = bytes.fromhex("010200076f7264657273000102030405060708090a0b0c0d0e0f0000000300000000020000018bcfe573b80200")


def read(value: bytes | None) -> RemoteRecord:
    return remote_record(decode_frame(value))


def test_base_record_is_read():
    assert read(BASE) == BaseRecord(
        topic="orders",
        key=KEY,
        segment_id=SEGMENT,
        start_offset=100,
        end_offset=199,
        broker_id=2,
        max_timestamp_ms=1_700_000_000_000,
        event_timestamp_ms=1_700_000_001_000,
        leader_epochs=((4, 100), (5, 150)),
        size=1_048_576,
        custom_metadata=None,
        state=SegmentState.COPY_SEGMENT_STARTED,
        txn_index_empty=False,
    )


def test_update_record_is_read():
    expected = UpdateRecord("orders", KEY, SEGMENT, 2, 1_700_000_002_000, b"\1\2\3", SegmentState.COPY_SEGMENT_FINISHED)
    assert read(UPDATE) == expected


def test_partition_delete_record_is_read():
    finished = PartitionDeleteState.DELETE_PARTITION_FINISHED
    assert read(DELETE) == PartitionDeleteRecord("orders", KEY, 2, 1_700_000_003_000, finished)


@pytest.mark.parametrize(
    ("value", "error_id"),
    [
        (None, "record-without-value"),
        (b"", "truncated-data"),
        (b"\0" + BASE[1:], "unsupported-frame-version"),
        (b"\1\x09" + BASE[2:], "unknown-record-type"),
        (BASE[:2] + b"\1" + BASE[3:], "unsupported-message-version"),
        (BASE + b"x", "trailing-bytes"),
        (UPDATE[:-2] + b"\x09\0", "invalid-remote-log-metadata"),
        (Topic("t", 1).partition_delete(0, state=7), "invalid-remote-log-metadata"),
        (Topic("t", 1).started(0, "a", 5, 4), "invalid-remote-log-metadata"),
        (Topic("t", 1).started(0, "a", -1, 4), "invalid-remote-log-metadata"),
    ],
)
def test_record_that_ends_a_metadata_consumer_is_an_error(value: bytes | None, error_id: str):
    with pytest.raises(DecodeError) as caught:
        read(value)
    assert caught.value.id == error_id


@pytest.mark.parametrize(
    ("topic_id", "of_5", "of_8", "of_50"),
    [
        ("AAECAwQFBgcICQoLDA0ODw", (0, 3, 0), (1, 5, 7), (45, 3, 45)),
        ("__________________8_Pw", (0, 3, 4), (6, 6, 3), (20, 38, 49)),
        ("MkU3OEVBNTcwNTJENDM2Qg", (2, 3, 1), (6, 5, 3), (22, 23, 1)),
        ("tqimKeZwStOEOwRzT3L5oQ", (0, 2, 0), (1, 1, 2), (15, 47, 30)),
    ],
)
def test_partitioner_is_that_of_kafka(topic_id: str, of_5: tuple, of_8: tuple, of_50: tuple):
    raw = Uuid.parse(topic_id).raw
    for count, expected in ((5, of_5), (8, of_8), (50, of_50)):
        found = tuple(metadata_partition_of(PartitionKey(raw, partition), count) for partition in (0, 1, 7))
        assert found == expected
