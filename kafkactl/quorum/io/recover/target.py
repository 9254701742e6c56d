"""The place of a recovered directory: what is there, and the lock that keeps a second recovery out of it.

The lock is a file next to the new directory, which need not exist yet. The lock is held from the first observation to
the end of the writing, so that an answer to a question which was asked an hour ago is about the same directory.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kafkactl.core.errors import InputError
from kafkactl.core.frozen import frozen
from kafkactl.files.filesystem import Filesystem
from kafkactl.files.whole_file import check_place
from kafkactl.quorum.recover.answer import PLAN_SUFFIX, plan_file_of
from kafkactl.storage.io.format_folders import identity
from kafkactl.storage.io.locks import file_lock

_LOCK_SUFFIX: Final = f"{PLAN_SUFFIX}.lock"
_STAGED_SUFFIX: Final = ".tmp"


@frozen
class TargetLook:
    """The new directory when it was looked at, and the folder that it is in; places are device and inode.

    `names` and `place` are None if there is no directory.
    """

    above: tuple[int, int]
    place: tuple[int, int] | None = None
    names: tuple[str, ...] | None = None


def look_at(directory: str) -> TargetLook:
    """Return the state of the path of a new directory. Raises InputError `recovery-target-unusable`."""
    try:
        above = Path(directory).parent
        if not os.path.lexists(directory):
            check_place(Path(directory))
            return TargetLook(above=_place(above.stat()))
        at = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            names = tuple(sorted(os.listdir(at)))  # noqa: PTH208 - of the descriptor
            return TargetLook(above=_place(above.stat()), place=_place(os.fstat(at)), names=names)
        finally:
            os.close(at)
    except OSError as error:
        if Path(directory).is_symlink():
            raise InputError(
                f"--out {directory} is a symbolic link: nothing is written through a link",
                id="recovery-target-unusable",
                next_step="Name the directory that the link leads to.",
            ) from error
        raise _unusable(directory, error) from error


def _place(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def staged_plan(directory: str) -> str:
    """Return the temporary name of the plan that is kept next to a new directory."""
    return plan_file_of(directory) + _STAGED_SUFFIX


@contextlib.contextmanager
def locked_target(directory: str, files: Filesystem) -> Iterator[None]:
    """Keep every other recovery out of a new directory while the block runs; a killed run's staged plan is removed.

    Raises RefusedError `another-kafkactl-is-writing`, InputError `recovery-target-unusable`.
    """
    with contextlib.ExitStack() as stack:
        try:
            check_place(Path(directory))
            at = files.open_folder(str(Path(directory).parent))
            stack.callback(os.close, at)
            place = Path(directory)
            path = str(place.with_name(f".{place.name[:200]}{_LOCK_SUFFIX}"))
            stack.enter_context(file_lock(path, directory, files, at=at))
            if identity(staged_plan(directory), at) is not None:
                files.unlink(staged_plan(directory), at=at)
        except OSError as error:
            raise _unusable(directory, error) from error
        yield


def _unusable(directory: str, error: OSError) -> InputError:
    return InputError(f"--out {directory} cannot be used: {error.strerror or error}", id="recovery-target-unusable")
