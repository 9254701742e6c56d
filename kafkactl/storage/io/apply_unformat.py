"""Apply of an unformat plan: check again that nothing was added, then remove what the plan names.

Killed anywhere, no node starts from what is left: the metadata directory loses its meta.properties first, and that
loss is on the disk before anything else goes. Another run removes the rest.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from kafkactl.core.errors import RefusedError
from kafkactl.core.findings import Finding, Outcome, Severity, error_finding
from kafkactl.core.kafka_names import METADATA_LOG
from kafkactl.files.filesystem import Filesystem
from kafkactl.storage.format.unformat import UnformatDirectory, UnformatPlan, signs_of_a_start
from kafkactl.storage.io.apply_format import failure_finding
from kafkactl.storage.io.directories import observe_directory
from kafkactl.storage.io.directory_sync import settle_directory
from kafkactl.storage.io.format_folders import identity
from kafkactl.storage.io.locks import directory_lock
from kafkactl.storage.model import Applied, Progress


def apply_unformat(plan: UnformatPlan, files: Filesystem) -> Applied:
    """Apply the plan. Refusals and failures are answers; nothing is raised for errors of the disks."""
    progress = {
        directory.path: Progress.NOT_STARTED if directory.action == "unformat" else Progress.UNCHANGED
        for directory in plan.directories
    }
    if plan.outcome is Outcome.NOTHING_TO_DO:
        return _settled(plan, files, progress)
    if plan.outcome is not Outcome.PLANNED:
        return Applied(outcome=plan.outcome, progress=progress, findings=plan.findings)
    at = [""]
    opened: dict[str, int] = {}
    try:
        with contextlib.ExitStack() as locks:
            targets = [directory for directory in plan.directories if directory.action == "unformat"]
            for target in targets:
                at[0] = target.path
                folder = _opened(target.path, None, files, locks)
                locks.enter_context(directory_lock(target.path, files, at=folder))
                _check_unchanged(target, folder)
                opened[target.path] = folder
            for kept in plan.directories:
                if kept.action != "unformat":
                    at[0] = kept.path
                    settle_directory(kept.path, files)
            for target in targets:
                _remove(target, opened[target.path], files, progress, at)
    except RefusedError as error:
        return Applied(
            outcome=Outcome.REFUSED,
            progress=progress,
            findings=(*plan.findings, error_finding(f"node {plan.node_id}", error)),
        )
    except OSError as error:
        findings = (*plan.findings, failure_finding(error, at[0]), _what_stands(plan, progress))
        begun = any(state in {Progress.DONE, Progress.HALF_DONE} for state in progress.values())
        return Applied(outcome=Outcome.PARTIAL if begun else Outcome.FAILED, progress=progress, findings=findings)
    return Applied(outcome=Outcome.DONE, progress=progress, findings=plan.findings)


def _settled(plan: UnformatPlan, files: Filesystem, progress: dict[str, Progress]) -> Applied:
    """Sync the removals of an interrupted run to disk, and return the result of a plan that has nothing to do."""
    at = ""
    try:
        for directory in plan.directories:
            at = directory.path
            settle_directory(at, files)
    except OSError as error:
        return Applied(outcome=Outcome.FAILED, progress=progress, findings=(*plan.findings, failure_finding(error, at)))
    return Applied(outcome=Outcome.NOTHING_TO_DO, progress=progress, findings=plan.findings)


def _opened(path: str, at: int | None, files: Filesystem, until: contextlib.ExitStack) -> int:
    """Return a directory, by its descriptor from here on: another user may put another one at its path meanwhile."""
    descriptor = files.open_folder(path, at=at)
    until.callback(os.close, descriptor)
    return descriptor


def _check_unchanged(target: UnformatDirectory, folder: int) -> None:
    """Raise RefusedError if a node, or any other process, used the directory after the plan was made."""
    now = observe_directory(target.path)
    here = os.fstat(folder)
    if (now.device, now.inode) != (here.st_dev, here.st_ino):
        raise RefusedError(f"{target.path} leads to another directory than a moment ago", id="changed-meanwhile")
    signs = signs_of_a_start(now)
    content = now.meta_properties.content if now.meta_properties else None
    if signs or now.locked_by_process or content != target.meta_properties:
        raise RefusedError(
            f"{target.path} has changed since it was looked at" + (f": it holds {', '.join(signs)}" if signs else ""),
            id="changed-meanwhile",
        )


def _remove(
    target: UnformatDirectory, folder: int, files: Filesystem, progress: dict[str, Progress], at: list[str]
) -> None:
    # A run that was killed may have removed meta.properties without having synced that: it goes first here, too.
    files.fsync_directory(target.path, at=folder)
    synced = ""
    with contextlib.ExitStack() as stack:
        opened = {target.path: folder}
        for name in target.names:
            path = at[0] = str(Path(target.path, name))
            above = str(Path(path).parent)
            if above != target.path and above not in opened:
                if identity(above, folder) is None:
                    continue
                opened[above] = _opened(above, folder, files, stack)
            inside = opened.get(above, folder)
            if identity(path, inside) is None:
                continue
            progress[target.path] = Progress.HALF_DONE
            if name == METADATA_LOG:
                files.rmdir(path, at=inside)
            else:
                files.unlink(path, at=inside)
            synced = above
            files.fsync_directory(synced, at=inside)
    if synced != target.path:
        files.fsync_directory(target.path, at=folder)
    progress[target.path] = Progress.DONE


def _what_stands(plan: UnformatPlan, progress: dict[str, Progress]) -> Finding:
    listed = ", ".join(f"{path} {state.value}" for path, state in progress.items())
    return Finding(
        id="unformat-half-done",
        severity=Severity.INFO,
        subject=f"node {plan.node_id}",
        message=f"not everything was removed ({listed})",
        evidence={"directories": {path: state.value for path, state in progress.items()}},
        next_step="Remove the cause and run the same command again: it removes the rest. Or format again: what is left"
        " of a format is not data.",
    )
