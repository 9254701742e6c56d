"""The quorum between two observations: its leader, and whether the others still answer on their connections.

A sample goes only to nodes that answered the observation before it, and only on its connections: the process at the
other end is the one that named itself then. So a sample takes as long as the slowest healthy node, and a node that
hangs costs `PING_MS` once; after that it is not asked again.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence

from kafkactl.change.clock import Clock, Deadline
from kafkactl.cluster.io.quorum_visit import Visit, ask_quorum_of
from kafkactl.core.errors import KafkactlError
from kafkactl.core.frozen import changed
from kafkactl.core.values import Role
from kafkactl.kafka.attempts import all_at_once
from kafkactl.kafka.connection import Connection
from kafkactl.net.transport import Address

PING_MS = 1_000.0


def leaders_visit(visits: Sequence[Visit]) -> Visit | None:
    """Return the visit with a leader's newest answer: preferably from the controller instead of through a broker."""
    answering = [visit for visit in visits if visit.answer is not None]
    return max(answering, key=lambda visit: (_epoch(visit), visit.role is Role.CONTROLLER), default=None)


def sample_visits(
    visits: Sequence[Visit], lines: MutableMapping[Address, Connection], clock: Clock
) -> list[Visit] | None:
    """Repeat these visits on `lines`; return None if the leader does not answer as leader.

    A line without an answer is closed and removed.
    """
    leader = leaders_visit(visits)
    if leader is None or leader.address not in lines:
        return None
    asked = [visit for visit in visits if visit.address in lines and (visit.role is Role.CONTROLLER or visit is leader)]
    before: Mapping[Address, Visit] = {visit.address: changed(visit, answer=None) for visit in asked}

    def ask(address: Address, deadline: Deadline) -> Visit:
        if address == leader.address:
            return ask_quorum_of(lines[address], before[address], deadline)
        versions = lines[address].refresh_versions(deadline)
        return changed(before[address], versions=versions)

    found = all_at_once(list(before), ask, Deadline.after(PING_MS, clock))
    seen = {address: _now(before[address], answer) for address, answer in found.items()}
    for address, visit in seen.items():
        if visit.error is not None:
            lines.pop(address).close()
    if seen[leader.address].answer is None:
        return None
    return [seen.get(visit.address, changed(visit, answer=None)) for visit in visits]


def _now(before: Visit, answer: Visit | KafkactlError) -> Visit:
    """Return the visit with the new answer, or with the reason why there is none: the answer before is then
    outdated."""
    if isinstance(answer, Visit):
        return answer
    return Visit(address=before.address, expected_id=before.id, error=answer)


def _epoch(visit: Visit) -> int:
    return -1 if visit.answer is None else visit.answer.leader_epoch
