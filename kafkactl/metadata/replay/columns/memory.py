"""The C library's memory while logs are read: what one piece has freed is there for the next.

Arrays of a piece take some hundred kilobytes each. Such memory is given back to the system when it is freed, and has to
be made of fresh pages again: a third of all pages that a replay of a million records touches.
"""

from __future__ import annotations

import functools
from typing import Final

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # malloc.h of the GNU C library
_KEPT_BYTES: Final = 64 << 20  # at most so many are free at the end of the heap
_LARGE_BYTES: Final = 16 << 20  # from here on memory is given back at once: columns of a large cluster


@functools.cache
def keep_freed_memory() -> None:
    """Have it so from now on in this process. Elsewhere than in the GNU C library nothing is changed."""
    import ctypes  # numpy has loaded it

    try:
        set_option = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return
    set_option(_TRIM_THRESHOLD, _KEPT_BYTES)
    set_option(_MMAP_THRESHOLD, _LARGE_BYTES)
