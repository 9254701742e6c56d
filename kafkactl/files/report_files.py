"""Reports on disk: whole or not at all, and never in place of anything but an earlier report."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from kafkactl.core.errors import FailedError, RefusedError
from kafkactl.files.input_files import open_regular
from kafkactl.files.whole_file import check_place, write_whole

_MODE = 0o644
_READ_BYTES = 512


def check_report_target(path: Path, mark: str) -> None:
    """Refuse what `write_report` would refuse, before the work is done. Every report begins with `mark`.

    Raises RefusedError `not-a-report-file`, FailedError `report-not-written`.
    """
    try:
        check_place(path)
        kind = path.stat().st_mode
        head = _head(path) if stat.S_ISREG(kind) else b""
    except FileNotFoundError as error:
        if not path.parent.is_dir():
            raise _not_written(path, error.strerror or str(error)) from None
        return
    except OSError as error:
        raise _not_written(path, error.strerror or str(error)) from error
    if not stat.S_ISREG(kind) or (head and mark.encode() not in head):
        raise RefusedError(f"{path} exists and is not a report written by kafkactl", id="not-a-report-file")


def _head(path: Path) -> bytes:
    with os.fdopen(open_regular(path), "rb") as file:
        return file.read(_READ_BYTES)


def write_report(path: Path, data: bytes, mark: str) -> None:
    """Write a report under a temporary name, sync it, then rename it, so that a reader never sees half of it.

    Raises RefusedError `not-a-report-file`, FailedError `report-not-written`.
    """
    check_report_target(path, mark)
    try:
        write_whole(path, data, mode=_MODE)
    except OSError as error:
        raise _not_written(path, error.strerror or str(error)) from error


def _not_written(path: Path, why: str) -> FailedError:
    return FailedError(f"the report could not be written to {path}: {why}", id="report-not-written")
