"""Messages that nodes exchange: each encodes at all versions of the profiles, and reads back equal."""

from __future__ import annotations

import pytest

from kafkactl.core.errors import KafkactlError
from kafkactl.core.kafka_names import METADATA_TOPIC
from kafkactl.protocol.codec import decode_message
from kafkactl.protocol.schema.definitions import message as definition
from kafkactl.simulator.raft import messages as wire
from kafkactl.simulator.raft.effects import SEND
from kafkactl.simulator.raft.messages import AddRaftVoterRequest, DescribeQuorumRequest, RemoveRaftVoterRequest
from tests.simulator.raft.quorum import CLUSTER, MS, Quorum, directory, endpoint
from tests.simulator.raft.wire import wire_bytes, wire_value

FIRST = {"FetchRequest": 12, "FetchResponse": 12, "ApiVersionsRequest": 3, "ApiVersionsResponse": 3}
KINDS = [kind for kind in vars(wire).values() if isinstance(kind, type) and hasattr(kind, "is_request")]
NAMES = sorted(kind.__name__ for kind in KINDS if kind is not wire.Disconnected)


@pytest.fixture(scope="module")
def seen() -> dict[str, list]:
    """Return messages of a busy quorum: an election, appends, changes of voters, a snapshot, a describe, a
    resignation."""
    world = Quorum((1, 2, 3), "4.x", observers=(4,), latency=5, auto_join=True).start()
    leader = world.elected()
    world.run(3_000)
    world.append("x", 20)
    world.run(100)
    world._carry_out(leader.id, leader.take_snapshot(world.now * MS, leader.high_watermark, 500))
    world.kill(4)
    world.wipe(4)
    world.start(4)
    world.run(5_000)
    voter = {"cluster_id": CLUSTER, "voter_id": 9, "voter_directory_id": directory(9)}
    world.ask(leader.id, AddRaftVoterRequest, **voter, listeners=(endpoint(9),))
    world.ask(leader.id, RemoveRaftVoterRequest, **voter)
    world.ask(leader.id, DescribeQuorumRequest)
    world.run(500)
    world._carry_out(leader.id, leader.resign(world.now * MS))
    world.run(3_000)
    update = wire.UpdateRaftVoterRequest(2, 1, 5, endpoint(1), CLUSTER, 3, 2, directory(2), (endpoint(2),), 0, 1)
    update_answer = wire.UpdateRaftVoterResponse(1, 2, 5, 0, 1, 3, "node1", 9_091)
    describe = DescribeQuorumRequest(wire.CLIENT, 1, 3, None)
    removal = RemoveRaftVoterRequest(wire.CLIENT, 1, 4, None, **voter)
    found: dict[str, list] = {}
    sent = [effect for _, _, effect in world.history if effect.effect == SEND]
    for message in (*sent, update, update_answer, describe, removal):
        found.setdefault(type(message).__name__, []).append(message)
    assert not world.faults
    return found


def test_quorum_said_everything(seen):
    assert sorted(seen) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_message_encodes_at_every_version(seen, name):
    spec = definition(name)
    plain = [message for message in seen[name] if not getattr(message, "pre_vote", False)]
    for version in range(FIRST.get(name, spec.valid_versions.lowest), spec.valid_versions.highest + 1):
        for message in plain[:40]:
            if name == "AddRaftVoterRequest" and version == 0 and not message.ack_when_committed:
                continue
            encoded = wire_bytes(message, version, b"records")
            value, consumed = decode_message(spec, version, encoded)
            assert consumed == len(encoded)
            given = wire_value(message, version, b"records")
            assert _like(value, _at(spec.fields, given, version)) == _at(spec.fields, given, version)


def _at(fields, given: dict, version: int) -> dict:
    """Return what was given, without the fields that this version does not have."""
    kept = {}
    for field in fields:
        if field.name not in given or not field.versions.lowest <= version <= field.versions.highest:
            continue
        value = given[field.name]
        if field.fields and field.is_array:
            value = [_at(field.fields, row, version) for row in value]
        elif field.fields:
            value = _at(field.fields, value, version)
        kept[field.name] = value
    return kept


def _like(value, given):
    """Return what was decoded, without the fields that were not given."""
    if isinstance(given, dict):
        return {name: _like(value[name], part) for name, part in given.items()}
    if isinstance(given, list) and len(value) == len(given):
        return [_like(row, part) for row, part in zip(value, given, strict=True)]
    return value


def test_pre_vote_needs_version_2(seen):
    pre_vote = next(message for message in seen["VoteRequest"] if message.pre_vote)
    value, _ = decode_message(definition("VoteRequest"), 2, wire_bytes(pre_vote, 2))
    [topic] = value["Topics"]
    assert (topic["TopicName"], topic["Partitions"][0]["PreVote"]) == (METADATA_TOPIC, True)
    with pytest.raises(KafkactlError, match="PreVote"):
        wire_bytes(pre_vote, 1)


def test_broken_connection_is_not_a_message():
    with pytest.raises(TypeError, match="Disconnected"):
        wire_bytes(wire.Disconnected(1, 2, 3), 0)
