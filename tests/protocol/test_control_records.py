"""Control records: keys, values, versions, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from kafkactl.core.errors import DecodeError, EncodeError
from kafkactl.core.values import Uuid
from kafkactl.protocol.control_records import ControlType, decode_control_record, encode_control_record

DIRECTORY = Uuid(bytes(range(16)))


@pytest.mark.parametrize(
    ("record_type", "data", "key", "value"),
    [
        (ControlType.ABORT, {"Version": 0, "CoordinatorEpoch": 5}, "00000000", "000000000005"),
        (ControlType.COMMIT, {"Version": 0, "CoordinatorEpoch": 6}, "00000001", "000000000006"),
        (
            ControlType.LEADER_CHANGE,
            {"Version": 0, "LeaderId": 1, "Voters": [{"VoterId": 1}], "GrantingVoters": []},
            "00000002",
            "0000" + "00000001" + "02" + "0000000100" + "01" + "00",
        ),
        (
            ControlType.SNAPSHOT_HEADER,
            {"Version": 0, "LastContainedLogTimestamp": 7},
            "00000003",
            "0000" + "00" * 7 + "0700",
        ),
        (ControlType.SNAPSHOT_FOOTER, {"Version": 0}, "00000004", "000000"),
        (ControlType.KRAFT_VERSION, {"Version": 0, "KRaftVersion": 1}, "00000005", "0000000100"),
    ],
)
def test_every_type_round_trips(record_type: ControlType, data: dict[str, Any], key: str, value: str):
    assert tuple(part.hex() for part in encode_control_record(record_type, data)) == (key, value)
    found = decode_control_record(bytes.fromhex(key), bytes.fromhex(value))
    assert found.type is record_type
    assert {name: found.data[name] for name in data if name != "Voters"} == {
        name: held for name, held in data.items() if name != "Voters"
    }
    assert encode_control_record(record_type, found.data) == (bytes.fromhex(key), bytes.fromhex(value))


def leader_change(version: int, **voter: Any) -> dict[str, Any]:
    return {"Version": version, "LeaderId": 1, "Voters": [{"VoterId": 1, **voter}], "GrantingVoters": []}


def test_leader_change_of_version_1_carries_directory_ids():
    key, value = encode_control_record(ControlType.LEADER_CHANGE, leader_change(1, VoterDirectoryId=DIRECTORY))
    assert decode_control_record(key, value).data["Voters"] == [{"VoterId": 1, "VoterDirectoryId": DIRECTORY}]


def test_leader_change_that_says_1_in_the_form_of_0_is_read():
    key, value = encode_control_record(ControlType.LEADER_CHANGE, leader_change(0))
    found = decode_control_record(key, b"\0\x01" + value[2:])
    assert found.data["Version"] == 1
    assert [voter["VoterId"] for voter in found.data["Voters"]] == [1]


def test_version_that_is_not_known_is_read_as_the_newest():
    key, value = encode_control_record(ControlType.KRAFT_VERSION, {"KRaftVersion": 1})
    assert decode_control_record(key, b"\0\x05" + value[2:]).data == {"Version": 5, "KRaftVersion": 1}


def test_version_below_0_is_read_in_the_form_of_0():
    key, value = encode_control_record(ControlType.LEADER_CHANGE, leader_change(0))
    found = decode_control_record(key, b"\xff\xff" + value[2:])
    assert (found.data["Version"], [voter["VoterId"] for voter in found.data["Voters"]]) == (-1, [1])
    key, value = encode_control_record(ControlType.LEADER_CHANGE, leader_change(1, VoterDirectoryId=DIRECTORY))
    with pytest.raises(DecodeError):
        decode_control_record(key, b"\xff\xff" + value[2:])


def test_number_of_trailing_bytes_is_reported():
    with pytest.raises(DecodeError) as caught:
        decode_control_record(b"\0\0\0\x04", b"\0\0\0more")
    assert (caught.value.id, caught.value.reason) == ("trailing-bytes", "4 bytes behind the end")


def test_bytes_behind_a_marker_belong_to_versions_to_come():
    key, value = encode_control_record(ControlType.COMMIT, {"CoordinatorEpoch": 6})
    assert decode_control_record(key, value + b"more").data == {"Version": 0, "CoordinatorEpoch": 6}


@pytest.mark.parametrize(
    ("key", "value", "error_id", "offset"),
    [
        (None, b"", "null-not-allowed", 10),
        (b"", b"", "truncated-data", 10),
        (b"\0\0\0", b"", "truncated-data", 12),
        (b"\0\0\0\x07", b"", "unknown-control-record", 12),
        (b"\0\0\xff\xff", b"", "unknown-control-record", 12),
        (b"\xff\xff\0\x03", b"", "unsupported-message-version", 10),
        (b"\0\0\0\x03", None, "null-not-allowed", 20),
        (b"\0\0\0\x03", b"\0", "truncated-data", 20),
        (b"\0\0\0\x04", b"\0\0\0\0", "trailing-bytes", 23),
        (b"\0\0\0\x01", b"\0\0\0", "truncated-data", 22),
        (b"\0\0\0\x01", b"\xff\xff\0\0\0\0", "unsupported-message-version", 20),
    ],
)
def test_invalid_control_record_is_refused_with_its_place(
    key: bytes | None, value: bytes | None, error_id: str, offset: int
):
    with pytest.raises(DecodeError) as caught:
        decode_control_record(key, value, file="f", key_base=10, value_base=20)
    assert (caught.value.id, caught.value.offset, caught.value.file) == (error_id, offset, "f")


def test_version_in_the_key_that_is_not_known_is_let_pass():
    _, value = encode_control_record(ControlType.SNAPSHOT_FOOTER, {})
    assert decode_control_record(b"\0\x09\0\x04", value).type is ControlType.SNAPSHOT_FOOTER


@pytest.mark.parametrize("record_type", list(ControlType))
def test_version_that_is_not_a_number_is_an_encode_error(record_type: ControlType):
    with pytest.raises(EncodeError) as caught:
        encode_control_record(record_type, {"Version": "1"})
    assert caught.value.id == "value-out-of-range"
