"""The smallest ``server.properties`` that works, by kind of node.

A configuration is a plain dictionary; a test adds what it is about: ``combined(...) | {"key": "value"}``.
Everything a release does not know it only warns about, so one dictionary serves 3.3 to 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.lab.harness.ports import HOST

Config = dict[str, str]

_ONE_NODE: Config = {
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}
"""Internal topics on a single broker (the last two are read by 4.0 and later)."""

_SMALL: Config = {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "num.network.threads": "1",
    "num.io.threads": "2",
    "log.cleaner.dedupe.buffer.size": "2097152",
    "group.initial.rebalance.delay.ms": "0",
}
"""Less of what a test does not need; the cleaner alone would take half of a 256 MB heap."""


def static_quorum(voters: Mapping[int, int]) -> Config:
    """Return a fixed voter set, node id to controller port; every release."""
    items = ",".join(f"{node_id}@{HOST}:{port}" for node_id, port in sorted(voters.items()))
    return {"controller.quorum.voters": items}


def dynamic_quorum(ports: Sequence[int]) -> Config:
    """Return where to find a voter set that is kept in the metadata log (KIP-853); 3.9 and later."""
    return {"controller.quorum.bootstrap.servers": ",".join(f"{HOST}:{port}" for port in ports)}


def combined(
    *, node_id: int, log_dirs: Sequence[Path | str], broker_port: int, controller_port: int, quorum: Config
) -> Config:
    """Return the settings of broker and controller in one process."""
    listeners = f"PLAINTEXT://{HOST}:{broker_port},CONTROLLER://{HOST}:{controller_port}"
    return _node("broker,controller", node_id, listeners, log_dirs, quorum) | _ONE_NODE


def controller(*, node_id: int, log_dirs: Sequence[Path | str], port: int, quorum: Config) -> Config:
    """Return a controller and nothing else."""
    return _node("controller", node_id, f"CONTROLLER://{HOST}:{port}", log_dirs, quorum)


def broker(*, node_id: int, log_dirs: Sequence[Path | str], port: int, quorum: Config) -> Config:
    """Return a broker whose controllers are elsewhere."""
    return _node("broker", node_id, f"PLAINTEXT://{HOST}:{port}", log_dirs, quorum) | _ONE_NODE


def _node(roles: str, node_id: int, listeners: str, log_dirs: Sequence[Path | str], quorum: Config) -> Config:
    protocols = "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT"
    named = {
        "process.roles": roles,
        "node.id": str(node_id),
        "listeners": listeners,
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": protocols,
        "log.dirs": ",".join(str(place) for place in log_dirs),
    }
    return named | quorum | _SMALL
