"""C-62: every node has directories of its own on its host."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Final

from kafkactl.core.findings import Finding, blocker
from kafkactl.migration.checks.case import UNFINISHED, CheckCase, Row
from kafkactl.migration.observed.observation import NodeSeen
from kafkactl.migration.observed.settings import given, is_hidden, log_dirs
from kafkactl.storage.config.overlaps import Overlap, overlaps

_LOOPBACK: Final = frozenset({"localhost", "::1"})


def _shared_directories(case: CheckCase) -> Iterator[Finding]:
    """Check C-62: a controller formatted on a broker's disk, or inside a log directory, ends the broker's next start.

    Measured on 3.9.2: "Found directory .../kraft, 'kraft' is not in the form of topic-partition".
    """
    by_host: dict[str, list[NodeSeen]] = {}
    for node in case.observation.nodes:
        if node.address is not None:
            by_host.setdefault(_host(node.address), []).append(node)
    for host, nodes in by_host.items():
        if _is_of_containers(nodes):
            continue
        names = {node.name: node for node in nodes}
        for found in overlaps((path, node.name) for node in nodes for path in _directories(node)):
            yield _shared(host, found, names)


def _shared(host: str, found: Overlap, nodes: dict[str, NodeSeen]) -> Finding:
    first, second = str(found.outer_owner), str(found.inner_owner)
    same = found.inner == found.outer
    text = (
        f"{first} and {second} are on {host} and have the same log directory {found.inner}"
        if same
        else f"the log directory {found.inner} of {second} is inside {found.outer} of {first}, on {host}"
    )
    harm = (
        "the format step would find it formatted, and a rollback would wipe it" if same else "a broker does not start"
    )
    return blocker(
        "directory-shared-by-nodes",
        second,
        f"{text}: {harm}",
        f"Give {second} a directory of its own: log.dirs (or metadata.log.dir) in its file, and log_dirs in the"
        " inventory. Format or wipe nothing before.",
        nodes=[nodes[name].id for name in (first, second)],
        directory=found.inner,
    )


def _host(address: str) -> str:
    host = address.rpartition(":")[0].strip("[]").lower()
    return "localhost" if host in _LOOPBACK or host.startswith("127.") else host


def _directories(node: NodeSeen) -> tuple[str, ...]:
    """Return the directories of a node's file; directories that are set elsewhere are unknown."""
    metadata = given(node, "metadata.log.dir")
    return (*log_dirs(node), *(() if metadata is None or is_hidden(metadata) else (metadata,)))


def _is_of_containers(nodes: list[NodeSeen]) -> bool:
    """Return True if paths are not of one machine: two nodes live, and Kafka locks a directory for one of them."""
    alive = [frozenset(_directories(node)) for node in nodes if node.alive is True]
    return any(first & second for first, second in combinations(alive, 2))


ROWS: Final = (Row("C-62", "shared-directories-unknown", "directories of one host", UNFINISHED, _shared_directories),)
