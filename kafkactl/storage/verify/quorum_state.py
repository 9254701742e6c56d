"""The file quorum-state: what a node remembers of elections, and how each release takes a file that is wrong.

Up to 3.7 a file that cannot be read is thrown away, from 3.8 on it is fatal; what it says is compared with the voters
up to 3.7 (`QuorumState.initialize`, `FileQuorumStateStore`, before 3.8 `FileBasedStateStore`). Data version 1 is known
from 3.8 on; 3.7 refuses it, and those before look for the fields of 0 whatever the version.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafkactl.core.errors import DecodeError
from kafkactl.core.file_read import FileRead, link_step
from kafkactl.core.values import ZERO_UUID
from kafkactl.metadata.log.quorum_state import QuorumStateFile, decode_quorum_state
from kafkactl.storage.model import QUORUM_STATE
from kafkactl.storage.verify.meta_troubles import OWNER_STEP
from kafkactl.storage.verify.model import (
    Phase,
    RuleResult,
    StartContext,
    dangling_link,
    file_subject,
    stops,
    warns,
)
from kafkactl.storage.verify.voters import other_voters

_NO_FIELD = "unable to locate field"
_UNKNOWN_VERSION = "Unknown data version of"


def quorum_state_rules(context: StartContext) -> Iterator[RuleResult]:
    """Yield the results of all rules of the quorum-state file."""
    read = context.metadata_directory.observed.metadata_files.get(QUORUM_STATE)
    if read is None:
        return
    if link_step(read.error):
        yield dangling_link(read, ", forgets whom it voted for, and writes a file in the place of the link")
        return
    state, problem = read_quorum_state(read, any_version=context.rules.reads_any_quorum_state)
    if problem is not None:
        yield from _broken_quorum_state(context, read, problem)
    elif state is not None:
        yield from _quorum_state_content(context, read, state)


def read_quorum_state(
    read: FileRead, *, any_version: bool = False
) -> tuple[QuorumStateFile | None, DecodeError | None]:
    """Return the state, or what is wrong with the file."""
    if read.content is None:
        return None, DecodeError(read.error or "unreadable", id="quorum-state-empty", offset=0, file=read.path)
    try:
        return decode_quorum_state(read.content, file=read.path, any_version=any_version), None
    except DecodeError as error:
        return None, error


def _broken_quorum_state(context: StartContext, read: FileRead, problem: DecodeError) -> Iterator[RuleResult]:
    """Report a broken file.

    Up to 3.7 an unreadable one is deleted; one with wrong content is fatal in every release.
    """
    subject = file_subject(read.path)
    io_problem = problem.id not in ("quorum-state-unknown-version", "quorum-state-invalid-field")
    if io_problem and context.rules.deletes_broken_quorum_state:
        yield warns(
            "quorum-state-discarded",
            subject,
            f"The file cannot be read ({problem.reason}); Kafka {context.release.version_text} deletes it and forgets"
            " whom it voted for.",
        )
        return
    words = f"Error while reading the Quorum status from the file {read.path}"
    if problem.id == "quorum-state-unknown-version":
        words = "is not within the min (0) and max" if context.rules.quorum_state_range_named else _UNKNOWN_VERSION
    elif not io_problem:
        words = _NO_FIELD if "missing" in problem.reason else "QuorumStateData"
    yield stops(
        "broken-quorum-state",
        Phase.QUORUM_STATE,
        subject,
        f"The file cannot be used: {problem.reason}",
        says=words,
        next_step=OWNER_STEP
        if read.content is None
        else "Move the file away if this node may forget whom it voted for (one voter at a time).",
    )


def _quorum_state_content(context: StartContext, read: FileRead, state: QuorumStateFile) -> Iterator[RuleResult]:
    configured = {voter.node_id for voter in context.config.static_voters}
    if context.rules.quorum_state_decides:
        yield from _foreign_leader(context, read, state)
        yield from _voted_alone(context, read, state)
    elif state.data_version > 0 and context.rules.refuses_newer_quorum_state:
        yield _newer_quorum_state(context, read, state)
    elif state.current_voters and set(state.current_voters) != configured:
        yield stops(
            "voters-differ-from-quorum-state",
            Phase.QUORUM_STATE,
            file_subject(read.path),
            f"The file knows the voters {sorted(state.current_voters)}, the configuration names {sorted(configured)}.",
            says="is different from the voter set read from the state file",
            stored=sorted(state.current_voters),
            configured=sorted(configured),
        )
    elif state.voted_id >= 0 and context.config.node_id in configured:
        yield from _voted_alone(context, read, state)
    elif state.voted_id >= 0:
        yield stops(
            "voted-without-being-a-voter",
            Phase.QUORUM_STATE,
            file_subject(read.path),
            "The file holds a vote, and the configuration does not make this node a voter.",
            says="with a voted candidate, which indicates this node was previously",
        )


def _newer_quorum_state(context: StartContext, read: FileRead, state: QuorumStateFile) -> RuleResult:
    return stops(
        "broken-quorum-state",
        Phase.QUORUM_STATE,
        file_subject(read.path),
        f"The file is of data version {state.data_version}; Kafka {context.release.version_text} reads 0 only.",
        says=_UNKNOWN_VERSION,
        next_step="Start the release that wrote it; a dynamic quorum needs 3.9 or later.",
        data_version=state.data_version,
    )


def _voted_alone(context: StartContext, read: FileRead, state: QuorumStateFile) -> Iterator[RuleResult]:
    """Report a sole voter that ended between its vote and its election: before 4.0 it cannot resume."""
    own = context.config.node_id
    meta = context.metadata_directory.meta
    directory = meta.directory_id if meta is not None else None
    same_directory = state.voted_directory_id in (ZERO_UUID, directory)
    stale = state.leader_epoch < (context.log.contents.last_epoch or 0)
    candidate = state.voted_id == own and state.leader_id != own and same_directory and not stale
    if candidate and not other_voters(context) and context.rules.lone_candidate_exits:
        yield stops(
            "candidate-alone",
            Phase.QUORUM_STATE,
            file_subject(read.path),
            f"According to the file this node voted for itself in epoch {state.leader_epoch} and does not lead yet."
            f" Kafka {context.release.version_text} elects a single candidate twice and exits.",
            says="Cannot transition to Candidate since the local broker.id",
            epoch=state.leader_epoch,
        )


def _foreign_leader(context: StartContext, read: FileRead, state: QuorumStateFile) -> Iterator[RuleResult]:
    """Refuse a remembered leader that is not a voter, as 3.8 alone does (KAFKA-16529 took that back)."""
    voters = {context.config.node_id, *other_voters(context)}
    stale = state.leader_epoch < (context.log.contents.last_epoch or 0)
    follows = state.leader_id >= 0 and state.leader_id not in voters and state.voted_id < 0
    if follows and not stale and context.rules.foreign_leader_refused:
        yield stops(
            "leader-not-among-voters",
            Phase.QUORUM_STATE,
            file_subject(read.path),
            f"The file names node {state.leader_id} as leader, which is not a voter in this configuration.",
            says=f"Leader {state.leader_id} must be in the voter set",
            leader_id=state.leader_id,
        )
