"""What the table of states is made of (table.py): rows that each decide for a state, under headings."""

from __future__ import annotations

from collections.abc import Callable

from kafkactl.frozen import frozen
from kafkactl.migration.state.evidence import Evidence
from kafkactl.migration.state.names import State


@frozen(kw_only=False)
class Row:
    """A state, the question to the evidence that decides for it, and what an operator reads then."""

    state: State
    holds: Callable[[Evidence], bool]
    why: str


@frozen(kw_only=False)
class Band:
    """The heading of the rows below it, up to the next one: what they have in common, and why they stand there."""

    name: str
    reason: str
