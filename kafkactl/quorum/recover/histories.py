"""Disks whose metadata log is not of the source's history, and what that means for the recovery."""

from __future__ import annotations

from collections.abc import Sequence

from kafkactl.core.findings import Finding
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Uuid
from kafkactl.metadata.log.lineage import BatchIndex
from kafkactl.metadata.verify.histories import DivergentLog, Verdict, divergence_findings, parting
from kafkactl.quorum.recover.observed_disks import DiskSeen

FATAL = frozenset({Verdict.COMMITTED, Verdict.ONE_LEADER, Verdict.FOUNDED_TWICE})
"""Verdicts with which no recovery is made from the disks that were shown."""


@frozen
class ComparedDisk:
    """The part of a disk's metadata log that counts."""

    path: str
    kept: BatchIndex
    snapshot_ends: tuple[tuple[int, int], ...]
    node_id: int | None
    directory_id: Uuid | None


def _compared(disks: Sequence[DiskSeen]) -> list[ComparedDisk]:
    """Return the disks with a log that counts.

    What can still be read after damage is left out: a node drops it, and a snapshot beyond it is what counts.
    """
    return [
        ComparedDisk(
            path=disk.path,
            kept=disk.log.kept.until(disk.candidate.end_offset),
            snapshot_ends=disk.log.snapshot_ends,
            node_id=disk.node_id,
            directory_id=disk.directory_id,
        )
        for disk in disks
        if disk.log is not None and disk.candidate is not None
    ]


def partings_of(disks: Sequence[DiskSeen], source: DiskSeen) -> list[DivergentLog]:
    """Return the relation of each disk to the source, but for logs that are equal up to the shorter end."""
    compared = _compared(disks)
    against = next((disk for disk in compared if disk.path == source.path), None)
    if against is None:
        return []
    found = [parting(disk, against, compared) for disk in compared if disk is not against]
    return [parted for parted in found if parted is not None]


def founded_twice(disks: Sequence[DiskSeen], source: DiskSeen) -> Finding | None:
    """Return the blocker about disks of two foundings; None if all are of one."""
    compared = _compared(disks)
    against = next((disk for disk in compared if disk.path == source.path), None)
    found = divergence_findings(compared, against) if against is not None else ()
    return next((finding for finding in found if finding.id == "cluster-founded-twice"), None)
