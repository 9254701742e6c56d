"""A reassignment of voters that is planned into a file, reviewed there, and applied from it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from kafkactl.change.plan_document import checksum, render_document
from kafkactl.cluster.quorum.state import QuorumState
from kafkactl.core.findings import Outcome
from kafkactl.files.entropy import SystemSource
from kafkactl.files.input_files import InputKind, read_input
from kafkactl.files.plan_files import check_plan_target, write_plan
from kafkactl.quorum.api.change import QuorumChange
from kafkactl.quorum.change import goals
from kafkactl.quorum.change.ports import Goal
from kafkactl.quorum.guard import Circumstances
from kafkactl.quorum.plan_file import QuorumPlanFile, guarded, plan_document, read_plan
from kafkactl.quorum.step import QuorumChange as QuorumPlan

FilePath: TypeAlias = str | os.PathLike[str]


def check_out(out: FilePath, *, overwrite: bool = False) -> None:
    """Refuse a file that `save_plan` would refuse, before the work of planning. Raises RefusedError."""
    check_plan_target(Path(out), overwrite=overwrite)


def save_plan(
    planned: QuorumChange,
    out: FilePath,
    *,
    overrides: Iterable[str] = (),
    max_lag: int = goals.MAX_LAG,
    overwrite: bool = False,
) -> QuorumChange:
    """Write a reassignment that was planned (`plan_change`) to `out`, readable by its owner only.

    `overrides` and `max_lag` are those of its goal. Nothing is written if the plan is refused or there is nothing to
    do; `overwrite` replaces an earlier plan. Raises RefusedError `plan-file-exists` and FailedError
    `plan-file-not-written`.
    """
    found = planned.result
    if found.outcome is not Outcome.PLANNED:
        return planned
    assert found.before is not None, "what is planned was observed"
    document = plan_document(
        found.before,
        found.steps,
        found.findings,
        overrides=overrides,
        max_lag=max_lag,
        created_ms=SystemSource().now_ms(),
    )
    write_plan(Path(out), render_document(document), overwrite=overwrite)
    return replace(planned, out=os.fspath(out), plan_sha256=checksum(document))


def load_plan(plan_file: FilePath) -> QuorumPlanFile:
    """Read a plan file. Raises InputError (unreadable, `not-a-plan-file`), RefusedError (`plan-file-edited`,
    `plan-forged`)."""
    return read_plan(read_input(Path(plan_file), "the plan", InputKind.DOCUMENT), file=os.fspath(plan_file))


def planned_goal(planned: QuorumPlanFile) -> Goal:
    """Return the goal of a plan file, for `plan_change` and `change_voters`.

    Its plans are refused wherever the quorum, or the plan that is made of it, is not what the file states.
    """
    goal = goals.reassignment(planned.target_text, overrides=planned.overrides, max_lag=planned.max_lag)

    def plan(state: QuorumState, around: Circumstances) -> QuorumPlan:
        return guarded(planned, state, goal.plan(state, around))

    return replace(goal, plan=plan)
