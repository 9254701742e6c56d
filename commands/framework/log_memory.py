"""Memory and threads of this process while it reads logs by columns.

Only commands ask for this, because it is of the whole process, which belongs to the program that calls the library.
Arrays of a piece take some hundred kilobytes each. Such memory is given back to the system when it is freed, and has
to be made of fresh pages again: a third of all pages that a replay of a million records touches.
"""

from __future__ import annotations

import functools
import os
from typing import Final

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # malloc.h of the GNU C library
_KEPT_BYTES: Final = 64 << 20  # at most so many are free at the end of the heap
_LARGE_BYTES: Final = 16 << 20  # from here on memory is given back at once: columns of a large cluster


def read_by_columns() -> None:
    """Prepare this process, before numpy is loaded.

    numpy brings a library for matrices, of which nothing is asked here; its threads wait for work in a loop.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    keep_freed_memory()


@functools.cache
def keep_freed_memory() -> None:
    """Keep the memory that one piece has freed for the next. Only the GNU C library is changed."""
    import ctypes  # numpy loads it, too

    try:
        set_option = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return
    set_option(_TRIM_THRESHOLD, _KEPT_BYTES)
    set_option(_MMAP_THRESHOLD, _LARGE_BYTES)
