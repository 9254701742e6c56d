"""Shapes that several answers share."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Shape(BaseModel):
    """Base of all shapes. Built only when it is used, which halves the price of importing them."""

    model_config = ConfigDict(defer_build=True)


class Answer(Shape):
    """What every answer begins with."""

    kind: str
    schema_version: Literal[1] = Field(description="Rises when a field goes or changes its meaning.")


class Finding(Shape):
    """One thing that a planner, check or gate has to say."""

    id: str = Field(description="A short word formed from the cause; run `kafkactl explain ID` for details.")
    severity: Literal["blocker", "warning", "info"]
    subject: str = Field(description="What it is about: `directory /disk1`, `node 3`.")
    message: str
    evidence: dict[str, Any]
    next_step: str


class Error(Answer):
    """The one object on stderr where a command has no answer (`-o json`)."""

    kind: Literal["error"]
    id: str = Field(description="The word to match on; run `kafkactl explain ID` for details.")
    message: str
    cause: str | None
    next_step: str | None
    exit_code: int
    findings: list[Finding] = Field(description="Every reason, where there are several: the message is the first.")


class Endpoint(Shape):
    """A named listener and where it answers."""

    listener: str
    host: str
    port: int


class Voter(Shape):
    """One voter of the first voter set."""

    id: int
    directory_id: str
    endpoints: list[Endpoint]


class MetadataVersion(Shape):
    """A level of metadata.version and its name, such as 30 and `4.3-IV0`."""

    level: int
    name: str


Outcome = Literal["done", "nothing-to-do", "planned", "refused", "failed", "partial", "unknown"]


class Electing(Shape):
    """How long the quorum is without a leader after its leader has ended in one way, in simulated runs."""

    release: str = Field(description="Whose rules the simulated nodes followed.")
    cause: Literal["host-lost", "process-killed", "graceful-stop"]
    runs: int
    elected: int = Field(description="Runs in which a leader was elected within a minute.")
    p50_ms: float | None
    p90_ms: float | None
    p99_ms: float | None
    longest_ms: float | None


class SecondFailure(Shape):
    """A step in whose middle the host of one more node is lost, at an event that is drawn from the seed."""

    release: str
    step: int
    action: Literal["add", "remove", "lose"]
    id: int | None = Field(description="Who is added or removed.")
    failed: int | None = Field(description="The node that fails; null: no second failure.")
    runs: int
    goes_on: int = Field(description="Runs in which the quorum committed again with the node away.")
    recovers: int = Field(description="Runs in which it did so only once the node was back with its disk.")
    stuck: int = Field(description="Runs in which it did not.")
    longest_gap_ms: float | None = Field(description="The longest time without a commit among those that went on.")


class Simulation(Shape):
    """What the simulator of quorums says (`--simulate`); equal runs and seed give equal answers."""

    runs: int = Field(description="Of each row, with seeds from `seed` on.")
    seed: int
    elections: list[Electing]
    second_failures: list[SecondFailure]
