"""Ownership and permissions of a file that was found on a host and that no operator named.

Another user could have planted such a file: it would decide which nodes are contacted and which login they get. A file
is trusted if only root or this user can write the file, each folder above it, and each link that leads to it. A folder
with the sticky bit may be writable for all: only the owner of an entry can replace the entry.
"""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Iterator

from kafkactl.core.frozen import frozen

_MOST_LINKS = 40  # as the kernel allows


@frozen
class Distrust:
    """Reason not to use a file. `owner` is the user who could use the file as its owner, if there is one.

    A file that is not `usable` cannot be read by a command that names the file, either.
    """

    reason: str
    owner: str | None = None
    usable: bool = True


def distrust_of(path: str, user: int | None = None) -> Distrust | None:
    """Return the reason not to use a file that was found; None if no other user could have planted the file.

    `user` is the id of the user who asks, by default that of this process.
    """
    trusted = {0, os.geteuid() if user is None else user}
    try:
        for place, state in _steps(path):
            if (found := _distrust(place, state, trusted)) is not None:
                return found
    except OSError as error:
        return Distrust(
            reason=f"it cannot be examined: {error.strerror or error}", usable=isinstance(error, PermissionError)
        )
    return None


def user_name(number: int) -> str:
    """Return the name of a user id, or the number if the system has no name for it."""
    try:
        return pwd.getpwuid(number).pw_name
    except (KeyError, OverflowError):
        return str(number)


def _distrust(place: str, state: os.stat_result, trusted: set[int]) -> Distrust | None:
    is_folder, is_link = stat.S_ISDIR(state.st_mode), stat.S_ISLNK(state.st_mode)
    what = f"its folder {place}" if is_folder else f"the link {place}" if is_link else "it"
    if state.st_uid not in trusted:
        name = user_name(state.st_uid)
        return Distrust(reason=f"{what} belongs to {name}, who is neither root nor the user who asks", owner=name)
    if is_link:
        return None  # a link has no permissions of its own
    if not is_folder and not stat.S_ISREG(state.st_mode):
        return Distrust(reason="it is not a regular file", usable=False)
    writers = state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if writers and not (is_folder and state.st_mode & stat.S_ISVTX):
        others = "every user" if writers & stat.S_IWOTH else "its group"
        return Distrust(reason=f"{what} can be written by {others} (mode {stat.S_IMODE(state.st_mode):04o})")
    return None


def _steps(path: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield every folder, link and file that leads to a path, from the root on. Raises OSError."""
    left = os.path.abspath(path).split("/")[1:]  # noqa: PTH100 - links are followed below, one by one
    here, links = "/", 0
    yield here, os.lstat(here)
    while left:
        name = left.pop(0)
        if name in ("", "."):
            continue
        if name == "..":
            here = os.path.dirname(here)  # noqa: PTH120
            continue
        place = os.path.join(here, name)  # noqa: PTH118
        state = os.lstat(place)
        yield place, state
        if not stat.S_ISLNK(state.st_mode):
            here = place
            continue
        links += 1
        if links > _MOST_LINKS:
            raise OSError(f"more than {_MOST_LINKS} links lead to it")
        target = os.readlink(place)  # noqa: PTH115
        here = "/" if target.startswith("/") else here
        left = [*target.split("/"), *left]
