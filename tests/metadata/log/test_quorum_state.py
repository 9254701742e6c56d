"""quorum-state: what Kafka 4.4.0 reads, we read alike; what it refuses, we refuse.

The table below was run through `FileQuorumStateStore` of 4.4.0 (tests/lab/metadata/test_quorum_state_oracle.py runs it
again).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.core.errors import DecodeError, EncodeError
from kafkactl.core.values import ZERO_UUID, Uuid
from kafkactl.metadata.log.quorum_state import QuorumStateFile, decode_quorum_state
from tests.metadata.goldens import GOLDEN
from tests.metadata.log.quorum_state_writer import encode_quorum_state
from tests.metadata.log.quorum_states import READ, REFUSED, V0, V1
from tests.protocol.outcomes import outcome


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("quorum-state-*.json")), ids=lambda path: path.name)
def test_kafkas_files_are_written_again_byte_for_byte(path: Path):
    state = decode_quorum_state(path.read_bytes())
    assert (state.leader_id, state.leader_epoch, state.voted_id) == (1, 1, -1)
    assert state.current_voters == ((1,) if state.data_version == 0 else ())
    assert encode_quorum_state(state) == path.read_bytes()


@pytest.mark.parametrize(("content", "leader_id"), READ)
def test_quorum_state_that_kafka_reads_is_read(content: str, leader_id: int):
    assert decode_quorum_state(content.encode()).leader_id == leader_id


@pytest.mark.parametrize(("content", "error_id"), REFUSED)
def test_quorum_state_that_kafka_refuses_is_refused(content: str, error_id: str):
    with pytest.raises(DecodeError) as caught:
        decode_quorum_state(content.encode(), file="quorum-state")
    assert caught.value.id == error_id
    assert caught.value.file == "quorum-state"


def test_error_has_field_and_place():
    with pytest.raises(DecodeError) as caught:
        decode_quorum_state(V0.replace('{"voterId":1}', '{"voterId":"x"}').encode())
    assert caught.value.path == "QuorumStateData.currentVoters[0].voterId"
    with pytest.raises(DecodeError) as caught:
        decode_quorum_state('{"ü":nul}'.encode())
    assert caught.value.offset == 6
    with pytest.raises(DecodeError) as caught:
        decode_quorum_state(b'{"clusterId":"\xff"}')
    assert (caught.value.id, caught.value.offset) == ("quorum-state-not-json", 14)


def test_only_the_first_line_counts():
    # Kafka reads one line (`BufferedReader.readLine`): a file that an editor has laid out in lines is not read.
    assert decode_quorum_state(f"{V1}\nmore\n".encode()) == decode_quorum_state(V1.encode())
    with pytest.raises(DecodeError) as caught:
        decode_quorum_state(V1.replace(",", ",\n", 1).encode() + b"\n")
    assert caught.value.id == "quorum-state-not-json"


@pytest.mark.parametrize("content", ["[" * 100_000, '{"data_version":' + "9" * 10_000 + "}", '{"data_version":1e999}'])
def test_json_made_to_hurt_is_refused(content: str):
    with pytest.raises(DecodeError):
        decode_quorum_state(content.encode())


def test_quorum_state_is_written_as_kafka_writes_it():
    state = QuorumStateFile(data_version=1, leader_epoch=5, voted_id=2, voted_directory_id=Uuid(b"\0" * 15 + b"\x05"))
    assert encode_quorum_state(state) == (
        b'{"leaderId":-1,"leaderEpoch":5,"votedId":2,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAABQ","data_version":1}'
    )
    state = QuorumStateFile(data_version=0, leader_id=3, leader_epoch=7, current_voters=(1, 2, 3))
    assert encode_quorum_state(state) == (
        b'{"clusterId":"","leaderId":3,"leaderEpoch":7,"votedId":-1,"appliedOffset":0,'
        b'"currentVoters":[{"voterId":1},{"voterId":2},{"voterId":3}],"data_version":0}'
    )


@pytest.mark.parametrize(
    ("state", "error_id"),
    [
        (QuorumStateFile(data_version=1, leader_epoch=2**31), "value-out-of-range"),
        (QuorumStateFile(data_version=2, leader_epoch=0), "unsupported-message-version"),
        (QuorumStateFile(data_version=1, leader_epoch=0, cluster_id="x"), "field-not-in-version"),
        (QuorumStateFile(data_version=0, leader_epoch=0, voted_directory_id=Uuid(b"1" * 16)), "field-not-in-version"),
    ],
)
def test_invalid_quorum_state_is_not_written(state: QuorumStateFile, error_id: str):
    with pytest.raises(EncodeError) as caught:
        encode_quorum_state(state)
    assert caught.value.id == error_id


NUMBERS = st.integers(-(2**31), 2**31 - 1)


@given(
    NUMBERS, NUMBERS, NUMBERS, st.binary(min_size=16, max_size=16), st.lists(NUMBERS, max_size=5), st.text(max_size=9)
)
def test_encoded_state_is_decoded(
    leader: int, epoch: int, voted: int, directory: bytes, voters: list[int], cluster: str
):
    common = {"leader_id": leader, "leader_epoch": epoch, "voted_id": voted}
    cluster = cluster.encode("utf-8", "ignore").decode("utf-8")
    for state in (
        QuorumStateFile(data_version=1, voted_directory_id=Uuid(directory), **common),
        QuorumStateFile(data_version=0, cluster_id=cluster, current_voters=tuple(voters), **common),
    ):
        assert decode_quorum_state(encode_quorum_state(state)) == state


@given(st.binary(max_size=200) | st.text(max_size=100).map(lambda text: text.encode("utf-8", "replace")))
def test_any_bytes_give_a_state_or_a_decode_error(data: bytes):
    outcome(decode_quorum_state, data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from([V0, V1]), st.data())
def test_any_field_changed_gives_a_state_or_a_decode_error(content: str, data: st.DataObject):
    fields = json.loads(content)
    name = data.draw(st.sampled_from(sorted(fields)))
    fields[name] = data.draw(JSON)
    result = outcome(decode_quorum_state, json.dumps(fields).encode())
    if isinstance(result, QuorumStateFile) and result.data_version == 1:
        assert result.voted_directory_id == ZERO_UUID or name == "votedDirectoryId"
