"""Losses at a start: a node that has run before, does not find its metadata log and would create it again.

A blank metadata directory is how a new cluster begins, so Kafka founds one without a word if this node can be elected
alone. That it has run before can be seen from what a first start leaves behind.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafkactl.core.kafka_names import METADATA_LOG
from kafkactl.metadata.log.quorum_state import NO_NODE
from kafkactl.metadata.verify.folder import LEADER_EPOCH_CHECKPOINT
from kafkactl.protocol.text.java_text import parse_int
from kafkactl.storage.model import NODE_LOCK, QUORUM_STATE
from kafkactl.storage.verify.model import (
    DirectoryFacts,
    Loss,
    RuleResult,
    StartContext,
    directory_subject,
    informs,
    loses,
    warns,
)
from kafkactl.storage.verify.places import partition_of
from kafkactl.storage.verify.state import log_looks_empty
from kafkactl.storage.verify.voters import has_a_vote, other_voters

_PRODUCERS = ".snapshot"  # the state of producers at an offset; a segment other than the first has one
# Made by a first start and never by a format (LogManager, KafkaRaftManager, PartitionMetadataFile).
_TRACES = frozenset(
    {
        ".kafka_cleanshutdown",
        "cleaner-offset-checkpoint",
        "log-start-offset-checkpoint",
        "recovery-point-offset-checkpoint",
        "replication-offset-checkpoint",
        NODE_LOCK,
    }
)


def loss_rules(context: StartContext) -> Iterator[RuleResult]:
    """Report a metadata log that is lost, is in another place, or was never started."""
    if context.log.is_hidden or context.log.damaged_segment is not None or _has_metadata(context):
        return
    traces = [trace for directory in context.directories for trace in _traces(context, directory)]
    if not traces:
        return
    subject = directory_subject(context.config.metadata_log_dir)
    if is_first_start_unfinished(context):
        yield informs(
            "first-start-unfinished",
            subject,
            "The node was started before and ended before the first leader of its quorum wrote a record: the metadata"
            " log is whole and holds no record yet. Nothing is missing.",
            next_step="Start the node: the next start completes the first one.",
            quorum_epoch=None if context.quorum_state is None else context.quorum_state.leader_epoch,
        )
    elif context.is_controller and _can_lead_alone(context):
        yield _founds_again(subject, traces)
    else:
        yield _fetches_again(context, subject, traces)


def _has_metadata(context: StartContext) -> bool:
    """Return True if the log or a snapshot, in whatever state, holds more than a format writes."""
    snapshots = any(not snapshot.is_first for snapshot in context.log.snapshots)
    return snapshots or context.log.contents.records > 0 or not log_looks_empty(context)


def is_first_start_unfinished(context: StartContext) -> bool:
    """Return True if an empty log is that of a first start that was interrupted, by what the disk shows.

    Segment 0 is there and whole, and holds at most the control records of elections, none of a later epoch than
    quorum-state. If it holds none, quorum-state knows no leader, this node included. No other file, and no
    folder of a partition, speaks of offsets or replicas that are not there. Kafka completes such a start (3.9.2,
    4.3.1).
    """
    log, state = context.log, context.quorum_state
    if len(log.segments) != 1 or log.segments[0].base_offset or log.segments[0].gaps or log.segments[0].out_of_range:
        return False
    if QUORUM_STATE in context.metadata_directory.observed.metadata_files and state is None:
        return False
    epoch = 0 if state is None else state.leader_epoch
    had_no_leader = state is None or state.leader_id == NO_NODE
    if (log.contents.last_epoch or 0) > epoch or not (log.contents.batches or had_no_leader):
        return False
    return not _known_offsets_beyond(context) and not _has_partitions(context)


def _known_offsets_beyond(context: StartContext) -> bool:
    """Return True if leader-epoch-checkpoint or a producer snapshot knows an offset that the log does not reach."""
    end = context.log.end_offset
    file = context.log.small_files.get(LEADER_EPOCH_CHECKPOINT)
    lines = (file.content or b"").decode(errors="replace").splitlines()[2:] if file is not None else []
    starts = [parse_int(line.split()[-1], 64) for line in lines if line.split()]
    names = [entry.name for entry in context.metadata_directory.observed.metadata_log or ()]
    starts += [parse_int(name.removesuffix(_PRODUCERS), 64) for name in names if name.endswith(_PRODUCERS)]
    return any(start is None or start > end for start in starts)


def _has_partitions(context: StartContext) -> bool:
    return any(
        entry.kind == "directory" and entry.name != METADATA_LOG and partition_of(entry.name) is not None
        for directory in context.directories
        for entry in directory.observed.entries
    )


def _fetches_again(context: StartContext, subject: str, traces: list[str]) -> RuleResult:
    """Report a lost log that is fetched again: safe for a broker, for a controller only while a majority has
    the log."""
    if not context.is_controller:
        text = "The broker has run before, and its copy of the metadata log is gone. It fetches it from the voters."
        step = "Nothing to do for the metadata: a broker has no vote. Check that the directory's disk is mounted."
        return warns("metadata-log-missing", subject, text, next_step=step, traces=traces[:10])
    text = "The node has run before, and its metadata log is gone. It fetches the log again from the other voters."
    if len(context.log.segments) == 1 and not context.log.contents.batches and not _known_offsets_beyond(context):
        text = (
            "The node has followed a leader, and its metadata log is empty: either its first start ended before the"
            " first fetch, or the log is gone. It fetches the log from the other voters."
        )
    step = "Make sure that a majority of the other controllers has its log before starting this one."
    return warns("metadata-log-missing", subject, text, next_step=step, traces=traces[:10])


def _founds_again(subject: str, traces: list[str]) -> RuleResult:
    return loses(
        "metadata-log-missing",
        subject,
        "The node has run before, and there are no records in its metadata log. Alone in its quorum, it founds a new"
        " cluster under the old id.",
        Loss(
            what="metadata-log",
            subject=subject,
            message="Topics, configurations, users and registrations are gone, and replicas become strays.",
        ),
        traces=traces[:10],
    )


def _can_lead_alone(context: StartContext) -> bool:
    """Return True if this node is the only voter, as far as it will know."""
    return not other_voters(context) and has_a_vote(context)


def _traces(context: StartContext, directory: DirectoryFacts) -> Iterator[str]:
    """Yield the names that show that a node has run on this directory."""
    for entry in directory.observed.entries:
        being_held = entry.name == NODE_LOCK and directory.observed.locked_by_process
        if entry.name in _TRACES and not being_held:
            yield f"{directory.path}/{entry.name}"
    if directory.path == context.config.metadata_log_dir and QUORUM_STATE in directory.observed.metadata_files:
        yield f"{directory.path}/{METADATA_LOG}/{QUORUM_STATE}"
