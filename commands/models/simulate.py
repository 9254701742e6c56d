"""The answer of `kafkactl simulate`. Null is what does not apply."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kafkactl.commands.models.shared import Answer, Finding, Shape


class Percentiles(Shape):
    """Milliseconds of virtual time; null without a value."""

    p50: float | None
    p90: float | None
    p99: float | None
    p100: float | None = Field(description="The longest.")


class Figures(Shape):
    """Numbers over all runs."""

    events: int = Field(description="What was handed to nodes: messages, timers, ends of syncs.")
    elections: int = Field(description="Leaders that were elected.")
    highest_epoch: int
    records_committed: int
    failovers: int = Field(description="Times that were measured from a `mark` to the next leader.")
    failover_ms: Percentiles


class Failure(Shape):
    """A run that did not pass: an invariant that was broken, or a statement that did not come true."""

    seed: int
    invariant: str | None
    event: int | None = Field(description="The number of the event behind which the invariant was broken.")
    time_us: int
    node: int | None
    line: int | None
    statement: str | None
    message: str


class Happening(Shape):
    """One line of a timeline."""

    time_us: int = Field(description="Virtual time since the run began.")
    node: int | None = Field(description="Null for the network, requests and expectations.")
    kind: Literal["fault", "role", "voters", "answer", "expect", "broken"]
    text: str


class Simulate(Answer):
    """Runs of a script or a profile in numbers, and one of them with its timeline."""

    kind: Literal["simulate"]
    verdict: Literal["passed", "failed", "unknown"] = Field(
        description="`unknown`: every run that was made passed, and not all were made."
    )
    script: str | None
    profile: str | None
    release: str
    quorum: Literal["static", "dynamic"]
    voters: list[int]
    observers: list[int]
    seed: int = Field(description="Of the first run; each further run has the next.")
    runs: int = Field(description="The runs that were made.")
    runs_asked: int
    interrupted: bool = Field(description="The operator stopped it (exit code 130).")
    runs_passed: int
    figures: Figures
    failures: list[Failure] = Field(description="The first twenty.")
    shown_seed: int = Field(description="Whose timeline it is: the first run that failed, or the first run.")
    timeline: list[Happening]
    timeline_left_out: int
    shrunk_script: str | None = Field(description="Of a failing profile: the fewest statements that fail alike.")
    statements_before: int
    statements_after: int
    html: str | None
    findings: list[Finding]
