"""Apply of a fleet's plan to the nodes that are on this host: check all of them, then write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from kafkactl.core.answers import json_of
from kafkactl.core.callbacks import ExposureCallback, ignore_exposure
from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding, Outcome
from kafkactl.core.frozen import changed, frozen
from kafkactl.files.entropy import SystemSource
from kafkactl.files.filesystem import OsFilesystem
from kafkactl.files.input_files import InputKind, read_input
from kafkactl.files.plan_files import receipts_folder, settle_plan
from kafkactl.protocol.catalog.releases import find_release
from kafkactl.storage.api.fleet import (
    Context,
    apply_nodes,
    is_this_host,
    names_of_this_host,
    observe_nodes,
    whole_outcome,
)
from kafkactl.storage.api.format import FormattedDirectory, formatted_directories
from kafkactl.storage.api.observation import NO_LIMIT, observe_for_format
from kafkactl.storage.config.node_config import NodeConfig
from kafkactl.storage.fleet.check import ApplyRequest, NodeHere, check_apply, choose_nodes, requested_reformats
from kafkactl.storage.fleet.plan import of_node, together
from kafkactl.storage.fleet.plan_check import request_of, scram_users
from kafkactl.storage.fleet.plan_file import FleetPlan, PlannedNode, parse_plan
from kafkactl.storage.format.scram import ScramCredential
from kafkactl.storage.io.node_files import FilePath
from kafkactl.storage.model import Applied, FormatPlan, GuardOverrides, ObservedNode, Owner


@frozen
class AppliedNode:
    """A node of the plan that is on this machine.

    `is_refused`: nothing was tried, because another node was refused, or the operator said no.
    """

    planned: PlannedNode
    checked: FormatPlan
    applied: Applied | None
    is_refused: bool

    @property
    def outcome(self) -> Outcome:
        """Return the outcome of this node; refused if the whole application is refused."""
        if self.is_refused:
            return Outcome.REFUSED
        return self.checked.outcome if self.applied is None else self.applied.outcome

    @property
    def directories(self) -> tuple[FormattedDirectory, ...]:
        """Return the log directories of the node."""
        return formatted_directories(self.checked, self.applied)

    @property
    def scram_users(self) -> tuple[ScramCredential, ...] | None:
        """Return users in the planned files; None if these cannot be read as planned ones."""
        try:
            return scram_users(self.planned)
        except InputError:
            return None

    to_dict = json_of(
        "id=planned.id", "host=planned.host", "config=planned.config", "voter_mode=planned.voter_mode", "outcome",
        "directories", "scram_users",
    )  # fmt: skip


@frozen
class FleetApplyResult:
    """The chosen nodes of a plan as they were checked, and what came of applying it to them (None: not tried).

    `here`, `checked` and `applied` are in the order of `nodes`. `refusal` says why nothing was tried although it could
    have been: the operator did not confirm it.
    """

    plan: FleetPlan
    plan_sha256: str
    nodes: tuple[PlannedNode, ...]
    here: tuple[NodeHere, ...]
    checked: tuple[FormatPlan, ...]
    request: ApplyRequest
    receipts: Path
    reason: str = ""
    applied: tuple[Applied, ...] | None = None
    plan_file: Path | None = None
    refusal: Finding | None = None

    @property
    def outcome(self) -> Outcome:
        """Return the outcome of all nodes together. One refusal refuses all nodes before anything is written."""
        if self.refusal is not None:
            return Outcome.REFUSED
        return whole_outcome(result.outcome for result in self._results)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return the findings of all nodes, equal findings of several nodes merged, and the refusal."""
        found = [
            (node.id, of_node(node.id, finding))
            for node, result in zip(self.nodes, self._results, strict=True)
            for finding in result.findings
        ]
        return (*together(found), *(() if self.refusal is None else (self.refusal,)))

    @property
    def _results(self) -> Sequence[FormatPlan | Applied]:
        return self.checked if self.applied is None else self.applied

    @property
    def results(self) -> tuple[AppliedNode, ...]:
        """Return each node with its result."""
        is_refused = self.applied is None and self.outcome is Outcome.REFUSED
        applied = self.applied or (None,) * len(self.nodes)
        return tuple(
            AppliedNode(planned=node, checked=checked, applied=done, is_refused=is_refused)
            for node, checked, done in zip(self.nodes, self.checked, applied, strict=True)
        )

    to_dict = json_of(
        "outcome", "cluster_id=plan.cluster_id", "kafka_version=plan.kafka_version", "plan_sha256", "nodes=results",
        "findings", kind="storage.apply",
    )  # fmt: skip


def check_fleet(
    plan_file: FilePath,
    *,
    node_ids: Sequence[int] = (),
    hosts: Sequence[str] = (),
    this_host: bool = False,
    receipts: FilePath | None = None,
    reformats: Iterable[str] = (),
    reason: str = "",
    overrides: GuardOverrides | None = None,
    owner: Owner | None = None,
    on_exposure: ExposureCallback = ignore_exposure,
    timeout_ms: float = NO_LIMIT,
) -> FleetApplyResult:
    """Check the nodes of a plan that are on this host, and say what applying the plan does. Nothing is written.

    Nodes are chosen by id, by the host that the inventory names, or as those of `this_host`. `receipts` is the folder
    with what earlier applies left (default: PLAN.receipts). `reformats` are NODE/DIR words of directories that were
    formatted before and whose disk is lost, `reason` is why, for the receipt. Raises InputError.
    """
    path = Path(plan_file)
    plan, plan_sha256 = parse_plan(read_input(path, "the plan", InputKind.DOCUMENT), file=str(plan_file))
    nodes = choose_nodes(plan, node_ids, hosts, names_of_this_host() if this_host else frozenset())
    named = {host.lower() for host in hosts}
    request = ApplyRequest(
        overrides=overrides or GuardOverrides(),
        reformats=requested_reformats(reformats),
        owner=owner,
        elsewhere=frozenset(
            node.id for node in nodes if node.host.lower() not in named and not is_this_host(node.host)
        ),
    )
    folder = receipts_folder(path) if receipts is None else Path(receipts)
    release = find_release(plan.kafka_version)

    def observe(config: NodeConfig, node: PlannedNode) -> ObservedNode:
        asked = changed(request_of(plan, node), overrides=request.overrides)
        # The receipts show that a blank node of a plan was formatted before.
        return observe_for_format(config, asked, on_exposure=on_exposure, timeout_ms=timeout_ms, asks_blank=False)

    here = observe_nodes(nodes, folder, release, observe)
    return FleetApplyResult(
        plan=plan,
        plan_sha256=plan_sha256,
        nodes=tuple(nodes),
        here=tuple(here),
        checked=tuple(check_apply(plan, here, request, release)),
        request=request,
        receipts=folder,
        reason=reason.strip(),
        plan_file=path,
    )


def apply_fleet(checked: FleetApplyResult) -> FleetApplyResult:
    """Write the checked plan, node by node; each leaves a receipt. For a refused node nothing is written.

    If all is formatted as planned this writes nothing but receipts that are missing. What happens to one node does
    not stop the others; failures are part of the result. Raises FailedError `plan-file-not-written` if the plan
    cannot be synced: nothing is written then.
    """
    if checked.outcome is Outcome.REFUSED:
        return checked
    if checked.plan_file is not None:
        settle_plan(checked.plan_file)  # nowhere else are the ids of directories that are formatted later
    context = Context(
        plan=checked.plan,
        plan_sha256=checked.plan_sha256,
        receipts=checked.receipts,
        request=checked.request,
        reason=checked.reason,
        now_ms=SystemSource().now_ms,
    )
    applied = apply_nodes(checked.here, checked.checked, OsFilesystem(), context)
    return changed(checked, applied=tuple(applied))
