"""The parts of a state's file: rows of the table of states, forward steps, exit gate and rollback."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import IntEnum

from kafkactl.core.findings import Finding
from kafkactl.core.frozen import frozen
from kafkactl.migration.state.evidence import Evidence
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.rollback_case import RollbackCase
from kafkactl.migration.steps.step import Step

Plan = Callable[[Evidence, tuple[int, ...]], Iterable[Step]]
"""The steps that lead to a state, from the evidence and the ids of all controllers; finished steps are marked."""

Gate = Callable[[Evidence], Iterable[Finding]]
"""The findings that keep a state from being left."""

Undo = Callable[[RollbackCase], Iterable[Step]]
"""The steps of a rollback that undo the steps of a state; none if there is nothing to undo."""


@frozen(kw_only=False)
class Row:
    """A state, the condition on the evidence that decides for it, and the text that an operator reads then."""

    state: State
    holds: Callable[[Evidence], bool]
    why: str


@frozen(kw_only=False)
class Band:
    """The heading of the rows below it, up to the next one: their common trait, and the reason for their place."""

    name: str
    reason: str


class Level(IntEnum):
    """The part of the procedure that a state belongs to. No migration changes from one to another automatically."""

    PREPARED = 0
    ENTERED = 1
    COPIED = 2
    FINAL = 3


@frozen
class Milestone:
    """A point before which a run is strict: warnings have to be accepted by name, and one observation is not enough.

    `precedes` is True for a step that may be the first one after the milestone. `observations` is the number of clean
    observations in a row. `asks_gate`: the exit gate of the state has to be open. `compares`: ZooKeeper and KRaft have
    to be equal, and only blockers of the checks count, because what is known from ZooKeeper alone is unknown now.
    `lists_strays`: log directories have to be listed. `asks_soak`: the state has to have lasted as long as the
    inventory demands.
    """

    name: str
    precedes: Callable[[Step], bool]
    observations: int = 2
    asks_gate: bool = False
    compares: bool = False
    lists_strays: bool = False
    asks_soak: bool = False


@frozen
class StateDefinition:
    """A state of the procedure. Its rows are listed in the table of states, which gives them their order.

    `plan` leads to the state. A forward plan shows its steps up to the observed state `shown_until`. `gate` and
    `milestone` are asked before the state is left, and `undo` in a rollback. `level` is None during the copy, when
    nothing can be said of it.
    `needs_quorum`: a controller that is down is started before anything else, because the next one may be the majority.
    `is_mirrored`: KRaft writes ZooKeeper, so `/migration` has to advance between two observations.
    `ends_automatically`: the next state may follow without a step.
    `observed_as`: the state that a cluster shows instead, if this one is a decision of an operator.
    """

    state: State
    level: Level | None
    plan: Plan | None = None
    shown_until: State | None = None
    gate: tuple[Gate, ...] = ()
    undo: Undo | None = None
    needs_quorum: bool = False
    is_mirrored: bool = False
    milestone: Milestone | None = None
    ends_automatically: bool = False
    observed_as: State | None = None
