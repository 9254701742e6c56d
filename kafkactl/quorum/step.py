"""The steps of a quorum change as values: what can be printed, compared, stored and tested before it is done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any

from kafkactl.cluster.quorum.majority import arithmetic, tolerates
from kafkactl.cluster.quorum.state import ids_of
from kafkactl.core.answers import json_of
from kafkactl.core.findings import Finding, Outcome, planned_outcome
from kafkactl.core.frozen import frozen
from kafkactl.core.values import ZERO_UUID, ReplicaKey, Uuid
from kafkactl.quorum.order import Move, Turn, VoterKeys


class Action(StrEnum):
    """Action of a step: `wait` until a node has caught up, `upgrade` kraft.version from 0 to 1."""

    ADD = "add"
    REMOVE = "remove"
    WAIT = "wait"
    UPGRADE = "upgrade"


class StepState(StrEnum):
    """State of a step."""

    DONE = "done"
    SKIPPED = "skipped"
    PENDING = "pending"
    FAILED = "failed"
    UNKNOWN = "unknown"


@frozen
class Step:
    """A step of a change. `id` and `directory_id` are None for steps that are about no single node.

    `voters_before` and `voters_after` differ by one voter at most; the step relies on the nodes of `alive`.
    """

    number: int
    action: Action
    key: ReplicaKey | None
    voters_before: VoterKeys
    voters_after: VoterKeys
    alive: VoterKeys
    leader_leaves: bool = False
    """The leader is removed by this step: an election follows."""
    state: StepState = StepState.PENDING

    @property
    def id(self) -> int | None:
        """Return the node id it is about."""
        return None if self.key is None else self.key.node_id

    @property
    def directory_id(self) -> Uuid | None:
        """Return the directory it is about, None if it is not known."""
        return None if self.key is None or self.key.directory_id == ZERO_UUID else self.key.directory_id

    @property
    def tolerates_before(self) -> int:
        """Return the failures survived before the step."""
        return tolerates(self.voters_before, self.alive)

    @property
    def tolerates_after(self) -> int:
        """Return the failures survived after the step; below 0 is the wedge."""
        return tolerates(self.voters_after, self.alive)

    @property
    def arithmetic_after(self) -> str:
        """Return the sum for the set after the step, as `voters {1,2}, majority 2, alive {1}`."""
        return arithmetic(self.ids_after, ids_of(self.voters_after & self.alive))

    @property
    def ids_after(self) -> list[int]:
        """Return the node ids of the voters after it, ascending."""
        return ids_of(self.voters_after)

    to_dict = json_of(
        "number", "action", "id", "directory_id", "tolerates_before", "tolerates_after", "state",
        "voters_after=ids_after", "leader_leaves",
    )  # fmt: skip


@frozen
class QuorumChange:
    """A planned change of the quorum: the steps in order and everything there is to say about them."""

    steps: tuple[Step, ...]
    findings: tuple[Finding, ...]

    @property
    def outcome(self) -> Outcome:
        """Return the outcome as a plan: refused, nothing to do, or planned."""
        return planned_outcome(self.findings, bool(self.steps))

    @property
    def next_step(self) -> Step | None:
        """Return the only step that this plan permits: the quorum is observed again after the step."""
        return self.steps[0] if self.outcome is Outcome.PLANNED else None

    def to_dict(self, outcome: Outcome | None = None) -> dict[str, Any]:
        """Return the payload of `quorum.change` (docs/reference/kinds.md); `outcome` after it was applied."""
        return {
            "outcome": (outcome or self.outcome).value,
            "steps": [step.to_dict() for step in self.steps],
            "findings": [finding.to_dict() for finding in self.findings],
        }


def numbered(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps counted from 1: completed steps, then those of the new plan."""
    return tuple(replace(step, number=number) for number, step in enumerate(steps, start=1))


def steps_of(
    voters: VoterKeys, moves: Sequence[Move], alive: VoterKeys, *, leader: ReplicaKey | None = None
) -> tuple[Step, ...]:
    """Return the steps that these moves are: before each that adds, the wait until the node has caught up."""
    return numbered(list(_steps(voters, moves, alive, leader)))


def _steps(voters: VoterKeys, moves: Sequence[Move], alive: VoterKeys, leader: ReplicaKey | None) -> Iterator[Step]:
    for move in moves:
        after = move.on(voters)
        step = Step(
            number=0,
            action=Action.ADD if move.turn is Turn.ADD else Action.REMOVE,
            key=move.key,
            voters_before=voters,
            voters_after=after,
            alive=alive,
            leader_leaves=move.turn is Turn.REMOVE and move.key == leader,
        )
        if move.turn is Turn.ADD:
            yield replace(step, action=Action.WAIT, voters_after=voters)
        yield step
        voters = after
