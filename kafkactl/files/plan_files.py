"""Plan files: written whole or not at all, and never over a plan that was applied."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from kafkactl.change.plan_document import PLAN_FILE_MODE
from kafkactl.core.errors import FailedError, RefusedError
from kafkactl.files.leftover_sync import sync_found_file, sync_found_name
from kafkactl.files.whole_file import check_place, write_whole


def receipts_folder(plan_file: Path) -> Path:
    """Return the folder of the receipts of a plan, next to the plan file."""
    return plan_file.with_name(plan_file.name + ".receipts")


def write_plan(path: Path, data: bytes, *, overwrite: bool) -> None:
    """Write a new plan, whole or not at all, readable by its owner only.

    Raises RefusedError `plan-file-exists` (directory ids of the old one would be lost; `overwrite` allows it) or
    `plan-already-applied` (nodes were formatted by the old one), FailedError `plan-file-not-written`.
    """
    check_plan_target(path, overwrite=overwrite)
    try:
        write_whole(path, data, mode=PLAN_FILE_MODE, exclusive=not overwrite)
    except FileExistsError:
        raise _plan_exists(path) from None
    except OSError as error:
        raise _plan_not_written(path, error) from error


def _plan_not_written(path: Path, error: OSError) -> FailedError:
    return FailedError(
        f"the plan could not be written to {path}: {error.strerror or error}", id="plan-file-not-written"
    )


def settle_plan(path: Path) -> None:
    """Sync a plan that was found to the disk: it may be a copy, or the work of a run that was killed.

    Raises FailedError `plan-file-not-written`.
    """
    try:
        sync_found_file(path)
        sync_found_name(path)
    except OSError as error:
        raise _plan_not_written(path, error) from error


def check_plan_target(path: Path, *, overwrite: bool) -> None:
    """Refuse what `write_plan` would refuse, before the work of planning is done. Raises as `write_plan`."""
    folder = receipts_folder(path)
    with contextlib.suppress(OSError):
        if any(folder.glob("node-*.json")):
            raise RefusedError(
                f"nodes were formatted by the plan at {path}: {folder} holds their receipts", id="plan-already-applied"
            )
    if os.path.lexists(path) and not overwrite:
        raise _plan_exists(path)
    try:
        check_place(path)
    except OSError as error:
        raise _plan_not_written(path, error) from error


def _plan_exists(path: Path) -> RefusedError:
    return RefusedError(f"{path} exists already", id="plan-file-exists")
