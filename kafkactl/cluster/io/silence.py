"""Findings about nodes that do not answer, for answers that describe a cluster: the kind of each silence and its likely
cause.

Plans do not use these: a planner judges a silent node by its effect on the change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kafkactl.cluster.io.view import ObservedCluster
from kafkactl.cluster.node import Silence
from kafkactl.cluster.state import Member
from kafkactl.core.findings import LEADER_NOT_REACHED, Finding, warning
from kafkactl.core.kafka_names import METADATA_VERSION
from kafkactl.protocol.catalog.consequences import level_name

# The observation at the addresses, and the next step; a node in whose place another answers has a finding of its own.
_SEEN: Mapping[Silence, tuple[str, str]] = {
    Silence.REFUSED: (
        "refuses connections: no process listens there",
        "Check on its host whether the process runs: a node that recovers its log opens its port late. Start it, or "
        "compare the address with its `listeners`.",
    ),
    Silence.HANGS: (
        "takes connections and does not answer: its process may be paused or overloaded, or a load balancer listens "
        "without a node",
        "Check on its host whether the process is stopped (state T in `ps`), collects garbage or waits for a disk.",
    ),
    Silence.UNREACHED: (
        "cannot be reached: no connection is established; its host may be off, the network may drop packets, or its "
        "process hangs and the queue of connections that wait for it (socket.listen.backlog.size) is full",
        "Check that its host runs, whether the process there is stopped (state T in `ps`), and that no firewall drops "
        "packets between it and this machine.",
    ),
}

# A controller follows a leader that does not answer: the network of this host may lead to no other controller.
_PERHAPS_UNREACHABLE = (
    "refuses connections from here: no process listens there, or the network does not let this host through",
    "Check on its host whether the process runs. If it does, run kafkactl where its address can be reached.",
)
_ALIVE = (
    "refuses connections from here",
    "Run kafkactl where its address can be reached, or compare the address with its `listeners`.",
)


def silent_nodes(view: ObservedCluster) -> Iterator[Finding]:
    """Yield a warning for each queried node that does not answer."""
    is_doubtful = view.leader_error is not None and view.leader_error.id == LEADER_NOT_REACHED
    addresses = {(seat.role, seat.id): seat.addresses for seat in view.seats}
    for member in view.state.members:
        silence = member.silence
        if silence is not None and silence in _SEEN:
            seen, step = _SEEN[silence]
            if silence is Silence.REFUSED and (member.fetches or is_doubtful):
                seen, step = _ALIVE if member.fetches else _PERHAPS_UNREACHABLE
            at = [str(address) for address in addresses.get((member.role, member.id), ())]
            yield warning(
                "node-silent",
                member.name,
                f"{member.name} does not answer: {', '.join(at)} {seen}{_known(member)}",
                step,
                addresses=at,
                silence=silence.value,
                voter=member.voter,
                fetches=member.fetches,
            )


def _known(member: Member) -> str:
    """Return the evidence of other sources about the member, as clauses."""
    known = ["it is a voter, and counts for every majority"] if member.voter else []
    if member.fetches:
        known.append("it fetches the metadata log, so its process runs")
    elif member.stale:
        known.append(f"it is registered, and blocks changes to levels that its registration lacks{_highest(member)}")
    return "".join(f"; {clause}" for clause in known)


def _highest(member: Member) -> str:
    """Return the metadata.version up to which a registration allows changes, in brackets."""
    supported = (member.listed or {}).get(METADATA_VERSION)
    return "" if supported is None else f" (metadata.version above {level_name(METADATA_VERSION, supported.highest)})"
