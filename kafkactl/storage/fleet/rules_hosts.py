"""Fleet rules about hosts: who is who, whose directories and ports are whose, and what each binary can read."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding, blocker, error_finding
from kafkactl.core.kafka_names import MIGRATION_ENABLE
from kafkactl.core.values import EVERY_ADDRESS, Uuid
from kafkactl.storage.config.overlaps import overlaps
from kafkactl.storage.fleet.inventory import NEW_CLUSTER
from kafkactl.storage.fleet.model import FLEET, Fleet, address_of, host_of, nodes_text


def _duplicate_node_ids(fleet: Fleet) -> Iterator[Finding]:
    counts = Counter(entry.id for entry in fleet.inventory.nodes)
    for node_id, count in counts.items():
        if count > 1:
            yield blocker(
                id="duplicate-node-id",
                subject=f"node {node_id}",
                message=f"{count} nodes of the inventory have the id {node_id}",
                next_step="Give every node, broker or controller, an id of its own.",
            )


def _node_id_differs(fleet: Fleet) -> Iterator[Finding]:
    for node in fleet.nodes:
        if node.config.node_id != node.entry.id:
            yield blocker(
                id="node-id-mismatch",
                subject=node.subject,
                message=f"the inventory says {node.entry.id}, node.id in {node.entry.config} is {node.config.node_id}",
                inventory=node.entry.id,
                config=node.config.node_id,
            )


def _has_controllers(fleet: Fleet) -> Iterator[Finding]:
    if not fleet.controllers and not fleet.inventory.existing_cluster and fleet.nodes:
        yield blocker(
            id="fleet-without-controller",
            subject=FLEET,
            message="no node has the controller role, so this cluster would have no quorum",
        )


def _migration_needs_its_id(fleet: Fleet) -> Iterator[Finding]:
    migrating = [node.entry.id for node in fleet.nodes if node.config.zookeeper_migration]
    if migrating and fleet.inventory.cluster_id == NEW_CLUSTER:
        yield blocker(
            id="migration-needs-zookeeper-cluster-id",
            subject=FLEET,
            message=f"{nodes_text(migrating)} have {MIGRATION_ENABLE}=true, and cluster_id is new",
            next_step="Give the ZooKeeper cluster's id (znode /cluster/id): the controllers take over that cluster.",
            nodes=migrating,
        )


def _directory_ids(fleet: Fleet) -> Iterator[Finding]:
    """Yield the ids that the inventory fixes: readable, unreserved, each once (KIP-858, KIP-853)."""
    given: dict[Uuid, list[int]] = defaultdict(list)
    for entry in fleet.inventory.nodes:
        if entry.directory_id is None:
            continue
        try:
            directory_id = Uuid.parse(entry.directory_id)
        except InputError as error:
            yield error_finding(f"node {entry.id}", error)
            continue
        given[directory_id].append(entry.id)
        if directory_id.is_reserved:
            yield blocker(
                id="reserved-directory-id",
                subject=f"node {entry.id}",
                message=f"{directory_id} is one of the ids that Kafka keeps for itself; the node would not start",
                next_step="Take directory_id out: the plan makes one.",
            )
    for directory_id, ids in given.items():
        if len(ids) > 1:
            yield blocker(
                id="duplicate-directory-id",
                subject=FLEET,
                message=f"{nodes_text(ids)} have the same directory_id {directory_id}",
                next_step="Take directory_id out: the plan makes one for each.",
                nodes=ids,
            )


def _shared_directories(fleet: Fleet) -> Iterator[Finding]:
    """Report directories that two nodes of one host share, or that lie inside a directory of another node."""
    by_host: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for node in fleet.nodes:
        by_host[node.entry.host.lower()] += ((path, node.entry.id) for path in node.config.all_directories)
    for host, owned in by_host.items():
        for found in overlaps(owned):
            outer, inner = found.outer_owner, found.inner_owner
            yield blocker(
                id="directory-shared-by-nodes",
                subject=f"directory {found.inner}",
                message=f"on host {host} node {outer} writes to {found.outer} and node {inner} to {found.inner}",
                nodes=[outer, inner],
            )


def _shared_ports(fleet: Fleet) -> Iterator[Finding]:
    """Report nodes of one host that listen on the same port of the same address."""
    by_port: dict[tuple[str, int], list[tuple[str, int]]] = defaultdict(list)
    for node in fleet.nodes:
        for endpoint in node.config.listeners:
            if endpoint.port > 0:
                by_port[node.entry.host.lower(), endpoint.port].append((host_of(endpoint), node.entry.id))
    for (host, port), users in by_port.items():
        everywhere = any(address in EVERY_ADDRESS for address, _ in users)
        by_address: dict[str, set[int]] = defaultdict(set)
        for address, node_id in users:
            by_address["" if everywhere else address].add(node_id)
        for ids in by_address.values():
            if len(ids) > 1:
                yield blocker(
                    id="port-shared-by-nodes",
                    subject=f"host {host}",
                    message=f"{nodes_text(sorted(ids))} all listen on port {port}",
                    nodes=sorted(ids),
                    port=port,
                )


def _advertised_twice(fleet: Fleet) -> Iterator[Finding]:
    """Report an address that several nodes advertise: clients and voters would reach the wrong node."""
    by_address: dict[str, set[int]] = defaultdict(set)
    for node in fleet.nodes:
        for endpoint in node.config.advertised_listeners:
            if endpoint.port > 0 and endpoint.host:
                by_address[address_of(endpoint)].add(node.entry.id)
    for address, ids in by_address.items():
        if len(ids) > 1:
            yield blocker(
                id="endpoint-advertised-twice",
                subject=FLEET,
                message=f"{nodes_text(sorted(ids))} all advertise {address}",
                next_step="An address leads to one node: correct advertised.listeners.",
                nodes=sorted(ids),
            )


def _layout_fits_binaries(fleet: Fleet) -> Iterator[Finding]:
    """Report disks of a newer layout than the binary knows: 4.3 starts on 4.4 disks and loses what was asked for."""
    for node in fleet.nodes:
        if fleet.release.layout > node.release.layout:
            yield blocker(
                id="layout-newer-than-binary",
                subject=node.subject,
                message=f"disks are planned for Kafka {fleet.release.version_text} (layout {fleet.release.layout}), "
                f"its binary is {node.release.version_text} (layout {node.release.layout})",
            )


HOST_RULES = (
    _duplicate_node_ids,
    _node_id_differs,
    _has_controllers,
    _migration_needs_its_id,
    _directory_ids,
    _shared_directories,
    _shared_ports,
    _advertised_twice,
    _layout_fits_binaries,
)
