"""The lab's cache: folders outside the tree that are either absent or complete.

Rule: a folder is filled under another name, a marker that says what it was made from is written last, and
only then is it renamed. One lock lets one process fill at a time; the others find the result. A folder whose
marker says anything else than what is wanted now is made again.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

MARKER = ".complete"


def cache_root() -> Path:
    """Return the lab's cache: ``KAFKACTL_LAB_CACHE``, else ``~/.cache/kafkactl-lab``; made if absent."""
    named = os.environ.get("KAFKACTL_LAB_CACHE")
    root = Path(named) if named else Path.home() / ".cache" / "kafkactl-lab"
    root.mkdir(parents=True, exist_ok=True)
    return root


def folder(name: str, made_from: str, fill: Callable[[Path, Path], None]) -> Path:
    """Return the folder ``name`` of the cache, made from ``made_from``.

    If absent, ``fill(work, target)`` must create and fill ``target``; ``work`` is a scratch folder. What
    ``fill`` raises is passed on and leaves the cache as it was.
    """
    place = cache_root() / name
    if _is_complete(place, made_from):
        return place
    with _locked(cache_root() / ".filling.lock"):
        if not _is_complete(place, made_from):
            _fill(place, made_from, fill)
    return place


def existing(name: str, made_from: str) -> Path | None:
    """Return the folder ``name`` if it is there and made from ``made_from``; nothing is made."""
    place = cache_root() / name
    return place if _is_complete(place, made_from) else None


def _is_complete(place: Path, made_from: str) -> bool:
    try:
        return (place / MARKER).read_text(encoding="utf-8") == made_from
    except OSError:
        return False


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _fill(place: Path, made_from: str, fill: Callable[[Path, Path], None]) -> None:
    """Fill in one rename. The lock is held, so what killed runs left behind can go."""
    for leftover in place.parent.glob(".filling-*/"):
        shutil.rmtree(leftover)
    work = Path(tempfile.mkdtemp(prefix=".filling-", dir=place.parent))
    target = work / "target"
    try:
        fill(work, target)
        (target / MARKER).write_text(made_from, encoding="utf-8")
        if place.exists():
            place.rename(work / "replaced")
        target.rename(place)
    finally:
        shutil.rmtree(work, ignore_errors=True)
