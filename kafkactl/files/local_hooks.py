"""Hooks of the template `local` that read and replace files of nodes on this machine."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

from kafkactl.change.hooks.node import HookNode, Request
from kafkactl.change.hooks.run import HookEnd, HookRun
from kafkactl.change.hooks.words import CHANGED_MEANWHILE
from kafkactl.core.errors import KafkactlError
from kafkactl.files.clock import SystemClock
from kafkactl.files.input_files import InputKind, read_whole
from kafkactl.files.leftover_sync import sync_found_file, sync_found_name
from kafkactl.files.whole_file import write_whole

_NEW_FILE_MODE: Final = 0o640


def timed_locally(act: Callable[[], HookRun], node: HookNode) -> HookRun:
    """Return the result of an action with its duration. Raise nothing for what the disks do."""
    began_ms = SystemClock().now_ms()
    try:
        run = act()
    except OSError as error:
        run = failed_locally(f"{error.filename or node.config}: {error.strerror or error}")
    except KafkactlError as error:
        run = failed_locally(error.message)
    took_ms = int(SystemClock().now_ms() - began_ms)
    return HookRun(end=run.end, exit_code=run.exit_code, stdout=run.stdout, message=run.message, elapsed_ms=took_ms)


def get_config(node: HookNode, _request: Request) -> HookRun:
    """Return the configuration file."""
    return done_locally(read_whole(node.config, InputKind.NODE_CONFIG))


def put_config(node: HookNode, request: Request) -> HookRun:
    """Replace the configuration file if its content is the expected one."""
    path = Path(node.config)
    there = read_whole(path, InputKind.NODE_CONFIG) if path.exists() else None
    now = "absent" if there is None else hashlib.sha256(there).hexdigest()
    if now == request.extra["sha_after"]:
        if there is not None:  # an earlier run that was killed may have put it there
            sync_found_file(path.resolve())
            sync_found_name(path.resolve())
        return done_locally()
    if now != request.extra["sha_before"]:
        return HookRun(end=HookEnd.CHANGED_MEANWHILE, exit_code=CHANGED_MEANWHILE)
    found = path.lstat() if there is not None else None
    if found is not None and not stat.S_ISREG(found.st_mode):
        return failed_locally(f"{path} is not a regular file: name the file itself as config in the inventory")
    mode = _NEW_FILE_MODE if found is None else stat.S_IMODE(found.st_mode) & 0o777
    write_whole(path, request.text, mode=mode, owner=None if found is None else (found.st_uid, found.st_gid))
    return done_locally()


def done_locally(stdout: bytes = b"") -> HookRun:
    """Return the result of an action that succeeded."""
    return HookRun(end=HookEnd.DONE, exit_code=0, stdout=stdout)


def failed_locally(reason: str) -> HookRun:
    """Return the result of an action that failed."""
    return HookRun(end=HookEnd.FAILED, exit_code=1, message=f"local: {reason}")
