"""Progress of a roll by its journal: which nodes were stopped and are not back, and which are done.

The journal shows what a run did; the observation shows what became of it, and wins if both differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kafkactl.change.journal import DONE, InFlight, JournalFold
from kafkactl.change.journal_lines import Entry
from kafkactl.core.answers import read_fields
from kafkactl.core.findings import Outcome
from kafkactl.roll.mark import NodeMark
from kafkactl.roll.planning import Action

_ENDED: Final = (Outcome.DONE.value, Outcome.NOTHING_TO_DO.value)


class RollProgress(JournalFold):
    """Fold of the journal since the roll began.

    `pending` are nodes that were stopped and are not proved to be back, in order; `marks` what was known of each
    before its last stop. `restarted`, `installed` and `configured` are nodes for which that was done.
    """

    def __init__(self) -> None:
        super().__init__()
        self._forget()

    def _forget(self) -> None:
        self.pending: dict[int, None] = {}
        self.marks: dict[int, NodeMark] = {}
        self.restarted: set[int] = set()
        self.installed: set[int] = set()
        self.configured: set[int] = set()
        self.is_verified = False
        self.has_raised_levels = False
        self.steps = 0

    @property
    def is_under_way(self) -> bool:
        """Return True if a roll began and did not reach its goal."""
        return self.goal is not None and self.outcome not in _ENDED

    def begins(self, data: Mapping[str, Any]) -> None:
        """Forget an earlier roll. A run that resumes has the same goal; a run back keeps the nodes that are down."""
        if not self.is_under_way:
            self._forget()
        elif self.goal != data["goal"]:
            pending, marks = self.pending, self.marks
            self._forget()
            self.pending, self.marks = pending, {id: marks[id] for id in pending if id in marks}

    def intends(self, data: Mapping[str, Any]) -> None:
        """Note the marks of a step, and the nodes that it stops: its hook may run from now on."""
        self.steps = max(self.steps, int(data["number"]))
        for given in data.get("marks") or ():
            mark = read_fields(NodeMark, given)
            self.marks[mark.node_id] = mark
        if data["action"] == Action.STOP:
            self.pending |= dict.fromkeys(map(int, data["nodes"]))

    def settles(self, flight: InFlight, entry: Entry) -> None:
        """Note a step that was done, or a stop that never happened."""
        nodes = [int(id) for id in flight.data["nodes"]]
        action = flight.data["action"]
        if entry.entry != DONE:
            for node_id in entry.data.get("not_stopped", ()):
                self.pending.pop(int(node_id), None)
            return
        if action == Action.START:
            self.restarted.update(nodes)
            for node_id in nodes:
                self.pending.pop(node_id, None)
        elif action == Action.INSTALL:
            self.installed.update(nodes)
        elif action == Action.PUT_CONFIG:
            self.configured.update(nodes)
        elif action == Action.VERIFY:
            self.is_verified = True
        elif action == Action.RAISE_LEVELS:
            self.has_raised_levels = True


def progress_of(entries: Iterable[Entry]) -> RollProgress:
    """Return the progress by the entries of a journal. Raises InputError `journal-not-understood`."""
    return RollProgress().read(entries)
