"""The journal of a roll: what its entries say, and the step that is open.

Entries are those of `change/journal.py`, of the subject `roll`. `begin` has the goal: `{goal: {to, from, way}}`, of
which `to` is the release of the roll (null for a restart) and `from` the release of each node before, by node id. An
`intent` has the step that is about to be carried out: `{number, action, nodes, release, marks}`; `marks` are what was
known of each node before its stop (`roll/back.NodeMark`). `done` and `failed` settle the intent that `of` names. A step
is open from its intent until one of them is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kafkactl.change.journal import JournalFold
from kafkactl.change.journal_lines import Entry
from kafkactl.core.answers import by_fields, json_of, read_fields
from kafkactl.core.frozen import frozen
from kafkactl.roll.mark import NodeMark

SUBJECT: Final = "roll"


@frozen
class OpenStep:
    """The step whose intent is not settled. `seq` is the number of the intent in the journal."""

    number: int
    action: str
    nodes: tuple[int, ...]
    since_ms: int
    seq: int
    marks: tuple[NodeMark, ...] = ()

    to_dict = by_fields

    def mark(self, node_id: int) -> NodeMark | None:
        """Return what was known of a node before its stop."""
        return next((mark for mark in self.marks if mark.node_id == node_id), None)


@frozen
class RollRecord:
    """Record of the last roll in the journal. `outcome` is None until it ended with a known outcome.

    `from_releases` are the releases of the nodes before the roll; `marks` the marks of every node that was stopped in
    it, by node id.
    """

    to: str | None
    way: str | None
    from_releases: Mapping[int, str | None]
    outcome: str | None
    open_step: OpenStep | None
    marks: Mapping[int, NodeMark]
    entries: int
    last_ms: int | None

    to_dict = json_of("to", "way", "from=from_releases", "outcome", "entries", "last_ms")


def read_record(entries: Iterable[Entry] | None) -> RollRecord | None:
    """Return what the entries say; None without a journal. Raises InputError `journal-not-understood`."""
    if entries is None:
        return None
    held = tuple(entries)
    fold = _Fold().read(held)
    flight = fold.in_flight
    goal: Mapping[str, Any] = fold.goal if isinstance(fold.goal, Mapping) else {}
    before = goal.get("from")
    return RollRecord(
        to=goal.get("to"),
        way=goal.get("way"),
        from_releases={int(id): release for id, release in before.items()} if isinstance(before, Mapping) else {},
        outcome=fold.outcome,
        open_step=None if flight is None else _step(flight.data, seq=flight.seq, since_ms=flight.at_ms),
        marks=fold.marks,
        entries=len(held),
        last_ms=held[-1].at_ms if held else None,
    )


class _Fold(JournalFold):
    """The fold of a roll's journal; it keeps the mark of each node that was stopped since the roll began."""

    def __init__(self) -> None:
        super().__init__()
        self.marks: dict[int, NodeMark] = {}

    def begins(self, data: Mapping[str, Any]) -> None:
        """Forget the marks of an earlier roll; a run that resumes has the same goal."""
        if self.outcome is not None or self.goal is None or self.goal != data["goal"]:
            self.marks = {}

    def intends(self, data: Mapping[str, Any]) -> None:
        """Keep the marks of the first stop of each node."""
        for mark in _marks(data):
            self.marks.setdefault(mark.node_id, mark)


def _step(data: Mapping[str, Any], *, seq: int, since_ms: int) -> OpenStep:
    return OpenStep(
        number=int(data["number"]),
        action=str(data["action"]),
        nodes=tuple(int(id) for id in data["nodes"]),
        since_ms=since_ms,
        seq=seq,
        marks=tuple(_marks(data)),
    )


def _marks(data: Mapping[str, Any]) -> list[NodeMark]:
    return [read_fields(NodeMark, mark) for mark in data.get("marks") or ()]
