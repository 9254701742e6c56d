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
    fetches: bool | None = Field(description="Whether it fetched from the leader while that was watched.")
    evidence: str | None = Field(description="Why it is said to fetch, or not to.")
    stale: bool


class Node(Shape):
    """One node id. Null is what could not be seen, or does not apply."""

    id: int
    roles: list[Literal["broker", "controller"]]
    registered: bool | None = Field(description="Null where the metadata log could not be read.")
    fenced: bool | None = Field(description="Of a registered broker.")
    in_controlled_shutdown: bool | None = Field(description="Of a registered broker.")
    answers: bool | None = Field(
        description="Whether it answers at its address, and no other node in its place. Null: it could not be asked."
    )
    fetches: bool | None = Field(
        description="Whether it was seen to fetch the metadata log while the leader was watched. Null: unknown."
    )
    voter: bool = Field(description="Whether it is a voter of the metadata quorum.")
    stale: bool = Field(description="Registered and, by everything that was seen, gone.")
    directory_ids: list[str]
    endpoints: list[Endpoint]
    features: dict[str, Range] = Field(description="As the node answered, else as it is registered.")
    epoch: int | None = Field(description="The broker epoch of a registered broker.")
    kafka_version: str | None = Field(description="The release, derived from the range of metadata.version.")
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
    role: Literal["broker", "controller"] | None = Field(description="Null if it is unknown which is meant.")
    findings: list[Finding]


class ReadNode(Shape):
    """A node in one role, and where its settings were read from."""

    id: int
    role: Literal["broker", "controller"]
    read: bool = Field(description="Whether its settings are known.")
    file: str | None = Field(description="The file that was read in place of the node.")


class HeldValue(Shape):
    """A value and the ids of the nodes that have it; the empty value is one that is not set."""

    value: str
    nodes: list[int]


class OverriddenFile(Shape):
    """A value in the files of some nodes that is not in force there."""

    value: str
    nodes: list[str]


class SettingDifference(Shape):
    """A setting that is not the same on all nodes."""

    key: str
    kinds: list[
        Literal[
            "controllers-settings-differ", "controller-setting-differs", "brokers-settings-differ",
            "setting-without-effect", "setting-overridden",
        ]
    ]  # fmt: skip
    matters: bool = Field(description="Whether the cluster behaves otherwise for it.")
    decides: list[Literal["broker", "controller"]] = Field(description="The processes that read it under KRaft.")
    controllers: list[HeldValue]
    brokers: list[HeldValue]
    overridden_files: list[OverriddenFile] = Field(description="Values in files that the metadata log overrides.")
    controller_decides: str | None = Field(description="What the active controller's value decides.")
    broker_decides: str | None = Field(description="What the brokers' values decide.")
    effect: str = Field(description="What follows from the difference.")


class NodesVerify(Answer):
    """`nodes verify`."""

    kind: Literal["nodes.verify"]
    cluster_id: str | None
    active_controller: int | None
    complete: bool = Field(description="Whether every node that answers was read, of both roles.")
    nodes: list[ReadNode]
    settings: list[SettingDifference] = Field(description="Only those that differ.")
    findings: list[Finding]
