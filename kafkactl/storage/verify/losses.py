"""What a start would silently create again: a node that has run before and does not find its metadata log.

A blank metadata directory is how a new cluster begins, so Kafka founds one without a word if this node can be elected
alone. That it has run before can be seen from what a first start leaves behind.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafkactl.kafka_names import METADATA_LOG
from kafkactl.storage.model import NODE_LOCK, QUORUM_STATE
from kafkactl.storage.verify.model import (
    DirectoryFacts,
    Loss,
    RuleResult,
    StartContext,
    directory_subject,
    loses,
    warns,
)
from kafkactl.storage.verify.state import log_looks_empty
from kafkactl.storage.verify.voters import has_a_vote, other_voters

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
    """A metadata log that is gone, or is somewhere else."""
    snapshot = context.log.latest_snapshot
    damaged = context.log.damaged_segment is not None
    cut = snapshot is not None and not snapshot.is_first and snapshot.is_cut
    if damaged or cut or not log_looks_empty(context):
        return
    traces = [trace for directory in context.directories for trace in _traces(context, directory)]
    if not traces:
        return
    subject = directory_subject(context.config.metadata_log_dir)
    if context.is_controller and _can_lead_alone(context):
        yield _founds_again(subject, traces)
    else:
        yield warns(
            "metadata-log-missing",
            subject,
            "The node has run before, and its metadata log is gone. It fetches the log again from the other voters.",
            next_step="Make sure that a majority of the other controllers has its log before starting this one.",
            traces=traces[:10],
        )


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
    """Whether this node is the only voter, as far as it will know."""
    return not other_voters(context) and has_a_vote(context)


def _traces(context: StartContext, directory: DirectoryFacts) -> Iterator[str]:
    """Names that say: a node has run on this directory."""
    for entry in directory.observed.entries:
        being_held = entry.name == NODE_LOCK and directory.observed.locked_by_process
        if entry.name in _TRACES and not being_held:
            yield f"{directory.path}/{entry.name}"
    if directory.path == context.config.metadata_log_dir and QUORUM_STATE in directory.observed.metadata_files:
        yield f"{directory.path}/{METADATA_LOG}/{QUORUM_STATE}"
