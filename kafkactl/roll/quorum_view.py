"""The metadata quorum and the nodes of a live cluster, read from answers of `quorum describe` and `nodes list`.

Of each answer only the fields are read on which a roll depends; a field that is missing is unknown.
"""

from __future__ import annotations

from kafkactl.core.frozen import frozen
from kafkactl.core.json_fields import JsonFields
from kafkactl.core.kafka_names import NO_LEADER
from kafkactl.protocol.schema.spec import Versions


@frozen
class ObservedReplica:
    """A voter or observer as the leader knows it. None is unknown."""

    id: int
    directory_id: str | None = None
    log_end_offset: int | None = None
    lag: int | None = None
    last_fetch_timestamp_ms: int | None = None
    last_caught_up_timestamp_ms: int | None = None
    alive: bool | None = None


@frozen
class ObservedQuorum:
    """Answer of `quorum describe`. `leader_id` is -1 without a leader.

    `asked_epochs` are the leader epochs that the asked nodes themselves named.
    """

    leader_id: int
    leader_epoch: int | None
    high_watermark: int | None
    voters: tuple[ObservedReplica, ...]
    observers: tuple[ObservedReplica, ...]
    kraft_version: int | None
    asked_epochs: tuple[int, ...] = ()
    time_ms: int | None = None

    @property
    def has_leader(self) -> bool:
        """Return True if a leader answered."""
        return self.leader_id != NO_LEADER

    def voter(self, node_id: int) -> ObservedReplica | None:
        """Return the voter of that id."""
        return next((voter for voter in self.voters if voter.id == node_id), None)

    def replica(self, node_id: int) -> ObservedReplica | None:
        """Return the voter of that id, else the observer that fetched last."""
        voter = self.voter(node_id)
        if voter is not None:
            return voter
        found = [observer for observer in self.observers if observer.id == node_id]
        return max(found, key=lambda observer: observer.last_fetch_timestamp_ms or -1, default=None)

    def end_of_leader(self) -> int | None:
        """Return the end of the leader's log; None if it is unknown."""
        leader = self.voter(self.leader_id)
        return None if leader is None else leader.log_end_offset


@frozen
class ListedNode:
    """Row of `nodes list`. None is unknown. `features` are the ranges that the node itself answered or registered."""

    id: int
    answers: bool | None = None
    fetches: bool | None = None
    registered: bool | None = None
    fenced: bool | None = None
    in_controlled_shutdown: bool | None = None
    voter: bool | None = None
    stale: bool | None = None
    features: dict[str, Versions] | None = None


def read_quorum(fields: JsonFields) -> ObservedQuorum | None:
    """Return the quorum of a saved answer of `quorum describe`; None for an answer that does not say who leads.

    Raises InputError `invalid-observation`.
    """
    asked = fields.listed("nodes", lambda node: node.number("leader_epoch")) or []
    leader_id = fields.number("leader_id")
    found = ObservedQuorum(
        leader_id=NO_LEADER if leader_id is None else leader_id,
        leader_epoch=fields.number("leader_epoch"),
        high_watermark=fields.number("high_watermark"),
        voters=tuple(fields.listed("voters", _replica) or ()),
        observers=tuple(fields.listed("observers", _replica) or ()),
        kraft_version=fields.number("kraft_version"),
        asked_epochs=tuple(epoch for epoch in asked if epoch is not None),
        time_ms=fields.number("time_ms"),
    )
    return None if leader_id is None else found


def read_nodes(fields: JsonFields) -> tuple[ListedNode, ...]:
    """Return the nodes of a saved answer of `nodes list`. Raise InputError `invalid-observation`."""
    return tuple(fields.listed("nodes", _node) or ())


def read_ranges(fields: JsonFields) -> dict[str, Versions]:
    """Return feature ranges by name: objects with `min` and `max`. Raise InputError `invalid-observation`."""
    found: dict[str, Versions] = {}
    for name in fields.names:
        found[name] = fields.required(name, lambda ends: Versions(ends.needed("min"), ends.needed("max")))
    return found


def _replica(fields: JsonFields) -> ObservedReplica:
    return ObservedReplica(
        id=fields.needed("id"),
        directory_id=fields.text("directory_id"),
        log_end_offset=fields.number("log_end_offset"),
        lag=fields.number("lag"),
        last_fetch_timestamp_ms=fields.number("last_fetch_timestamp_ms"),
        last_caught_up_timestamp_ms=fields.number("last_caught_up_timestamp_ms"),
        alive=fields.flag("alive"),
    )


def _node(fields: JsonFields) -> ListedNode:
    return ListedNode(
        id=fields.needed("id"),
        answers=fields.flag("answers"),
        fetches=fields.flag("fetches"),
        registered=fields.flag("registered"),
        fenced=fields.flag("fenced"),
        in_controlled_shutdown=fields.flag("in_controlled_shutdown"),
        voter=fields.flag("voter"),
        stale=fields.flag("stale"),
        features=fields.part("features", read_ranges),
    )
