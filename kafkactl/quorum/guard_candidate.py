"""Checks that a node may become a voter, and that the endpoints in the voter set lead to the right nodes.

Rule: the leader checks none of this. It does not compare the endpoint it is given with the node that answers there
(KAFKA-20228; it may probe over an open connection and commit a port where no process listens, which 3.9 never repairs),
and it makes a voter of a broker, which then exits (KAFKA-19021). So a candidate has to be asked by us, at the endpoint
that will be registered, and every voter's endpoint in the log is compared with its registration and our own probe.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kafkactl.cluster.node import ClusterNode
from kafkactl.cluster.quorum.state import Probe, QuorumState, Replica
from kafkactl.cluster.quorum.voters import address_key
from kafkactl.core.findings import NO_ACCESS, Finding, blocker, warning
from kafkactl.core.values import Endpoint, ReplicaKey, Role

# Requests that voters send each other; a listener that takes all of them is a controller's.
VOTER_REQUESTS = (52, 53, 54, 59)  # Vote, BeginQuorumEpoch, EndQuorumEpoch, FetchSnapshot


def check_candidate(state: QuorumState, key: ReplicaKey, endpoints: Sequence[Endpoint] = ()) -> Iterator[Finding]:
    """Report every reason why the replica must not become a voter. `endpoints` are the endpoints to register."""
    node = state.nodes.get(key.node_id)
    if (node is None or not node.answers) and _is_registered_as_broker(state, key.node_id):
        yield _broker_only(key.node_id)
        return
    if node is None or not node.answers:
        yield _not_identified(state, key.node_id)
        return
    if node.role is Role.BROKER:
        yield _broker_only(key.node_id)
        return
    yield from _requests(node)
    yield from _features(state, node)
    yield from _endpoints_of_candidate(state, node, endpoints)


def check_endpoints(state: QuorumState) -> Iterator[Finding]:
    """Report voter endpoints that differ from the node's registration, or at which another node answers."""
    for voter in state.voters:
        yield from _unlike_registration(state, voter)
        for endpoint in voter.endpoints:
            yield from _probed(state, voter.id, endpoint, alive=voter.alive)


def _not_identified(state: QuorumState, node_id: int) -> Finding:
    """Return the blocker for a node that was not asked; a missing right or login is the reason if there is one."""
    subject, message = f"node {node_id}", f"node {node_id} could not be asked whether it is a controller"
    for finding in state.findings:
        if finding.id == "question-denied" and finding.evidence.get("request") == "DescribeCluster":
            message += ": without DescribeCluster, which was denied, no controller names its address"
        elif finding.id == "controllers-out-of-reach" or (
            finding.id == "controller-not-asked" and finding.subject == f"controller {node_id}"
        ):
            message += f": {finding.message}"
        else:
            continue
        return blocker("candidate-not-identified", subject, message, finding.advice, **{NO_ACCESS: finding.id})
    return blocker("candidate-not-identified", subject, message)


def _broker_only(node_id: int) -> Finding:
    return blocker(
        "broker-only-node",
        f"node {node_id}",
        f"node {node_id} is not a controller: Kafka would accept it as a voter, and its process would exit",
    )


def _is_registered_as_broker(state: QuorumState, node_id: int) -> bool:
    """Return True if the log knows it as a broker and not as a controller."""
    known = state.registrations
    return known is not None and node_id in known.brokers and node_id not in known.controllers


def _requests(node: ClusterNode) -> Iterator[Finding]:
    if node.versions is None:
        return
    missing = [key for key in VOTER_REQUESTS if not node.versions.knows(key)]
    if missing:
        yield blocker(
            "candidate-without-voter-requests",
            f"node {node.id}",
            f"node {node.id} does not take the requests {', '.join(map(str, missing))} that voters send each other",
            requests=missing,
        )


def _features(state: QuorumState, node: ClusterNode) -> Iterator[Finding]:
    """Check that the node supports the finalized levels; otherwise it exits when it replays them."""
    leader = state.nodes.get(state.leader_id)
    if node.versions is None or leader is None or leader.versions is None:
        return
    for name, level in sorted(leader.versions.finalized.items()):
        supported = node.versions.supported.get(name)
        if supported is None and node.versions.hides_features:
            continue
        if supported is None or level not in supported:
            yield blocker(
                "candidate-cannot-run-features",
                f"node {node.id}",
                f"{name} is finalized at {level}, node {node.id} supports {supported or 'no level of it'}",
                "Give that node the release that the cluster runs.",
                feature=name,
                level=level,
            )


def _endpoints_of_candidate(state: QuorumState, node: ClusterNode, endpoints: Sequence[Endpoint]) -> Iterator[Finding]:
    registered = _registered(state, node.id)
    for endpoint in endpoints:
        listed = [entry for entry in registered or () if entry.listener == endpoint.listener]
        if registered is not None and not _is_among(endpoint, listed):
            where = ", ".join(map(str, listed)) or "no such listener"
            yield blocker(
                "candidate-endpoint-differs",
                f"node {node.id}",
                f"{endpoint} would be written into the voter set, node {node.id} registered {where}",
            )
        for finding in _probed(state, node.id, endpoint, alive=True):
            yield blocker(finding.id, finding.subject, finding.message, finding.next_step, **finding.evidence)


def _unlike_registration(state: QuorumState, voter: Replica) -> Iterator[Finding]:
    registered = _registered(state, voter.id)
    if registered is None:
        return
    for endpoint in voter.endpoints:
        listed = [entry for entry in registered if entry.listener == endpoint.listener]
        if listed and not _is_among(endpoint, listed):
            yield warning(
                "voter-endpoint-not-registered",
                f"controller {voter.id}",
                f"the voter set has {endpoint}, controller {voter.id} registered {', '.join(map(str, listed))}",
                voter_set=str(endpoint),
                registration=list(map(str, listed)),
            )


def _is_among(endpoint: Endpoint, listed: Sequence[Endpoint]) -> bool:
    """Return True if one of them is the same address.

    A node stores `::1` as `0:0:0:0:0:0:0:1` if it formatted its disk.
    """
    return address_key(endpoint.host, endpoint.port) in {address_key(entry.host, entry.port) for entry in listed}


def _probed(state: QuorumState, node_id: int, endpoint: Endpoint, *, alive: bool | None) -> Iterator[Finding]:
    where = str(endpoint)
    for probe in state.probes:
        if probe.endpoint != endpoint:
            continue
        if not probe.answers:
            if alive:  # of one that is dead nothing else is to be expected
                yield warning(
                    "voter-endpoint-silent",
                    f"controller {node_id}",
                    f"controller {node_id} fetches from the leader, but no node answers at its endpoint {where} from "
                    "here",
                )
        elif wrong := _wrong_listener(state, probe, node_id):
            yield warning(
                "voter-endpoint-of-another",
                f"controller {node_id}",
                f"{where} is the endpoint of controller {node_id} and {wrong}",
            )


def _wrong_listener(state: QuorumState, probe: Probe, node_id: int) -> str:
    if probe.role is Role.BROKER:
        return "is not a controller listener"
    if probe.cluster_id not in (None, state.cluster_id):
        return f"is a node of cluster {probe.cluster_id}"
    return "" if probe.node_id in (None, node_id) else f"node {probe.node_id} answers there"


def _registered(state: QuorumState, node_id: int) -> tuple[Endpoint, ...] | None:
    """Return the endpoints of a controller's registration; None if the log was not read or has none."""
    if state.registrations is None or node_id not in state.registrations.controllers:
        return None
    return state.registrations.controllers[node_id].endpoints
