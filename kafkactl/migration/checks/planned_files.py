"""The files that nodes will be started with: those that `run` installs before the first start.

Before the quorum is up, an ordinary controller file lacks the flag, the brokers' ZooKeeper and their listener. The
driver renders all of that into it before anything is formatted or started, so a check of the file unchanged would
report what the first steps cure. What rendering cannot cure stays a finding, of the check or of the rendering itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Final

from kafkactl.core.errors import DecodeError
from kafkactl.core.findings import Finding, blockers, note
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.values import Role
from kafkactl.migration.observed.observation import NodeSeen, Observation
from kafkactl.migration.render.facts import (
    SHARED_SECRETS,
    ClusterFacts,
    ConfigPhase,
    NodeFile,
    cluster_facts,
    is_withheld,
    node_file,
)
from kafkactl.migration.render.node import Rendered, render
from kafkactl.migration.state.conditions import gets_migration_file

# Findings of a rendering that a check of the files has as well, in its own words.
_CHECKED_ELSEWHERE: Final = frozenset(
    {
        "render-another-chroot",
        "render-combined-node",
        "render-controller-id-taken",
        "render-file-redacted",
        "render-super-users-unknown",
        "rendered-file-refused",
    }
)


@frozen
class PlannedFiles:
    """`observation` has the controllers with the files that they will be started with; `brokers` are the brokers with
    their files of migration mode, by id. `findings` say which files `run` replaces, and which it cannot make.
    """

    observation: Observation = field(repr=False)
    brokers: Mapping[int, NodeSeen] = field(default_factory=dict, repr=False)
    findings: tuple[Finding, ...] = ()


def planned_files(observation: Observation) -> PlannedFiles:
    """Return the files with which the next starts are made, before the quorum is up.

    Never raises for an observation's content.
    """
    waiting = [
        controller
        for controller in observation.controllers
        if controller.config is not None and gets_migration_file(controller)
    ]
    files = {(node.role, node.id): made for node in observation.nodes if (made := _file(node)) is not None}
    facts = cluster_facts(files.values())
    hidden = _hidden_secrets(files.values())
    if not waiting:  # the quorum is there; brokers still wait for their files of migration mode
        return PlannedFiles(observation=observation, brokers=_brokers(observation, files, facts))
    planned, findings = {}, [*_shared(facts, observation)]
    for node in waiting:
        if (Role.CONTROLLER, node.id) not in files:
            continue
        rendered = render(files[Role.CONTROLLER, node.id], ConfigPhase.MIGRATION, facts)
        findings += _findings_of(node, rendered)
        if rendered.content is not None:
            planned[node.id] = _with_file(node, rendered.content, hidden)
    nodes = tuple(planned.get(node.id, node) if node.role is Role.CONTROLLER else node for node in observation.nodes)
    return PlannedFiles(
        observation=changed(observation, nodes=nodes),
        brokers=_brokers(observation, files, facts),
        findings=tuple(findings),
    )


def _file(node: NodeSeen) -> NodeFile | None:
    if node.config_text is None:
        return None
    try:
        text = node.config_text.encode("utf-8", "surrogateescape")
        return node_file(node.id, node.role, text, file=node.name, kafka_version=node.kafka_version)
    except DecodeError:  # a check of its own reports it
        return None


def _hidden_secrets(files: Iterable[NodeFile]) -> dict[str, str]:
    """Report secrets that the brokers have and a saved observation does not show: the real file gets these, too."""
    return {
        key: value
        for file in files
        if file.role is Role.BROKER
        for key in SHARED_SECRETS
        if is_withheld(value := file.given.get(key, ""))
    }


def _with_file(node: NodeSeen, content: bytes, hidden: Mapping[str, str]) -> NodeSeen:
    text = content.decode("utf-8", "surrogateescape")
    given = dict(node_file(node.id, node.role, content, file=node.name).given)
    return changed(node, config_text=text, config={**hidden, **given})


def _brokers(
    observation: Observation, files: Mapping[tuple[Role, int], NodeFile], facts: ClusterFacts
) -> dict[int, NodeSeen]:
    found = {}
    for node in observation.brokers:
        file = files.get((Role.BROKER, node.id))
        made = None if file is None else render(file, ConfigPhase.MIGRATION, facts)
        if made is not None and made.content is not None:
            found[node.id] = _with_file(node, made.content, {})
    return found


def _shared(facts: ClusterFacts, observation: Observation) -> Iterator[Finding]:
    """Yield findings about settings that the files lack together.

    None if a file was not observed, because it may have the setting.
    """
    if all(node.config is not None for node in observation.nodes):
        yield from blockers(facts.findings)


def _findings_of(node: NodeSeen, made: Rendered) -> Iterator[Finding]:
    wrong = [finding for finding in blockers(made.findings) if finding.id not in _CHECKED_ELSEWHERE]
    yield from wrong
    if made.content is None or wrong:
        return
    yield note(
        "controller-file-will-be-replaced",
        node.name,
        f"the file of {node.name} has no migration flag yet: `kafkactl migrate run` puts the rendered file in its place"
        f" before the first start ({len(made.set)} keys set, {len(made.removed)} removed); the checks judge that file",
        "`kafkactl migrate render --dry-run` shows what changes.",
        set=list(made.set),
        removed=list(made.removed),
    )
