"""Voters that this node knows, and whether they can elect a leader.

The voters of the log or of a snapshot override those of the config (`VoterSetHistory`). A node that is not a voter
waits for a leader indefinitely and logs no error; it looks for one at the bootstrap servers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kafkactl.core.values import Uuid, host_port
from kafkactl.metadata.log.quorum_state import QuorumStateFile
from kafkactl.metadata.log.scan import VoterSeen
from kafkactl.storage.config.node_config import NodeConfig
from kafkactl.storage.model import QUORUM_STATE
from kafkactl.storage.verify.model import (
    DirectoryClass,
    Loss,
    Phase,
    RuleResult,
    StartContext,
    informs,
    loses,
    stops,
)
from kafkactl.storage.verify.state import ends_in_snapshot

_VOTERS_LOST = (
    "Format nothing: the node has run, and the voters were in its log or in its 0-0 checkpoint. Bring these back from a"
    " copy; a broker has a copy of the log (`kafkactl quorum recover`)."
)


def last_voters(context: StartContext) -> tuple[VoterSeen, ...] | None:
    """Return the voter set that comes from the log or a snapshot; None if it comes from the configuration."""
    if not context.rules.reads_voters:
        return None
    log, snapshot = context.log.contents, context.log.latest_snapshot
    covered = 0 if snapshot is None else snapshot.offset  # of the log only what is behind the snapshot is read
    if log.voters is not None and (log.voters_offset or 0) >= covered:
        return log.voters
    return None if snapshot is None or snapshot.contents is None else snapshot.contents.voters


def other_voters(context: StartContext) -> list[int]:
    """Return the ids of the voters other than this node."""
    voters = last_voters(context)
    if voters is not None:
        ids = [voter.node_id for voter in voters]
    else:
        ids = [voter.node_id for voter in context.config.static_voters]
    return sorted(node_id for node_id in ids if node_id != context.config.node_id)


def has_a_vote(context: StartContext) -> bool:
    """Return True if this node, on this disk, is a voter as far as it knows: no other node is ever elected."""
    voters = last_voters(context)
    if voters is None:
        return any(voter.node_id == context.config.node_id for voter in context.config.static_voters)
    meta = context.metadata_directory.meta
    own = meta.directory_id.raw if meta is not None and meta.directory_id is not None else None
    return any(voter.node_id == context.config.node_id and voter.directory_id == own for voter in voters)


def voter_rules(context: StartContext) -> Iterator[RuleResult]:
    """Report if there will be a leader, and if this node has a vote."""
    voters = last_voters(context)
    if voters is None and context.config.static_voters:
        yield from _static_quorum(context)
    elif voters is None:
        yield from _no_voters(context)
    else:
        yield from _dynamic_quorum(context, voters)


def _static_quorum(context: StartContext) -> Iterator[RuleResult]:
    others = other_voters(context)
    if others:
        yield _needs_others(context, [f"node {node_id}" for node_id in others])
    elif context.is_controller and _kraft_version(context) and context.rules.kraft_version_needs_voters:
        yield stops(
            "kraft-version-without-voters",
            Phase.ELECTION,
            f"node {context.config.node_id}",
            "The disks have kraft.version 1 and no voters, as written with --no-initial-controllers; the"
            " configuration has controller.quorum.voters. The node exits as soon as it is elected.",
            says="but there is no voter set in the log or checkpoint",
        )


def _kraft_version(context: StartContext) -> int:
    """Return the kraft.version that the node starts with."""
    if context.log.contents.kraft_version is not None:
        return context.log.contents.kraft_version
    snapshot = context.log.latest_snapshot
    found = snapshot.contents.kraft_version if snapshot is not None and snapshot.contents is not None else None
    return found or 0


def _needs_others(context: StartContext, who: list[str]) -> RuleResult:
    return informs(
        "needs-other-nodes",
        f"node {context.config.node_id}",
        f"The start completes when a majority of the voters answers: {', '.join(who)}. This is taken for granted here.",
        next_step="Start the other controllers too.",
        waits_for=who,
    )


def _no_voters(context: StartContext) -> Iterator[RuleResult]:
    """Report unknown voters of a dynamic quorum: the node asks the bootstrap servers indefinitely."""
    elsewhere = bootstrap_servers_elsewhere(context)
    if context.is_controller and ran_static(context):
        yield _voters_line_lost(context, elsewhere)
        return
    if ends_in_snapshot(context):
        return  # reported with the snapshot
    ignored = context.log.first_checkpoint
    cut = ignored is not None and ignored.stop is not None
    if not elsewhere:
        yield waits(
            context,
            "no-voters-known",
            "The node knows no voters, and its bootstrap servers are itself: there will never be a leader."
            + (" Its 0-0 checkpoint is cut in the first batch and ignored." if cut else ""),
            "Starting voters are VoterSet(voters={})",
            _VOTERS_LOST if _has_run(context) else "",
        )
    elif context.is_controller and (cut or all(context.may_be_own(server) for server in elsewhere)):
        finding = _needs_others(context, elsewhere).finding
        yield RuleResult(finding=finding, unknown=True)
    else:
        yield _needs_others(context, elsewhere)


def _has_run(context: StartContext) -> bool:
    """Return True if the node has run: its quorum-state is there, or its log has, or had, batches."""
    files = context.metadata_directory.observed.metadata_files
    return QUORUM_STATE in files or context.log.contents.batches > 0 or context.log.damaged_segment is not None


def ran_static(context: StartContext) -> bool:
    """Return True if the node has run in a quorum whose voters are those of the configuration, and none are on disk.

    The metadata log has records, or quorum-state names voters, and no kraft.version of 1 and no voter set is anywhere:
    a dynamic quorum has its voters before it has records.
    """
    files = (context.log.contents, *(found.contents for found in context.log.snapshots if found.contents is not None))
    if any(contents.kraft_version or contents.voters is not None for contents in files):
        return False
    has_state = context.quorum_state is not None and bool(context.quorum_state.current_voters)
    if any(not snapshot.is_first and snapshot.problem is not None for snapshot in context.log.snapshots):
        return has_state  # what the snapshot held is not known
    return has_state or context.log.contents.records > 0 or any(not found.is_first for found in context.log.snapshots)


def _voters_line_lost(context: StartContext, elsewhere: list[str]) -> RuleResult:
    """Return the result for a configuration without the voters of a static quorum; the disks are intact."""
    state = context.quorum_state
    line, rest = static_voters_line(context.config, state)
    message = (
        "The node ran in a static quorum, so its voters are those of controller.quorum.voters, and the configuration no"
        " longer has that key. The disks hold no voter set."
    )
    step = f"Put the voters back into the configuration: `{line}`{rest}. Do not format: the metadata log is in use."
    voters = sorted(state.current_voters) if state is not None else []
    if not elsewhere:
        says = "Starting voters are VoterSet(voters={})"
        return waits(context, "no-voters-known", message, says, step, voters=voters)
    subject = f"node {context.config.node_id}"
    text = "The controller only observes, and once no controller has the key there is never a leader again."
    loss = Loss(what="vote", subject=subject, message=text)
    return loses("no-voters-known", subject, f"{message} {text}", loss, next_step=step, voters=voters)


def static_voters_line(config: NodeConfig, state: QuorumStateFile | None) -> tuple[str, str]:
    """Return the line of the configuration as far as the disk knows it, and what has to be filled in."""
    ids = sorted(state.current_voters) if state is not None and state.current_voters else [config.node_id]
    own = config.controller_endpoint()
    places = [
        host_port(own.host or "HOST", own.port) if node_id == config.node_id and own is not None else "HOST:PORT"
        for node_id in ids
    ]
    line = ",".join(f"{node_id}@{place}" for node_id, place in zip(ids, places, strict=True))
    text = f"controller.quorum.voters={line}"
    if "HOST" in line:
        return text, ", with the addresses that the other nodes' files still have"
    return text, ""


def waits(
    context: StartContext,
    id: str,
    message: str,
    says: str,
    next_step: str = "",
    *,
    subject: str = "",
    **evidence: Any,
) -> RuleResult:
    """Return the result for a quorum without a leader: a broker waits during its start, a controller runs without
    effect."""
    subject = subject or f"node {context.config.node_id}"
    if not context.is_broker:
        loss = Loss(what="vote", subject=subject, message="The controller runs, and no quorum ever has it as a voter.")
        text = (
            f"{message} The controller reports that it has started, waits for a leader indefinitely, and logs no error."
        )
        return loses(id, subject, text, loss, next_step=next_step, **evidence)
    return stops(
        id,
        Phase.WAITING_FOR_QUORUM,
        subject,
        f"{message} The node waits indefinitely and logs no error.",
        says=f"{says} (no error is logged; the node waits indefinitely)",
        waits=True,
        next_step=next_step,
        **evidence,
    )


def bootstrap_servers_elsewhere(context: StartContext) -> list[str]:
    """Return the addresses in controller.quorum.bootstrap.servers that are not this node's."""
    return [server for server in context.config.bootstrap_servers if not context.is_own(server)]


def _dynamic_quorum(context: StartContext, voters: tuple[VoterSeen, ...]) -> Iterator[RuleResult]:
    meta = context.metadata_directory.meta
    own_id = context.config.node_id
    entry = next((voter for voter in voters if voter.node_id == own_id), None)
    others = [f"node {voter.node_id}" for voter in voters if voter.node_id != own_id]
    own_directory = meta.directory_id if meta is not None else None
    if entry is None:
        yield from _not_a_voter(context, others)
    elif own_directory is not None and own_directory.raw == entry.directory_id:
        if others:
            yield _needs_others(context, others)
    elif context.metadata_directory.kind is not DirectoryClass.ERROR:  # of which the id is not known
        yield from _other_directory(context, entry, own_directory, others)


def _not_a_voter(context: StartContext, others: list[str]) -> Iterator[RuleResult]:
    """Report a controller outside the voter set: it asks the bootstrap servers for the leader, not the known voters."""
    reachable = others if context.config.static_voters else bootstrap_servers_elsewhere(context)
    if others and reachable:
        yield _needs_others(context, reachable)
        return
    ids = ", ".join(others) or "empty"
    yield waits(
        context,
        "not-a-voter",
        f"The voter set on the disk is {ids}; this node is not in it, and its bootstrap servers are itself.",
        "Starting voters are VoterSet(voters={",
    )


def _other_directory(
    context: StartContext, entry: VoterSeen, own: Uuid | None, others: list[str]
) -> Iterator[RuleResult]:
    """Report a voter with another directory id: the result of a replaced disk (KIP-853)."""
    expected = Uuid(entry.directory_id)
    message = f"Voter {entry.node_id} is known by the directory id {expected}; this directory has {own or 'none'}."
    if not others:
        yield waits(
            context,
            "voter-directory-id-changed",
            message + " No other voter is there to let it in again.",
            f"Starting voters are VoterSet(voters={{{entry.node_id}=",
            f"Write directory.id={expected} into the meta.properties of the metadata directory.",
        )
        return
    yield loses(
        "voter-directory-id-changed",
        f"node {entry.node_id}",
        f"{message} It starts as an observer and has no vote.",
        Loss(what="vote", subject=f"node {entry.node_id}", message="The quorum has one voter less than it counts."),
        next_step="Remove the old voter and add this one (kafka-metadata-quorum remove-controller, add-controller).",
        expected=str(expected),
        found=None if own is None else str(own),
    )
    yield _needs_others(context, others)
