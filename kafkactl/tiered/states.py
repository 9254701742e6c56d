"""The states of a remote segment and of a partition's deletion, and which of them may follow which.

Source: `storage/api/.../RemoteLogSegmentState.java`, `RemotePartitionDeleteState.java`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class SegmentState(IntEnum):
    """RemoteLogSegmentState of a record."""

    COPY_SEGMENT_STARTED = 0
    COPY_SEGMENT_FINISHED = 1
    DELETE_SEGMENT_STARTED = 2
    DELETE_SEGMENT_FINISHED = 3


class PartitionDeleteState(IntEnum):
    """RemotePartitionDeleteState of a record."""

    DELETE_PARTITION_MARKED = 0
    DELETE_PARTITION_STARTED = 1
    DELETE_PARTITION_FINISHED = 2


COPYING, COPIED, DELETING, DELETED = SegmentState

_NEXT: Final = {
    None: frozenset({COPYING}),
    COPYING: frozenset({COPYING, COPIED, DELETING}),
    COPIED: frozenset({COPIED, DELETING}),
    DELETING: frozenset({DELETING, DELETED}),
    DELETED: frozenset({DELETED}),
}


def is_legal(before: SegmentState | None, after: SegmentState) -> bool:
    """Return True if brokers accept the change; they drop any other record.

    `before` is None for an id they do not know.
    """
    return after in _NEXT[before]
