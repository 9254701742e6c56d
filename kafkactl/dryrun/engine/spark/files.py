"""Opening a segment where the driver or a worker of Spark reads it: regular files only, and without waiting.

What is listed in a folder may be another thing by the time it is opened; a FIFO would be waited for without end.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO


def opened_segment(path: str) -> BinaryIO:
    """The file, unbuffered. Raises OSError, also for a path that is not a regular file or a link to one."""
    return open(path, "rb", buffering=0, opener=_regular)


def _regular(path: str, flags: int) -> int:
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return descriptor
