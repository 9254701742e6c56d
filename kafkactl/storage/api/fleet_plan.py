"""Plan the format of a whole fleet from its inventory."""

from __future__ import annotations

import os
from pathlib import Path

from kafkactl.core.answers import json_of
from kafkactl.core.callbacks import ExposureCallback, ignore_exposure
from kafkactl.core.findings import Finding, Outcome, blockers
from kafkactl.core.frozen import changed, frozen
from kafkactl.files.entropy import SystemSource, random_uuid
from kafkactl.files.plan_files import check_plan_target, write_plan
from kafkactl.kafka.api.exposure import file_exposure
from kafkactl.storage.api.release import choose_release
from kafkactl.storage.fleet import plan as planning
from kafkactl.storage.fleet.plan import FleetRequest
from kafkactl.storage.fleet.plan_file import FleetPlan, ShownPlan, render_plan, shown_plan
from kafkactl.storage.io.fleet_inputs import read_fleet
from kafkactl.storage.io.node_files import FilePath


@frozen
class FleetPlanResult:
    """A fleet's plan, and the file that it was written to (None: none, or the plan is refused)."""

    plan: FleetPlan
    out: str | None = None
    """Path of the written plan; None if the plan was only shown."""

    @property
    def outcome(self) -> Outcome:
        """Return `planned` or `refused`."""
        return self.plan.outcome

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return the findings of all nodes."""
        return tuple(self.plan.findings)

    @property
    def plan_sha256(self) -> str:
        """Return the checksum of the plan, as in the file."""
        return str(shown_plan(self.plan)["plan_sha256"])

    @property
    def shown(self) -> ShownPlan:
        """Return the plan without the contents of files, which may hold SCRAM keys."""
        return shown_plan(self.plan)

    to_dict = json_of("**shown", "out", kind="storage.plan")


def _planned(request: FleetRequest, file: str) -> FleetPlan:
    """Plan with the inventory's release; an inventory without one gets that of this host, with a finding."""
    inventory = request.inventory
    if inventory.kafka_version or all(node.kafka_version for node in inventory.nodes):
        return planning.plan_fleet(request, SystemSource())
    chosen = choose_release(
        None, file, creates_users=inventory.scram_file is not None, more=" (`kafka_version` of the inventory)"
    )
    named = changed(request, inventory=changed(inventory, kafka_version=chosen.release.version_text))
    plan = planning.plan_fleet(named, SystemSource())
    findings = (*plan.findings, *chosen.findings)
    if blockers(findings):
        return changed(plan, outcome=Outcome.REFUSED, nodes=(), findings=findings)
    return changed(plan, findings=findings)


def plan_fleet(
    inventory: FilePath,
    *,
    out: FilePath | None = None,
    overwrite: bool = False,
    on_exposure: ExposureCallback = ignore_exposure,
) -> FleetPlanResult:
    """Plan the format of every node of an inventory (docs/storage-runbook.md): ids, salts, times and bytes.

    No disk is read or changed. A plan without a blocker is written to `out`, readable by its owner only; `overwrite`
    replaces one that was not applied yet. `on_exposure` gets findings on who can read the file of SCRAM users.

    Raises InputError for an inventory that cannot be read, RefusedError `plan-file-exists` and
    `plan-already-applied`, FailedError `plan-file-not-written`.
    """
    if out is not None:
        check_plan_target(Path(out), overwrite=overwrite)
    request = read_fleet(Path(inventory), new_cluster_id=random_uuid())
    if request.inventory.scram_file is not None:
        users = Path(inventory).absolute().parent / request.inventory.scram_file
        on_exposure(file_exposure(str(users), "the file of SCRAM users"))
    plan = _planned(request, os.fspath(inventory))
    if plan.outcome is not Outcome.PLANNED or out is None:
        return FleetPlanResult(plan=plan)
    write_plan(Path(out), render_plan(plan), overwrite=overwrite)
    return FleetPlanResult(plan=plan, out=os.fspath(out))
