"""Check that the inventory names the nodes of this cluster, all of them, and no others.

Invariant: nothing is concluded from a node of another cluster, from another node than the inventory names, or from one
that does not say who it is, and nothing is done to it. What decides is the node's own answer at its own address; where
there is none, the disk that the inventory names (meta.properties). An observation that was made without the question
(`NodeSeen.identity` None) is judged by the disks alone.

Sources: clients `DescribeClusterResponse`, core `ConfigHelper` (a node describes only its own configuration), raft
`KafkaRaftClient.hasValidClusterId`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Final

from kafkactl.cluster.quorum.voters import parse_static_voters, socket_host
from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding, blocker
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.values import Role, host_port
from kafkactl.core.wording import some
from kafkactl.metadata.image.model import LOST, MIGRATING, UNASSIGNED
from kafkactl.migration.observed.observation import NodeSeen, Observation
from kafkactl.migration.observed.settings import VOTERS, given, is_hidden
from kafkactl.migration.zktree.values import KafkaTree

_INVENTORY: Final = (
    "First see whether the inventory names another cluster's node: correct its address, and config, log_dirs and hooks"
    " with it. Nothing was done to the node."
)
_NO_ID: Final = {str(uuid) for uuid in (LOST, MIGRATING, UNASSIGNED)}
_FOUND_BY_OBSERVER: Final = frozenset({"node-of-another-cluster", "node-of-another-role"})


@frozen
class Identities:
    """`strangers` say of which nodes (`names`) the own answer shows that nothing may follow from them; `doubts` is all
    else that does not fit: disks of another cluster or node, nodes that are missing, too many, or swapped.
    """

    strangers: tuple[Finding, ...] = ()
    doubts: tuple[Finding, ...] = ()
    names: frozenset[str] = frozenset()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return all findings, those about answers first."""
        return (*self.strangers, *self.doubts)


def identities_of(observation: Observation, tree: KafkaTree | None) -> Identities:
    """Return the identities of the observed nodes. `tree` is ZooKeeper's, None if it was not observed. Never raises."""
    expected = expected_cluster(observation, tree)
    by_observer = tuple(finding for finding in observation.findings if finding.id in _FOUND_BY_OBSERVER)
    strangers = {finding.subject: finding for finding in by_observer}
    for node in observation.nodes:
        found = _stranger(node, expected)
        if found is not None:
            strangers.setdefault(node.name, found)
    if expected is None:
        strangers |= {finding.subject: finding for finding in _several(observation)}
    kept = without_strangers(observation, frozenset(strangers))
    doubts = (
        *_disks(kept, expected),
        *_directory_ids(kept),
        *_broker_directories(kept),
        *_addresses(kept, tree),
        *_voters(kept),
    )
    return Identities(strangers=tuple(strangers.values()), doubts=doubts, names=frozenset(strangers))


def expected_cluster(observation: Observation, tree: KafkaTree | None) -> str | None:
    """Return the id that every node has to have: ZooKeeper's, else the inventory's; None if neither is known."""
    return (None if tree is None else tree.cluster_id) or observation.cluster_id


def without_strangers(observation: Observation, names: frozenset[str]) -> Observation:
    """Return the observation without the answers of these nodes (`controller 3001`); their files and disks stay."""
    if not names:
        return observation
    nodes = tuple(
        changed(node, alive=None, mode=None, api_versions=None, quorum=None, metrics=None)
        if node.name in names
        else node
        for node in observation.nodes
    )
    logs = {id: log for id, log in observation.logs.items() if f"{Role.CONTROLLER} {id}" not in names}
    return changed(observation, nodes=nodes, logs=logs)


def answered_id(node: NodeSeen) -> int | None:
    """Return the id under which a node answers, from its own answer, else of the only node that it names."""
    seen = node.identity
    if seen is None:
        return None
    if seen.node_id is not None:
        return seen.node_id
    here = [id for id, address in seen.endpoints.items() if _same(address, node.address)]
    return here[0] if len(here) == 1 else None


def is_known(node: NodeSeen) -> bool:
    """Return True if a node's id is known from its own answers, or at least from its disk."""
    return answered_id(node) is not None or bool(_on_disk(node, "node.id") or _on_disk(node, "broker.id"))


def answered_cluster(node: NodeSeen) -> str | None:
    """Return the cluster that a node's own answers name; None if they name none."""
    seen = node.identity
    if seen is None:
        return None
    return seen.cluster_id or (seen.asked_cluster_id if seen.is_of_asked else None)


def _stranger(node: NodeSeen, expected: str | None) -> Finding | None:
    """Return the reason why nothing may follow from a node's answers.

    None for the expected node, or without an answer.
    """
    seen = node.identity
    if seen is None or node.alive is not True:
        return None
    cluster = answered_cluster(node)
    is_other = cluster is not None and expected is not None and cluster != expected
    if is_other or (seen.is_of_asked is False and seen.asked_cluster_id in (expected, None)):
        of = f"a node of the cluster {cluster}" if is_other else "a node of another cluster"
        return blocker(
            "node-of-another-cluster",
            node.name,
            f"{of} answers at {node.address}, the address of {node.name}; expected is {expected}, as ZooKeeper or the"
            " inventory names it",
            found=cluster,
            expected=expected,
        )
    id = answered_id(node)
    if id is not None and id != node.id:
        return blocker(
            "node-with-another-id",
            node.name,
            f"the node that answers at {node.address} is node {id}, the inventory says {node.id}",
            found=id,
            expected=node.id,
        )
    if cluster is None and not _on_disk(node, "cluster.id"):
        denied = f" ({', '.join(seen.denied)} denied)" if seen.denied else ""
        return blocker(
            "node-not-identified",
            node.name,
            f"no answer of {node.name} at {node.address} names a cluster{denied}, and its meta.properties was not"
            " observed",
            denied=list(seen.denied),
        )
    return None


def _several(observation: Observation) -> Iterator[Finding]:
    """Yield a finding if no id is expected and nodes name different ones: the cluster of the others is unknown."""
    named: dict[str, list[str]] = {}
    for node in observation.nodes:
        if (cluster := answered_cluster(node)) is not None and node.alive is True:
            named.setdefault(cluster, []).append(node.name)
    if len(named) < 2:
        return
    text = "; ".join(f"{', '.join(nodes)}: {cluster}" for cluster, nodes in named.items())
    for nodes in named.values():
        for name in nodes:
            yield blocker(
                "node-of-another-cluster",
                name,
                f"the nodes of the inventory are of different clusters ({text}), and /cluster/id was not observed",
                _INVENTORY + " Reach ZooKeeper, or name cluster_id in the inventory.",
            )


def _disks(observation: Observation, expected: str | None) -> Iterator[Finding]:
    """Report meta.properties of another cluster, or of another node."""
    for node in observation.nodes:
        cluster = _on_disk(node, "cluster.id")
        if cluster and expected and cluster != expected:
            yield _disk_of_another_cluster(node, cluster, expected)
        id = _on_disk(node, "node.id") or _on_disk(node, "broker.id")
        if id is not None and id.lstrip("-").isdecimal() and int(id) not in (node.id, -1):
            yield blocker(
                "disk-of-another-node",
                node.name,
                f"the meta.properties that the inventory names for it is that of node {id}",
                found=int(id),
                expected=node.id,
            )


def _disk_of_another_cluster(node: NodeSeen, cluster: str, expected: str) -> Finding:
    if node.role is Role.CONTROLLER:
        return disk_of_another_cluster(node, cluster, expected)
    return blocker(
        "node-of-another-cluster",
        node.name,
        f"the meta.properties of {node.name} is of the cluster {cluster}, ZooKeeper is that of {expected}",
        found=cluster,
        expected=expected,
    )


def disk_of_another_cluster(node: NodeSeen, cluster: str, expected: str) -> Finding:
    """Return the finding for a disk that was formatted for another cluster than the one in ZooKeeper."""
    return cluster_id_mismatch(
        node.name,
        f"the disk of {node.name} is formatted for cluster {cluster}, and the cluster in ZooKeeper is {expected}",
    )


def cluster_id_mismatch(subject: str, message: str) -> Finding:
    """Return the finding for a disk of another cluster.

    The inventory may be wrong, and a living node is never formatted.
    """
    return blocker(
        "cluster-id-mismatch",
        subject,
        message,
        _INVENTORY + " Only if the disk is this cluster's own and was formatted with a wrong id: stop the node, see"
        " that its process is gone, keep the directory, and format it with the id in /cluster/id.",
    )


def _directory_ids(observation: Observation) -> Iterator[Finding]:
    """Yield a finding if the inventory's disk is not the voter's directory.

    A dynamic quorum names the directory of each voter (KIP-853).
    """
    quorum = observation.quorum
    held = (
        {}
        if quorum is None
        else {voter.id: voter.directory_id for voter in quorum.voters if voter.directory_id is not None}
    )
    for node in observation.controllers:
        on_disk = _on_disk(node, "directory.id")
        if on_disk and node.alive is True and node.id in held and str(held[node.id]) != on_disk:
            yield blocker(
                "disk-of-another-node",
                node.name,
                f"the quorum's voter {node.id} has the directory {held[node.id]}, and the meta.properties that the"
                f" inventory names for it the directory {on_disk}",
                found=on_disk,
                expected=str(held[node.id]),
            )


def _broker_directories(observation: Observation) -> Iterator[Finding]:
    """Yield findings about the directories that a broker's registration names (KIP-858).

    A disk with a directory of another broker is that broker's, unless the other one has it, too: then it was cloned
    (`duplicate-directory-id`). A disk without any directory of its broker is a wrong one, if the broker runs: stopped,
    it may be formatted again.
    """
    log = observation.log
    if log is None:
        return
    held = {
        id: {str(directory) for directory in registration.directories} - _NO_ID
        for id, registration in log.registrations.items()
    }
    disks = {node.id: node.directory_ids for node in observation.brokers}
    for node in observation.brokers:
        listed = {directory.directory_id for directory in node.directories or () if directory.directory_id}
        own = held.get(node.id, set())
        for other, theirs in held.items():
            swapped = node.directory_ids & (theirs - own) - disks.get(other, frozenset())
            if other != node.id and swapped:
                found = some(sorted(swapped))
                text = f"the disk of {node.name} has the directory {found}, which broker {other} registered"
                yield _swapped(node, text, swapped, own)
        if node.alive is True and listed and own and not listed & set().union(*held.values()):
            text = f"{node.name} registered the directory {some(sorted(own))}, and its disk has {some(sorted(listed))}"
            yield _swapped(node, text, listed, own)


def _swapped(node: NodeSeen, text: str, found: Set[str], expected: Set[str]) -> Finding:
    return blocker(
        "disk-of-another-node",
        node.name,
        text,
        found=sorted(found),
        expected=sorted(expected),
    )


def _on_disk(node: NodeSeen, key: str) -> str | None:
    return ((node.meta_properties or {}).get(key) or "").strip() or None


def _addresses(observation: Observation, tree: KafkaTree | None) -> Iterator[Finding]:
    """Yield findings for swapped nodes.

    The address of one is that of another listener, by its znode or by the voters.
    """
    voters = voters_in_files(observation)
    places = {Role.BROKER: {} if tree is None else _endpoints(tree), Role.CONTROLLER: voters}
    for node in observation.nodes:
        others = [id for id, held in places[node.role].items() if any(_same(address, node.address) for address in held)]
        if others and node.id not in others:
            where = f"/brokers/ids/{others[0]}" if node.role is Role.BROKER else VOTERS
            yield blocker(
                "address-of-another-node",
                node.name,
                f"the inventory gives {node.name} the address {node.address}, which is that of {node.role} {others[0]}"
                f" ({where})",
                found=others[0],
                expected=node.id,
            )


def _voters(observation: Observation) -> Iterator[Finding]:
    """Yield a finding for a voter that is not in the inventory, and for a controller of it that is not a voter."""
    known = {controller.id for controller in observation.controllers}
    if not known:
        return
    files = voters_in_files(observation)
    quorum = observation.quorum
    leading = set() if quorum is None else {voter.id for voter in quorum.voters}
    for id in sorted((set(files) | leading) - known):
        where = VOTERS if id in files else "the quorum"
        yield blocker(
            "quorum-voter-not-in-inventory",
            f"controller {id}",
            f"{where} names controller {id}, and the inventory does not: it would be neither formatted nor stopped in a"
            " rollback, nor get its final file",
        )
    for id in sorted(known - set(files) - leading) if files else ():
        yield blocker(
            "controller-not-a-voter",
            f"controller {id}",
            f"the inventory names controller {id}, and {VOTERS} names {', '.join(map(str, sorted(files)))}",
        )


def voters_in_files(observation: Observation) -> Mapping[int, tuple[str, ...]]:
    """Return the addresses of each voter by `controller.quorum.voters` of the nodes' files.

    Empty if no file names any.
    """
    found: dict[int, set[str]] = {}
    for node in observation.nodes:
        text = given(node, VOTERS)
        for id, address in () if text is None or is_hidden(text) else _parsed(text):
            found.setdefault(id, set()).add(address)
    return {id: tuple(sorted(addresses)) for id, addresses in sorted(found.items())}


def _parsed(text: str) -> Iterable[tuple[int, str]]:
    try:
        voters = parse_static_voters(
            [part.strip() for part in text.split(",") if part.strip()], anything_before_host=True
        )
    except InputError:
        return ()
    return [(voter.node_id, host_port(voter.host, voter.port)) for voter in voters]


def _endpoints(tree: KafkaTree) -> Mapping[int, tuple[str, ...]]:
    return {id: tuple(endpoint.partition("://")[2] for endpoint in held.endpoints) for id, held in tree.brokers.items()}


def _same(value: str | None, other: str | None) -> bool:
    if value is None or other is None:
        return False
    return _plain(value) == _plain(other)


def _plain(address: str) -> tuple[str, str]:
    host, _, port = address.rpartition(":")
    return socket_host(host.strip("[]")).lower(), port
