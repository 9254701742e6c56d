"""The voter set of a dynamic quorum (KIP-853) as values, and as the VotersRecord that carries it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafkactl.core.answers import json_of
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Endpoint, Uuid
from kafkactl.protocol.codec import Message


@frozen
class Voter:
    """Voter: id, directory, endpoints, and the levels of kraft.version that the voter supports."""

    node_id: int
    directory_id: Uuid
    endpoints: tuple[Endpoint, ...]
    min_kraft_version: int = 0
    max_kraft_version: int = 1

    to_dict = json_of("id=node_id", "directory_id", "endpoints")


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
