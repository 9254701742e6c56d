"""The nodes of a live cluster as an inventory, for a judgement without an inventory file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from kafkactl.cluster.io.places import Seat
from kafkactl.cluster.io.view import observe_cluster_state
from kafkactl.core.errors import UnreachableError
from kafkactl.core.values import Role
from kafkactl.kafka.client import Client
from kafkactl.roll.inventory import RollInventory, RollInventoryNode

_SOURCE: Final = "cluster"
_JOURNAL: Final = "journal"


def inventory_of_cluster(
    client: Client,
    *,
    command_config: str | os.PathLike[str] | None = None,
    controller_command_config: str | os.PathLike[str] | None = None,
    cluster_id: str | None = None,
    timeout_ms: float | None = None,
) -> RollInventory:
    """Return the nodes that a live cluster names, with their addresses. Their files and hooks are unknown.

    The client properties are those with which each node is asked at its own address; `cluster_id` is the expected one.
    Raises UnreachableError as `nodes list`, and `cluster-not-reached` if no node is named.
    """
    view = observe_cluster_state(client, node_timeout_ms=timeout_ms)
    nodes = tuple(_node(id, [seat for seat in view.seats if seat.id == id]) for id in _ids(view.seats))
    if not nodes:
        raise UnreachableError("the cluster names none of its nodes", id="cluster-not-reached")
    return RollInventory(
        file=_SOURCE,
        nodes=nodes,
        journal=_JOURNAL,
        cluster_id=cluster_id or view.state.cluster_id,
        command_config=_absolute(command_config),
        controller_command_config=_absolute(controller_command_config),
    )


def _ids(seats: Iterable[Seat]) -> list[int]:
    return sorted({seat.id for seat in seats})


def _node(id: int, seats: Iterable[Seat]) -> RollInventoryNode:
    by_role = {seat.role: seat for seat in seats}
    address = {role: seat.addresses[0] for role, seat in by_role.items() if seat.addresses}
    hosts = [place.host for place in address.values()]
    return RollInventoryNode(
        id=id,
        roles=tuple(role for role in Role if role in by_role),
        host=hosts[0] if hosts else "",
        config="",
        address=str(address[Role.BROKER]) if Role.BROKER in address else None,
        controller_address=str(address[Role.CONTROLLER]) if Role.CONTROLLER in address else None,
    )


def _absolute(path: str | os.PathLike[str] | None) -> str | None:
    """Return the path from the root: paths of an inventory start at its folder, and this one has none."""
    return None if path is None else str(Path(path).absolute())
