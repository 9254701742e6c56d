"""Answers of `kafkactl features`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kafkactl.commands.models.shared import Answer, FeatureLevel, Finding, Outcome, Shape

Role = Literal["broker", "controller"]


class NodeRange(Shape):
    """The levels of one feature that one node supports; null where it did not answer, 0 to 0 where it has none."""

    id: int
    role: Role
    min: int | None
    max: int | None


class Feature(Shape):
    """One feature of the cluster."""

    name: str
    finalized: int | None = Field(description="0: not finalized; null: no node shows its levels.")
    finalized_name: str | None = Field(description="The name of a level of metadata.version, such as 4.3-IV0.")
    supported_min: int | None = Field(description="What all nodes that answered have in common; null: nothing.")
    supported_max: int | None
    nodes: list[NodeRange]


class NodeSeen(Shape):
    """A node in one role; a combined node is there twice."""

    id: int
    role: Role
    answers: bool | None = Field(description="False: it was asked and is silent. null: it could not be asked.")
    kafka_version: str | None = Field(description="As far as its range of metadata.version shows.")


class FeaturesDescribe(Answer):
    """`features describe`."""

    kind: Literal["features.describe"]
    cluster_id: str | None = Field(description="null if no node reports it.")
    finalized_epoch: int | None = Field(description="Of the active controller; not comparable between nodes.")
    active_controller: int | None
    nodes: list[NodeSeen]
    features: list[Feature]
    findings: list[Finding]


class NodeProof(Shape):
    """What one node shows; `levels` is null where it did not answer, 0 in it means not finalized."""

    node_id: int
    role: Role
    finalized_epoch: int | None
    levels: dict[str, int] | None


class FeaturesVerify(Answer):
    """`features verify`."""

    kind: Literal["features.verify"]
    cluster_id: str | None
    proved: bool
    wanted: dict[str, int]
    proof: list[NodeProof]
    findings: list[Finding]


class Dependencies(Shape):
    """A feature level and the levels that it needs."""

    name: str
    level: int
    dependencies: list[FeatureLevel]


class FeaturesVersionMapping(Answer):
    """`features version-mapping`."""

    kind: Literal["features.version-mapping"]
    kafka_version: str
    release_version: str
    features: list[FeatureLevel]


class FeaturesFeatureDependencies(Answer):
    """`features feature-dependencies`."""

    kind: Literal["features.feature-dependencies"]
    kafka_version: str
    features: list[Dependencies]


class Change(Shape):
    """One feature of a change."""

    name: str
    from_: int = Field(alias="from", description="0: off.")
    to: int
    kind: Literal["upgrade", "safe-downgrade", "unsafe-downgrade", "no-op"]
    reversible: bool
    consequences: list[str]
    way_back: str | None = Field(description="The command that undoes it, or why there is none.")


class Step(Shape):
    """One UpdateFeatures request."""

    number: int
    features: dict[str, int]
    type: Literal["upgrade", "safe-downgrade", "unsafe-downgrade"]


class Result(Shape):
    """What was answered about one feature, and what became of it."""

    name: str
    error_code: int | None = Field(description="null where no answer came, or none that speaks of this feature.")
    error_name: str | None
    message: str
    outcome: Literal["done", "failed", "unknown", "planned", "refused"]


class Prediction(Shape):
    """What was expected of the controller; null: only it can know."""

    name: str
    accepted: bool | None


class FeaturesChange(Answer):
    """`features upgrade`, `downgrade`, `disable`, `plan` and `apply`."""

    kind: Literal["features.change"]
    outcome: Outcome
    cluster_id: str | None
    changes: list[Change]
    steps: list[Step]
    findings: list[Finding]
    results: list[Result]
    results_of: Literal["change", "dry-run"] = Field(description="dry-run: nothing was sent but to be validated.")
    predictions: list[Prediction]
    proof: list[NodeProof]
    out: str | None = Field(description="The plan file that was written; null: none.")
    plan_sha256: str | None = Field(description="Of the plan file that was written or applied.")
