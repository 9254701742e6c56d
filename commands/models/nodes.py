"""Answers of `kafkactl nodes`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kafkactl.commands.models.shared import Answer, Endpoint, Finding, Outcome, Shape


class Range(Shape):
    """The levels of a feature that a node supports."""

    min: int
    max: int


class SeenAs(Shape):
    """A node id in one role: a controller and the registration of a broker may have the same id."""

    role: Literal["broker", "controller"]
    registered: bool | None
    answers: bool | None
    stale: bool


class Node(Shape):
    """One node id. Null is what could not be seen, or does not apply."""

    id: int
    roles: list[Literal["broker", "controller"]]
    registered: bool | None = Field(description="Null where the metadata log could not be read.")
    fenced: bool | None = Field(description="Of a registered broker.")
    in_controlled_shutdown: bool | None = Field(description="Of a registered broker.")
    answers: bool | None = Field(description="Null where it could not be asked.")
    voter: bool = Field(description="Whether it is a voter of the metadata quorum.")
    stale: bool = Field(description="Registered and, by everything that was seen, gone.")
    directory_ids: list[str]
    endpoints: list[Endpoint]
    features: dict[str, Range] = Field(description="As the node answered, else as it is registered.")
    epoch: int | None = Field(description="The broker epoch of a registered broker.")
    kafka_version: str | None = Field(description="The release, as the range of metadata.version tells it.")
    seen_as: list[SeenAs]


class NodesList(Answer):
    """`nodes list`."""

    kind: Literal["nodes.list"]
    cluster_id: str | None
    active_controller: int | None
    nodes: list[Node]
    findings: list[Finding] = Field(description="What could not be seen, and why.")


class NodesUnregister(Answer):
    """`nodes unregister`."""

    kind: Literal["nodes.unregister"]
    outcome: Outcome
    cluster_id: str | None
    node_id: int
    role: Literal["broker", "controller"] | None = Field(description="Null where it cannot be told which is meant.")
    findings: list[Finding]
