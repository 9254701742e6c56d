"""The quorum as the leader describes it, asked through brokers or, if they wait for another leader, directly."""

from __future__ import annotations

from typing import Final

from kafkactl.cluster.io.controllers import configured_controllers, describe_quorum
from kafkactl.cluster.quorum.observation import QuorumAnswer
from kafkactl.core.closing import Closing
from kafkactl.core.errors import UnreachableError
from kafkactl.core.values import Role
from kafkactl.kafka.attempts import worst_of
from kafkactl.kafka.client import Client
from kafkactl.kafka.line import TIMED_OUT

_SOON_MS: Final = 150.0  # nodes that have not answered by then are asked last


class LeaderSource(Closing):
    """The answer of the leader to one question after another; use it as a context manager, or close it.

    A broker forwards the question, and holds it while its connection leads to a former leader that hangs. So do all
    others. After `held_ms` the controllers are asked that the configuration of a broker names, for `patience_ms`.
    """

    def __init__(self, client: Client, *, held_ms: float, patience_ms: float) -> None:
        limit_ms = held_ms if client.role is Role.BROKER else patience_ms
        self._client = client.sibling(client.role, client.bootstrap, timeout_ms=limit_ms)
        self._patience_ms = patience_ms
        self._controllers: Client | None = None

    def close(self) -> None:
        """Close all connections."""
        for client in (self._client, self._controllers):
            if client is not None:
                client.close()

    def answer(self) -> QuorumAnswer:
        """Return the answer of the leader. Raise UnreachableError as `describe_quorum` does."""
        try:
            return describe_quorum(_in_order(self._client))
        except UnreachableError as error:
            if self._client.role is Role.CONTROLLER or error.id != TIMED_OUT:
                raise
            held = error
        try:
            return describe_quorum(_in_order(self._found(held)))
        except UnreachableError as error:
            raise (error if error.id != TIMED_OUT else worst_of([held, error])) from held

    def _found(self, held: UnreachableError) -> Client:
        """Return a client of the controllers that brokers name. Raise `held` if they name none."""
        if self._controllers is None:
            places = configured_controllers(self._client)
            addresses = tuple(dict.fromkeys(place.address for place in places))
            if not addresses:
                raise held
            self._controllers = self._client.sibling(Role.CONTROLLER, addresses, timeout_ms=self._patience_ms)
        return self._controllers


def _in_order(client: Client) -> Client:
    """Return the client; from now on it asks nodes that do not answer after the others."""
    if len(client.bootstrap) > 1:
        client.versions(client.bootstrap, soon_ms=_SOON_MS)
    return client
