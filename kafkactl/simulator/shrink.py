"""The fewest faults that still break what was broken: delta debugging (Zeller, Hildebrandt 2002) on a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def fewest(items: Sequence[Item], fails: Callable[[Sequence[Item]], bool], *, most_tries: int = 2_000) -> list[Item]:
    """Return a subset of `items`, in their order, that fails and of which no single item can be left out.

    `fails` says whether a subset fails; it must be true of the whole. After `most_tries` calls the smallest failing
    subset so far is returned, from which an item might still be left out.
    """
    kept, pieces, tries = list(items), 2, 0
    while kept and tries < most_tries:
        size = max(1, -(-len(kept) // pieces))
        for first in range(0, len(kept), size):
            rest = kept[:first] + kept[first + size :]
            tries += 1
            if fails(rest):
                kept, pieces = rest, max(2, pieces - 1)
                break
            if tries >= most_tries:
                return kept
        else:
            if size == 1:
                return kept
            pieces = min(len(kept), pieces * 2)
    return kept
