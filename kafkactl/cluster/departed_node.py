"""Check that a node no longer runs, for acts that are allowed for dead nodes only.

Rule: the silence of an address proves nothing. A broker that starts registers, is fenced and fetches the metadata log
for as long as the recovery of its logs takes, and opens its listeners only after that (`BrokerServer.startup`); a
firewall refuses connections for a healthy node; a paused process is fenced like a dead one. So there are three sources
of evidence, each with another way to the node: the controller (a session of the broker that has not ended), the leader
of the quorum (a fetch that advances while the leader is watched) and kafkactl itself (an answer at the node's address).
Evidence of life from one of them always refuses. If one of them is missing, the doubt refuses as well, unless the
operator states that the process does not run.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafkactl.cluster.node import Silence
from kafkactl.cluster.state import ClusterState, Member
from kafkactl.core.findings import NO_ACCESS, Finding, Severity, blocker, note
from kafkactl.core.values import Role

_ALIVE = {Role.BROKER: "broker-alive", Role.CONTROLLER: "controller-alive"}
_HARM = {
    Role.BROKER: "once unregistered, it would remain as a zombie that follows no leader and ignores SIGTERM",
    Role.CONTROLLER: "it would register again at once",
}
_STOP = {Role.BROKER: "Stop it first, and wait until it is fenced.", Role.CONTROLLER: "Stop it first."}
STOPPED = "--stopped"


def check_departed(state: ClusterState, member: Member, *, stopped: bool) -> Iterator[Finding]:
    """Refuse if a node is alive, or if it is not certain that the node is gone; doubts are warnings if `stopped`."""
    signs = tuple(_signs_of_life(member))
    if signs:
        yield blocker(
            _ALIVE[member.role],
            member.name,
            f"{member.name} {'; it '.join(signs)}: {_HARM[member.role]}",
            _STOP[member.role],
            answers=member.answers,
            fenced=member.fenced if member.role is Role.BROKER else None,
            fetches=member.fetches,
        )
        return
    if member.silence is Silence.ELSEWHERE:
        yield note(
            "another-node-at-address",
            member.name,
            f"another node answers at the address of {member.name}, which therefore does not run there",
            "Nothing to do.",
        )
    for doubt in _doubts(state, member):
        yield _vouched(doubt) if stopped else doubt


def _signs_of_life(member: Member) -> Iterator[str]:
    """Yield the evidence that a member is alive, as clauses about the node."""
    if member.answers:
        named = "" if member.named_itself else " (without saying under which id; that takes DESCRIBE_CONFIGS)"
        yield f"answers at its address{named}"
    if member.role is Role.BROKER and not member.fenced:
        yield "is not fenced: the active controller had a heartbeat of it within broker.session.timeout.ms"
    if member.fetches:
        yield member.evidence or "fetches the metadata log"


def _doubts(state: ClusterState, member: Member) -> Iterator[Finding]:
    """Report unobservable states in which the node may be alive."""
    if member.silence is Silence.HANGS:
        yield blocker(
            "node-port-open",
            member.name,
            f"{member.name} does not answer, but its address takes connections: a paused process looks like this, and "
            "a load balancer without a node behind it",
            f"Make sure that the process is gone, and that nothing else listens on that port; then add {STOPPED}.",
        )
    elif member.answers is None or member.silence is Silence.UNREACHED:
        how = "could not be asked" if member.answers is None else "cannot be reached"
        yield blocker(
            "node-liveness-unknown",
            member.name,
            f"{member.name} {how}, so it is unknown whether its process runs: the process may be paused, the host "
            "stopped, behind a firewall, or on the other side of a broken network",
            answers=member.answers,
        )
    if member.fetches is None:
        seen = "could not be asked" if state.voters is None else f"was watched for {state.watched_ms or 0} ms only"
        why = state.leader_error if state.voters is None else None
        yield blocker(
            "node-fetches-unknown",
            member.name,
            f"the leader of the quorum {seen}, so it is unknown whether {member.name} fetches the metadata log"
            + (f": {why.reason}" if why else ""),
            why.step if why else "",
            watched_ms=state.watched_ms,
            **({NO_ACCESS: True} if why and why.is_access else {}),
        )


def _vouched(doubt: Finding) -> Finding:
    return Finding(
        id=doubt.id,
        severity=Severity.WARNING,
        subject=doubt.subject,
        message=doubt.message,
        evidence={**doubt.evidence, "overridden_by": STOPPED},
        next_step=f"{STOPPED} was given: the operator confirms that the process does not run.",
    )
