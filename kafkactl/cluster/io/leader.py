"""The reason why no controller answered as the leader: none leads, or the leader could not be asked.

A controller that does not lead refuses DescribeQuorum, and does not name the leader there. Which leader it follows is
in its answer to Fetch. Only if every controller that answers follows none, the quorum is known to have no leader.
"""

from __future__ import annotations

from kafkactl.cluster.io.quorum_view import QuorumObserver
from kafkactl.core.errors import UnreachableError
from kafkactl.core.findings import LEADER_NOT_REACHED, NOT_AUTHORISED
from kafkactl.core.values import Role
from kafkactl.kafka.client import Client
from kafkactl.kafka.other_login import add_login_step
from kafkactl.protocol.schema.rights import not_authorised

NO_LEADER = "no-active-controller"
# Reasons that a right, a login or another address removes; they are not evidence about the quorum.
NO_ACCESS = frozenset(
    {
        NOT_AUTHORISED,
        LEADER_NOT_REACHED,
        "authentication-failed",
        "sasl-login-expected",
        "sasl-mechanism-not-offered",
        "sasl-not-spoken",
        "tls-expected",
        "wrong-endpoint-type",
    }
)


def leader_error(client: Client, error: UnreachableError, node_timeout_ms: float) -> UnreachableError:
    """Return why the leader was not asked, as far as the controllers that answered show it; else `error` itself."""
    add_login_step(error, client, named=client.role)
    if error.id != NO_LEADER or client.role is Role.BROKER:
        return error
    with QuorumObserver(client, node_timeout_ms=node_timeout_ms) as observer:
        try:
            state = observer.observe()
        except UnreachableError as other:
            return other if other.id in NO_ACCESS else error
        visits = observer.visits
    found = next((finding for finding in state.findings if finding.id == LEADER_NOT_REACHED), None)
    if found is not None and not state.has_leader:
        return UnreachableError(found.message, id=found.id, next_step=found.next_step or None)
    refusing = [visit for visit in visits if "Fetch" in visit.denied]
    if refusing and not any(visit.leader_id is not None for visit in visits):
        where = ", ".join(str(visit.address) for visit in refusing)
        return not_authorised("Fetch", where, refusing[0].login)
    return error


def check_leader_asked(error: UnreachableError | None) -> None:
    """Raise the reason why the leader was not asked, if the reason is not evidence about the quorum. Nothing can be
    planned then."""
    if error is not None and error.id in NO_ACCESS:
        raise error
