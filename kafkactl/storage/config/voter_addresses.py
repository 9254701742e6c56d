"""Addresses in controller.quorum.voters that cannot all be right, as far as one file shows it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from kafkactl.cluster.quorum.voters import StaticVoter
from kafkactl.core.values import host_port
from kafkactl.storage.config.node_config import NodeConfig


def shared_addresses(voters: Iterable[StaticVoter]) -> Mapping[str, tuple[int, ...]]:
    """Return the addresses that several voters have, each with their ids."""
    found: dict[str, set[int]] = defaultdict(set)
    for voter in voters:
        found[host_port(voter.host.strip("[]").lower(), voter.port)].add(voter.node_id)
    return {address: tuple(sorted(ids)) for address, ids in found.items() if len(ids) > 1}


def own_static_entry_elsewhere(config: NodeConfig) -> tuple[StaticVoter, list[int]] | None:
    """Return the node's own voter entry and the ports of its controller listeners, where the entry has none of them."""
    own = next((voter for voter in config.static_voters if voter.node_id == config.node_id), None)
    ports = controller_ports(config)
    return None if own is None or not ports or own.port in ports or 0 in ports else (own, ports)


def controller_ports(config: NodeConfig) -> list[int]:
    """Return the ports on which the node listens as a controller."""
    names = {name.upper() for name in config.controller_listener_names}
    return sorted({endpoint.port for endpoint in config.listeners if endpoint.listener.upper() in names})
