"""Java's text functions: examples here, the JVM itself in tests/lab/storage/test_inputs.py."""

from __future__ import annotations

import math

import pytest

from kafkactl.core.values import Uuid
from kafkactl.protocol.text.java_text import (
    LONG_BITS,
    date_text,
    decode_base64,
    hash_map_order,
    parse_boolean,
    parse_double,
    parse_int,
    split_at,
    split_list,
    string_hash,
    trim,
    uuid_hash,
)


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("-1", -1), ("+7", 7), ("007", 7), ("2147483647", 2**31 - 1), ("-2147483648", -(2**31)), ("٣", 3)]
    + [(text, None) for text in ("", " 1", "1 ", "1.0", "0x1", "1_0", "+", "--1", "2147483648", "9" * 5000, "𝟙")],
)
def test_integers_are_parsed_as_by_java(text: str, number: int | None):
    assert parse_int(text) == number


def test_longs_are_parsed_as_by_java():
    assert parse_int("9223372036854775807", LONG_BITS) == 2**63 - 1
    assert parse_int("9223372036854775808", LONG_BITS) is None
    assert parse_int("-" + "0" * 5000 + "12") == -12


@pytest.mark.parametrize(
    ("text", "number"),
    [("1", 1.0), (" 1.5e3 ", 1500.0), (".5", 0.5), ("1.", 1.0), ("1d", 1.0), ("2F", 2.0), ("0x1p3", 8.0)]
    + [("Infinity", math.inf), ("-Infinity", -math.inf), ("0x1p99999", math.inf), ("-0x1p99999", -math.inf)]
    + [(text, None) for text in ("", "inf", "nan", "1_0", "1e", "0x1", "half", "1,5")],
)
def test_doubles_are_parsed_as_by_java(text: str, number: float | None):
    assert parse_double(text) == number


@pytest.mark.parametrize(
    ("text", "value"), [("true", True), (" FALSE ", False), ("yes", None), ("", None), ("1", None)]
)
def test_booleans_are_parsed_as_by_java(text: str, value: bool | None):
    assert parse_boolean(text) is value


def test_text_is_trimmed_and_split_as_by_java():
    assert trim("\x00 a\u00a0 \t") == "a\u00a0"
    assert split_list(" a , b,,c , ") == ["a", "b", "", "c", ""]
    assert split_list("  ") == []
    assert split_at("a,,b,,", ",") == ["a", "", "b"]
    assert split_at("", ",") == [""]
    assert split_at(",", ",") == []


def test_base64_is_decoded_as_by_java():
    assert decode_base64("QQ==") == decode_base64("QQ") == b"A"
    assert decode_base64("") == b""
    for wrong in ("Q", "QQ=", "QQ===", "Q-_=", "Q Q=", "===="):
        assert decode_base64(wrong) is None


@pytest.mark.parametrize(
    ("now_ms", "text"),
    [
        (0, "Thu Jan 01 00:00:00 UTC 1970"),
        (1795170457999, "Fri Nov 20 10:27:37 UTC 2026"),
        (-1, "Wed Dec 31 23:59:59 UTC 1969"),
    ],
)
def test_dates_are_written_as_by_java(now_ms: int, text: str):
    assert date_text(now_ms) == text


def test_strings_are_hashed_as_by_java():
    assert string_hash("") == 0
    assert string_hash("/tmp/kafka-logs") == -1978874403
    # Measured with Kafka's format tool: fourteen voters in the order of the VotersRecord.
    ids = [1, 5, 6, 17, 33, 70, 81, 92, 1000, 1023, 2000, 3001, 4099, 50000]
    written = [1, 33, 4099, 5, 6, 70, 1000, 2000, 50000, 17, 81, 3001, 92, 1023]
    assert [ids[position] for position in hash_map_order(ids)] == written


def test_uuids_are_hashed_as_by_java():
    # Measured on 3.9.2: voters 3, 2, 1 in the text of a refusal, which walks a HashSet of pairs of id and directory.
    directories = {1: "B-frJGW4Ts28StHnqnEJkw", 2: "nNrHjcaFRqKUX_hFTfXKhA", 3: "V8ve9dUnQpqMT9N4hgFIjw"}
    hashes = [31 * (31 + node_id) + uuid_hash(Uuid.parse(text)) for node_id, text in directories.items()]
    assert [1 + position for position in hash_map_order(hashes)] == [3, 2, 1]
    assert uuid_hash(Uuid(bytes(15) + b"\x01")) == 1
    assert uuid_hash(Uuid(b"\xff" * 8 + bytes(8))) == 0
