"""The quorum as its leader describes it, asked through brokers or, if they wait for another leader, directly."""

from __future__ import annotations

from typing import Final

from kafkactl.change.clock import Deadline
from kafkactl.cluster.io.configured_addresses import configured_controllers
from kafkactl.cluster.quorum.observation import QuorumAnswer, answer_error, quorum_answer
from kafkactl.core.closing import Closing
from kafkactl.core.errors import UnreachableError
from kafkactl.core.values import Role
from kafkactl.kafka.attempts import all_at_once, worst_of
from kafkactl.kafka.client import Client
from kafkactl.kafka.quorum_requests import QUORUM_REQUEST
from kafkactl.kafka.retries import is_transient
from kafkactl.net.transport import Address
from kafkactl.protocol.schema.error_codes import error_code
from kafkactl.protocol.schema.rights import CLUSTER_DENIED, not_authorised

HELD_MS: Final = 400.0
"""Time in ms after which the controllers are asked as well; a leader answers in some milliseconds."""
_NO_LEADER: Final = "no-active-controller"
_NO_LIMIT: Final = float("inf")
_SOON_MS: Final = 150.0  # nodes that have not answered after this time are asked last


class LeaderSource(Closing):
    """The answer of the leader to one question after another; use it as a context manager, or close it.

    A broker forwards the question, and holds it while its connection leads to a former leader that hangs. All other
    brokers do so as well, some until the question ends. After `held_ms` the controllers are asked as well that the
    configuration of a broker names, and the first answer counts; from then on both are asked at once.
    """

    def __init__(self, client: Client, *, held_ms: float = HELD_MS) -> None:
        """Keep `client`, whose limits are those of an answer; the caller closes it."""
        self._client = client
        self._held_ms = held_ms
        self._brokers: Client | None = None
        self._controllers: Client | None = None
        self._is_held = False

    def close(self) -> None:
        """Close all connections but those of the client itself; pending questions end with that."""
        for client in (self._brokers, self._controllers):
            if client is not None:
                client.close()

    def answer(self, *, most_ms: float = _NO_LIMIT) -> QuorumAnswer:
        """Return the answer of the leader, within `most_ms`. Raise UnreachableError as `describe_quorum` does."""
        deadline = Deadline.after(min(most_ms, self._client.left_ms), self._client.clock)
        if self._client.role is Role.CONTROLLER:
            return _asked(self._client, deadline.left_ms)
        if not self._is_held:
            try:
                return _asked(self._client, min(self._held_ms, deadline.left_ms))
            except UnreachableError as error:
                is_held = any(map(self._client.is_silent, self._client.bootstrap))
                is_passing = is_held or is_transient(error) or error.id == _NO_LEADER
                if not is_passing or deadline.passed:
                    raise
                if is_transient(error) and not is_held:
                    return _asked(self._client, deadline.left_ms)  # No broker is reached that could hold the question.
        return self._first_answer(deadline)

    def _first_answer(self, deadline: Deadline) -> QuorumAnswer:
        """Return the first answer, through brokers or of controllers. Raise the most precise error."""
        if self._brokers is None:  # apart, since a question that is held occupies the connection to a broker
            self._brokers = self._client.sibling(Role.BROKER, self._client.bootstrap)
        if self._controllers is None:
            addresses = tuple(dict.fromkeys(place.address for place in configured_controllers(self._client)))
            self._controllers = self._client.sibling(Role.CONTROLLER, addresses) if addresses else None
        clients = {client.bootstrap[0]: client for client in (self._brokers, self._controllers) if client is not None}

        def ask(address: Address, by: Deadline) -> QuorumAnswer:
            return _asked(_in_order(clients[address]), by.left_ms)

        found = all_at_once(tuple(clients), ask, deadline, soon=deadline.at_most(0))
        answers = [answer for answer in found.values() if isinstance(answer, QuorumAnswer)]
        if not answers:
            raise worst_of([error for error in found.values() if isinstance(error, UnreachableError)])
        self._is_held = True
        return max(answers, key=lambda answer: answer.leader_epoch)


def describe_quorum(client: Client) -> QuorumAnswer:
    """Return the leader's description of the quorum, asked directly or through a broker.

    Raises UnreachableError: `no-active-controller`, `not-authorised`, `quorum-not-described`, or of the nodes tried.
    """
    with LeaderSource(client) as source:
        return source.answer()


def _in_order(client: Client) -> Client:
    """Return the client; from now on it asks nodes that do not answer after the others."""
    if client.role is Role.CONTROLLER and len(client.bootstrap) > 1:
        client.versions(client.bootstrap, soon_ms=_SOON_MS)
    return client


def _asked(client: Client, most_ms: float) -> QuorumAnswer:
    response = client.ask_active_controller("DescribeQuorum", QUORUM_REQUEST, most_ms=most_ms)
    if response.body["ErrorCode"] or (response.body["Topics"] and response.body["Topics"][0]["Partitions"]):
        code, text = answer_error(response.body)
        if not code:
            return quorum_answer(response.body, version=response.version, asked="the leader")
    else:
        code, text = -1, "the answer names no partition"
    if code == CLUSTER_DENIED:
        where = "a controller" if client.role is Role.CONTROLLER else "the cluster"  # one that follows denies it, too
        raise not_authorised("DescribeQuorum", where, client.login, text)
    raise UnreachableError(
        f"the quorum is not described: {error_code(code).name}",
        id="quorum-not-described",
        cause=text or None,
        next_step="Ask again; if it stays so, look in the log of the active controller.",
    )
