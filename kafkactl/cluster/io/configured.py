"""Addresses of controllers in a node's own configuration, and the request for a node's own settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from kafkactl.cluster.quorum.voters import parse_host_port, parse_static_voters
from kafkactl.core.errors import InputError
from kafkactl.net.transport import Address

STATIC_VOTERS: Final = "controller.quorum.voters"
BOOTSTRAP_SERVERS: Final = "controller.quorum.bootstrap.servers"
_BROKER_RESOURCE: Final = 4  # ConfigResource.Type.BROKER, which names controllers, too


def own_settings_request(node_id: int, keys: Iterable[str]) -> dict[str, Any]:
    """Return the DescribeConfigs request for these settings of a node; a node describes only its own."""
    resource = {"ResourceType": _BROKER_RESOURCE, "ResourceName": str(node_id), "ConfigurationKeys": list(keys)}
    return {"Resources": [resource]}


def static_voters(settings: Mapping[str, str]) -> Iterator[tuple[Address, int]]:
    """Yield the voters of controller.quorum.voters; none if the value is not one that Kafka accepts."""
    try:
        for voter in parse_static_voters(_entries(settings, STATIC_VOTERS)):
            yield Address(voter.host, voter.port), voter.node_id
    except InputError:
        return


def bootstrap_servers(settings: Mapping[str, str]) -> Iterator[Address]:
    """Yield the addresses of controller.quorum.bootstrap.servers."""
    for entry in _entries(settings, BOOTSTRAP_SERVERS):
        found = parse_host_port(entry)
        if found is not None:
            yield Address(*found)


def _entries(settings: Mapping[str, str], key: str) -> list[str]:
    return [entry.strip() for entry in settings.get(key, "").split(",") if entry.strip()]
