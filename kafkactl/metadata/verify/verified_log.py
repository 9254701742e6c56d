"""Log in the answer of `log verify`."""

from __future__ import annotations

from kafkactl.core.answers import by_fields
from kafkactl.core.frozen import frozen


@frozen
class Cut:
    """Place at which a starting node cuts the log, and what is lost."""

    file: str
    position: int
    """The first byte that goes."""
    bytes: int
    offset: int
    """The first offset that goes."""
    reason: str
    segments_dropped: tuple[str, ...]
    readable_batches: int
    """Batches and records after the cut that can still be read."""
    readable_records: int

    to_dict = by_fields


@frozen
class SnapshotEnd:
    """A snapshot: it replaces all offsets below, `epoch` is that of the last of them."""

    offset: int
    epoch: int

    to_dict = by_fields


@frozen
class VerifiedLog:
    """The log of one node, or a single file."""

    path: str
    cluster_id: str | None
    """From the meta.properties next to or above the log."""
    segments: int
    first_offset: int | None
    end_offset: int | None
    """Offset after the last one that a restart leaves."""
    last_epoch: int | None
    batches: int
    records: int
    """Without control records."""
    newest_snapshot: SnapshotEnd | None
    would_cut: Cut | None

    to_dict = by_fields
