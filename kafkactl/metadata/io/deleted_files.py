"""Files that a running node takes out of its log after the log's folder was listed.

It renames them, so that a process that reads them can continue, and deletes them a minute later: `file.delete.delay.ms`
of segments, a constant of snapshots (UnifiedLog.deleteSegmentFiles, KafkaMetadataLog.removeSnapshots).
"""

from __future__ import annotations

import os
from contextlib import suppress

from kafkactl.files.input_files import open_regular

DELETED_SUFFIX = ".deleted"


def name_now(path: str) -> str:
    """Return the name that such a file has now: its own, or the one that it has until it is deleted."""
    renamed = path + DELETED_SUFFIX
    return renamed if not os.path.lexists(path) and os.path.lexists(renamed) else path


def open_of_log(path: str, *, follow: bool = True) -> int:
    """Open such a file for reading, under the name that it has now; the caller closes the descriptor. Raise OSError.

    Without `follow` a link is an error.
    """
    try:
        return open_regular(path, follow=follow)
    except FileNotFoundError:
        with suppress(OSError):
            return open_regular(path + DELETED_SUFFIX, follow=follow)
        raise
