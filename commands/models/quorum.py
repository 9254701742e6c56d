"""Answers of `kafkactl quorum`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kafkactl.commands.models.shared import Answer, Endpoint, Finding, Outcome, Shape, Simulation


class Replica(Shape):
    """A voter or an observer. Null means unknown."""

    id: int
    directory_id: str | None = Field(description="Null in a static quorum: no vote names directories there.")
    endpoints: list[Endpoint] = Field(description="As in the voter set; empty if not reported (before 3.9).")
    log_end_offset: int | None
    lag: int | None = Field(description="Records behind the leader's end.")
    last_fetch_timestamp_ms: int | None = Field(description="By the leader's clock.")
    last_caught_up_timestamp_ms: int | None = Field(description="By the leader's clock.")
    alive: bool | None = Field(
        description="True: it leads, it was seen to fetch, or it answers as itself and fetched lately (without a "
        "leader: it answers). False: it was watched and did not. Null: what was seen proves neither."
    )
    evidence: str | None = Field(description="Why it is considered alive or not, as a clause about the node.")


class QuorumNode(Shape):
    """What one address answered."""

    id: int | None
    address: str
    role: Literal["broker", "controller"] | None
    answers: bool | None = Field(description="Null: a node responds, but refuses the connection.")
    leader_id: int | None = Field(description="Whom it believes to lead; null where it was not asked.")
    leader_epoch: int | None
    error: str | None


class QuorumDisk(Shape):
    """What one metadata directory says (`--log-dir`)."""

    path: str
    cluster_id: str | None
    node_id: int | None
    directory_id: str | None
    leader_id: int | None = Field(description="From quorum-state, possibly outdated; -1: none.")
    leader_epoch: int | None
    last_epoch: int | None = Field(description="Of the last record; null for an empty log.")
    log_end_offset: int
    kraft_version: int | None


class QuorumDescribe(Answer):
    """`quorum describe`."""

    kind: Literal["quorum.describe"]
    cluster_id: str | None
    mode: Literal["static", "dynamic"] | None
    kraft_version: int | None
    leader_id: int = Field(description="-1 without a leader; the exit code is then 7.")
    leader_epoch: int | None = Field(description="Without a leader the highest that a node or disk knows.")
    high_watermark: int | None = Field(description="Null while the leader has committed nothing in its epoch.")
    voters: list[Replica]
    observers: list[Replica]
    majority: int | None
    tolerates: int | None = Field(
        description="Failures that the quorum still survives now; below 0 that many voters must come back."
    )
    sources: dict[str, str] = Field(description="The sources of the leader, the voters and the kraft.version.")
    time_ms: int
    nodes: list[QuorumNode]
    disks: list[QuorumDisk]
    findings: list[Finding]


class QuorumStep(Shape):
    """One step of a change. `id` and `directory_id` are null for steps that are about no single node."""

    number: int
    action: Literal["add", "remove", "wait", "upgrade"]
    id: int | None
    directory_id: str | None
    tolerates_before: int
    tolerates_after: int
    state: Literal["done", "skipped", "pending", "failed", "unknown"]
    voters_after: list[int]
    leader_leaves: bool = Field(description="The leader is removed by this step: an election follows.")


class QuorumForecast(Shape):
    """What to expect after one step, or now (number 0)."""

    number: int
    voters: list[int]
    majority: int
    alive: list[int]
    tolerates: int
    critical: list[int] = Field(description="The voters of which no single one may fail.")
    election: bool
    worst_zone: str | None = Field(description="The zone whose loss leaves the least; null without `--zone`.")
    survives_worst_zone: bool | None
    sentences: list[str]


class QuorumChange(Answer):
    """`quorum add-controller`, `remove-controller`, `reassign`, `apply` and `convert`."""

    kind: Literal["quorum.change"]
    outcome: Outcome
    cluster_id: str | None
    voters_before: list[int]
    voters_after: list[int] = Field(description="As they were last seen.")
    steps: list[QuorumStep]
    findings: list[Finding]
    may_happen: list[str] = Field(description="What can still take effect if the outcome is unknown.")
    interrupted: bool = Field(description="The operator stopped it (exit code 130).")
    journal: str | None = Field(description="Where the change is written down; null for a dry run.")
    out: str | None = Field(description="The plan file that was written; null: none.")
    plan_sha256: str | None = Field(description="Of the plan file that was written or applied.")
    forecast: list[QuorumForecast] = Field(description="Of `reassign`: now, and after each step to come.")
    simulation: Simulation | None = Field(description="Of `reassign --dry-run --simulate`.")
