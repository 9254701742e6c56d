"""The compiled codec and the reference codec are one codec: values, bytes and errors, all messages, all versions."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.core.errors import DecodeError, EncodeError
from kafkactl.core.values import ZERO_UUID
from kafkactl.protocol.codec import TAGS, decode_message, encode_message
from kafkactl.protocol.compiled import decoder, encoder
from kafkactl.protocol.schema.definitions import message, message_names
from kafkactl.protocol.schema.spec import MessageSpec
from tests.protocol.outcomes import outcome
from tests.protocol.random_messages import every_version, mutated, random_message
from tests.sampling import one_in

EVERY_VERSION = every_version()
SEEDS = 10


def check_round_trip(spec: MessageSpec, version: int, value: dict[str, Any]) -> bytes:
    data = encode_message(spec, version, value)
    assert encoder(spec, version)(value) == data
    assert decode_message(spec, version, data) == (value, len(data))
    assert decoder(spec, version)(data) == (value, len(data))
    return data


def check_same_outcome(spec: MessageSpec, version: int, data: bytes) -> Any:
    """Check that both read the same from these bytes; return what that is."""
    expected = outcome(decode_message, spec, version, data, file="f", base=1000)
    assert outcome(decoder(spec, version), data, file="f", base=1000) == expected
    return expected


def encode_outcome(encode: Any, *arguments: Any) -> Any:
    try:
        return encode(*arguments)
    except EncodeError as error:
        return error.id, error.path, error.message


@pytest.mark.parametrize("name", one_in(4, message_names()))
def test_every_version_of_every_message_round_trips_alike_in_both(name: str):
    spec = message(name)
    for version in spec.valid_versions:
        for seed in range(SEEDS):
            check_round_trip(spec, version, random_message(random.Random(seed), spec, version))


@pytest.mark.parametrize("name", one_in(4, message_names()))
def test_every_version_of_every_message_is_encoded_at_its_defaults(name: str):
    spec = message(name)
    for version in spec.valid_versions:
        expected = encode_outcome(encode_message, spec, version, {})
        assert encode_outcome(encoder(spec, version), {}) == expected
        if isinstance(expected, bytes):
            check_round_trip(spec, version, decode_message(spec, version, expected)[0])


@pytest.mark.parametrize("name", one_in(4, message_names()))
def test_message_cut_at_any_byte_is_a_decode_error(name: str):
    spec = message(name)
    version = spec.valid_versions.highest
    data = encode_message(spec, version, random_message(random.Random(len(name)), spec, version))
    steps = max(1, len(data) // 400)
    for size in range(0, len(data), steps):
        result = check_same_outcome(spec, version, data[:size])
        assert result[0] is DecodeError


@given(st.sampled_from(EVERY_VERSION), st.randoms(use_true_random=False))
def test_any_value_round_trips_alike_in_both(which: tuple[MessageSpec, int], rng: random.Random):
    spec, version = which
    check_round_trip(spec, version, random_message(rng, spec, version))


@given(st.sampled_from(EVERY_VERSION), st.randoms(use_true_random=False))
def test_any_cut_is_a_decode_error(which: tuple[MessageSpec, int], rng: random.Random):
    spec, version = which
    data = encode_message(spec, version, random_message(rng, spec, version))
    if data:
        assert check_same_outcome(spec, version, data[: rng.randrange(len(data))])[0] is DecodeError


@given(st.sampled_from(EVERY_VERSION), st.randoms(use_true_random=False))
def test_changed_bytes_give_a_value_or_a_decode_error(which: tuple[MessageSpec, int], rng: random.Random):
    spec, version = which
    data = mutated(rng, encode_message(spec, version, random_message(rng, spec, version)))
    result = check_same_outcome(spec, version, data)
    if isinstance(result[0], dict):
        assert outcome(encode_message, spec, version, result[0]) == encoder(spec, version)(result[0])


@given(st.sampled_from(EVERY_VERSION), st.binary(max_size=200))
def test_any_bytes_give_a_value_or_a_decode_error(which: tuple[MessageSpec, int], data: bytes):
    check_same_outcome(*which, data)


@pytest.mark.slow
def test_changed_bytes_are_decoded_as_by_the_reference():
    rng = random.Random(20261121)
    for spec, version in EVERY_VERSION:
        data = encode_message(spec, version, random_message(rng, spec, version))
        for _ in range(25):
            check_same_outcome(spec, version, mutated(rng, data))


WRONG_VALUES = (
    None, 0, 1, -1, 2**31, 2**63, 0.5, True, False, "", "text", "\ud800", "w" * 40_000, b"", b"bytes",
    bytearray(b"ba"), memoryview(b"mv"), [], (), [None], ["a"], [1, 2], (1,), {}, {"Name": 1}, {TAGS: {}},
    {TAGS: {99: b"x"}}, object(),
)  # fmt: skip


@pytest.mark.slow
def test_wrong_values_meet_the_same_encode_error_or_bytes_in_both():
    rng = random.Random(3)
    for spec, version in EVERY_VERSION:
        good = random_message(rng, spec, version)
        for name in [*good, TAGS, "NoSuchField"]:
            for wrong in rng.sample(WRONG_VALUES, 6):
                value = good | {name: wrong}
                expected = encode_outcome(encode_message, spec, version, value)
                assert encode_outcome(encoder(spec, version), value) == expected, (spec.name, version, name, wrong)


def test_wrong_values_deep_inside_meet_the_same_encode_error_or_bytes_in_both():
    spec = message("VotersRecord")
    voter = {"VoterId": 1, "VoterDirectoryId": ZERO_UUID, "Endpoints": []}
    for wrong in WRONG_VALUES:
        for value in (
            {"Voters": [voter, wrong]},
            {"Voters": [voter | {"Endpoints": wrong}]},
            {"Voters": [voter | {"KRaftVersionFeature": wrong}]},
            {"Voters": [voter | {"Endpoints": [{"Name": wrong, "Host": "h", "Port": 1}]}]},
        ):
            expected = encode_outcome(encode_message, spec, 0, value)
            assert encode_outcome(encoder(spec, 0), value) == expected, value


@pytest.mark.parametrize("tag", [100, 1 << 7, 1 << 14, (1 << 21) + 5, (1 << 28) + 7, (1 << 31) - 1])
def test_numbers_of_any_length_are_read_alike(tag: int):
    spec = message("DescribeClusterRequest")
    data = check_round_trip(spec, 1, {**decode_message(spec, 1, encode_message(spec, 1, {}))[0], TAGS: {tag: b"x"}})
    assert decoder(spec, 1)(data)[0][TAGS] == {tag: b"x"}


def test_missing_fields_take_their_defaults():
    spec = message("PartitionRecord")
    whole = decode_message(spec, 0, encode_message(spec, 0, {}))[0]
    assert encoder(spec, 0)({}) == encoder(spec, 0)(whole)
    assert whole["Leader"] == -1
    assert whole["Replicas"] == []


def test_one_field_missing_and_one_unknown_is_not_taken_for_whole():
    spec = message("FeatureLevelRecord")
    with pytest.raises(EncodeError) as caught:
        encoder(spec, 0)({"Name": "metadata.version", "Level": 3})
    assert caught.value.id == "no-such-field"


def test_reads_from_an_offset_and_returns_the_position_behind():
    spec = message("FeatureLevelRecord")
    data = encode_message(spec, 0, {"Name": "a", "FeatureLevel": 7})
    expected = {"Name": "a", "FeatureLevel": 7}, 3 + len(data)
    assert decoder(spec, 0)(b"...."[:3] + data + b"rest", offset=3) == expected
    assert decode_message(spec, 0, b"...."[:3] + data + b"rest", offset=3) == expected


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_takes_any_buffer_and_gives_bytes(kind: Any):
    spec = message("UserScramCredentialRecord")
    value = {"Name": "a", "Mechanism": 1, "Salt": b"s", "StoredKey": b"k", "ServerKey": b"v", "Iterations": 4096}
    decoded, _ = decoder(spec, 0)(kind(encode_message(spec, 0, value)))
    assert decoded == value
    assert type(decoded["Salt"]) is bytes


def test_defaults_in_values_are_never_shared():
    spec = message("PartitionRecord")
    data = encode_message(spec, 0, {})
    first, _ = decoder(spec, 0)(data)
    first["Directories"].append("changed")
    assert decoder(spec, 0)(data)[0]["Directories"] == []


def test_version_that_does_not_exist_fails_in_both_directions():
    spec = message("FeatureLevelRecord")
    with pytest.raises(DecodeError) as decoding:
        decoder(spec, 9)(b"")
    with pytest.raises(EncodeError) as encoding:
        encoder(spec, 9)({})
    assert decoding.value.id == encoding.value.id == "unsupported-message-version"


def test_codecs_are_made_once():
    spec = message("FeatureLevelRecord")
    assert decoder(spec, 0) is decoder(spec, 0)
    assert encoder(spec, 0) is encoder(spec, 0)
