"""The shape of `nodes.list`, from the rows that fill it to the page that shows them. None is unknown.

commands/models/nodes.py, of which the published schema is made, describes the fields; a test compares the two.
"""

from __future__ import annotations

from typing import Any, TypedDict


class RangeDict(TypedDict):
    """The levels of a feature that a node supports."""

    min: int
    max: int


class SeenAsDict(TypedDict):
    """A node id in one role."""

    role: str
    registered: bool | None
    answers: bool | None
    fetches: bool | None
    evidence: str | None
    stale: bool


class NodeDict(TypedDict):
    """As `nodes.NodeRow`."""

    id: int
    roles: list[str]
    registered: bool | None
    fenced: bool | None
    in_controlled_shutdown: bool | None
    answers: bool | None
    fetches: bool | None
    voter: bool
    stale: bool
    directory_ids: list[str]
    endpoints: list[dict[str, Any]]
    features: dict[str, RangeDict]
    epoch: int | None
    kafka_version: str | None
    seen_as: list[SeenAsDict]


class NodesDict(TypedDict):
    """`nodes.list`."""

    cluster_id: str | None
    active_controller: int | None
    nodes: list[NodeDict]
    findings: list[dict[str, Any]]
