"""The parts of a state's file: rows of the table of states, and the headings between them."""

from __future__ import annotations

from collections.abc import Callable

from kafkactl.core.frozen import frozen
from kafkactl.migration.state.evidence import Evidence
from kafkactl.migration.state.names import State


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
