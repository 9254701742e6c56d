"""Walking through a log or snapshot in pieces, and what its records come to."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.core.values import Uuid
from kafkactl.metadata.log.scan import Contents, FoundBatch, Stop, walk_batches
from kafkactl.protocol.control_records import ControlType, encode_control_record
from kafkactl.protocol.log.frame import encode_record
from kafkactl.protocol.record_batch import encode_batch
from kafkactl.protocol.schema.definitions import metadata_record

TOPIC = Uuid(bytes(range(16)))


def record(api_key, **data):
    return encode_record(metadata_record(api_key), 0, data)


def batch(values, offset, *, control=False):
    records = values if control else [(None, value) for value in values]
    return encode_batch(records, base_offset=offset, timestamp_ms=5, partition_leader_epoch=3, is_control=control)


LEADER = encode_control_record(ControlType.LEADER_CHANGE, {"LeaderId": 1})
LOG = [
    batch([LEADER], 0, control=True),
    batch([record(23, Name="x"), record(12, Name="metadata.version", FeatureLevel=21), record(24)], 1),
    batch([record(2, Name="t", TopicId=TOPIC), record(12, Name="metadata.version", FeatureLevel=25)], 4),
    batch([record(12, Name="group.version", FeatureLevel=1), record(12, Name="group.version", FeatureLevel=0)], 6),
    batch([record(23, Name="open")], 8),
]
DATA = b"".join(LOG)


def walk(data, *, piece=7, check_crc=True, size=None):
    pieces = [data[at : at + piece] for at in range(0, len(data), piece)]
    return list(walk_batches(pieces, len(data) if size is None else size, file="f", check_crc=check_crc))


def contents_of(data):
    contents = Contents()
    for found in walk(data):
        assert isinstance(found, FoundBatch)
        contents.add(found, file="f")
    return contents


@pytest.mark.parametrize("piece", [1, 7, 64, 10_000])
def test_batches_come_whole_whatever_the_pieces(piece):
    found = walk(DATA, piece=piece)
    assert [entry.data for entry in found] == LOG
    assert [entry.header.position for entry in found] == [sum(map(len, LOG[:index])) for index in range(len(LOG))]


def test_contents_of_a_log_are_summed():
    contents = contents_of(DATA)
    assert contents.levels == {"metadata.version": 25}
    assert [(change.offset, change.level) for change in contents.features][:2] == [(2, 21), (5, 25)]
    assert contents.topics == {TOPIC: "t"}
    assert (contents.end_offset, contents.last_epoch, contents.records) == (9, 3, 8)
    assert (contents.batches, contents.open_transaction) == (len(LOG), 8)
    assert contents.kinds[(12, 0)] == 4 and contents.first_offsets[(12, 0)] == 2
    assert contents.first_control == "LEADER_CHANGE"


def test_removed_topics_and_users_are_gone():
    user = {"Name": "alice", "Mechanism": 1}
    keys = {"Salt": b"s", "StoredKey": b"k", "ServerKey": b"k", "Iterations": 4096}
    data = batch([record(2, Name="t", TopicId=TOPIC), record(9, TopicId=TOPIC), record(11, **user, **keys)], 0)
    contents = contents_of(data)
    assert (contents.topics, contents.scram) == ({}, {("alice", 1)})
    assert contents_of(data + batch([record(22, **user)], 3)).scram == set()


STOPS = [
    (DATA[:-1], "cut"),
    (DATA + b"short", "tiny"),
    (DATA + bytes(100), "length"),
    (DATA + struct.pack(">qi", 9, -5) + bytes(60), "length"),
    (DATA[:-1] + bytes([DATA[-1] ^ 1]), "crc"),
    (DATA + struct.pack(">qi", 9, 20) + bytes(60), "crc"),
]


@pytest.mark.parametrize(("data", "reason"), STOPS)
def test_stop_of_a_scan_has_its_place_and_reason(data, reason):
    last = walk(data)[-1]
    assert isinstance(last, Stop)
    assert last.reason == reason
    assert last.position + last.lost_bytes == len(data)
    assert last.zeros == (not any(data[last.position :]))


@pytest.mark.parametrize("magic", [0, 1, 3, 255])
def test_batch_of_another_magic_ends_the_walk(magic):
    changed = DATA[:16] + bytes([magic]) + DATA[17:]
    (stop,) = walk(changed)
    assert (stop.reason, stop.magic, stop.crc_matches) == ("magic", magic, True)


def test_without_crc_a_wrong_one_is_reported_and_passed():
    wrong = LOG[0][:-1] + bytes([LOG[0][-1] ^ 1])
    found = walk(wrong + LOG[1], check_crc=False)
    assert [entry.problem is None for entry in found] == [False, True]


def test_shrinking_file_is_reported_as_cut():
    last = walk(DATA[:-10], size=len(DATA))[-1]
    assert (last.reason, "ended while" in last.message) == ("cut", True)


def test_undecodable_content_is_reported():
    unknown = batch([bytes([1, 99, 0])], 0)
    assert contents_of(unknown).undecodable.reason == "unknown-record-type"
    garbage = batch([record(12, Name="x", FeatureLevel=1)[:-2]], 0)
    assert contents_of(garbage).undecodable.offset == 0
    control = batch([(struct.pack(">hh", 0, 77), b"x")], 0, control=True)
    assert contents_of(control).unknown_control[0] == 0


@given(st.binary(max_size=300), st.integers(1, 40), st.booleans())
def test_any_bytes_are_scanned_without_an_exception(data, piece, check_crc):
    contents = Contents(decode_all=True)
    for found in walk(LOG[1] + data, piece=piece, check_crc=check_crc):
        if isinstance(found, FoundBatch):
            contents.add(found, file="f")


def test_empty_log_ends_at_its_first_offset():
    assert (contents_of(b"").end_offset, contents_of(b"").records) == (0, 0)
    assert contents_of(LOG[0]).end_offset == 1
