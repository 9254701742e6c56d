"""Who votes, as far as this node knows, and whether there can be a leader.

The voters of the log or of a snapshot override those of the config (`VoterSetHistory`). A node that is not a voter
waits for a leader indefinitely and logs no error; it looks for one at the bootstrap servers.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafkactl.metadata.log.scan import VoterSeen
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
from kafkactl.values import Uuid


def last_voters(context: StartContext) -> tuple[VoterSeen, ...] | None:
    """The voter set that comes from the log or a snapshot; None where it comes from the configuration."""
    if not context.rules.reads_voters:
        return None
    if context.log.contents.voters is not None:
        return context.log.contents.voters
    snapshot = context.log.latest_snapshot
    if snapshot is not None and snapshot.contents is not None and snapshot.contents.voters is not None:
        return snapshot.contents.voters
    return None


def other_voters(context: StartContext) -> list[int]:
    """The ids of the voters other than this node."""
    voters = last_voters(context)
    if voters is not None:
        ids = [voter.node_id for voter in voters]
    else:
        ids = [voter.node_id for voter in context.config.static_voters]
    return sorted(node_id for node_id in ids if node_id != context.config.node_id)


def has_a_vote(context: StartContext) -> bool:
    """Whether this node, on this disk, is a voter as far as it knows: no other node is ever elected."""
    voters = last_voters(context)
    if voters is None:
        return any(voter.node_id == context.config.node_id for voter in context.config.static_voters)
    meta = context.metadata_directory.meta
    own = meta.directory_id.raw if meta is not None and meta.directory_id is not None else None
    return any(voter.node_id == context.config.node_id and voter.directory_id == own for voter in voters)


def voter_rules(context: StartContext) -> Iterator[RuleResult]:
    """Will there be a leader, and does this node have a vote?"""
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
    """The kraft.version that the node starts with."""
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
    """A dynamic quorum whose voters this node does not know: it asks the bootstrap servers indefinitely."""
    elsewhere = _bootstrap_servers_elsewhere(context)
    ignored = context.log.first_checkpoint
    cut = ignored is not None and ignored.stop is not None
    if not elsewhere:
        yield _waits(
            context,
            "no-voters-known",
            "The node knows no voters, and its bootstrap servers are itself: there will never be a leader."
            + (" Its 0-0 checkpoint is cut in the first batch and ignored." if cut else ""),
            "Starting voters are VoterSet(voters={})",
        )
    elif context.is_controller and (cut or all(context.may_be_own(server) for server in elsewhere)):
        finding = _needs_others(context, elsewhere).finding
        yield RuleResult(finding=finding, unknown=True)
    else:
        yield _needs_others(context, elsewhere)


def _waits(context: StartContext, id: str, message: str, says: str, next_step: str = "") -> RuleResult:
    """No leader, ever. A broker waits for one on its way up; a controller alone is up by then, and of no use."""
    subject = f"node {context.config.node_id}"
    if not context.is_broker:
        loss = Loss(what="vote", subject=subject, message="The controller runs, and no quorum ever has it as a voter.")
        text = (
            f"{message} The controller reports that it has started, waits for a leader indefinitely, and logs no error."
        )
        return loses(id, subject, text, loss, next_step=next_step)
    return stops(
        id,
        Phase.WAITING_FOR_QUORUM,
        subject,
        f"{message} The node waits indefinitely and logs no error.",
        says=f"{says} (no error is logged; the node waits indefinitely)",
        waits=True,
        next_step=next_step,
    )


def _bootstrap_servers_elsewhere(context: StartContext) -> list[str]:
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
    """An observer asks the bootstrap servers for the leader, not the voters that it knows."""
    reachable = others if context.config.static_voters else _bootstrap_servers_elsewhere(context)
    if others and reachable:
        yield _needs_others(context, reachable)
        return
    ids = ", ".join(others) or "empty"
    yield _waits(
        context,
        "not-a-voter",
        f"The voter set on the disk is {ids}; this node is not in it, and its bootstrap servers are itself.",
        "Starting voters are VoterSet(voters={",
    )


def _other_directory(
    context: StartContext, entry: VoterSeen, own: Uuid | None, others: list[str]
) -> Iterator[RuleResult]:
    """The node id is a voter, this disk is not: what a replaced disk looks like (KIP-853)."""
    expected = Uuid(entry.directory_id)
    message = f"Voter {entry.node_id} is known by the directory id {expected}; this directory has {own or 'none'}."
    if not others:
        yield _waits(
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
