"""Recovery of the metadata log's segments at a start, and whether the rest can be read.

A node recovers that log from its first byte at every start (`KafkaMetadataLog.apply` gives recovery point 0), and cuts
it at the first batch that is not whole (`LogSegment.recover`, `LogLoader.recoverLog`). It says so in a warning only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kafkactl.metadata.log.scan import Contents, Stop
from kafkactl.metadata.verify.folder import SegmentFacts, SnapshotFacts
from kafkactl.storage.verify.model import (
    Loss,
    Phase,
    RuleResult,
    StartContext,
    file_subject,
    informs,
    loses,
    stops,
    warns,
)
from kafkactl.storage.verify.state import loaded_snapshot, log_looks_empty
from kafkactl.storage.verify.voters import other_voters

_FROM_OTHERS = "Start the other voters first: the node fetches from them what it lost."
_FROM_BROKERS = (
    "Do not start it yet. A broker's copy of the log (`__cluster_metadata-0` in its log directory) may have these"
    " records: compare with `kafkactl log verify`; `kafkactl quorum recover` takes the longer copy."
)


def recovery_rules(context: StartContext) -> Iterator[RuleResult]:
    """Report damage, and records that do not decode."""
    contents = context.log.contents
    damaged = context.log.damaged_segment
    if damaged is not None:
        yield from _damage(context, damaged)
    elif context.log.lost_tail is not None:
        name, base_offset = context.log.lost_tail
        text = f"The segment {name} is missing, and its index is there: it was the last one of the log."
        yield from _segment_lost(context, base_offset, text, file_subject(f"{context.log.path}/{name}"))
    elif context.log.is_emptied:
        text = "The log has no record, although the node has run and its newest snapshot is not that of the format."
        yield from _segment_lost(context, 0, text, f"metadata log in {context.config.metadata_log_dir}")
    else:
        yield from _ends_before_snapshot(context)
    yield from _gaps(context)
    if contents.unknown_control is not None or contents.undecodable is not None:
        yield _undecodable(context)
    yield from _record_versions(context)


def offset_rules(context: StartContext) -> Iterator[RuleResult]:
    """Check offsets, which are outside the CRC: recovery notices a wrong one only out of the segment's range."""
    for segment in context.log.segments:
        if segment.out_of_range is not None:
            yield stops(
                "segment-not-named-by-its-offset",
                Phase.METADATA_LOG,
                file_subject(f"{context.log.path}/{segment.name}"),
                f"The segment is named for offset {segment.base_offset} and holds offset {segment.out_of_range}.",
                says="Split operation is only permitted for segments with overflow",
                next_step="Was the file renamed? Give it its old name back.",
                offset=segment.out_of_range,
            )
            return
    if context.log.mixed_offsets:
        subject = f"metadata log in {context.config.metadata_log_dir}"
        found = warns(
            "metadata-log-offsets-mixed",
            subject,
            "The offsets of the log do not ascend. The CRC does not cover them, so a recovery keeps such batches; what"
            " a node makes of them is not known.",
        )
        yield RuleResult(finding=found.finding, unknown=True)


def _damage(context: StartContext, segment: SegmentFacts) -> Iterator[RuleResult]:
    """Report the offset at which recovery truncates the log. Other voters, if any, provide the records after it."""
    stop = segment.stop
    assert stop is not None
    subject = file_subject(f"{context.log.path}/{segment.name}")
    if stop.reason == "magic" and stop.crc_matches and 2 < (stop.magic or 0) < 128:
        yield _future_magic(context, subject, stop)
        return
    message = (
        f"The log is damaged at byte {stop.position} ({stop.message}). A start cuts it there: offset"
        f" {segment.end_offset} and everything behind is thrown away, {stop.lost_bytes} bytes"
        + (f" and {len(context.log.dropped_segments)} later segments." if context.log.dropped_segments else ".")
    )
    evidence: dict[str, Any] = {"segment": segment.name, "position": stop.position, "end_offset": segment.end_offset}
    alone = _is_only_voter(context)
    snapshot = _snapshot_behind(context, segment.end_offset)
    is_last = not context.log.dropped_segments
    if is_last and context.running_on and stop.reason in ("cut", "tiny"):
        text = f"byte {stop.position}: {stop.message}. The node runs and may be writing this batch."
        yield informs("torn-tail", subject, text, **evidence)
    elif segment.is_wiped:
        yield from _segment_lost(context, segment.base_offset, message, subject)
    elif is_last and snapshot is not None and (stop.zeros or stop.reason in ("cut", "tiny")):
        yield _continues_from(context, snapshot, segment.end_offset, message)
    elif is_last and stop.zeros and not alone:
        step = "Nothing to do: what they may have replaced is fetched from the voters."
        yield informs("metadata-log-zero-tail", subject, message, next_step=step, **evidence)
    elif is_last and stop.zeros:
        text = f"{message} Kafka writes no zeros: a power failure left them, perhaps in place of records."
        yield warns("metadata-log-zero-tail", subject, text, next_step=_FROM_BROKERS, **evidence)
    elif not alone:
        yield warns("metadata-log-damaged", subject, message, next_step=_FROM_OTHERS, **evidence)
    else:
        losses = _cut_losses(context, segment, snapshot, subject)
        yield loses("metadata-log-damaged", subject, message, *losses, next_step=_FROM_BROKERS, **evidence)


def _segment_lost(context: StartContext, base_offset: int, message: str, subject: str) -> Iterator[RuleResult]:
    """Report a last segment that lost its batches: this disk lacks the records after its snapshots."""
    snapshot = _snapshot_behind(context, base_offset)
    known = base_offset if snapshot is None else snapshot.offset
    text = f"{message} It held records: those from offset {known} on are not on this disk."
    evidence = {"base_offset": base_offset, "known_until": known}
    if not _is_only_voter(context):
        yield warns("metadata-log-damaged", subject, text, next_step=_FROM_OTHERS, **evidence)
        return
    lost = Loss(
        what="metadata-records",
        subject=subject,
        message=f"Metadata changes from offset {known} on, as far as there were any.",
    )
    losses = (_whole_log(subject),) if log_looks_empty(context) else (lost,)
    yield loses("metadata-log-damaged", subject, text, *losses, next_step=_FROM_BROKERS, **evidence)


def _snapshot_behind(context: StartContext, end_offset: int) -> SnapshotFacts | None:
    """Return the newest snapshot if it is sound and covers more than the log: a start continues from it, and drops the
    log.

    (`KafkaMetadataLog.truncateToLatestSnapshot`; a snapshot ends where a batch does.)
    """
    newest = context.log.latest_snapshot
    if newest is None or newest.is_first or newest.contents is None or newest.offset <= end_offset:
        return None
    return newest if newest.problem is None else None


def _ends_before_snapshot(context: StartContext) -> Iterator[RuleResult]:
    end = context.log.end_offset
    snapshot = _snapshot_behind(context, end)
    if snapshot is not None and context.log.segments:
        yield _continues_from(context, snapshot, end, f"The log ends at offset {end}.")


def _continues_from(context: StartContext, snapshot: SnapshotFacts, end_offset: int, message: str) -> RuleResult:
    return informs(
        "snapshot-beyond-log",
        file_subject(f"{context.log.path}/{snapshot.name}"),
        f"{message} The newest snapshot holds everything below offset {snapshot.offset}: the node drops the log and"
        " continues from the snapshot.",
        next_step="Nothing to do: what the snapshot holds is not lost.",
        end_offset=end_offset,
        snapshot_offset=snapshot.offset,
    )


def _cut_losses(
    context: StartContext, segment: SegmentFacts, snapshot: SnapshotFacts | None, subject: str
) -> Iterator[Loss]:
    if log_looks_empty(context):
        yield _whole_log(subject)
        return
    text = f"All metadata changes from offset {segment.end_offset} on."
    if snapshot is not None:
        text = f"Metadata changes from offset {snapshot.offset} on, if there were any: a snapshot holds those before."
    yield Loss(what="metadata-records", subject=subject, message=text)


def _whole_log(subject: str) -> Loss:
    text = (
        "The controller takes what is left for a new cluster and founds one: topics, configurations, users and"
        " registrations are gone, and brokers treat their replicas as strays."
    )
    return Loss(what="metadata-log", subject=subject, message=text)


def _gaps(context: StartContext) -> Iterator[RuleResult]:
    """Report gaps: a start does not notice missing offsets, and a follower fetches only from its end on."""
    snapshot = loaded_snapshot(context)
    since = 0 if snapshot is None else snapshot.offset
    gaps = [gap for segment in context.log.segments for gap in segment.gaps if gap[1] > since]
    if not gaps:
        return
    subject = f"metadata log in {context.config.metadata_log_dir}"
    first, behind = gaps[0]
    text = f"All metadata changes from offset {max(first, since)} to {behind - 1}."
    yield loses(
        "metadata-log-gap",
        subject,
        f"The log goes from offset {first} to {behind}: a segment is missing. A start does not notice.",
        Loss(what="metadata-records", subject=subject, message=text),
        gaps=[list(gap) for gap in gaps],
    )


def _is_only_voter(context: StartContext) -> bool:
    return context.is_controller and not other_voters(context)


def _future_magic(context: StartContext, subject: str, stop: Stop) -> RuleResult:
    return stops(
        "metadata-log-unreadable-batch",
        Phase.METADATA_LOG,
        subject,
        f"The batch at byte {stop.position} has the magic {stop.magic}. Recovery keeps it, for the CRC does not cover"
        " that byte, and reading it then fails.",
        says=f"Invalid magic found in record: {stop.magic}",
        next_step=_FROM_BROKERS if _is_only_voter(context) else "",
    )


def _undecodable(context: StartContext) -> RuleResult:
    contents = context.log.contents
    problem = contents.undecodable.message if contents.undecodable else (contents.unknown_control or (0, ""))[1]
    return stops(
        "metadata-log-undecodable",
        Phase.METADATA_LOG,
        f"metadata log in {context.config.metadata_log_dir}",
        f"A record of the log does not decode although its CRC is right: {problem}",
        says="Failed to deserialize record" if _is_plain_record(contents) else context.raft_not_started,
        next_step="Was the log written by a newer Kafka? Start that release.",
        problem=problem,
    )


def _is_plain_record(contents: Contents) -> bool:
    broken = contents.undecodable
    return broken is not None and not broken.control and not broken.whole_batch


def _record_versions(context: StartContext) -> Iterator[RuleResult]:
    """Yield the first record whose type or version is beyond this release; a broker alone exits on it too."""
    kinds = sorted(context.log.contents.first_offsets.items(), key=lambda item: item[1])
    known = context.release_record_types
    for (api_key, version), offset in kinds:
        if version > known.get(api_key, -1):
            yield _unknown_record(context, api_key, version, offset)
            return


def _unknown_record(context: StartContext, api_key: int, version: int, offset: int) -> RuleResult:
    is_known = api_key in context.release_record_types
    what = f"version {version} of record type {api_key}" if is_known else f"record type {api_key}"
    return stops(
        "record-of-newer-release",
        Phase.METADATA_LOG if context.rules.raft_reads_records else Phase.METADATA_REPLAY,
        f"metadata log in {context.config.metadata_log_dir}",
        f"The record at offset {offset} is {what}, which Kafka {context.release.version_text} does not know.",
        says=f"Failed to deserialize record with type {api_key}" if is_known else f"Unknown metadata id {api_key}",
        waits=context.rules.waits_at_unknown_record,
        type=api_key,
        version=version,
        offset=offset,
    )
