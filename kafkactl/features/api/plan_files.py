"""A change of feature levels that is planned into a file, reviewed there, and applied from it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from kafkactl.change.plan_document import checksum, render_document
from kafkactl.core.callbacks import NoteCallback, ignore_note
from kafkactl.core.errors import UnreachableError
from kafkactl.core.findings import Finding, Outcome
from kafkactl.features.api.cluster import FeatureChange, change_levels, plan_change
from kafkactl.features.plan.plan_file import FeaturePlanFile, plan_document, read_plan
from kafkactl.files.entropy import SystemSource
from kafkactl.files.input_files import InputKind, read_input
from kafkactl.files.plan_files import check_plan_target, write_plan

if TYPE_CHECKING:
    from kafkactl.features.plan.request import FeatureRequest
    from kafkactl.kafka.client import Client

FilePath: TypeAlias = str | os.PathLike[str]
Confirm: TypeAlias = Callable[[FeatureChange], Finding | None]
"""Gets what is about to be done; the finding that it gives refuses it."""


def save_plan(client: Client, request: FeatureRequest, out: FilePath, *, overwrite: bool = False) -> FeatureChange:
    """Plan a change as `plan_change` does, and write it to `out`, readable by its owner only.

    Nothing is written if the plan is refused or there is nothing to do; `overwrite` replaces an earlier plan.
    Raises UnreachableError, also if no node shows the cluster's id, RefusedError `plan-file-exists` and FailedError
    `plan-file-not-written`.
    """
    check_plan_target(Path(out), overwrite=overwrite)
    found = plan_change(client, request)
    if found.outcome is not Outcome.PLANNED:
        return found
    if found.plan.cluster_id is None:
        raise UnreachableError(
            "no node reports the id of the cluster, and a plan file is for one cluster only", id="cluster-not-seen"
        )
    document = plan_document(found.plan, created_ms=SystemSource().now_ms())
    write_plan(Path(out), render_document(document), overwrite=overwrite)
    return replace(found, out=os.fspath(out), plan_sha256=checksum(document))


def load_plan(plan_file: FilePath) -> FeaturePlanFile:
    """Read a plan file. Raises InputError (unreadable, `not-a-plan-file`), RefusedError (`plan-file-edited`,
    `plan-forged`)."""
    return read_plan(read_input(Path(plan_file), "the plan", InputKind.DOCUMENT), file=os.fspath(plan_file))


def apply_plan(
    client: Client,
    planned: FeaturePlanFile,
    *,
    dry_run: bool = False,
    confirm: Confirm | None = None,
    timeout_ms: float = 120_000.0,
    on_note: NoteCallback = ignore_note,
) -> FeatureChange:
    """Change levels exactly as a plan file states, or refuse.

    The change is planned again from the cluster as it is; where another plan comes out, or another cluster answers,
    nothing is sent. A plan of which the first steps were taken is taken to its end; one that was applied whole leaves
    nothing to do. `confirm` gets the plan before anything is sent. Raises as `change_levels` does.
    """
    if not dry_run and confirm is None:
        found = change_levels(client, planned.request, timeout_ms=timeout_ms, on_note=on_note, planned=planned)
        return replace(found, plan_sha256=planned.sha256)
    first = replace(plan_change(client, planned.request, planned=planned), plan_sha256=planned.sha256)
    if dry_run or first.outcome is not Outcome.PLANNED:
        return first
    assert confirm is not None, "without one the change was made above"
    refusal = confirm(first)
    if refusal is not None:
        return replace(first, notes=(*first.notes, refusal))
    return apply_plan(client, planned, timeout_ms=timeout_ms, on_note=on_note)
