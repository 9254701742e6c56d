"""Plan files, which are written, and receipts, which are read and written."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

from kafkactl.change.plan_document import PLAN_FILE_MODE
from kafkactl.core.errors import FailedError, InputError, RefusedError
from kafkactl.files.filesystem import Filesystem
from kafkactl.files.found import sync_found_file, sync_found_name
from kafkactl.files.input_files import InputKind, read_input, unreadable_input
from kafkactl.files.whole_file import check_place, write_whole
from kafkactl.storage.fleet.receipts import Receipt, parse_receipt, receipt_name, render_receipt

_RECEIPT_MODE = 0o644


def receipts_folder(plan_file: Path) -> Path:
    """The folder of the receipts of a plan, next to the plan file."""
    return plan_file.with_name(plan_file.name + ".receipts")


def write_plan(path: Path, data: bytes, *, overwrite: bool) -> None:
    """Put a new plan in place, whole or not at all, readable by its owner only.

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
    """Bring a plan that was found to the disk: it may be a copy, or the work of a run that was killed.

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


def read_receipt(folder: Path, node_id: int) -> Receipt | None:
    """The receipt of a node, None where there is none. Raises InputError (unreadable, damaged)."""
    path = folder / receipt_name(node_id)
    try:
        path.lstat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unreadable_input(path, "the receipt", error.strerror or str(error)) from error
    receipt = parse_receipt(read_input(path, "the receipt", InputKind.DOCUMENT), file=str(path))
    if receipt.node_id != node_id:
        raise InputError(f"{path} is the receipt of node {receipt.node_id}", id="receipt-damaged")
    return receipt


def settle_receipt(folder: Path, receipt: Receipt, files: Filesystem) -> None:
    """Bring the receipt that was found to the disk. Raises FailedError `receipt-not-written`."""
    path = folder / receipt_name(receipt.node_id)
    try:
        sync_found_file(path, files)
        sync_found_name(path, files)
        sync_found_name(folder, files)
    except OSError as error:
        raise _receipt_not_written(folder, receipt, error) from error


def write_receipt(folder: Path, receipt: Receipt, files: Filesystem) -> None:
    """Leave or replace a node's receipt, whole or not at all. Raises FailedError `receipt-not-written`."""
    target = folder / receipt_name(receipt.node_id)
    temporary = target.with_name(f".{target.name}.tmp")
    try:
        _make_folder(folder, files)
        if os.path.lexists(temporary):
            files.unlink(str(temporary))
        _write_staged(str(temporary), render_receipt(receipt), files)
        files.rename(str(temporary), str(target))
        files.fsync_directory(str(folder))
    except OSError as error:
        raise _receipt_not_written(folder, receipt, error) from error


def _receipt_not_written(folder: Path, receipt: Receipt, error: OSError) -> FailedError:
    return FailedError(
        f"node {receipt.node_id} is formatted, its receipt could not be written to {folder}: {error.strerror or error}",
        id="receipt-not-written",
    )


def _make_folder(folder: Path, files: Filesystem) -> None:
    """Nodes are applied side by side: another one may have made it in the meantime."""
    if not folder.is_dir():
        try:
            files.mkdir(str(folder))
        except FileExistsError:
            if not folder.is_dir():
                raise
    sync_found_name(folder, files)


def _write_staged(path: str, data: bytes, files: Filesystem) -> None:
    descriptor = files.create(path, _RECEIPT_MODE)
    try:
        left = memoryview(data)
        while left:
            taken = files.write(descriptor, bytes(left))
            if taken <= 0:
                raise OSError(errno.EIO, os.strerror(errno.EIO), path)
            left = left[taken:]
        files.fsync(descriptor)
    finally:
        files.close(descriptor)
