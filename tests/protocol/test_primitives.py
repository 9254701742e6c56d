"""Primitives, byte by byte, and what is refused of each."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.core.errors import DecodeError, EncodeError
from kafkactl.protocol.primitives import Reader, Writer, render_path, zigzag_decoded, zigzag_encoded


def written(method: str, *arguments: Any) -> bytes:
    writer = Writer()
    getattr(writer, method)(*arguments)
    return writer.to_bytes()


def refused(data: bytes, method: str, *arguments: Any) -> DecodeError:
    reader = Reader(data, file="some.log", base=500)
    reader.path += ["Sample", "Field", 2]
    with pytest.raises(DecodeError) as caught:
        getattr(reader, method)(*arguments)
    assert caught.value.file == "some.log"
    assert caught.value.path == "Sample.Field[2]"
    return caught.value


@pytest.mark.parametrize(
    ("kind", "value", "data"),
    [
        ("int8", -1, "ff"),
        ("int16", 258, "0102"),
        ("uint16", 65535, "ffff"),
        ("int32", -2, "fffffffe"),
        ("uint32", 2**32 - 1, "ffffffff"),
        ("int64", 1, "0000000000000001"),
        ("float64", 1.5, "3ff8000000000000"),
    ],
)
def test_numbers_of_fixed_size_are_big_endian(kind: str, value: float, data: str):
    assert written("number", kind, value).hex() == data
    assert Reader(bytes.fromhex(data)).number(kind) == value


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (0, "00"),
        (1, "01"),
        (127, "7f"),
        (128, "8001"),
        (300, "ac02"),
        (2**31 - 1, "ffffffff07"),
        (2**32 - 1, "ffffffff0f"),
    ],
)
def test_unsigned_varints_are_read_and_written(value: int, data: str):
    assert written("unsigned_varint", value).hex() == data
    assert Reader(bytes.fromhex(data)).unsigned_varint() == value


@pytest.mark.parametrize(
    ("value", "data"),
    [(0, "00"), (-1, "01"), (1, "02"), (-64, "7f"), (64, "8001"), (2**31 - 1, "feffffff0f"), (-(2**31), "ffffffff0f")],
)
def test_varints_are_zigzag(value: int, data: str):
    assert written("varint", value).hex() == data
    assert Reader(bytes.fromhex(data)).varint() == value


@given(st.integers(-(2**63), 2**63 - 1))
def test_varlongs_round_trip_in_at_most_ten_bytes(value: int):
    data = written("varlong", value)
    assert len(data) <= 10
    assert Reader(data).varlong() == value
    assert zigzag_decoded(zigzag_encoded(value)) == value


def test_varint_longer_than_it_needs_to_be_is_read():
    assert Reader(bytes.fromhex("8180808000")).unsigned_varint() == 1


def test_varint_of_six_bytes_is_refused_at_its_first():
    error = refused(bytes.fromhex("808080808000"), "unsigned_varint")
    assert (error.id, error.offset) == ("varint-too-long", 500)


def test_varint_of_33_bits_is_refused():
    assert refused(bytes.fromhex("ffffffff1f"), "unsigned_varint").id == "varint-overflow"
    assert refused(bytes.fromhex("ffffffffffffffffff03"), "varlong").id == "varint-overflow"


def test_varint_cut_in_the_middle_names_the_missing_byte():
    error = refused(b"\x80\x80", "unsigned_varint")
    assert (error.id, error.offset) == ("truncated-data", 502)


@pytest.mark.parametrize("method", ["int8", "int16", "int32", "int64", "boolean", "uuid", "varint", "varlong"])
def test_nothing_left_is_an_error(method: str):
    assert refused(b"", method).id == "truncated-data"


def test_any_byte_but_zero_is_true():
    assert [Reader(bytes([byte])).boolean() for byte in (0, 1, 2, 255)] == [False, True, True, True]


def test_text_that_is_not_utf8_is_refused_at_the_bad_byte():
    error = refused(b"ab\xffcd", "text", 5)
    assert (error.id, error.offset) == ("invalid-utf8", 502)


def test_text_above_kafkas_limit_is_refused():
    assert Reader(b"x" * 32767).text(32767) == "x" * 32767
    assert refused(b"x" * 32768, "text", 32768).id == "string-too-long"


def test_length_is_compared_with_what_is_left_before_anything_is_taken():
    assert refused(b"abc", "sized", 2**31 - 1).id == "length-exceeds-data"
    assert refused(b"abc", "check_count", 4, 1).id == "length-exceeds-data"
    assert refused(b"abcdefgh", "check_count", 3, 4).id == "length-exceeds-data"


def test_elements_without_content_are_rationed_over_the_whole_input():
    reader = Reader(b"12345")
    reader.check_count(3, 0)
    reader.check_count(2, 0)
    with pytest.raises(DecodeError) as caught:
        reader.check_count(1, 0)
    assert caught.value.id == "length-exceeds-data"


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("number", ("int8", 128)),
        ("number", ("int32", None)),
        ("number", ("int64", 2**63)),
        ("number", ("float64", 10**400)),
        ("unsigned_varint", (-1,)),
        ("unsigned_varint", (2**32,)),
        ("varint", (2**31,)),
        ("varlong", (-(2**63) - 1,)),
    ],
)
def test_numbers_that_do_not_fit_are_refused(method: str, arguments: Any):
    with pytest.raises(EncodeError) as caught:
        written(method, *arguments)
    assert caught.value.id == "value-out-of-range"


def test_reader_stays_within_its_part_of_the_data():
    reader = Reader(b"0123456789", position=2, end=5)
    assert reader.raw(3) == b"234"
    with pytest.raises(DecodeError):
        reader.raw(1)


def test_paths_are_written_as_in_python():
    assert render_path(["VotersRecord", "Voters", 2, "Endpoints"]) == "VotersRecord.Voters[2].Endpoints"
    assert render_path([]) == ""
