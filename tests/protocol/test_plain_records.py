"""Positions of values in usual batches: equal to the codec's, and none in batches that the codec reads differently."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.protocol.compiled_runtime import IrregularError
from kafkactl.protocol.plain_records import plain_spans
from kafkactl.protocol.record_batch import HEADER_BYTES, decode_batches, decode_header, decode_records, encode_batch

LONG = st.builds(lambda size, byte: bytes([byte]) * size, st.integers(8000, 8200), st.integers(0, 255))
VALUES = st.lists(st.binary(max_size=70) | LONG, min_size=1, max_size=12)


def spans(data):
    return plain_spans(data, HEADER_BYTES, len(data), decode_header(data, 0).record_count)


def batch(values):
    records = [(None, value) for value in values]
    return encode_batch(records, base_offset=100, timestamp_ms=5, partition_leader_epoch=1)


@given(VALUES)
def test_usual_records_are_found_where_they_stand(values):
    data = batch(values)
    found = spans(data)
    assert [data[start:stop] for _, start, stop in found] == values
    assert [delta for delta, _, _ in found] == list(range(len(values)))
    read = decode_records(data, decode_header(data, 0))
    assert [start for _, start, _ in found] == [record.value_position for record in read]


@given(VALUES, st.data())
def test_accepted_batch_is_read_as_by_the_codec(values, drawn):
    # A byte after the header differs; a reader that checks the CRC would stop before.
    data = bytearray(batch(values))
    at = drawn.draw(st.integers(HEADER_BYTES, len(data) - 1))
    data[at] ^= drawn.draw(st.integers(1, 255))
    try:
        found = spans(bytes(data))
    except IrregularError:
        return
    read = decode_records(bytes(data), decode_header(bytes(data), 0))
    assert [(100 + delta, data[start:stop]) for delta, start, stop in found] == [
        (record.offset, record.value) for record in read
    ]


def test_keys_and_headers_are_left_to_the_codec():
    data = encode_batch([(b"key", b"value")], base_offset=0, timestamp_ms=0, partition_leader_epoch=0)
    assert next(decode_batches(data)).records[0].key == b"key"
    with pytest.raises(IrregularError):
        spans(data)


def test_more_records_than_there_are():
    data = batch([b"value"] * 3)
    for count in (2, 4, 2**31 - 1):
        with pytest.raises(IrregularError):
            plain_spans(data, HEADER_BYTES, len(data), count)


def test_length_of_two_bytes_is_not_taken_for_one_of_one():
    # 0x80 0x00 is a zero with a byte too many, and the bytes behind it are laid out like a record of 64 bytes.
    looks_plain = bytes((128, 0, 0, 0, 1, 116)) + bytes(58) + b"\0"
    with pytest.raises(IrregularError):
        plain_spans(looks_plain, 0, len(looks_plain), 1)
