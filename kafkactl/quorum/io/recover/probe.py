"""Probe of old voters that may still answer: all addresses of the last voter set, at the same time, once each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kafkactl.core.errors import KafkactlError
from kafkactl.core.values import Endpoint, Role
from kafkactl.kafka.client import Client, Limits
from kafkactl.kafka.client_config import ClientConfig
from kafkactl.net.transport import Address
from kafkactl.protocol.api_versions import NodeVersions
from kafkactl.quorum.recover.observed_disks import AnsweringAddress

NODE_TIMEOUT_MS: Final = 2_000.0
_VOTE: Final = 52  # a request that only controllers take


def who_answers(
    places: Sequence[tuple[int | None, Endpoint]], way_in: ClientConfig, *, node_timeout_ms: float = NODE_TIMEOUT_MS
) -> tuple[AnsweringAddress, ...]:
    """Return the addresses at which a controller answers, with the id of the voter they belonged to. Raises nothing."""
    addresses = {
        Address(endpoint.host, endpoint.port): id for id, endpoint in places if endpoint.host and endpoint.port > 0
    }
    if not addresses:
        return ()
    try:
        limits = Limits(timeout_ms=node_timeout_ms, request_timeout_ms=node_timeout_ms)
        with Client(tuple(addresses), Role.CONTROLLER, access=way_in.access(), limits=limits) as client:
            answers = client.versions(tuple(addresses))
    except KafkactlError:
        return ()
    return tuple(
        AnsweringAddress(address=str(address), node_id=addresses[address])
        for address, answer in answers.items()
        if isinstance(answer, NodeVersions) and answer.knows(_VOTE)
    )
