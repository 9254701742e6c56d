"""A live cluster observed for a roll: every node at its own address, the quorum, registrations, files and the log.

Invariant: an observation is always returned. A fact that could not be observed is None, and a finding gives the reason;
only an inventory that names files which cannot be read is an error. Nothing is changed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from pathlib import Path
from typing import Any, Final

from kafkactl.change.clock import Deadline
from kafkactl.change.hooks.words import Verb
from kafkactl.change.journal_lines import Entry, read_journal
from kafkactl.cluster.api.list import list_nodes
from kafkactl.cluster.io.metadata_fetch import fetch_metadata_log
from kafkactl.cluster.io.quorum_visit import Visit, visit_node
from kafkactl.core.errors import InputError, KafkactlError
from kafkactl.core.findings import CONTROLLER_NOT_ASKED, LEADER_NOT_REACHED, Finding, blocker, each_once, note, warning
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import NO_LEADER
from kafkactl.core.values import Role
from kafkactl.files.clock import SystemClock
from kafkactl.files.input_files import InputKind, read_whole
from kafkactl.kafka.attempts import all_at_once
from kafkactl.kafka.client import Client
from kafkactl.kafka.client_config import ClientConfig, client_of, load_client_config
from kafkactl.kafka.connection import Access, connect
from kafkactl.kafka.other_login import inventory_login_step
from kafkactl.metadata.io.fetched_source import source_of
from kafkactl.metadata.io.node_places import NodePlaces
from kafkactl.metadata.io.source import LogSource
from kafkactl.net.transport import Address, parse_addresses
from kafkactl.protocol.schema.spec import Versions
from kafkactl.protocol.text.properties import parse_properties
from kafkactl.quorum.api.observation import check_leader_reached, describe
from kafkactl.roll.inventory import RollInventory, RollInventoryNode
from kafkactl.roll.io.saved_observation import JOURNAL_SUBJECT, CapturedRoll
from kafkactl.roll.observation import (
    CLUSTER_NOT_OBSERVED,
    LOG_NOT_OBSERVED,
    NODE_NOT_OBSERVED,
    NOTHING_LISTENS,
    RollNode,
    make_observation,
)
from kafkactl.roll.release_text import named_release

_HOOK_MS: Final = 15_000.0
_SILENT_MS: Final = 5_000.0
_SHARE: Final = 1 / 4  # of the time, for one node that is silent or one hook that hangs
_AT_ONCE: Final = 8
SILENT: Final = frozenset({NOTHING_LISTENS, "connection-timed-out", "connection-closed", "connection-failed"})


@frozen
class NodeFiles:
    """Facts of a node that hooks and files give. None is unknown."""

    config: str | None = field(default=None, repr=False)
    meta_properties: str | None = None
    release: str | None = None
    installed: str | None = None
    java: str | None = None
    log: LogSource | None = field(default=None, repr=False)
    findings: tuple[Finding, ...] = ()


class RollObserver:
    """Observer of a cluster, for one observation after another. Files and hooks of nodes are read at first, and then of
    those nodes that are named; each observation asks every node, the quorum and the log.
    """

    def __init__(self, inventory: RollInventory, *, timeout_ms: float) -> None:
        """Raise InputError for client properties that cannot be read."""
        self._inventory = inventory
        self._timeout_ms = timeout_ms
        self._clock = SystemClock()
        self._folder = Path(inventory.file).parent
        self._config = self._client_config(inventory.command_config)
        own = inventory.controller_command_config
        self._controller_config = self._config if own is None else self._client_config(own)
        self._access: dict[Role, Access] = {
            Role.BROKER: self._config.access(),
            Role.CONTROLLER: self._controller_config.access(),
        }
        self._files: dict[int, NodeFiles] = {}
        self._findings: list[Finding] = []
        self._accepted: frozenset[Role] = frozenset()
        self._cluster_id = inventory.cluster_id

    def _client_config(self, path: str | None) -> ClientConfig:
        return load_client_config(None if path is None else str(self._folder / path))

    def observe(self, refresh: frozenset[int] | None = None) -> CapturedRoll:
        """Return an observation; the files of the nodes of `refresh` are read again, None means all nodes."""
        self._findings = []
        now_ms = time.time_ns() // 1_000_000
        visits = self._visits()
        self._accepted = frozenset(
            listener
            for (_, listener), visit in visits.items()
            if isinstance(visit, Visit) and visit.versions is not None and visit.error is None
        )
        quorum, nodes_list = (None, None) if self._is_without_controllers(visits) else self._cluster()
        self._cluster_id = self._known_cluster_id(visits, nodes_list) or self._cluster_id
        self._read_files(refresh)
        nodes = [self._node(node, visits) for node in self._inventory.nodes]
        logs = self._logs(fetches=_has_leader(quorum))
        observation = make_observation(
            time_ms=now_ms,
            cluster_id=self._cluster_id,
            nodes=nodes,
            quorum=quorum,
            nodes_list=nodes_list,
            journal=self._journal(),
            findings=each_once(
                (*self._findings, *(finding for files in self._files.values() for finding in files.findings))
            ),
        )
        return CapturedRoll(observation=observation, logs=logs)

    def _visits(self) -> dict[tuple[int, Role], Visit | KafkactlError]:
        """Return the answer of each listener that the inventory names, all asked at once, so that a silent one delays
        no other."""
        deadline = Deadline.after(min(_SILENT_MS, _SHARE * self._timeout_ms), self._clock)
        places = {
            parse_addresses(text)[0]: (node.id, listener)
            for listener in (Role.CONTROLLER, Role.BROKER)
            for node in self._inventory.nodes
            for text in (_address_of(node, listener),)
            if text is not None
        }

        def ask(address: Address, by: Deadline) -> Visit:
            node_id, listener = places[address]
            with connect(address, self._access[listener], by) as connection:
                return visit_node(connection, expected_id=node_id, identify=True, deadline=by, ask_quorum=False)

        answers = all_at_once(tuple(places), ask, deadline, is_enough=lambda _found: False)
        return {places[address]: answer for address, answer in answers.items()}

    def _node(self, node: RollInventoryNode, visits: Mapping[tuple[int, Role], Visit | KafkactlError]) -> RollNode:
        mine = {role: visits[node.id, role] for role in (Role.BROKER, Role.CONTROLLER) if (node.id, role) in visits}
        alive, features = self._life(node, mine)
        files = self._files.get(node.id, NodeFiles())
        return RollNode(
            id=node.id,
            roles=node.roles,
            host=node.host or None,
            rack=node.rack or _rack_in(files.config),
            alive=alive,
            release=files.release if alive is not False else None,
            installed=files.installed,
            java=files.java,
            config=files.config,
            meta_properties=files.meta_properties,
            features=features,
        )

    def _life(
        self, node: RollInventoryNode, answers: Mapping[Role, Visit | KafkactlError]
    ) -> tuple[bool | None, dict[str, Versions] | None]:
        """Return True if the node answers under its own id, with the ranges that it answered."""
        own: list[Visit] = []
        silent = 0
        for listener, answer in answers.items():
            error = answer if isinstance(answer, KafkactlError) else answer.error
            if isinstance(answer, Visit) and answer.versions is not None:
                if (stranger := self._stranger(node, answer)) is not None:
                    self._findings.append(stranger)
                    return None, None
                own.append(answer)
            elif error is not None and error.id in SILENT:
                silent += 1
                tell = note if error.id == NOTHING_LISTENS else warning
                text = f"{node.name} does not answer: {error.message}"
                self._findings.append(tell(NODE_NOT_OBSERVED, node.name, text, error.advice, reason=error.id))
            elif error is not None:
                text = f"{node.name} did not let kafkactl in, so nothing is known of it: {error.message}"
                step = self._step(error, listener)
                self._findings.append(warning(NODE_NOT_OBSERVED, node.name, text, step, reason=error.id))
        if own:
            whole = next((visit for visit in own if visit.versions and not visit.versions.hides_features), own[0])
            return True, dict(whole.versions.supported) if whole.versions else None
        return (False if answers and silent == len(answers) else None), None

    def _stranger(self, node: RollInventoryNode, visit: Visit) -> Finding | None:
        """Return a finding if another node or cluster answers at the address; None for the node, as far as known."""
        expected = self._inventory.cluster_id or self._cluster_id
        cluster = None if visit.view is None else visit.view.cluster_id
        if cluster and expected not in (None, cluster):
            text = f"a node of cluster {cluster} answers at {visit.address}, the address of {node.name}; expected is"
            step = f"Correct the address of node {node.id} in the inventory, or its cluster_id. Restart nothing there."
            return blocker(
                "node-of-another-cluster", node.name, f"{text} {expected}", step, found=cluster, expected=expected
            )
        if visit.node_id not in (None, node.id):
            text = f"the node that answers at {visit.address} is node {visit.node_id}, the inventory has {node.id}"
            step = f"Correct the address of node {node.id} in the inventory."
            return blocker("node-with-another-id", node.name, text, step, found=visit.node_id, expected=node.id)
        return None

    def clients(self) -> list[Client]:
        """Return a client by all controllers and one by all brokers, as far as the inventory has addresses."""
        limit_ms = min(_SILENT_MS, _SHARE * self._timeout_ms)
        named = {role: self._addresses(role) for role in (Role.CONTROLLER, Role.BROKER)}
        return [
            client_of(
                self._config,
                brokers=text if role is Role.BROKER else None,
                controllers=text if role is Role.CONTROLLER else None,
                for_controllers=self._controller_config,
                acl_brokers=named[Role.BROKER],
                timeout_ms=limit_ms,
            )
            for role, text in named.items()
            if text
        ]

    def _addresses(self, listener: Role) -> str:
        """Return the addresses of all listeners of a kind that the inventory names."""
        return ",".join(text for node in self._inventory.nodes if (text := _address_of(node, listener)) is not None)

    def _step(self, error: KafkactlError, listener: Role) -> str:
        """Return the step of an error; that of a refused login names the file of the kind of listener that refused."""
        is_one_file = self._inventory.controller_command_config is None
        return inventory_login_step(error, listener, self._accepted, one_file=is_one_file)

    def _is_without_controllers(self, visits: Mapping[tuple[int, Role], Visit | KafkactlError]) -> bool:
        """Return True if no controller has a process: waiting for a leader would only prolong the outage."""
        answers = [answer for (_, listener), answer in visits.items() if listener is Role.CONTROLLER]
        gone = [answer for answer in answers if isinstance(answer, KafkactlError) and answer.id == NOTHING_LISTENS]
        if not answers or len(gone) < len(answers):
            return False
        text = "no controller of the inventory has a process, so the quorum has no leader"
        self._findings.append(warning(CLUSTER_NOT_OBSERVED, "quorum", text, gone[0].advice, reason=NOTHING_LISTENS))
        return True

    def _cluster(self) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
        """Return the answers of `quorum describe` and `nodes list`; by brokers if no controller answers."""
        quorum: dict[str, Any] | None = None
        leaderless: dict[str, Any] | None = None
        listed: dict[str, Any] | None = None
        errors: list[tuple[str, Role, KafkactlError]] = []
        node_timeout_ms = min(_SILENT_MS, _SHARE * self._timeout_ms)
        for client in self.clients():
            with client:
                try:
                    if quorum is None:
                        found = describe(client, node_timeout_ms=node_timeout_ms)
                        leaderless = leaderless if found.state.leader_out_of_reach else found.to_dict()
                        check_leader_reached(found)
                        quorum = leaderless
                except KafkactlError as error:
                    errors.append(("quorum", client.role, error))
                    if error.id in (LEADER_NOT_REACHED, CONTROLLER_NOT_ASKED):
                        continue  # as below; a broker may reach the leader
                if quorum is not None and not _has_leader(quorum):
                    break  # registrations and log are the leader's
                try:
                    rows = list_nodes(client, timeout_ms=5 * node_timeout_ms).to_dict()
                    listed = rows if listed is None or _knows_more(rows, listed) else listed
                except KafkactlError as error:
                    errors.append(("nodes", client.role, error))
            if quorum is not None and listed is not None and _knows_registrations(listed):
                break
        quorum = quorum or leaderless
        for what, role, reason in errors:
            if (quorum if what == "quorum" else listed) is None:
                text = f"the {what} could not be observed: {reason.message}"
                step = self._step(reason, role)
                self._findings.append(warning(CLUSTER_NOT_OBSERVED, what, text, step, reason=reason.id))
        return quorum, listed

    def _known_cluster_id(
        self, visits: Mapping[tuple[int, Role], Visit | KafkactlError], listed: Mapping[str, Any] | None
    ) -> str | None:
        if listed is not None and listed.get("cluster_id"):
            return str(listed["cluster_id"])
        views = (visit.view for visit in visits.values() if isinstance(visit, Visit))
        return next((view.cluster_id for view in views if view is not None and view.cluster_id), None)

    def _read_files(self, refresh: frozenset[int] | None) -> None:
        due = [
            node
            for node in self._inventory.nodes
            if refresh is None or node.id in refresh or node.id not in self._files
        ]
        with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
            self._files |= dict(zip([node.id for node in due], pool.map(self._files_of, due), strict=True))

    def _files_of(self, node: RollInventoryNode) -> NodeFiles:
        places = NodePlaces(self._folder, min(_HOOK_MS, _SHARE * self._timeout_ms))
        config = places.config(node)
        meta = places.meta_properties(node, config)
        names = {verb: named_release(_printed(places, node, verb)) for verb in (Verb.RUNNING, Verb.INSTALLED)}
        log = None
        if node.log is not None and node.is_controller and (self._folder / node.log).exists():
            log = places.log_at(node, self._folder / node.log)
        return NodeFiles(
            config=config,
            meta_properties=None if meta is None else "".join(f"{key}={value}\n" for key, value in meta.items()),
            release=names[Verb.RUNNING],
            installed=names[Verb.INSTALLED],
            java=_printed(places, node, Verb.JAVA),
            log=log,
            findings=tuple(places.findings),
        )

    def _logs(self, *, fetches: bool) -> dict[int, LogSource]:
        """Return the logs that are readable from here, and that of the leader, if one leads, as it is fetched."""
        found = {id: files.log for id, files in self._files.items() if files.log is not None}
        if not fetches:
            return found
        errors: list[tuple[Role, KafkactlError]] = []
        for client in self.clients():
            with client:
                try:
                    log = fetch_metadata_log(client)
                except KafkactlError as error:
                    errors.append((client.role, error))
                    continue
            return {**found, log.leader_id: source_of(log)}
        if errors:
            role, first = errors[0]
            text = f"the metadata log was not fetched: {first.message}"
            self._findings.append(
                warning(LOG_NOT_OBSERVED, "metadata log", text, self._step(first, role), reason=first.id)
            )
        return found

    def _journal(self) -> tuple[Entry, ...] | None:
        if self._cluster_id is None:
            return None
        path = Path(self._inventory.journal_file(self._cluster_id))
        if not path.exists():
            return None
        try:
            content = read_whole(path, InputKind.JOURNAL)
            return read_journal(content, file=str(path), subject=JOURNAL_SUBJECT, cluster_id=self._cluster_id).entries
        except (OSError, InputError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            self._findings.append(
                warning("observed-journal-unreadable", str(path), f"the journal cannot be read: {reason}")
            )
            return None


def _printed(places: NodePlaces, node: RollInventoryNode, verb: Verb) -> str | None:
    data = places.by_hook(node, verb)
    text = None if data is None else data.decode("utf-8", "replace").strip()
    return text or None


def _address_of(node: RollInventoryNode, listener: Role) -> str | None:
    return node.controller_address if listener is Role.CONTROLLER else node.address


def _has_leader(quorum: Mapping[str, Any] | None) -> bool:
    return quorum is not None and quorum["leader_id"] not in (None, NO_LEADER)


def _knows_registrations(listed: Mapping[str, Any]) -> bool:
    return all(row["registered"] is not None for row in listed["nodes"])


def _knows_more(listed: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    return _knows_registrations(listed) and not _knows_registrations(before)


def _rack_in(config: str | None) -> str | None:
    if config is None:
        return None
    try:
        return parse_properties(config.encode("utf-8", "surrogatepass")).mapping.get("broker.rack", "").strip() or None
    except KafkactlError:
        return None
