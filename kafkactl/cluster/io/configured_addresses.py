"""Addresses of controllers in a node's own configuration, and the request for a node's own settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from kafkactl.cluster.quorum.voters import parse_host_port, parse_static_voters
from kafkactl.core.errors import InputError, KafkactlError, UnreachableError
from kafkactl.core.frozen import frozen
from kafkactl.kafka.client import Client
from kafkactl.net.transport import Address

STATIC_VOTERS: Final = "controller.quorum.voters"
BOOTSTRAP_SERVERS: Final = "controller.quorum.bootstrap.servers"
_BROKER_RESOURCE: Final = 4  # ConfigResource.Type.BROKER, which names controllers, too
_KEYS: Final = (STATIC_VOTERS, BOOTSTRAP_SERVERS)


@frozen
class Place:
    """Address of a controller; `node_id` is None if only the address is known."""

    node_id: int | None
    address: Address


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


def configured_controllers(client: Client) -> Iterator[Place]:
    """Yield the static voters in the first readable configuration of a broker that contains some."""
    try:
        view = client.cluster()
    except UnreachableError:
        return
    for node in view.nodes:
        if node.fenced:
            continue
        try:
            answer = client.ask_node(node.address, "DescribeConfigs", own_settings_request(node.id, _KEYS))
        except KafkactlError:
            continue
        settings = {
            config["Name"]: config["Value"] or "" for result in answer.body["Results"] for config in result["Configs"]
        }
        places = [Place(node_id=id, address=at) for at, id in static_voters(settings)]
        places += [Place(node_id=None, address=at) for at in bootstrap_servers(settings)]
        if places:
            yield from places
            return
