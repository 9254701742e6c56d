"""Receipts of a fleet plan: one file a node that was formatted, next to the plan file."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from kafkactl.core.errors import FailedError, InputError
from kafkactl.files.filesystem import Filesystem
from kafkactl.files.input_files import InputKind, read_input, unreadable_input
from kafkactl.files.leftover_sync import sync_found_file, sync_found_name
from kafkactl.storage.fleet.receipts import Receipt, parse_receipt, receipt_name, render_receipt

_RECEIPT_MODE = 0o644


def read_receipt(folder: Path, node_id: int) -> Receipt | None:
    """Return the receipt of a node, None if there is none. Raises InputError (unreadable, damaged)."""
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
    """Sync the receipt that was found to the disk. Raises FailedError `receipt-not-written`."""
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
    """Make the folder, which another node may have made meanwhile: nodes are applied side by side."""
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
