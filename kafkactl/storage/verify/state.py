"""State of a node of this release after it has loaded snapshot and log: its levels, or None.

A snapshot replaces everything before its offset; records of the log count from there on.
"""

from __future__ import annotations

from kafkactl.core.kafka_names import METADATA_VERSION
from kafkactl.metadata.log.scan import FeatureChange
from kafkactl.metadata.verify.folder import SnapshotFacts
from kafkactl.storage.verify.model import StartContext


def loaded_snapshot(context: StartContext) -> SnapshotFacts | None:
    """Return the snapshot that the state machines are given, None if there is none.

    Up to 3.5 only a log that begins after offset 0 makes a node read one (`updateListenersProgress`); the 0-0
    checkpoint is taken for a snapshot from 3.6 to 4.2.
    """
    snapshot = context.log.latest_snapshot
    if snapshot is None or snapshot.contents is None:
        return None
    if snapshot.is_first:
        return snapshot if context.takes_first_checkpoint_as_snapshot and snapshot.contents.features else None
    read = context.rules.reads_every_snapshot or context.log.start_offset > 0
    return snapshot if read else None


def replayed_changes(context: StartContext) -> list[FeatureChange]:
    """Return every feature level that a controller replays, in order."""
    snapshot = loaded_snapshot(context)
    if snapshot is None or snapshot.contents is None:
        return list(context.log.contents.features)
    behind = [change for change in context.log.contents.features if change.offset >= snapshot.offset]
    return [*snapshot.contents.features, *behind]


def log_looks_empty(context: StartContext) -> bool:
    """Return True if a controller that becomes leader on these disks would take the cluster for a new one.

    False if the log may not be read: what it holds is unknown, and a node that may not read it does not start; and
    if the newest snapshot ends the node before it leads.
    """
    if context.log.is_hidden or ends_in_snapshot(context):
        return False
    if context.rules.activates_by_metadata_version:
        return METADATA_VERSION not in {change.name for change in replayed_changes(context)}
    snapshot = loaded_snapshot(context)
    if snapshot is None or snapshot.contents is None:
        return context.log.contents.records == 0
    return snapshot.contents.records == 0 and not has_records_behind(context, snapshot)


def ends_in_snapshot(context: StartContext) -> bool:
    """Return True if the newest snapshot, the one of a format apart, is damaged so that a node does not pass it."""
    newest = context.log.latest_snapshot
    if newest is None or newest.is_first or newest.problem is None or newest.is_readable_to_cut:
        return False
    return context.rules.reads_every_snapshot or context.log.start_offset > 0


def has_records_behind(context: StartContext, snapshot: SnapshotFacts) -> bool:
    """Return True if the log has data records from the end of a snapshot on."""
    return context.log.contents.data_end > snapshot.offset
