"""The snapshots in the folder of the metadata log, as a node opens them.

From 3.8 on a node reads the newest snapshot and the whole log before anything else, for the voters in them
(`KafkaRaftClient.initialize`, `KRaftControlRecordStateMachine`); before, both are read after there is a leader. A wrong
CRC is fatal, a batch that is cut is the end of the file. Further sources: `KafkaMetadataLog`/`KafkaRaftLog`,
`RecordsIterator`, `RecordsSnapshotReader`, `MetadataLoader`.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafkactl.core.file_read import link_step
from kafkactl.core.kafka_names import METADATA_VERSION
from kafkactl.metadata.log.scan import Contents, Stop
from kafkactl.metadata.verify.folder import SnapshotFacts
from kafkactl.storage.verify.model import (
    RAFT_NOT_STARTED,
    Loss,
    Phase,
    RuleResult,
    StartContext,
    file_subject,
    loses,
    stops,
    warns,
)
from kafkactl.storage.verify.state import has_records_behind, log_looks_empty, replayed_changes
from kafkactl.storage.verify.voters import bootstrap_servers_elsewhere, last_voters, other_voters, waits


def snapshot_rules(context: StartContext) -> Iterator[RuleResult]:
    """Yield the newest snapshot: the only one that a start reads."""
    snapshot = context.log.latest_snapshot
    start = context.log.start_offset
    if start > 0 and (snapshot is None or snapshot.offset < start):
        yield stops(
            "metadata-log-without-snapshot",
            Phase.METADATA_LOG,
            f"directory {context.log.path}",
            f"The log begins at offset {start}, and no snapshot holds what came before.",
            says="Inconsistent snapshot state: there must be a snapshot at an offset larger",
            start_offset=start,
        )
    if snapshot is None or not snapshot_is_read(context):
        return
    if snapshot.error is not None:
        yield _cannot_open(context, snapshot)
        return
    fatal = _fatal_in_snapshot(snapshot) or _unreadable_control(context, snapshot)
    if fatal is not None:
        yield _broken_snapshot(context, snapshot, fatal)
    elif snapshot.contents is not None and not snapshot.contents.batches and _loader_needs_header(context, snapshot):
        yield _empty_snapshot(context, snapshot) if _may_have_leader(context) else _no_voters_left(context, snapshot)
    elif snapshot.is_cut or snapshot.stop is not None:
        yield from _cut_snapshot(context, snapshot)


def snapshot_is_read(context: StartContext) -> bool:
    """Return True if a snapshot is read: up to 3.5 only for a log after offset 0 (`updateListenersProgress`)."""
    return context.rules.reads_every_snapshot or context.log.start_offset > 0


def _loader_needs_header(context: StartContext, snapshot: SnapshotFacts) -> bool:
    """Return True up to 4.2, whose metadata loader reads the 0-0 checkpoint too and exits without its first batch."""
    return not snapshot.is_first or context.rules.loader_gets_first_checkpoint


def _may_have_leader(context: StartContext) -> bool:
    """Return True if the node knows a voter, or where to ask for one: with a leader the loader reads the snapshot."""
    known = context.config.static_voters or last_voters(context)
    return bool(known or bootstrap_servers_elsewhere(context) or not context.rules.reads_voters)


def _no_voters_left(context: StartContext, snapshot: SnapshotFacts) -> RuleResult:
    """Return the result for a lost snapshot with the voters of a dynamic quorum: the log before its end is not read."""
    return waits(
        context,
        "broken-checkpoint",
        "Not one batch of the newest checkpoint is whole, and the voters that a start reads are in it: the node knows"
        " none, and there will never be a leader.",
        "Starting voters are VoterSet(voters={})",
        subject=file_subject(f"{context.log.path}/{snapshot.name}"),
        size_bytes=snapshot.size_bytes,
    )


def _empty_snapshot(context: StartContext, snapshot: SnapshotFacts) -> RuleResult:
    return stops(
        "broken-checkpoint",
        Phase.METADATA_REPLAY,
        file_subject(f"{context.log.path}/{snapshot.name}"),
        "Not one batch of the checkpoint is whole. It is passed over while voters are looked for, and kills the node"
        " when there is a leader.",
        says="java.util.NoSuchElementException: No value present",
        size_bytes=snapshot.size_bytes,
    )


def _cannot_open(context: StartContext, snapshot: SnapshotFacts) -> RuleResult:
    return stops(
        "checkpoint-unreadable",
        Phase.METADATA_LOG,
        file_subject(f"{context.log.path}/{snapshot.name}"),
        f"The checkpoint cannot be read: {snapshot.error}.",
        says="Failed to read records into memory" if snapshot.error == "Is a directory" else snapshot.name,
        next_step=link_step(snapshot.error),
    )


def _fatal_in_snapshot(snapshot: SnapshotFacts) -> str | None:
    """Return the words that a reader exits with; None for a file that it reads, or that is cut (`_cut_snapshot`)."""
    assert snapshot.contents is not None
    if snapshot.crc_problem is not None:
        return "Record is corrupt (stored crc = "
    return _fatal_content(snapshot.contents) or (None if snapshot.stop is None else _fatal_stop(snapshot.stop))


def _unreadable_control(context: StartContext, snapshot: SnapshotFacts) -> str | None:
    """Return the error of a release before 3.9 about voters in a snapshot.

    3.7 does not know their records. 3.8 does, and cannot file those of offset 0, whose last offset is -1.
    """
    contents = snapshot.contents
    if contents is None or (contents.kraft_version is None and contents.voters is None):
        return None
    if not context.rules.reads_voters:
        return "Unknown control record type"
    if snapshot.is_first and context.rules.first_checkpoint_without_voters:
        return "Next offset -1 must be greater than or equal to 0"
    return None


def _fatal_content(contents: Contents) -> str | None:
    if contents.batches and contents.first_control != "SNAPSHOT_HEADER":
        return "First control record is not a snapshot header"
    if contents.unknown_control is not None:
        return "Unknown control record type"
    if contents.undecodable is not None:
        broken = contents.undecodable
        return RAFT_NOT_STARTED if broken.whole_batch or broken.control else "Failed to deserialize record"
    return None


def _fatal_stop(stop: Stop) -> str | None:
    """Return the stop of `ByteBufferLogInputStream`, which reads length and magic before it sees a cut batch."""
    if stop.reason == "tiny" and stop.position == 0:
        # The reader asks a file of less than 17 bytes for the size of its first batch and trips over the answer.
        return 'Cannot invoke "java.lang.Integer.intValue()"'
    if stop.reason == "length":
        return f"Record size {stop.length} is less than the minimum record overhead"
    if stop.reason in ("magic", "cut") and stop.magic not in (None, 0, 1, 2):
        return f"Invalid magic found in record: {_signed(stop.magic)}"
    known = {"magic": "DefaultRecordBatch expected by record type was", "crc": "is corrupt"}
    return known.get(stop.reason)


def _signed(magic: int | None) -> int:
    return ((magic or 0) + 128) % 256 - 128


def _broken_snapshot(context: StartContext, snapshot: SnapshotFacts, fatal: str) -> RuleResult:
    return stops(
        "broken-checkpoint",
        Phase.METADATA_LOG if context.rules.raft_reads_records else Phase.METADATA_REPLAY,
        file_subject(f"{context.log.path}/{snapshot.name}"),
        "The checkpoint is damaged, and a starting node reads it.",
        says=fatal,
        problem=snapshot.crc_problem or (snapshot.stop.message if snapshot.stop else None),
    )


def _cut_snapshot(context: StartContext, snapshot: SnapshotFacts) -> Iterator[RuleResult]:
    """Report a truncated snapshot. Nothing is lost if only the footer, or data after it, is missing."""
    subject = file_subject(f"{context.log.path}/{snapshot.name}")
    stop, contents = snapshot.stop, snapshot.contents
    assert contents is not None
    where = "before its footer" if stop is None else f"at byte {stop.position} ({stop.message})"
    only_footer = bool(contents.control.get("SNAPSHOT_FOOTER")) or (stop is not None and stop.control)
    levels_are_there = stop is None and bool(contents.features)
    message = f"The checkpoint is cut {where}. A node does not notice."
    if only_footer or levels_are_there or snapshot.is_first:
        yield warns("checkpoint-truncated", subject, message)
    elif _loader_ends(context, snapshot):
        yield _without_level(context, snapshot, f"The checkpoint is cut {where}.")
    else:
        yield loses("checkpoint-truncated", subject, message, _cut_loss(context, subject))


def _loader_ends(context: StartContext, snapshot: SnapshotFacts) -> bool:
    """Return True if a controller ends that has read up to the end of the log: records follow, and none sets a level.

    The other voters, if there are any, have written some, or will.
    """
    follow = has_records_behind(context, snapshot) or bool(other_voters(context))
    has_level = METADATA_VERSION in {change.name for change in replayed_changes(context)}
    return context.rules.loader_needs_metadata_version and context.is_controller and follow and not has_level


def _without_level(context: StartContext, snapshot: SnapshotFacts, message: str) -> RuleResult:
    return stops(
        "checkpoint-truncated",
        Phase.METADATA_REPLAY,
        file_subject(f"{context.log.path}/{snapshot.name}"),
        f"{message} What a node reads of it has no metadata.version, and the log goes on behind it: a controller ends"
        " when it has read the log. One that is alone may found a new cluster on its way.",
        says="Unknown metadata version for FeaturesImage",
    )


def _cut_loss(context: StartContext, subject: str) -> Loss:
    """Return the loss by a truncated snapshot: without its levels a lone controller founds its cluster again."""
    if context.is_controller and log_looks_empty(context) and not other_voters(context):
        text = (
            "The controller finds no metadata.version and founds a new cluster: topics, configurations, users are gone."
        )
        return Loss(what="metadata-log", subject=subject, message=text)
    return Loss(what="metadata-records", subject=subject, message="Records of the snapshot behind the cut are gone.")
