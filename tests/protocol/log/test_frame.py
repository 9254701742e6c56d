"""The frame of metadata records, and Kafka's own bytes of one."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.core.errors import DecodeError, EncodeError
from kafkactl.protocol.log.frame import MetadataRecord, decode_record, encode_record
from kafkactl.protocol.schema.definitions import message, metadata_record_names, remote_log_record
from tests.metadata.goldens import golden
from tests.protocol.outcomes import outcome
from tests.protocol.random_messages import random_message

FEATURE = message("FeatureLevelRecord")


def refused(data: bytes) -> DecodeError:
    with pytest.raises(DecodeError) as caught:
        decode_record(data, file="f", base=100)
    assert caught.value.file == "f"
    return caught.value


def test_record_of_a_scram_user_is_decoded_and_encoded_as_kafka_does():
    data = golden("scram-alice.record.bin")
    found = decode_record(data)
    assert (found.type, found.api_key, found.version) == ("UserScramCredentialRecord", 11, 0)
    assert {name: found.data[name] for name in ("Name", "Mechanism", "Salt", "Iterations")} == {
        "Name": "alice",
        "Mechanism": 1,
        "Salt": b"7q",
        "Iterations": 4096,
    }
    assert found.data["StoredKey"].hex() == "fd2898bae04a676c506015464de9fa8d27ef8446427f0dadfc7b2259156d9536"
    assert encode_record(message(found.type), found.version, found.data) == data


def test_records_content_does_not_show_in_its_repr():
    assert "alice" not in repr(decode_record(golden("scram-alice.record.bin")))


@pytest.mark.parametrize("name", metadata_record_names())
def test_every_record_at_every_version_round_trips(name: str):
    spec = message(name)
    for version in spec.valid_versions:
        value = random_message(random.Random(version), spec, version)
        found = decode_record(encode_record(spec, version, value))
        assert found == MetadataRecord(type=name, api_key=spec.api_key or 0, version=version, data=value)


def test_every_byte_of_a_small_record_is_as_specified():
    assert (
        encode_record(FEATURE, 0, {"Name": "x", "FeatureLevel": 2}).hex() == "01" + "0c" + "00" + "0278" + "0002" + "00"
    )


@pytest.mark.parametrize(
    ("data", "error_id", "offset", "path"),
    [
        ("", "truncated-data", 100, "frame"),
        ("010c", "truncated-data", 102, "frame"),
        ("000c00", "unsupported-frame-version", 100, "frame"),
        ("020c00", "unsupported-frame-version", 100, "frame"),
        ("808080808000", "varint-too-long", 100, "frame"),
        ("010d00", "unknown-record-type", 101, "frame"),
        ("01ff7f00", "unknown-record-type", 101, "frame"),
        ("01ffff0300", "varint-overflow", 101, "frame"),
        ("010c01", "unsupported-message-version", 102, "FeatureLevelRecord"),
        ("010c00", "truncated-data", 103, "FeatureLevelRecord.Name"),
        ("010c0002780002", "truncated-data", 107, "FeatureLevelRecord"),
        ("010c000278000200ff", "trailing-bytes", 108, "FeatureLevelRecord"),
    ],
)
def test_invalid_frame_is_refused_with_its_place(data: str, error_id: str, offset: int, path: str):
    error = refused(bytes.fromhex(data))
    assert (error.id, error.offset, error.path) == (error_id, offset, path)


@pytest.mark.parametrize(("data", "what"), [("01ffff0300", "api key"), ("010cffff03", "version")])
def test_number_above_an_int16_is_named(data: str, what: str):
    assert f"the {what} 65535 is above 32767" in refused(bytes.fromhex(data)).message


def test_frame_in_longer_varints_is_read():
    plain = encode_record(FEATURE, 0, {"Name": "x", "FeatureLevel": 2})
    assert decode_record(b"\x81\x00" + b"\x8c\x00" + b"\x80\x00" + plain[3:]) == decode_record(plain)


def test_records_of_kip_405_have_the_same_frame():
    spec = message("RemotePartitionDeleteMetadataRecord")
    data = encode_record(spec, 0, {"BrokerId": 3})
    assert decode_record(data, find=remote_log_record).type == spec.name
    assert decode_record(data[:1] + b"\x02" + data[2:], find=remote_log_record).data["BrokerId"] == 3


def test_message_without_an_api_key_cannot_be_a_record():
    with pytest.raises(EncodeError) as caught:
        encode_record(message("VotersRecord"), 0, {})
    assert caught.value.id == "not-a-record"


@given(st.binary(max_size=80))
def test_any_bytes_give_a_record_or_a_decode_error(data: bytes):
    outcome(decode_record, data)
    outcome(decode_record, b"\x01" + data)
