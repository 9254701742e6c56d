"""The voter set of a dynamic quorum (KIP-853) as values, and as the VotersRecord that carries it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kafkactl.core.answers import json_of
from kafkactl.core.errors import DecodeError
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Endpoint, Uuid
from kafkactl.protocol.codec import Message
from kafkactl.protocol.control_records import ControlType, decode_control_record
from kafkactl.protocol.record_batch import decode_header, decode_records

VoterIds = Mapping[int, Uuid | None]
"""The voters by node id, each with the directory id; None in a static quorum."""

NO_VOTERS: Final[VoterIds] = {}


@frozen
class Voter:
    """Voter: id, directory, endpoints, and the levels of kraft.version that the voter supports."""

    node_id: int
    directory_id: Uuid
    endpoints: tuple[Endpoint, ...]
    min_kraft_version: int = 0
    max_kraft_version: int = 1

    to_dict = json_of("id=node_id", "directory_id", "endpoints")


def voters_after(batch: bytes, known: VoterIds) -> VoterIds:
    """Return the voters after a control batch: those of its last VotersRecord, or the ids in its LeaderChange record.

    A LeaderChange record has no directory ids: with the ids of `known` it changes nothing.
    """
    try:
        records = decode_records(batch, decode_header(batch, 0))
    except DecodeError:
        return known
    for record in records:
        try:
            decoded = decode_control_record(record.key, record.value)
        except DecodeError:
            continue
        if decoded.type is ControlType.KRAFT_VOTERS:
            known = {voter["VoterId"]: voter["VoterDirectoryId"] for voter in decoded.data["Voters"]}
        elif decoded.type is ControlType.LEADER_CHANGE:
            ids = [voter["VoterId"] for voter in decoded.data["Voters"]]
            known = known if set(ids) == set(known) else dict.fromkeys(ids)
    return known


def voters_data(voters: Sequence[Voter]) -> Message:
    """Return the VotersRecord of these voters, in this order."""
    return {"Version": 0, "Voters": [_voter_data(voter) for voter in voters]}


def voters_of(data: Message) -> tuple[Voter, ...]:
    """Return the voters of a VotersRecord, in its order."""
    return tuple(_voter_of(voter) for voter in data["Voters"])


def _voter_data(voter: Voter) -> dict[str, Any]:
    return {
        "VoterId": voter.node_id,
        "VoterDirectoryId": voter.directory_id,
        "Endpoints": [
            {"Name": endpoint.listener, "Host": endpoint.host, "Port": endpoint.port} for endpoint in voter.endpoints
        ],
        "KRaftVersionFeature": {
            "MinSupportedVersion": voter.min_kraft_version,
            "MaxSupportedVersion": voter.max_kraft_version,
        },
    }


def _voter_of(data: Message) -> Voter:
    supported = data["KRaftVersionFeature"]
    return Voter(
        node_id=data["VoterId"],
        directory_id=data["VoterDirectoryId"],
        endpoints=tuple(
            Endpoint(listener=endpoint["Name"], host=endpoint["Host"], port=endpoint["Port"])
            for endpoint in data["Endpoints"]
        ),
        min_kraft_version=supported["MinSupportedVersion"],
        max_kraft_version=supported["MaxSupportedVersion"],
    )
