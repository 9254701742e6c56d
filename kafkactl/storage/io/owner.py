"""`--owner USER:GROUP` as numbers, from this machine's user database."""

from __future__ import annotations

import grp
import pwd

from kafkactl.core.errors import InputError
from kafkactl.storage.model import Owner


def find_owner(text: str) -> Owner:
    """Read `kafka`, `kafka:kafka`, `:kafka` or numbers. Without a group, it is the user's own group.

    Raises InputError `unknown-owner`.
    """
    user, _, group = text.partition(":")
    if not user and not group:
        raise _unknown(text, "it names neither a user nor a group")
    uid, own_group = _user(user, text) if user else (-1, -1)
    return Owner(text=text, uid=uid, gid=_group(group, text) if group else own_group)


def _user(user: str, text: str) -> tuple[int, int]:
    try:
        found = pwd.getpwuid(int(user)) if user.isdecimal() else pwd.getpwnam(user)
    except (KeyError, OverflowError):
        if user.isdecimal() and int(user) < 2**32 - 1:
            return int(user), -1  # a user of a container or of another machine
        raise _unknown(text, f"there is no user {user}") from None
    return found.pw_uid, found.pw_gid


def _group(group: str, text: str) -> int:
    if group.isdecimal() and int(group) < 2**32 - 1:
        return int(group)
    try:
        return grp.getgrnam(group).gr_gid
    except KeyError:
        raise _unknown(text, f"there is no group {group}") from None


def _unknown(text: str, why: str) -> InputError:
    return InputError(f"--owner {text!r}: {why}", id="unknown-owner")
