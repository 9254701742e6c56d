"""Fleet rules about the quorum: one mode, one voter list, and every node knows where the controllers answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator

from kafkactl.cluster.quorum.majority import majority
from kafkactl.cluster.quorum.voters import parse_host_port
from kafkactl.core.findings import Finding, Severity, blocker
from kafkactl.core.values import Endpoint, host_port
from kafkactl.storage.config.voter_addresses import shared_addresses
from kafkactl.storage.fleet.inventory import VoterRole
from kafkactl.storage.fleet.model import FLEET, Fleet, FleetNode, address_of, nodes_text, voter_roles

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1", "0:0:0:0:0:0:0:1"})


def _one_mode(fleet: Fleet) -> Iterator[Finding]:
    static = [node.entry.id for node in fleet.nodes if node.is_static]
    dynamic = [node.entry.id for node in fleet.nodes if not node.is_static]
    if static and dynamic:
        yield blocker(
            id="mixed-quorum-mode",
            subject=FLEET,
            message=f"{nodes_text(static)} set controller.quorum.voters (static), {nodes_text(dynamic)} do not",
            next_step="Set controller.quorum.voters on every node, or only controller.quorum.bootstrap.servers.",
            static=static,
            dynamic=dynamic,
        )
    said = fleet.inventory.mode
    found = "static" if fleet.is_static else "dynamic"
    if said is not None and fleet.nodes and said != found:
        yield blocker(
            id="quorum-mode-mismatch",
            subject=FLEET,
            message=f"the inventory says mode = {said}, the configurations make a {found} quorum",
            next_step="Correct the configurations, or the mode in the inventory.",
        )


def _dynamic_needs_binaries(fleet: Fleet) -> Iterator[Finding]:
    for node in fleet.nodes:
        if not node.is_static and not node.release.voter_flags:
            yield blocker(
                id="dynamic-quorum-not-supported",
                subject=node.subject,
                message=f"Kafka {node.release.version_text} needs controller.quorum.voters, which is not set",
            )


def _same_static_voters(fleet: Fleet) -> Iterator[Finding]:
    by_voters: dict[Hashable, list[int]] = defaultdict(list)
    for node in fleet.nodes:
        if node.is_static:
            by_voters[frozenset(_voter_texts(node))].append(node.entry.id)
    if len(by_voters) > 1:
        shown = {",".join(sorted(voters)): ids for voters, ids in by_voters.items()}  # type: ignore[call-overload]
        listed = "; ".join(f"{nodes_text(ids)}: {voters}" for voters, ids in shown.items())
        yield blocker(
            id="static-voters-differ",
            subject=FLEET,
            message=f"controller.quorum.voters differs between nodes: {listed}",
            voters=shown,
        )


def _static_voter_is_a_controller(fleet: Fleet) -> Iterator[Finding]:
    """Check that each voter is a controller of the fleet with its listener port, and that each controller is a
    voter."""
    controllers = {node.entry.id: node for node in fleet.controllers}
    listed = {entry.id for entry in fleet.inventory.nodes}
    seen: set[tuple[int, str, int]] = set()
    for node in fleet.nodes:
        for voter in node.config.static_voters:
            key = (voter.node_id, voter.host, voter.port)
            if key in seen:
                continue
            seen.add(key)
            if voter.node_id in controllers:
                yield from _static_voter_endpoint(controllers[voter.node_id], voter.host, voter.port)
            elif voter.node_id not in listed and controllers and not fleet.inventory.existing_cluster:
                yield blocker(
                    id="voter-not-in-inventory",
                    subject=f"voter {voter.node_id}",
                    message=f"controller.quorum.voters names node {voter.node_id}, the inventory has no such node",
                    next_step="Add the controller to the inventory, or take it out of controller.quorum.voters.",
                )


def _static_voters_apart(fleet: Fleet) -> Iterator[Finding]:
    """Check that each voter has an address of its own that other hosts can reach."""
    seen: set[Hashable] = set()
    for node in fleet.nodes:
        voters = node.config.static_voters
        if not voters or voters in seen:
            continue
        seen.add(voters)
        for address, ids in shared_addresses(voters).items():
            yield blocker(
                id="voters-share-address",
                subject=FLEET,
                message=f"controller.quorum.voters has {nodes_text(ids)} at {address}: an address leads to one node",
                nodes=list(ids),
            )
        yield from _loopback_voters(fleet, node)


def _loopback_voters(fleet: Fleet, node: FleetNode) -> Iterator[Finding]:
    if len({entry.host.lower() for entry in fleet.inventory.nodes}) < 2:
        return
    local = [voter for voter in node.config.static_voters if voter.host.strip("[]").lower() in _LOOPBACK]
    if local:
        shown = ", ".join(f"{voter.node_id}@{host_port(voter.host, voter.port)}" for voter in local)
        yield Finding(
            id="voter-endpoint-loopback",
            severity=Severity.WARNING,
            subject=node.subject,
            message=f"controller.quorum.voters has {shown}, which every other host resolves to itself",
            evidence={"voters": [voter.node_id for voter in local]},
        )


def _static_voter_endpoint(controller: FleetNode, host: str, port: int) -> Iterator[Finding]:
    listening = _controller_listeners(controller)
    if listening and port not in {endpoint.port for endpoint in listening}:
        yield blocker(
            id="voter-endpoint-mismatch",
            subject=controller.subject,
            message=f"controller.quorum.voters says {host_port(host, port)}, its controller listener is "
            + ", ".join(address_of(endpoint) for endpoint in listening),
        )


def _static_majority_blank(fleet: Fleet) -> Iterator[Finding]:
    """Report a majority of blank voters in a static quorum: they elect each other, and the others then lose their logs.

    Seen on 3.9.2: survivor and brokers came back with 7 records, and every topic's folder was stray. That the cluster
    has data is what `existing_cluster` says; the voters that the inventory lists are the ones that are formatted.
    """
    if not (fleet.is_static and fleet.inventory.existing_cluster):
        return
    voters = first_voter_ids(fleet)
    blank = sorted(voters & {node.entry.id for node in fleet.controllers})
    needed = majority(len(voters))
    if len(blank) >= needed:
        others = sorted(voters - set(blank))
        kept = f"{nodes_text(others)} may have the cluster's metadata, which" if others else "the cluster's metadata"
        yield Finding(
            id="static-majority-blank",
            severity=Severity.WARNING,
            subject=FLEET,
            message=f"{nodes_text(blank)} would be formatted blank: {len(blank)} of {len(voters)} static voters, a"
            f" majority. They can elect each other, and {kept} is then cut to a new cluster's",
            evidence={"blank": blank, "voters": sorted(voters), "others": others},
        )


def _initial_voters(fleet: Fleet) -> Iterator[Finding]:
    if fleet.is_static or not fleet.controllers:
        return
    roles = voter_roles(fleet)
    by_role = {role: sorted(node for node, mine in roles.items() if mine is role) for role in VoterRole}
    alone, initial = by_role[VoterRole.STANDALONE], by_role[VoterRole.INITIAL]
    if len(alone) > 1:
        yield blocker(
            id="several-standalone-controllers",
            subject=FLEET,
            message=f"{nodes_text(alone)} are standalone: each would create its own cluster",
            nodes=alone,
        )
    if alone and initial:
        yield blocker(
            id="standalone-and-initial-voters",
            subject=FLEET,
            message=f"{nodes_text(alone)} is standalone, {nodes_text(initial)} are initial: two first voter sets",
            standalone=alone,
            initial=initial,
        )
    if fleet.inventory.existing_cluster and (alone or initial):
        yield blocker(
            id="initial-voters-in-existing-cluster",
            subject=FLEET,
            message=f"existing_cluster is true, and {nodes_text(alone + initial)} would create a second voter set",
        )
    elif not alone and not initial and not fleet.inventory.existing_cluster:
        yield blocker(
            id="no-initial-voter", subject=FLEET, message="every controller joins later, so no node founds the quorum"
        )


def _voter_words_without_effect(fleet: Fleet) -> Iterator[Finding]:
    static = fleet.is_static
    for node in fleet.nodes:
        if node.entry.voter is None or (node.is_controller and not static):
            continue
        why = "the quorum is static: controller.quorum.voters decides" if node.is_controller else "the node is a broker"
        yield blocker(
            id="voter-setting-without-effect",
            subject=node.subject,
            message=f"the inventory says voter = {node.entry.voter.value}, but {why}",
        )


def _voter_count(fleet: Fleet) -> Iterator[Finding]:
    count = len(first_voter_ids(fleet))
    if count and count % 2 == 0:
        yield Finding(
            id="even-voter-count",
            severity=Severity.WARNING,
            subject=FLEET,
            message=f"{count} voters survive the loss of {(count - 1) // 2}, no more than {count - 1} would",
            evidence={"voters": count},
        )


def first_voter_ids(fleet: Fleet) -> set[int]:
    """Return the ids of the voters that the quorum begins with."""
    if fleet.is_static:
        return {voter.node_id for node in fleet.nodes for voter in node.config.static_voters}
    roles = voter_roles(fleet)
    return {node_id for node_id, role in roles.items() if role is not VoterRole.LATER}


def _voter_endpoints(fleet: Fleet) -> Iterator[Finding]:
    """Check what voters of a dynamic quorum advertise: an address must be there, and lead to that node."""
    if fleet.is_static:
        return
    several_hosts = len({entry.host for entry in fleet.inventory.nodes}) > 1
    for node in fleet.controllers:
        endpoint = node.config.controller_endpoint()
        if endpoint is None:
            yield blocker(
                id="no-controller-endpoint",
                subject=node.subject,
                message="none of its listeners is the first of controller.listener.names, so it cannot be a voter",
            )
        elif several_hosts and (endpoint.host or "localhost") in _LOOPBACK:
            yield Finding(
                id="voter-endpoint-loopback",
                severity=Severity.WARNING,
                subject=node.subject,
                message=f"{node.subject} advertises {address_of(endpoint)}, which every other host resolves to itself",
            )


def _listener_names(fleet: Fleet) -> Iterator[Finding]:
    """Check the first of controller.listener.names, by which nodes find a voter's endpoint (dynamic quorum)."""
    if fleet.is_static:
        return
    by_name: dict[str, list[int]] = defaultdict(list)
    for node in fleet.nodes:
        if node.config.controller_listener_names:
            by_name[node.config.controller_listener_names[0].upper()].append(node.entry.id)
    if len(by_name) > 1:
        listed = "; ".join(f"{name}: {nodes_text(ids)}" for name, ids in by_name.items())
        yield blocker(
            id="controller-listener-names-differ",
            subject=FLEET,
            message=f"the first name in controller.listener.names differs between nodes: {listed}",
            names=dict(by_name),
        )


def _points_to_the_controllers(fleet: Fleet) -> Iterator[Finding]:
    """Check that controller.quorum.bootstrap.servers leads to controllers of this fleet and of no other cluster."""
    if fleet.is_static or not fleet.controllers:
        return
    known = {address_of(endpoint) for node in fleet.controllers for endpoint in _reachable_as(node)}
    known |= {address.lower() for address in fleet.inventory.controller_addresses}
    for node in fleet.nodes:
        servers = _bootstrap_servers(node)
        strange = [server for server in servers if server not in known]
        if not strange:
            continue
        lost = len(strange) == len(servers) and not fleet.inventory.existing_cluster
        yield Finding(
            id="bootstrap-servers-not-in-fleet",
            severity=Severity.BLOCKER if lost else Severity.WARNING,
            subject=node.subject,
            message=f"controller.quorum.bootstrap.servers has {', '.join(strange)}: no controller of this fleet",
            evidence={"not_in_fleet": strange, "controllers": sorted(known)[:20]},
        )


def _voter_texts(node: FleetNode) -> list[str]:
    return [f"{voter.node_id}@{host_port(voter.host, voter.port)}" for voter in node.config.static_voters]


def _controller_listeners(node: FleetNode) -> list[Endpoint]:
    names = {name.upper() for name in node.config.controller_listener_names}
    return [endpoint for endpoint in node.config.listeners if endpoint.listener.upper() in names]


def _reachable_as(node: FleetNode) -> Iterator[Endpoint]:
    """Yield the endpoints of a controller: advertised, bound, and its host with the bound port."""
    names = {name.upper() for name in node.config.controller_listener_names}
    for endpoint in (*node.config.listeners, *node.config.advertised_listeners):
        if endpoint.listener.upper() in names:
            yield endpoint
            yield Endpoint(listener=endpoint.listener, host=node.entry.host, port=endpoint.port)


def _bootstrap_servers(node: FleetNode) -> list[str]:
    read = [parse_host_port(text) for text in node.config.bootstrap_servers]
    return [address_of(Endpoint(listener="", host=found[0], port=found[1])) for found in read if found is not None]


QUORUM_RULES = (
    _one_mode,
    _dynamic_needs_binaries,
    _same_static_voters,
    _static_voter_is_a_controller,
    _static_voters_apart,
    _static_majority_blank,
    _initial_voters,
    _voter_words_without_effect,
    _voter_count,
    _voter_endpoints,
    _listener_names,
    _points_to_the_controllers,
)
