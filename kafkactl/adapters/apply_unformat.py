"""Apply an unformat plan: remove what the plan names, after looking once more that nothing else came to it.

Killed anywhere, no node starts from what is left: the metadata directory loses its meta.properties first, and that
loss is on the disk before anything else goes. Another run removes the rest.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from kafkactl.adapters.apply_format import failure_finding
from kafkactl.adapters.directories import observe_directory
from kafkactl.adapters.filesystem import Filesystem
from kafkactl.adapters.locks import directory_lock
from kafkactl.errors import RefusedError
from kafkactl.plan import Finding, Outcome, Severity
from kafkactl.storage.model import METADATA_LOG, Applied, Progress
from kafkactl.storage.unformat_plan import UnformatDirectory, UnformatPlan, signs_of_a_start


def apply_unformat(plan: UnformatPlan, files: Filesystem) -> Applied:
    """Do what the plan says. Refusals and failures are answers; nothing is raised for what the disks do."""
    progress = {
        one.path: Progress.NOT_STARTED if one.action == "unformat" else Progress.UNCHANGED for one in plan.directories
    }
    if plan.outcome is not Outcome.PLANNED:
        return Applied(outcome=plan.outcome, progress=progress, findings=plan.findings)
    at = [""]
    try:
        with contextlib.ExitStack() as locks:
            targets = [one for one in plan.directories if one.action == "unformat"]
            for target in targets:
                at[0] = target.path
                locks.enter_context(directory_lock(target.path, files))
                _check_unchanged(target)
            for target in targets:
                _remove(target, files, progress, at)
    except RefusedError as error:
        return Applied(
            outcome=Outcome.REFUSED, progress=progress, findings=(*plan.findings, _refusal(error, plan.node_id))
        )
    except OSError as error:
        findings = (*plan.findings, failure_finding(error, at[0]), _what_stands(plan, progress))
        begun = any(one in {Progress.DONE, Progress.HALF_DONE} for one in progress.values())
        return Applied(outcome=Outcome.PARTIAL if begun else Outcome.FAILED, progress=progress, findings=findings)
    return Applied(outcome=Outcome.DONE, progress=progress, findings=plan.findings)


def _check_unchanged(target: UnformatDirectory) -> None:
    """Raises RefusedError where a node, or anybody else, came to the directory after the plan was made."""
    now = observe_directory(target.path)
    signs = signs_of_a_start(now)
    content = now.meta_properties.content if now.meta_properties else None
    if signs or now.locked_by_process or content != target.meta_properties:
        raise RefusedError(
            f"{target.path} has changed since it was looked at" + (f": it holds {', '.join(signs)}" if signs else ""),
            id="changed-meanwhile",
            next_step="Look at the directory with `kafkactl storage info`, and run this again.",
        )


def _remove(target: UnformatDirectory, files: Filesystem, progress: dict[str, Progress], at: list[str]) -> None:
    synced = ""
    for name in target.names:
        path = str(Path(target.path, name))
        at[0] = path
        if not os.path.lexists(path):
            continue
        progress[target.path] = Progress.HALF_DONE
        if name == METADATA_LOG:
            files.rmdir(path)
        else:
            files.unlink(path)
        synced = str(Path(path).parent)
        files.fsync_directory(synced)
    if synced != target.path:
        files.fsync_directory(target.path)
    progress[target.path] = Progress.DONE


def _refusal(error: RefusedError, node_id: int) -> Finding:
    return Finding(
        id=error.id,
        severity=Severity.BLOCKER,
        subject=f"node {node_id}",
        message=error.message,
        next_step=error.next_step or "",
    )


def _what_stands(plan: UnformatPlan, progress: dict[str, Progress]) -> Finding:
    told = ", ".join(f"{path} {state.value}" for path, state in progress.items())
    return Finding(
        id="unformat-half-done",
        severity=Severity.INFO,
        subject=f"node {plan.node_id}",
        message=f"not everything was removed ({told})",
        evidence={"directories": {path: state.value for path, state in progress.items()}},
        next_step="Remove the cause and run the same command again: it removes the rest. Or format again: what is left"
        " of a format is not data.",
    )
