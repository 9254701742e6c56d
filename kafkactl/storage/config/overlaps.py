"""Directories of one host that several nodes write to: the same one, or one inside the other."""

from __future__ import annotations

import posixpath
from collections.abc import Hashable, Iterable, Iterator
from typing import NamedTuple, TypeVar

Owner = TypeVar("Owner", bound=Hashable)


class Overlap(NamedTuple):
    """Two directories with their owners; `inner` is `outer` itself, or is inside it."""

    outer: str
    outer_owner: Hashable
    inner: str
    inner_owner: Hashable


def overlaps(owned: Iterable[tuple[str, Owner]]) -> Iterator[Overlap]:
    """Return the directories of a host that are another owner's, or are inside one; `owned` are path and owner.

    >>> [(found.outer, found.inner) for found in overlaps([("/data", "broker 1"), ("/data/kraft/", "controller 3")])]
    [('/data', '/data/kraft')]
    """
    owners: dict[str, Owner] = {}
    normal = dict.fromkeys((posixpath.normpath(path), owner) for path, owner in owned)
    # Sorted by components, a directory comes right before everything inside it.
    for path, owner in sorted(normal, key=lambda item: (item[0].split("/"), str(item[1]))):
        outer = next((above for above in _ancestors(path) if owners.get(above, owner) != owner), None)
        if outer is None:
            owners.setdefault(path, owner)
            continue
        yield Overlap(outer, owners[outer], path, owner)


def _ancestors(path: str) -> Iterator[str]:
    """Yield the path itself and every folder above it."""
    yield path
    while path not in ("/", ""):
        path = posixpath.dirname(path)
        yield path
