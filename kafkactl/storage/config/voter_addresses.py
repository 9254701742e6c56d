"""Addresses in controller.quorum.voters that cannot all be right, as far as one file shows it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from kafkactl.cluster.quorum.voters import StaticVoter
from kafkactl.core.values import host_port
from kafkactl.core.wording import some
from kafkactl.protocol.catalog.releases import Release
from kafkactl.protocol.text.config_values import Problem
from kafkactl.storage.config.kraft import VOTERS
from kafkactl.storage.config.node_config import NodeConfig
from kafkactl.storage.config.release_rules import config_rules

_ANY_ADDRESS: Final = "0.0.0.0"


def unroutable_voters(config: NodeConfig, release: Release) -> Iterator[Problem]:
    """Yield the problem of a voter at 0.0.0.0, with which a node of any role ends at its start.

    Measured on 3.8.1, 3.9.2, 4.0.2, 4.2.1, 4.3.1 and 4.4.0; nodes of 3.7.2 start. Formatting accepts it, but for a
    controller from 4.2 on that advertises no listener.
    """
    ids = [voter.node_id for voter in config.static_voters if voter.host == _ANY_ADDRESS]
    if ids and config_rules(release).voters_must_be_routable:
        words = f"Host string ({_ANY_ADDRESS}) is not routeable"
        next_step = (
            f"Give voter {some(map(str, ids))} in {VOTERS} the address at which other nodes reach it, on every node."
        )
        yield Problem(id="quorum-voter-not-routable", key=VOTERS, words=words, next_step=next_step)


def shared_addresses(voters: Iterable[StaticVoter]) -> Mapping[str, tuple[int, ...]]:
    """Return the addresses that several voters have, each with their ids."""
    found: dict[str, set[int]] = defaultdict(set)
    for voter in voters:
        found[host_port(voter.host.strip("[]").lower(), voter.port)].add(voter.node_id)
    return {address: tuple(sorted(ids)) for address, ids in found.items() if len(ids) > 1}


def own_static_entry_elsewhere(config: NodeConfig) -> tuple[StaticVoter, list[int]] | None:
    """Return the node's own voter entry and the ports of its controller listeners, if the entry has none of them."""
    own = next((voter for voter in config.static_voters if voter.node_id == config.node_id), None)
    ports = controller_ports(config)
    return None if own is None or not ports or own.port in ports or 0 in ports else (own, ports)


def controller_ports(config: NodeConfig) -> list[int]:
    """Return the ports on which the node listens as a controller."""
    names = {name.upper() for name in config.controller_listener_names}
    return sorted({endpoint.port for endpoint in config.listeners if endpoint.listener.upper() in names})
