"""The cyclic garbage collector during a fold."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_MANY_OBJECTS: Final = 100_000  # of a fold, from which on the collector should not look at them


@contextmanager
def no_collection() -> Iterator[None]:
    """Switch the collector off: it examines a growing state again and again and never finds a cycle.

    That is a sixth of the time of a fold, at a million partitions a third.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            # What was made is treated as old: one pass over it is a waste, too. A caller's own frozen objects stay
            # frozen; to count them takes as long as there are many, so it is asked only if much was made.
            if gc.get_count()[0] > _MANY_OBJECTS and not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()
