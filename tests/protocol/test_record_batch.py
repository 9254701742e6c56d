"""Record batches: what is written, what is read, and everything that can be wrong with one."""

from __future__ import annotations

import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.core.errors import DecodeError, EncodeError
from kafkactl.metadata.log.checkpoint import MAX_BATCH_BYTES
from kafkactl.protocol import record_batch
from kafkactl.protocol.log.frame import encode_record
from kafkactl.protocol.primitives import Reader
from kafkactl.protocol.record_batch import Record, decode_batches, decode_header, encode_batch
from kafkactl.protocol.record_size import record_size
from kafkactl.protocol.schema.definitions import message
from tests.protocol.batches import batch, gzipped, record, varint, with_crc
from tests.protocol.outcomes import outcome
from tests.protocol.random_messages import mutated

CONTENT = st.none() | st.binary(max_size=300)


def refused(data: bytes, **named: object) -> DecodeError:
    with pytest.raises(DecodeError) as caught:
        list(decode_batches(data, file="some.log", **named))  # type: ignore[arg-type]
    assert caught.value.file == "some.log"
    return caught.value


def only(data: bytes) -> tuple[Record, ...]:
    (found,) = decode_batches(data)
    return found.records


class TestWriting:
    def test_every_byte_of_a_small_batch_is_as_specified(self):
        data = encode_batch([(None, b"ab")], base_offset=7, timestamp_ms=0x0102, partition_leader_epoch=3)
        assert data[:17].hex() == "0000000000000007" + "0000003a" + "00000003" + "02"
        assert data[21:61].hex() == (
            "0000" + "00000000" + "0000000000000102" * 2 + "ffffffffffffffff" + "ffff" + "ffffffff" + "00000001"
        )
        assert data[61:].hex() == "10" + "00" + "00" + "00" + "01" + "04" + "6162" + "00"

    def test_control_batch_has_its_bit(self):
        data = encode_batch([(b"k", b"v")], base_offset=0, timestamp_ms=0, is_control=True)
        assert data[21:23].hex() == "0020"
        assert decode_header(data, 0).is_control

    def test_batch_without_records_is_refused(self):
        with pytest.raises(EncodeError) as caught:
            encode_batch([], base_offset=0, timestamp_ms=0)
        assert caught.value.id == "empty-batch"

    def test_offset_that_does_not_fit_is_refused(self):
        with pytest.raises(EncodeError) as caught:
            encode_batch([(None, b"")], base_offset=2**63, timestamp_ms=0)
        assert caught.value.id == "value-out-of-range"

    @given(
        st.lists(st.tuples(CONTENT, CONTENT), min_size=1, max_size=200), st.integers(0, 2**62), st.integers(0, 2**62)
    )
    def test_encoded_batch_is_decoded(
        self, records: list[tuple[bytes | None, bytes | None]], offset: int, time_ms: int
    ):
        data = encode_batch(records, base_offset=offset, timestamp_ms=time_ms, partition_leader_epoch=4)
        (found,) = decode_batches(data)
        assert [(entry.key, entry.value) for entry in found.records] == records
        assert [entry.offset for entry in found.records] == list(range(offset, offset + len(records)))
        assert {entry.timestamp_ms for entry in found.records} == {time_ms}
        assert (found.header.base_offset, found.header.last_offset) == (offset, offset + len(records) - 1)
        assert found.header.size_bytes == found.header.end == len(data)
        assert len(data) == 61 + sum(record_size(index, *entry) for index, entry in enumerate(records))


class TestReading:
    def test_positions_are_those_in_the_file(self):
        data = batch(record(b"key", b"value") + record(None, b"other", delta=1), count=2)
        for base in (0, 4096):
            (found,) = decode_batches(data, base=base)
            first, second = found.records
            assert data[first.key_position - base :].startswith(b"key")
            assert data[first.value_position - base :].startswith(b"value")
            assert data[second.value_position - base :].startswith(b"other")
            assert first.position == base + 61
            assert found.header.position == base

    def test_headers_times_and_offsets_are_decoded(self):
        body = record(time_delta=5, delta=0, headers=[(b"h", b"x"), ("ü".encode(), None)])
        body += record(time_delta=-5, delta=3)
        first, second = only(batch(body, count=2, base_offset=100, last_delta=9))
        assert (first.offset, first.timestamp_ms, first.headers) == (100, 1005, (("h", b"x"), ("ü", None)))
        assert (second.offset, second.timestamp_ms, second.headers) == (103, 995, ())

    def test_append_time_overrules_the_records_times(self):
        assert only(batch(record(time_delta=5), attributes=0x08, max_time=77))[0].timestamp_ms == 77

    def test_attributes_are_distinguished(self):
        plain, full = decode_header(batch(record()), 0), decode_header(batch(record(), attributes=0x7C), 0)
        names = ["is_control", "has_append_time"]
        assert [getattr(plain, name) for name in names] == [False] * 2
        assert [getattr(full, name) for name in names] == [True] * 2

    def test_many_batches_follow_each_other(self):
        data = b"".join(encode_batch([(None, b"x")], base_offset=at, timestamp_ms=at) for at in range(5))
        assert [found.header.base_offset for found in decode_batches(data)] == [0, 1, 2, 3, 4]
        assert list(decode_batches(b"")) == []

    def test_empty_batch_after_compaction_is_accepted(self):
        assert only(batch(b"", count=0, last_delta=4)) == ()


def squeezed(codec: str, body: bytes) -> tuple[bytes, int]:
    """Return the body as this codec writes it, and its number in the attributes of a batch."""
    import pyarrow

    if "snappy" in codec:
        block = pyarrow.Codec("snappy").compress(body, asbytes=True)
        framed = b"\x82SNAPPY\0" + b"\0\0\0\1" * 2 + len(block).to_bytes(4, "big") + block
        return (framed if codec == "xerial snappy" else block), 2
    sink = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(sink, codec) as stream:
        stream.write(body)
    return sink.getvalue().to_pybytes(), {"lz4": 3, "zstd": 4}[codec]


class TestCompression:
    BODY = record(b"k", b"v" * 1000) + record(None, None, delta=1)

    def test_gzip_is_undone(self):
        plain = only(batch(self.BODY, count=2))
        zipped = only(batch(gzipped(self.BODY), count=2, attributes=1))
        assert [entry[:6] for entry in zipped] == [entry[:6] for entry in plain]
        assert {entry.position for entry in zipped} == {0}

    @pytest.mark.parametrize("codec", ["bare snappy", "xerial snappy", "lz4", "zstd"])
    def test_codecs_of_pyarrow_are_read(self, codec: str):
        body, bits = squeezed(codec, self.BODY)
        plain = only(batch(self.BODY, count=2))
        assert [found[:6] for found in only(batch(body, count=2, attributes=bits))] == [found[:6] for found in plain]

    @pytest.mark.parametrize("codec", ["bare snappy", "xerial snappy", "lz4", "zstd"])
    @pytest.mark.parametrize("change", [lambda z: z[:-4], lambda z: b"none" + z, lambda z: z + b"x", lambda z: b""])
    def test_broken_stream_of_pyarrow_is_refused(self, codec: str, change: object):
        body, bits = squeezed(codec, self.BODY)
        error = refused(batch(change(body), count=2, attributes=bits))  # type: ignore[operator]
        assert (error.id, error.offset) == ("corrupt-compression", 61)

    def test_broken_stream_of_snappy_says_what_is_wrong_with_it(self):
        body, bits = squeezed("bare snappy", self.BODY)
        assert "Corrupt" in refused(batch(body[:-4], count=2, attributes=bits)).reason

    @pytest.mark.parametrize("codec", ["bare snappy", "xerial snappy", "lz4", "zstd"])
    def test_bomb_of_pyarrow_is_refused(self, codec: str):
        body, bits = squeezed(codec, record(None, bytes(1_200_000)))
        error = refused(batch(body, attributes=bits))
        assert error.id == "decompressed-too-large"

    @pytest.mark.parametrize(("bits", "name"), [(2, "snappy"), (3, "lz4"), (4, "zstd")])
    def test_others_are_named_and_not_guessed(self, bits: int, name: str, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        error = refused(batch(self.BODY, count=2, attributes=bits))
        assert error.id == "unsupported-compression"
        assert name in error.reason
        assert "[spark]" in str(error.next_step)

    def test_unknown_codec_is_refused(self):
        assert refused(batch(self.BODY, count=2, attributes=7)).id == "unknown-compression"

    @pytest.mark.parametrize("change", [lambda z: z[:-4], lambda z: b"no gzip", lambda z: z + b"x", lambda z: b""])
    def test_broken_stream_is_refused(self, change: object):
        body = change(gzipped(self.BODY))  # type: ignore[operator]
        error = refused(batch(body, count=2, attributes=1))
        assert (error.id, error.offset) == ("corrupt-compression", 61)

    def test_bomb_is_stopped_by_its_size(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr("kafkactl.protocol.compression.MOST_DECOMPRESSED_BYTES", 100)
        assert refused(batch(gzipped(self.BODY), count=2, attributes=1)).id == "decompressed-too-large"

    def test_bomb_is_stopped_by_its_ratio(self):
        small, large = (record(None, bytes(size)) for size in (60_000, 70_000))
        assert len(only(batch(gzipped(small), attributes=1))) == 1
        error = refused(batch(gzipped(large), attributes=1))
        assert error.id == "decompressed-too-large"
        assert "more than 65536 when decompressed" in error.reason


class TestCounts:
    @pytest.mark.parametrize("attributes", [0, 1])
    def test_more_records_than_any_batch_of_kafka_has(self, attributes: int, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(record_batch, "MOST_COMPRESSED_RECORDS" if attributes else "MOST_BATCH_RECORDS", 3)
        body = [record(delta=delta) for delta in range(4)]
        content = [b"".join(body[:3]), b"".join(body)]
        held = [gzipped(entry) if attributes else entry for entry in content]
        assert len(only(batch(held[0], count=3, attributes=attributes))) == 3
        error = refused(batch(held[1], count=4, attributes=attributes))
        assert (error.id, error.offset) == ("too-many-records", 57)
        assert "4 records; at most 3" in error.reason
        assert error.reason.endswith(" is compressed") is bool(attributes)

    def test_bound_is_above_what_kafka_can_write(self):
        no_op = encode_record(message("NoOpRecord"), 0, {})
        smallest = record_size(0, None, no_op)
        assert smallest == 11
        assert MAX_BATCH_BYTES // smallest < record_batch.MOST_BATCH_RECORDS


class TestDamage:
    GOOD = batch(record(b"key", b"value"))

    @pytest.mark.parametrize("size", [1, 16, 60, 61, 70])
    def test_truncated_batch_is_refused(self, size: int):
        assert refused(self.GOOD[:size]).id == "truncated-batch"

    def test_cut_second_batch_is_reported_by_its_place_in_the_file(self):
        error = refused(self.GOOD + self.GOOD[:10], base=1000)
        assert (error.id, error.offset) == ("truncated-batch", 1000 + len(self.GOOD))

    @pytest.mark.parametrize("length", [0, 48, -1, -(2**31)])
    def test_impossible_length_is_refused(self, length: int):
        data = self.GOOD[:8] + length.to_bytes(4, "big", signed=True) + self.GOOD[12:]
        error = refused(data)
        assert (error.id, error.offset) == ("invalid-batch-length", 8)

    def test_another_magic_is_refused(self):
        error = refused(self.GOOD[:16] + b"\x01" + self.GOOD[17:])
        assert (error.id, error.offset) == ("unsupported-magic", 16)

    def test_flipped_bit_anywhere_behind_the_crc_is_seen(self):
        for at in range(21, len(self.GOOD)):
            data = bytearray(self.GOOD)
            data[at] ^= 1
            error = refused(bytes(data))
            assert error.id in {"crc-mismatch", "invalid-record-count"}

    def test_crc_can_be_left_unchecked(self):
        data = self.GOOD[:17] + b"\0\0\0\0" + self.GOOD[21:]
        assert "0x00000000" in refused(data).reason
        (found,) = decode_batches(data, check_crc=False)
        assert found.records[0].value == b"value"

    def test_leader_epoch_lies_outside_the_crc(self):
        (found,) = decode_batches(self.GOOD[:12] + b"\0\0\0\x09" + self.GOOD[16:])
        assert found.header.partition_leader_epoch == 9

    @pytest.mark.parametrize(
        ("body", "count", "error_id"),
        [
            (record(value=b"v" * 9), 2, "truncated-data"),
            (record(), 0, "record-count-mismatch"),
            (record() + b"\0", 1, "record-count-mismatch"),
            (record(), 700_000, "length-exceeds-data"),
            (varint(-1) + record()[1:], 1, "invalid-record-length"),
            (varint(500) + record()[1:], 1, "invalid-record-length"),
            (varint(len(record())) + record()[1:] + b"\0", 1, "invalid-record-length"),
            (varint(6) + b"\0\0\0" + varint(-2) + b"\0\0", 1, "invalid-length"),
            (varint(6) + b"\0\0\0" + varint(-1) + varint(-1) + varint(-1), 1, "invalid-length"),
            (varint(6) + b"\0\0\0" + varint(-1) + varint(-1) + varint(30), 1, "length-exceeds-data"),
            (record(headers=[(b"\xff", b"")]), 1, "invalid-utf8"),
        ],
    )
    def test_records_that_do_not_fit_their_batch(self, body: bytes, count: int, error_id: str):
        error = refused(batch(body, count=count))
        assert error.id == error_id
        assert error.path.startswith("RecordBatch")

    def test_negative_record_count_is_refused(self):
        data = with_crc(self.GOOD[:57] + b"\xff\xff\xff\xff" + self.GOOD[61:])
        error = refused(data)
        assert (error.id, error.offset) == ("invalid-record-count", 57)


def careful(data: bytes) -> object:
    """Return the records of the first batch, read by the careful reader alone."""
    header = decode_header(data, 0)
    return record_batch._read_records(Reader(data, position=61, end=header.size_bytes), header)


class TestFastPath:
    """Records that the fast path accepts, and that the careful reader accepts alike."""

    @given(st.lists(st.tuples(CONTENT, CONTENT), min_size=1, max_size=20), st.randoms(use_true_random=False))
    def test_records_or_error_equal_those_of_the_reference(
        self, records: list[tuple[bytes | None, bytes | None]], rng: random.Random
    ):
        good = encode_batch(records, base_offset=5, timestamp_ms=9)
        changed = batch(mutated(rng, good[61:]), count=len(records), base_offset=5)
        for data in (good, changed, changed + good):
            assert outcome(record_batch.decode_records, data, decode_header(data, 0)) == outcome(careful, data)

    def test_usual_is_read_fast(self, monkeypatch: pytest.MonkeyPatch):
        data = encode_batch([(None, b"v" * size) for size in (0, 1, 63, 64, 9000)], base_offset=0, timestamp_ms=1)
        monkeypatch.setattr(record_batch, "_read_records", None)
        assert [len(entry.value or b"") for entry in only(data)] == [0, 1, 63, 64, 9000]
