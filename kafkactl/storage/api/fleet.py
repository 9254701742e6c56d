"""Apply of a fleet's plan to the nodes that are on this machine: observe all of them, then write.

Nothing is written on any node before all of them have passed (kafkactl.storage.fleet.check). After that every node is
on its own: what happens to one does not stop the others, and each leaves a receipt next to the plan.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from kafkactl.core.errors import FailedError, InputError
from kafkactl.core.findings import Outcome, Severity, error_finding
from kafkactl.core.frozen import frozen
from kafkactl.files.config_providers import resolve
from kafkactl.files.filesystem import Filesystem
from kafkactl.files.input_files import InputKind, read_input
from kafkactl.protocol.catalog.releases import Release
from kafkactl.storage.config.node_config import NodeConfig, read_node_config
from kafkactl.storage.fleet.check import ApplyRequest, NodeHere
from kafkactl.storage.fleet.plan_file import FleetPlan, PlannedNode
from kafkactl.storage.fleet.receipts import Receipt, Reformat
from kafkactl.storage.io.apply_format import apply_plan
from kafkactl.storage.io.directories import observe_directory, observe_node
from kafkactl.storage.io.receipts import read_receipt, settle_receipt, write_receipt
from kafkactl.storage.model import Applied, FormatPlan, ObservedNode

# Writing waits for disks, not for us.
_WORKERS = 16


def names_of_this_host() -> frozenset[str]:
    """Return every name by which an inventory may call this machine, in lower case."""
    names = {socket.gethostname(), socket.getfqdn()}
    short = {name.partition(".")[0] for name in names}
    return frozenset(name.lower() for name in names | short | {"localhost", "127.0.0.1"} if name)


def is_this_host(host: str) -> bool:
    """Return True for a name of this machine, with any domain, and for an address of one of its interfaces.

    No name is looked up.
    """
    if {host.lower(), host.lower().partition(".")[0]} & names_of_this_host():
        return True
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        address = str(ipaddress.ip_address(host.strip("[]")))
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))  # which only an own address allows
    except (OSError, ValueError):
        return False
    return True


def observe_nodes(
    nodes: Sequence[PlannedNode],
    receipts: Path,
    release: Release,
    observe: Callable[[NodeConfig, PlannedNode], ObservedNode] | None = None,
) -> list[NodeHere]:
    """Return each node as `observe` finds it on this machine (default: its directories only).

    Raises InputError for a receipt that cannot be read.
    """
    return [_observe_node(node, receipts, release, observe) for node in nodes]


def _observe_node(
    planned: PlannedNode,
    receipts: Path,
    release: Release,
    observe: Callable[[NodeConfig, PlannedNode], ObservedNode] | None,
) -> NodeHere:
    config = _read_config(planned, release)
    if isinstance(config, NodeConfig):
        observed = observe_node(config) if observe is None else observe(config, planned)
    else:
        observed = ObservedNode(
            directories=tuple(observe_directory(directory.path) for directory in planned.directories)
        )
    return NodeHere(planned=planned, config=config, observed=observed, receipt=read_receipt(receipts, planned.id))


def _read_config(planned: PlannedNode, release: Release) -> NodeConfig | InputError:
    try:
        data = read_input(Path(planned.config), f"the configuration of node {planned.id}", InputKind.NODE_CONFIG)
        return read_node_config(data, file=planned.config, release=release, resolve=resolve)
    except InputError as error:
        return error


@frozen
class Context:
    """Input of a write in addition to the checked plans: the folder of receipts, and their content."""

    plan: FleetPlan
    plan_sha256: str
    receipts: Path
    request: ApplyRequest
    reason: str
    now_ms: Callable[[], int]


def apply_nodes(
    here: Sequence[NodeHere], checked: Sequence[FormatPlan], files: Filesystem, context: Context, *, workers: int = 0
) -> list[Applied]:
    """Carry out the checked plans (none of which may be refused), and leave a receipt for each node that stands.

    `workers` 0: as many as are useful; 1: one node after the other.
    """
    pairs = list(zip(here, checked, strict=True))
    count = min(workers or _WORKERS, len(pairs))
    if count <= 1:
        return [_apply_node(node, plan, files, context) for node, plan in pairs]
    with ThreadPoolExecutor(max_workers=count) as pool:
        return list(pool.map(lambda pair: _apply_node(pair[0], pair[1], files, context), pairs))


def _apply_node(node: NodeHere, plan: FormatPlan, files: Filesystem, context: Context) -> Applied:
    applied = apply_plan(plan, files)
    if applied.outcome not in (Outcome.DONE, Outcome.NOTHING_TO_DO):
        return applied
    receipt = _receipt(node, applied, context)
    try:
        if receipt == node.receipt:
            settle_receipt(context.receipts, receipt, files)
        else:
            write_receipt(context.receipts, receipt, files)
    except FailedError as error:
        finding = error_finding(f"node {node.planned.id}", error, Severity.WARNING)
        return replace(applied, findings=(*applied.findings, finding))
    return applied


def _receipt(node: NodeHere, applied: Applied, context: Context) -> Receipt:
    """Return the first receipt, or the one that was there with what was formatted again."""
    before = node.receipt
    directories = {
        directory.path: None if directory.directory_id is None else str(directory.directory_id)
        for directory in node.planned.directories
    }
    if before is not None and applied.outcome is Outcome.NOTHING_TO_DO and set(before.directories) == set(directories):
        return before
    now_ms = context.now_ms()
    again = tuple(
        Reformat(directory=path, time_ms=now_ms, reason=context.reason)
        for path in directories
        if (node.planned.id, path) in context.request.reformats and before is not None
    )
    return Receipt(
        node_id=node.planned.id,
        cluster_id=context.plan.cluster_id,
        plan_sha256=context.plan_sha256,
        applied_ms=now_ms,
        directories=directories,
        reformats=(*(before.reformats if before is not None else ()), *again),
    )


def whole_outcome(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the outcome of several nodes together. Before anything is written, one refusal refuses all nodes."""
    found = set(outcomes)
    untouched = {Outcome.NOTHING_TO_DO, Outcome.PLANNED}
    bad = found & {Outcome.FAILED, Outcome.REFUSED}
    if found & {Outcome.PARTIAL, Outcome.UNKNOWN} or (bad and found - bad - untouched):
        return Outcome.PARTIAL
    ranked = (Outcome.FAILED, Outcome.REFUSED, Outcome.PLANNED, Outcome.DONE)
    return next((outcome for outcome in ranked if outcome in found), Outcome.NOTHING_TO_DO)
