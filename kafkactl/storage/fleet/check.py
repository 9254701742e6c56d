"""Check a plan against one host, right before it is applied there.

What this file guards: the world may have moved since the plan was made, and the plan may be from any program. The
host's configuration must say what it said then, the plan only what planning makes (plan_check), the disks must be blank
or hold exactly what was planned, and a disk that was formatted before must not be blank by accident. All nodes that are
applied together are checked first; one blocker, and nothing is written at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace

from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding, Severity, error_finding
from kafkactl.core.frozen import frozen
from kafkactl.protocol.catalog.releases import Release
from kafkactl.storage.config.node_config import ConfigError, NodeConfig
from kafkactl.storage.fleet.plan import NodeSource, config_values
from kafkactl.storage.fleet.plan_check import check_plan_of_node, directory_ids, request_of
from kafkactl.storage.fleet.plan_file import FleetPlan, PlannedNode, node_format_plan
from kafkactl.storage.fleet.receipts import Receipt
from kafkactl.storage.format.ensure import check_formatted, distinct, settled
from kafkactl.storage.format.plan import plan_format
from kafkactl.storage.model import (
    Action,
    FormatPlan,
    GuardOverrides,
    ObservedNode,
    Owner,
    PlannedDirectory,
)


@frozen
class NodeHere:
    """A planned node as it is found on this host.

    `config` is the configuration or the error of reading it; `observed` its directories (the plan's, if there is no
    configuration); `receipt` what an earlier apply left.
    """

    planned: PlannedNode
    config: NodeConfig | InputError
    observed: ObservedNode
    receipt: Receipt | None


@frozen
class ApplyRequest:
    """The operator's additions to the plan. `reformats` are (node id, directory) pairs to be formatted again.

    `elsewhere` are the ids of chosen nodes whose host in the plan is neither a name nor an address of this machine.
    """

    overrides: GuardOverrides = field(default_factory=GuardOverrides)
    reformats: frozenset[tuple[int, str]] = frozenset()
    owner: Owner | None = None
    elsewhere: frozenset[int] = frozenset()


def check_apply(plan: FleetPlan, here: Sequence[NodeHere], request: ApplyRequest, release: Release) -> list[FormatPlan]:
    """Return the result of applying the plan to each of these nodes, in their order.

    Each comes back as planned, nothing-to-do or refused; if one is refused none may be applied. `release` is the
    plan's kafka_version.
    """
    checked = [_check_node(plan, node, request, release) for node in here]
    together = list(_majority_stays(plan, here))
    return [_refuse(found, together) for found in checked] if together else checked


def _check_node(plan: FleetPlan, here: NodeHere, request: ApplyRequest, release: Release) -> FormatPlan:
    whole = node_format_plan(plan, here.planned)
    if isinstance(here.config, InputError):
        return _refuse(whole, _config_findings(here.planned, here.config))
    # If the configuration is another one the plan's directories may be too: nothing else can be said.
    findings = list(_config_changed(here.planned, here.config))
    findings = findings or list(check_plan_of_node(plan, here.planned, here.config, release))
    if findings:
        return _refuse(whole, findings)
    seen = _as_format(plan, here, here.config, request, release)
    findings = [
        *seen.findings,
        *check_formatted(whole, here.observed),
        *_formatted_before(here, request),
        *_of_another_host(here, request),
    ]
    directories = _with_planned_files(whole.directories, seen.directories)
    return settled(replace(whole, directories=directories, findings=distinct(findings), owner=request.owner))


def _as_format(
    plan: FleetPlan, here: NodeHere, config: NodeConfig, request: ApplyRequest, release: Release
) -> FormatPlan:
    """Return the plan of a single format for these disks: it includes the guard, the locks and the formatted
    directories."""
    source = NodeSource(now=plan.created_ms, directory_ids=directory_ids(here.planned), salt=lambda _: b"")
    overrides = replace(
        request.overrides,
        expected_mounts=request.overrides.expected_mounts | frozenset(here.planned.mounts),
    )
    asked = replace(request_of(plan, here.planned), ignore_formatted=True, overrides=overrides, owner=request.owner)
    return plan_format(asked, config, here.observed, release, source)


def _with_planned_files(
    planned: Iterable[PlannedDirectory], seen: Iterable[PlannedDirectory]
) -> tuple[PlannedDirectory, ...]:
    """Return the planned bytes for the directories that are to be formatted; the others stay as they are."""
    found = {directory.path: directory for directory in seen}
    merged = []
    for directory in planned:
        now = found.get(directory.path)
        if now is not None and now.action is Action.FORMAT:
            merged.append(replace(directory, place=now.place, found=now.found))
        else:
            merged.append(replace(directory, action=now.action if now is not None else Action.SKIP, files=()))
    return tuple(merged)


def _config_findings(planned: PlannedNode, error: InputError) -> list[Finding]:
    subject = f"node {planned.id}"
    if isinstance(error, ConfigError) and error.findings:
        return [replace(finding, subject=f"{subject}, {finding.subject}") for finding in error.findings]
    return [error_finding(subject, error)]


def _config_changed(planned: PlannedNode, config: NodeConfig) -> Iterator[Finding]:
    now = config_values(config)
    changed = {
        key: {"planned": planned.config_values.get(key), "found": now.get(key)}
        for key in sorted({*now, *planned.config_values})
        if now.get(key) != planned.config_values.get(key)
    }
    if changed:
        listed = "; ".join(f"{key}: planned {was['planned']!r}, found {was['found']!r}" for key, was in changed.items())
        yield Finding(
            id="config-changed-since-plan",
            severity=Severity.BLOCKER,
            subject=f"node {planned.id}",
            message=f"{config.file} differs from the configuration in the plan: {listed}",
            evidence={"changed": changed},
        )


def _of_another_host(here: NodeHere, request: ApplyRequest) -> Iterator[Finding]:
    """Report a node that was selected by its id although the plan assigns it to a machine with another name."""
    node = here.planned
    if node.id in request.elsewhere:
        yield Finding(
            id="host-differs-from-plan",
            severity=Severity.WARNING,
            subject=f"node {node.id}",
            message=f"the plan has node {node.id} on {node.host}, which is neither a name nor an address of this"
            " machine",
            evidence={"host": node.host},
            next_step=f"Stop if this is the wrong machine. If {node.host} is another name of it: --host {node.host}.",
        )


def _formatted_before(here: NodeHere, request: ApplyRequest) -> Iterator[Finding]:
    """Report a blank directory that was formatted before according to its receipt."""
    receipt, node_id = here.receipt, here.planned.id
    if receipt is None:
        return
    for directory in _blank_again(here):
        allowed = (node_id, directory.path) in request.reformats
        yield Finding(
            id="formatted-before",
            severity=Severity.WARNING if allowed else Severity.BLOCKER,
            subject=f"node {node_id}, directory {directory.path}",
            message=f"{directory.path} was formatted by an earlier apply and is blank now: its disk may be lost or not"
            " mounted",
            evidence={
                "path": directory.path,
                "role": directory.role,
                "applied_ms": receipt.applied_ms,
                "plan_sha256": receipt.plan_sha256,
            },
            next_step="Bring the disk back. If it is permanently lost: --reformat"
            f" {node_id}/{directory.path.lstrip('/')} --reason TEXT"
            + (", after a majority of the other controllers has caught up." if _votes(here, directory) else "."),
        )


def _votes(here: NodeHere, directory: PlannedDirectory) -> bool:
    return directory.role == "metadata" and "controller" in here.planned.roles


def _blank_again(here: NodeHere) -> Iterator[PlannedDirectory]:
    """Report directories that a receipt calls formatted and that hold no meta.properties."""
    known = here.receipt.directories if here.receipt is not None else {}
    found = {directory.path: directory for directory in here.observed.directories}
    for directory in here.planned.directories:
        seen = found.get(directory.path)
        if directory.path in known and (seen is None or seen.meta_properties is None):
            yield directory


def _majority_stays(plan: FleetPlan, here: Sequence[NodeHere]) -> Iterator[Finding]:
    """Report a static quorum whose formatted majority is blank: it would elect a leader without the metadata.

    The first format of a fleet is not that: only voters with a receipt count. No option passes this.
    """
    lost = [
        node.planned.id
        for node in here
        if node.planned.id in plan.static_voters
        and any(directory.role == "metadata" for directory in _blank_again(node))
    ]
    majority = len(plan.static_voters) // 2 + 1
    if plan.static_voters and len(lost) >= majority:
        ids = ", ".join(map(str, lost))
        yield Finding(
            id="majority-of-voters-blank",
            severity=Severity.BLOCKER,
            subject="fleet",
            message=f"voters {ids} were formatted before and are blank now: {len(lost)} of {len(plan.static_voters)},"
            " a majority. Formatted together they would elect a leader without the cluster's metadata",
            evidence={"blank": lost, "voters": list(plan.static_voters)},
        )


def _refuse(plan: FormatPlan, findings: Iterable[Finding]) -> FormatPlan:
    return settled(replace(plan, findings=distinct([*plan.findings, *findings])))


def requested_reformats(texts: Iterable[str]) -> frozenset[tuple[int, str]]:
    """Read `--reformat NODE/DIR` words: `3/disk1/kafka` is node 3, directory /disk1/kafka.

    Raises InputError `invalid-reformat`.
    """
    found = set()
    for text in texts:
        node, slash, directory = text.partition("/")
        if not slash or not node.isascii() or not node.isdigit():
            raise InputError(f"{text!r} does not name a node and a directory", id="invalid-reformat")
        found.add((int(node), "/" + directory.lstrip("/")))
    return frozenset(found)


def choose_nodes(
    plan: FleetPlan, node_ids: Sequence[int], hosts: Sequence[str], local_names: frozenset[str]
) -> list[PlannedNode]:
    """Return the nodes that the operator names by id, by host, or by running on this machine, in the plan's order.

    `local_names` are this machine's names in lower case. Raises InputError `node-not-in-plan`.
    """
    wanted = {host.lower() for host in hosts} | local_names
    chosen = [node for node in plan.nodes if node.id in node_ids or node.host.lower() in wanted]
    known = {node.id for node in plan.nodes}
    hosts_known = {node.host.lower() for node in plan.nodes}
    missing = [f"node {node_id}" for node_id in node_ids if node_id not in known]
    missing += [f"host {host}" for host in hosts if host.lower() not in hosts_known]
    if not chosen and not missing:
        missing = [f"node whose host is {' or '.join(sorted(local_names))}"]
    if missing:
        shown = ", ".join(f"{node.id} on {node.host}" for node in plan.nodes[:20])
        raise InputError(
            f"the plan has no {', '.join(missing)}",
            id="node-not-in-plan",
            next_step=f"Its nodes are: {shown}{' …' if len(plan.nodes) > 20 else ''}",
        )
    return chosen
