"""A live cluster observed: the ZooKeeper tree, what every node answers, the controllers' logs. Nothing is changed.

Invariant: an observation always comes about. What could not be seen is unknown, and a finding reports why; only an
inventory whose own files cannot be read is an error.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from kafkactl.change.clock import Deadline
from kafkactl.core.errors import KafkactlError, UnreachableError
from kafkactl.core.findings import Finding, blocker, note, warning
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.values import Role
from kafkactl.core.wording import some
from kafkactl.files.clock import SystemClock
from kafkactl.kafka.client import Client, Limits
from kafkactl.kafka.client_config import load_client_config
from kafkactl.kafka.connection import Access
from kafkactl.metadata.io.source import LogSource
from kafkactl.migration.inventory import Inventory, InventoryNode
from kafkactl.migration.io.lock import observe_lock
from kafkactl.migration.io.observe_nodes import NodeAnswers, ask_nodes
from kafkactl.migration.io.observe_places import PlaceFacts, observe_places
from kafkactl.migration.io.saved_observation import CapturedMigration
from kafkactl.migration.observed.driver_lock import LockSeen
from kafkactl.migration.observed.observation import Observation, ServerSeen
from kafkactl.migration.observed.raw_observation import RawNode, RawObservation
from kafkactl.migration.observed.reading import node_seen
from kafkactl.migration.observed.silence import NO_ANSWER, REFUSES_CLIENT
from kafkactl.migration.state.identity import identities_of
from kafkactl.migration.zktree.json import BrokenError, parse_json
from kafkactl.migration.zktree.tree import Tree
from kafkactl.migration.zktree.znode import Znode
from kafkactl.net.transport import parse_addresses

# For answers of hooks and for logs, so that a slow one does not take all of the time.
_LONGEST_SHARE_MS: Final = 15_000.0
_SILENT_MS: Final = 10_000.0  # for who takes a connection and says nothing: a node, or ZooKeeper before a session
_SHARE: Final = 1 / 4  # of the time, for each of nodes, places and log; the tree, which can be large, has twice of it
_OF_THE_TREE_ITSELF: Final = frozenset({"no-kafka-tree", "duplicate-znode-path"})  # the reader of the tree reports them
_CLUSTER_ID: Final = "/cluster/id"
_BEFORE_COPY: Final = (
    "Until the copy is done (M6) the quorum has no ACLs: add the user to super.users of the controllers, or use a login"
    " that is in it. From then on:"
)


def observe(
    inventory: Inventory,
    *,
    timeout_ms: float,
    asks_zookeeper_brokers: bool = True,
    with_logs: bool = True,
) -> CapturedMigration:
    """Observe everything that the inventory names.

    A broker on ZooKeeper logs an error for each DescribeQuorum: who looks again and again leaves that question out
    (`asks_zookeeper_brokers`). Raises InputError for files that the inventory names and that cannot be read: those of
    ZooKeeper's and of the clients' settings.
    """
    looking = _Looking(inventory, timeout_ms)
    now_ms = time.time_ns() // 1_000_000
    tree = looking.tree()
    cluster_id = (None if tree is None else _cluster_id(tree)) or inventory.cluster_id
    answers = looking.answers(asks_zookeeper_brokers=asks_zookeeper_brokers, cluster_id=cluster_id)
    places = observe_places(inventory, timeout_ms=looking.share_ms)
    nodes = tuple(looking.node(node, answers[node.id], places[node.id]) for node in inventory.nodes)
    looking.compare_clusters(tree)
    logs = looking.logs(_of_this_cluster(nodes, cluster_id), places) if with_logs else {}
    connect, _, _ = inventory.zookeeper.connect.partition("/")
    raw = RawObservation(
        time_ms=now_ms,
        cluster_id=inventory.cluster_id,
        connect=inventory.zookeeper.connect,
        chroot=inventory.zookeeper.connect.removeprefix(connect).rstrip("/"),
        zxid_before=None if tree is None else tree.zxid_before,
        zxid_after=None if tree is None else tree.zxid_after,
        servers=looking.servers,
        lock=looking.lock,
        nodes=nodes,
        findings=(*looking.findings, *(finding for place in places.values() for finding in place.findings)),
    )
    return CapturedMigration(raw=raw, znodes=None if tree is None else _absolute(tree), logs=logs)


def _of_this_cluster(nodes: tuple[RawNode, ...], cluster_id: str | None) -> tuple[RawNode, ...]:
    """Return the nodes whose own answers do not contradict the cluster id.

    Nothing is fetched from a node of another cluster.
    """
    found = tuple(node_seen(node)[0] for node in nodes)
    names = identities_of(Observation(time_ms=0, nodes=found, cluster_id=cluster_id), None).names
    return tuple(raw for raw, seen in zip(nodes, found, strict=True) if seen.name not in names)


def _absolute(tree: Tree) -> tuple[Znode, ...]:
    """Return the znodes under their whole paths, as ZooKeeper has them."""
    if not tree.chroot:
        return tuple(tree.znodes.values())
    return tuple(changed(znode, path=(tree.chroot + path).rstrip("/")) for path, znode in tree.znodes.items())


@frozen
class _Unmet:
    """A node that was not met, and why."""

    error: KafkactlError


class _Looking:
    """Observer of a cluster at one time.

    `findings` are what it could not observe; `servers` and `lock` are known after `tree`.
    """

    def __init__(self, inventory: Inventory, timeout_ms: float) -> None:
        self.findings: list[Finding] = []
        self.servers: tuple[ServerSeen, ...] | None = None
        self.lock: LockSeen | None = None
        self._inventory = inventory
        self._folder = Path(inventory.file).parent
        self._clock = SystemClock()
        self.share_ms = min(_LONGEST_SHARE_MS, _SHARE * timeout_ms)
        self._silent_ms = min(_SILENT_MS, self.share_ms)
        self._tree_ms = 2 * _SHARE * timeout_ms
        paths = {
            Role.BROKER: inventory.command_config,
            Role.CONTROLLER: inventory.controller_command_config or inventory.command_config,
        }
        self._access = {role: self._access_by(path) for role, path in paths.items()}
        self._principals = {role: access.login.principal for role, access in self._access.items()}

    def _access_by(self, path: str | None) -> Access:
        return load_client_config(None if path is None else str(self._folder / path)).access()

    def tree(self) -> Tree | None:
        """Return the whole tree; None if ZooKeeper is not reached."""
        from kafkactl.migration.io.zookeeper.client import open_zookeeper
        from kafkactl.migration.io.zookeeper.settings import load_zookeeper_settings, zookeeper_settings

        place = self._inventory.zookeeper
        if place.config is None:
            settings = zookeeper_settings({}, read_only=True)
        else:
            settings = load_zookeeper_settings(self._folder / place.config, read_only=True)
        try:
            with open_zookeeper(
                place.connect,
                settings=settings,
                timeout_ms=self._tree_ms,
                session_ms=self._silent_ms,
                clock=self._clock,
            ) as zookeeper:
                tree = zookeeper.read_tree()
                with contextlib.suppress(KafkactlError):  # one that may not be read is unknown, and its tree is not
                    self.lock = observe_lock(zookeeper)
                self.servers = tuple(
                    ServerSeen(address=str(member.address), mode=member.mode, version=member.version)
                    for member in zookeeper.members()
                )
        except UnreachableError as error:
            why = f" ({error.cause})" if error.cause else ""
            text = f"its tree is unknown: {error.message}{why}"
            subject = f"ZooKeeper {place.connect}"
            self.findings.append(warning("zookeeper-not-observed", subject, text, error.advice, reason=error.id))
            return None
        self.findings += (finding for finding in tree.findings if finding.id not in _OF_THE_TREE_ITSELF)
        return tree

    def answers(self, *, asks_zookeeper_brokers: bool, cluster_id: str | None) -> dict[int, NodeAnswers | _Unmet]:
        """Return the answers by node id. Nodes of a role are asked in parallel, with the credentials of the role.

        The controllers are asked first, right after the tree was read: their log end is compared with `/migration`, and
        a broker that hangs takes ten seconds.
        """
        found: dict[int, NodeAnswers | _Unmet] = {}
        for nodes in (self._inventory.controllers, self._inventory.brokers):
            places = {node.id: parse_addresses(node.address)[0] for node in nodes}
            answers = ask_nodes(
                {address: id for id, address in places.items()},
                self._access[nodes[0].role],
                Deadline.after(self._silent_ms, self._clock),
                asks_zookeeper_brokers=asks_zookeeper_brokers,
                cluster_id=cluster_id,
            )
            for id, address in places.items():
                answer = answers[address]
                found[id] = _Unmet(error=answer) if isinstance(answer, KafkactlError) else answer
        return found

    def node(self, node: InventoryNode, answer: NodeAnswers | _Unmet, places: PlaceFacts) -> RawNode:
        """Return a node from its answers and from its places."""
        raw = RawNode(
            id=node.id,
            role=node.role,
            address=node.address,
            kafka_version=node.kafka_version,
            config=places.config,
            meta_properties=places.meta_properties,
            metrics=places.metrics,
            strays=places.strays,
            directories=places.directories,
            partition_ids=places.partition_ids,
        )
        if isinstance(answer, _Unmet):
            self._note_unmet(node, answer.error)
            return changed(raw, alive=False if answer.error.id in _SILENT else None)
        if answer.role is not node.role:
            text = f"{node.address} is a {answer.role.word} listener; what this node says is unknown"
            step = "Correct the address in the inventory: of a broker a client listener, of a controller its own."
            self.findings.append(blocker("node-of-another-role", node.name, text, step))
            return raw
        met = changed(
            raw,
            alive=True,
            identity=None
            if answer.identity is None
            else changed(answer.identity, principal=self._principals[node.role]),
            api_versions=answer.api_versions,
            describe_quorum=answer.describe_quorum,
            quorum_error=answer.quorum_error,
        )
        seen, _ = node_seen(met)
        if node.role is Role.CONTROLLER and seen.has_empty_disk:
            paths = some(directory.path for directory in places.directories or ())
            text = f"{node.name} answers, and the log directories that the inventory names for it are empty: {paths}"
            step = "Correct log_dirs, config or hooks in the inventory: they are another node's, or another machine's."
            self.findings.append(warning("node-place-unreadable", node.name, text, step))
        return changed(met, kafka_version=seen.kafka_version, mode=seen.mode)

    def _note_unmet(self, node: InventoryNode, error: KafkactlError) -> None:
        if error.id not in NO_ANSWER:
            self._note_refusal(node, error)
            return
        is_gone = error.id == "connection-refused"
        tell = note if is_gone else warning
        text = f"{node.name} does not respond, so its information is missing: {error.message}"
        if node.role is Role.CONTROLLER and not is_gone:
            text += "; its process may hang or be cut off, which is not gone"
        self.findings.append(tell("node-not-observed", node.name, text, error.advice, reason=error.id))

    def _note_refusal(self, node: InventoryNode, error: KafkactlError) -> None:
        """Record a process that answered and refused kafkactl.

        Nothing is known of the node, not even that it is down.
        """
        key = command_key(self._inventory, node.role)
        principal = self._principals[node.role]
        who = "" if principal is None else f" (asked as {principal})"
        text = f"{node.name} did not let kafkactl in, so nothing is known of it: {error.message}{who}"
        where = f"{key} of the inventory names the login."
        step = f"{error.advice} {where}".strip()
        self.findings.append(warning(REFUSES_CLIENT, node.name, text, step, reason=error.id, principal=principal))

    def compare_clusters(self, tree: Tree | None) -> None:
        """Record a finding if the inventory names another cluster than the ZooKeeper, or the chroot, that was read."""
        found = None if tree is None else _cluster_id(tree)
        wanted = self._inventory.cluster_id
        if found is not None and wanted is not None and found != wanted:
            subject = f"ZooKeeper {self._inventory.zookeeper.connect}"
            text = f"the tree belongs to cluster {found}, the inventory names {wanted}"
            step = "Compare zookeeper.connect in the inventory, chroot included, with the brokers' server.properties."
            self.findings.append(blocker("zookeeper-of-another-cluster", subject, text, step, found=found))

    def logs(self, nodes: Sequence[RawNode], places: Mapping[int, PlaceFacts]) -> dict[int, LogSource]:
        """Return the logs that can be read from here, and, fetched, the leader's if it is not among them."""
        found = {id: place.log for id, place in places.items() if place.log is not None}
        met = {node.id: node_seen(node)[0].quorum for node in nodes if node.role is Role.CONTROLLER and node.alive}
        leaders = {quorum.leader_id for quorum in met.values() if quorum is not None and quorum.leader_id is not None}
        if met and not (leaders and leaders <= set(found)):
            fetched = self._fetched([controller for controller in self._inventory.controllers if controller.id in met])
            if fetched is not None:
                found.setdefault(*fetched)
        return dict(sorted(found.items()))

    def _fetched(self, controllers: Sequence[InventoryNode]) -> tuple[int, LogSource] | None:
        from kafkactl.cluster.io.metadata_fetch import fetch_metadata_log
        from kafkactl.metadata.io.fetched_source import source_of

        addresses = [parse_addresses(controller.address)[0] for controller in controllers]
        limits = Limits(timeout_ms=self.share_ms, request_timeout_ms=self.share_ms)
        client = Client(
            addresses, Role.CONTROLLER, access=self._access[Role.CONTROLLER], limits=limits, clock=self._clock
        )
        try:
            with client:
                log = fetch_metadata_log(client)
        except KafkactlError as error:
            text = f"the log was not fetched: {error.message}"
            step = f"{_BEFORE_COPY} {error.advice}" if error.id == "not-authorised" else error.advice
            self.findings.append(warning("metadata-log-not-observed", "metadata log", text, step, reason=error.id))
            return None
        return log.leader_id, source_of(log)


_SILENT: Final = frozenset({"connection-refused", "connection-timed-out", "connection-failed", "unknown-host"})


def command_key(inventory: Inventory, role: Role) -> str:
    """Return the key of the inventory that names the login for nodes of a role."""
    own = role is Role.CONTROLLER and inventory.controller_command_config is not None
    return "controller_command_config" if own else "command_config"


def _cluster_id(tree: Tree) -> str | None:
    znode = tree.get(_CLUSTER_ID)
    if znode is None or znode.data is None:
        return None
    try:
        table = parse_json(znode.data)
    except BrokenError:
        return None
    id = table.get("id") if isinstance(table, dict) else None
    return id if isinstance(id, str) else None
