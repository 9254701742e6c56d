"""The answer of `kafkactl migrate check`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kafkactl.commands.models.shared import Answer, Finding, Shape


class CheckCounts(Shape):
    """How many findings there are of each weight; unknowns are counted apart from warnings."""

    blocker: int
    warning: int = Field(description="Not accepted, and not unknown.")
    unknown: int = Field(description="Checks that the observation cannot answer, and that were not accepted.")
    info: int


class MigrateCheck(Answer):
    """`migrate check`."""

    kind: Literal["migrate.check"]
    state: str = Field(description="M0 to M11, M4L, or the name of a broken situation.")
    state_words: str
    time_ms: int = Field(description="When the cluster was observed.")
    passes: bool = Field(description="No blocker, and every warning and unknown accepted.")
    too_little_seen: bool = Field(description="Neither right nor wrong can be said: the exit code is 4 or 6.")
    counts: CheckCounts
    open: list[str] = Field(description="Words for --accept that accept what is left: ID or ID@NODE.")
    accepted: list[str]
    findings: list[Finding] = Field(
        description="With `check` (C-01 to C-65, X-…) in the evidence, and `question` if unknown."
    )
