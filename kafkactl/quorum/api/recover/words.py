"""Arguments of a recovery as values: the recovered controller, and the addresses to probe."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from kafkactl.cluster.api.node_timeout import NO_LIMIT, node_timeout_ms
from kafkactl.cluster.quorum.voters import parse_host_port
from kafkactl.core.values import Endpoint
from kafkactl.files.input_files import InputKind, read_input
from kafkactl.kafka.client_config import load_client_config
from kafkactl.quorum.io.candidate import read_controller_config
from kafkactl.quorum.io.recover.probe import NODE_TIMEOUT_MS, who_answers
from kafkactl.quorum.recover.observed_disks import AnsweringAddress, RecoveryTarget
from kafkactl.quorum.recover.request import RecoveryOverrides

__all__ = [
    "LAST_PORT",
    "RecoveryOverrides",
    "RecoveryTarget",
    "parse_address",
    "parse_listener",
    "recovery_probe",
    "recovery_target",
]

Probe = Callable[[Sequence[tuple[int | None, Endpoint]]], tuple[AnsweringAddress, ...]]
_LISTENER: Final = re.compile(r"([A-Za-z][A-Za-z0-9_.-]*)://(.*)")
LAST_PORT: Final = 65535


def parse_listener(text: str) -> Endpoint | None:
    """Read `NAME://HOST:PORT`; return None for any other text."""
    found = _LISTENER.fullmatch(text)
    address = None if found is None else parse_host_port(found[2])
    if found is None or address is None or not address[0] or address[1] > LAST_PORT:
        return None
    return Endpoint(listener=found[1], host=address[0], port=address[1])


def parse_address(text: str) -> Endpoint | None:
    """Read `HOST:PORT`; return None for any other text."""
    address = parse_host_port(text)
    return None if address is None else Endpoint(listener="", host=address[0], port=address[1])


def recovery_target(
    directory: str, *, config: str | None = None, node_id: int | None = None, listener: Endpoint | None = None
) -> RecoveryTarget:
    """Return the recovered controller, by its server.properties (`config`); `node_id` and `listener` win over the file.

    Raises InputError for a file that cannot be read, or that Kafka would not load.
    """
    endpoints: tuple[Endpoint, ...] = ()
    voters: tuple[tuple[int, str, int], ...] = ()
    if config is not None:
        settings = read_controller_config(
            read_input(Path(config), "the recovered controller's configuration", InputKind.NODE_CONFIG), config
        )
        node_id = settings.node_id if node_id is None else node_id
        endpoints = tuple(
            Endpoint(listener=endpoint.listener, host=endpoint.host or "localhost", port=endpoint.port)
            for endpoint in settings.controller_endpoints
        )
        voters = tuple((voter.node_id, voter.host, voter.port) for voter in settings.static_voters)
    if listener is not None:
        endpoints = (listener,)
    return RecoveryTarget(node_id=node_id, endpoints=endpoints, static_voters=voters, directory=directory)


def recovery_probe(
    addresses: Sequence[Endpoint] = (), command_config: str | None = None, *, timeout_ms: float = NO_LIMIT
) -> Probe:
    """Return a probe that asks `addresses`, and those of the old voters, whether a controller answers there.

    `command_config` is a file of client properties with the security and the login. One silent node costs a fifth of
    `timeout_ms` at most. Raises InputError for a file that cannot be read.
    """
    way_in = load_client_config(command_config)
    more = [(None, address) for address in addresses]

    def probe(places: Sequence[tuple[int | None, Endpoint]]) -> tuple[AnsweringAddress, ...]:
        return who_answers([*more, *places], way_in, node_timeout_ms=node_timeout_ms(NODE_TIMEOUT_MS, timeout_ms))

    return probe
