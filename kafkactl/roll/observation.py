"""An observation of a cluster in a roll: nodes with their releases and files, quorum, metadata log and journal.

Invariant: what was not observed is None. `alive` is None if a node was not asked, and no judgement that protects a
majority or an ISR may treat that as alive.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, Final

from kafkactl.change.journal_lines import Entry
from kafkactl.core.answers import by_fields
from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding, Severity
from kafkactl.core.frozen import frozen
from kafkactl.core.json_fields import JsonFields
from kafkactl.core.json_input import JsonInputError, parse_json
from kafkactl.core.values import Role
from kafkactl.protocol.schema.spec import Versions
from kafkactl.roll.cluster_log import ClusterLog
from kafkactl.roll.quorum_view import ListedNode, ObservedQuorum, read_nodes, read_quorum, read_ranges

KIND: Final = "roll.observation"
SCHEMA_VERSION: Final = 1
CLUSTER_NOT_OBSERVED: Final = "cluster-not-observed"
LOG_NOT_OBSERVED: Final = "metadata-log-not-observed"
NODE_NOT_OBSERVED: Final = "node-not-observed"
"""Findings about what does not answer: `reason` in their evidence is the id of the error."""
NOTHING_LISTENS: Final = "connection-refused"
"""Error of an address on which no process listens; any other silence may be a process that is paused."""
STRANGERS: Final = frozenset({"node-of-another-cluster", "node-with-another-id"})
"""Findings of an observation about a node that is not the one of the inventory: their `subject` is its name."""
_NEXT_STEP: Final = "Take an observation with `kafkactl roll observe`, or correct the file."


@frozen
class RollNode:
    """A node. None is unknown.

    `release` is the release of the running process, `installed` that of the next start, `java` the output of
    `java -version` of the next start. `config` and `meta_properties` are the texts of its files, `features` the
    ranges that the node itself answered.
    """

    id: int
    roles: tuple[Role, ...]
    host: str | None = None
    rack: str | None = None
    alive: bool | None = None
    release: str | None = None
    installed: str | None = None
    java: str | None = None
    config: str | None = field(default=None, repr=False)
    meta_properties: str | None = field(default=None, repr=False)
    features: Mapping[str, Versions] | None = None

    @property
    def is_broker(self) -> bool:
        """Return True for a broker or combined node."""
        return Role.BROKER in self.roles

    @property
    def is_controller(self) -> bool:
        """Return True for a controller or combined node."""
        return Role.CONTROLLER in self.roles

    @property
    def name(self) -> str:
        """Return the node as subject of a finding: `broker 4`, `controller 1`; a combined node is `node 1`."""
        return f"{self.roles[0].value if len(self.roles) == 1 else 'node'} {self.id}"

    to_dict = by_fields


@frozen
class RollObservation:
    """A cluster at one moment.

    `quorum` and `nodes_list` are answers of `quorum describe` and `nodes list` as JSON values; `quorum_view` and
    `listed` have the fields of them that a roll needs. `log` is the metadata log of the leader, else the longest, None
    if no log was read. `journal` are the entries of the journal of the roll, None without one. `findings` are reasons
    why something is unknown.
    """

    time_ms: int | None
    cluster_id: str | None
    nodes: tuple[RollNode, ...]
    quorum: Mapping[str, Any] | None = None
    nodes_list: Mapping[str, Any] | None = None
    quorum_view: ObservedQuorum | None = None
    listed: Mapping[int, ListedNode] = field(default_factory=dict)
    log: ClusterLog | None = field(default=None, repr=False)
    journal: tuple[Entry, ...] | None = field(default=None, repr=False)
    findings: tuple[Finding, ...] = ()

    def node(self, node_id: int) -> RollNode | None:
        """Return the node of that id: by bisection, because rolls ask for each node of each node, else by a search."""
        at = bisect.bisect_left(self.nodes, node_id, key=lambda node: node.id)
        if at < len(self.nodes) and self.nodes[at].id == node_id:
            return self.nodes[at]
        return next((node for node in self.nodes if node.id == node_id), None)

    @property
    def brokers(self) -> tuple[RollNode, ...]:
        """Return the brokers, combined nodes among them."""
        return tuple(node for node in self.nodes if node.is_broker)

    @property
    def controllers(self) -> tuple[RollNode, ...]:
        """Return the controllers, combined nodes among them."""
        return tuple(node for node in self.nodes if node.is_controller)

    def to_dict(self) -> dict[str, Any]:
        """Return the document `observation.json`."""
        return {
            "kind": KIND,
            "schema_version": SCHEMA_VERSION,
            "time_ms": self.time_ms,
            "cluster_id": self.cluster_id,
            "nodes": [node.to_dict() for node in self.nodes],
            "quorum": self.quorum,
            "nodes_list": self.nodes_list,
            "findings": [finding.to_dict() for finding in self.findings],
        }


def make_observation(
    *,
    time_ms: int | None,
    cluster_id: str | None,
    nodes: Iterable[RollNode],
    quorum: Mapping[str, Any] | None = None,
    nodes_list: Mapping[str, Any] | None = None,
    log: ClusterLog | None = None,
    journal: Iterable[Entry] | None = None,
    findings: Iterable[Finding] = (),
    file: str = "observation",
) -> RollObservation:
    """Return an observation, with the fields of both answers that a roll needs.

    Raises InputError `invalid-observation` for an answer of another shape.
    """
    answers = JsonFields({"quorum": quorum, "nodes_list": nodes_list}, file=file, next_step=_NEXT_STEP)
    return RollObservation(
        time_ms=time_ms,
        cluster_id=cluster_id,
        nodes=tuple(sorted(nodes, key=lambda node: node.id)),
        quorum=quorum,
        nodes_list=nodes_list,
        quorum_view=answers.part("quorum", read_quorum),
        listed={node.id: node for node in answers.part("nodes_list", read_nodes) or ()},
        log=log,
        journal=None if journal is None else tuple(journal),
        findings=tuple(findings),
    )


def parse_observation(content: bytes | str, *, file: str) -> RollObservation:
    """Return the observation of an observation.json, without log and journal.

    Raises InputError: `invalid-observation`, `unsupported-observation-version`.
    """
    try:
        document = parse_json(content)
    except JsonInputError as error:
        raise InputError(f"{file} is not JSON: {error}", id="invalid-observation", next_step=_NEXT_STEP) from None
    return observation_from_dict(document, file=file)


def observation_from_dict(document: object, *, file: str = "observation") -> RollObservation:
    """Return the observation that `to_dict` gave. Raises InputError as `parse_observation`."""
    top = JsonFields(document, file=file, next_step=_NEXT_STEP)
    if top.text("kind") != KIND:
        raise top.invalid("kind", f"found {top.text('kind')!r}, expected {KIND!r}")
    version = top.number("schema_version")
    if version != SCHEMA_VERSION:
        raise InputError(
            f"{file} has schema_version {version}, expected {SCHEMA_VERSION}", id="unsupported-observation-version"
        )
    nodes = top.listed("nodes", _node) or []
    if not nodes:
        raise top.invalid("nodes", "found no node, expected the nodes of the cluster")
    ids = [node.id for node in nodes]
    if len(set(ids)) < len(ids):
        raise top.invalid("nodes", "a node id is listed twice; expected one entry per node id")
    return make_observation(
        time_ms=top.number("time_ms"),
        cluster_id=top.text("cluster_id"),
        nodes=nodes,
        quorum=top.raw("quorum"),
        nodes_list=top.raw("nodes_list"),
        findings=top.listed("findings", _finding) or (),
        file=file,
    )


def _finding(fields: JsonFields) -> Finding:
    severity, evidence = fields.text("severity"), fields.raw("evidence")
    if severity not in set(Severity):
        raise fields.invalid("severity", f"found {severity!r}, expected {', '.join(Severity)}")
    return Finding(
        id=fields.text("id") or "",
        severity=Severity(severity),
        subject=fields.text("subject") or "",
        message=fields.text("message") or "",
        evidence=evidence if isinstance(evidence, dict) else {},
        next_step=fields.text("next_step") or "",
    )


def _node(fields: JsonFields) -> RollNode:
    node_id = fields.needed("id")
    if not 0 <= node_id < 2**31:
        raise fields.invalid("id", f"found {node_id}, expected a node id")
    roles = fields.words("roles")
    if not roles or not set(roles) <= set(Role):
        raise fields.invalid("roles", f"found {list(roles or ())}, expected a list of {' or '.join(Role)}")
    return RollNode(
        id=node_id,
        roles=tuple(role for role in Role if role in roles),
        host=fields.text("host"),
        rack=fields.text("rack"),
        alive=fields.flag("alive"),
        release=fields.text("release"),
        installed=fields.text("installed"),
        java=fields.text("java"),
        config=fields.text("config"),
        meta_properties=fields.text("meta_properties"),
        features=fields.part("features", read_ranges),
    )
