"""A node's `server.properties` for each phase of the migration, made of the file that it has.

Invariant: the file stays the operator's. Comments, order and every setting that the phase does not touch stay; what a
node needs and cannot be known is a finding, never a guess. Rendering what is rendered changes nothing, and the file
for the rollback is the original, byte for byte.
Sources: docs `ops.html` of 3.9 (ZooKeeper to KRaft Migration), core `KafkaConfig`; what they do not say was measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any

from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding, Severity, blocker
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.values import Role
from kafkactl.migration.render.broker import broker_edits
from kafkactl.migration.render.controller import controller_edits
from kafkactl.migration.render.facts import PHASES, ClusterFacts, ConfigPhase, NodeFile, entered_by, is_withheld
from kafkactl.migration.render.properties_edit import Edits, edited, shown_diff
from kafkactl.protocol.catalog.releases import find_release, newest_with_zookeeper
from kafkactl.storage.config.node_config import ConfigError, read_node_config


@frozen
class Rendered:
    """A node's file for a phase. `content` is None if it cannot be made; `findings` say why, or what to look at.

    `set` and `removed` are the keys that are not as in the node's own file.
    """

    node: int
    role: Role
    phase: ConfigPhase
    content: bytes | None = field(repr=False)
    set: tuple[str, ...] = ()
    """Keys that are new or have another value than in the node's own file."""
    removed: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


def render(node: NodeFile, phase: ConfigPhase, facts: ClusterFacts) -> Rendered:
    """Return the file of one node for one phase. Raises ValueError for a phase that is not one of its role."""
    if phase not in PHASES[node.role]:
        raise ValueError(f"a {node.role} has no phase {phase}")
    if phase is ConfigPhase.ORIGINAL:
        return _original(node)
    findings: list[Finding] = []
    make = broker_edits if node.role is Role.BROKER else controller_edits
    edits = make(node, phase, facts, findings)
    if edits is None:
        return Rendered(node=node.id, role=node.role, phase=phase, content=None, findings=tuple(findings))
    content = edited(node.content, edits)
    findings += _withheld(node)
    findings += refused_by_kafka(node, phase, content)
    return Rendered(
        node=node.id,
        role=node.role,
        phase=phase,
        content=content,
        set=tuple(sorted(key for key, value in _after(edits, node).items() if node.given.get(key) != value)),
        removed=tuple(sorted({*edits.remove, *edits.rename} & set(node.given))),
        findings=tuple(findings),
    )


def _original(node: NodeFile) -> Rendered:
    """Return the file as it is; that of a broker which has entered the migration does not serve a rollback."""
    entered = entered_by(node.given) if node.role is Role.BROKER else None
    made = Rendered(node=node.id, role=node.role, phase=ConfigPhase.ORIGINAL, content=node.content)
    if entered is None:
        return made
    text = f"its file has {entered}={node.given[entered]}: a rollback requires the file from before the migration"
    found = blocker("render-original-needed", node.name, text, key=entered)
    return changed(made, content=None, findings=(found,))


def render_cluster(nodes: Iterable[NodeFile], facts: ClusterFacts) -> tuple[Rendered, ...]:
    """Return every file of every node: brokers first, each in the order of its phases."""
    ordered = sorted(nodes, key=lambda file: (file.role is not Role.BROKER, file.id))
    return tuple(render(file, phase, facts) for file in ordered for phase in PHASES[file.role])


def phase_diff(before: bytes, after: bytes, *, name: str, phases: tuple[ConfigPhase, ConfigPhase]) -> str:
    """Return the changes to a node's file from one phase to another, without secrets."""
    return shown_diff(before, after, before_name=f"{name} {phases[0]}", after_name=f"{name} {phases[1]}")


def _after(edits: Edits, node: NodeFile) -> dict[str, str]:
    renamed = {new: node.given[old] for old, new in edits.rename.items() if old in node.given}
    return {**renamed, **edits.set}


def _withheld(node: NodeFile) -> Iterator[Finding]:
    """Yield a finding for a file from which something was removed: it is only for reading."""
    keys = sorted(key for key, value in node.given.items() if is_withheld(value))
    if keys:
        text = f"{len(keys)} values were taken out of this file ({keys[0]} …): no node could run with it"
        yield blocker("render-file-redacted", node.name, text, keys=keys)


def refused_by_kafka(node: NodeFile, phase: ConfigPhase, content: bytes) -> Iterator[Finding]:
    """Yield the settings that Kafka itself would refuse in the result."""
    try:
        release = find_release(node.kafka_version) if node.kafka_version else newest_with_zookeeper()
    except InputError:
        release = newest_with_zookeeper()
    try:
        read_node_config(content, file=f"{node.name}, {phase}", release=release)
    except ConfigError as error:
        for finding in error.findings:
            if finding.severity is Severity.BLOCKER:
                yield _as_ours(node, phase, finding)


def _as_ours(node: NodeFile, phase: ConfigPhase, finding: Finding) -> Finding:
    evidence: Mapping[str, Any] = {**finding.evidence, "reason": finding.id, "phase": phase.value}
    text = f"Kafka would not start with its file for {phase}: {finding.message}"
    # What stands elsewhere (`${file:…}`) can only be read where the node is.
    severity = Severity.WARNING if finding.id == "unresolved-config-provider" else Severity.BLOCKER
    found = blocker("rendered-file-refused", node.name, text, finding.advice)
    return changed(found, severity=severity, evidence=evidence)
