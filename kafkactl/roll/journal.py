"""The journal of a roll: its record, its progress, and the step that is open.

The journal shows the acts of runs; the observation shows their effects, and wins if both differ. A roll is under way
until a run reached its goal: one that stopped in the middle (`partial`) is resumed by the next run.

Entries are those of `change/journal.py`, of the subject `roll`. `begin` has the goal: `{goal: {to, from, way}, kept,
options}`, of which `to` is the release of the roll (null for a restart) and `from` the release of each node before, by
node id; `kept` is the folder that takes the files which this roll replaces, as `ID.properties`, `options` are those of
the run about nodes, files and accepted warnings, which resume it. An `intent` has the step that is
about to be carried out: `{number, action, nodes, release, marks, kept}`; `marks` are what was known of each node before
its stop (`roll/mark.NodeMark`), `kept` the nodes whose file before is kept. `done` and `failed` settle the intent that
`of` names. A step is open from its intent until one of them is written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any, Final

from kafkactl.change.journal import DONE, InFlight, JournalFold
from kafkactl.change.journal_lines import Entry
from kafkactl.core.answers import by_fields, json_of, read_fields
from kafkactl.core.findings import Outcome
from kafkactl.core.frozen import frozen
from kafkactl.roll.mark import NodeMark

CAME_UP_NOT: Final[Mapping[str, Any]] = {"came_up": False}
"""Data of a start that failed for the node itself: its hook ran, and a leader was there to register with."""
_ENDED: Final = (Outcome.DONE.value, Outcome.NOTHING_TO_DO.value)


class Action(StrEnum):
    """Action of a step."""

    INSTALL = "install"
    PUT_CONFIG = "put-config"
    STOP = "stop"
    START = "start"
    WAIT = "wait"
    RAISE_LEVELS = "raise-levels"
    VERIFY = "verify"


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
        """Return the known facts about a node before its stop."""
        return next((mark for mark in self.marks if mark.node_id == node_id), None)


@frozen
class KeptFile:
    """The configuration file of a node before a roll: the folder that holds it, and the release that ran with it."""

    folder: str
    release: str | None


@frozen
class RollRecord:
    """Record of the last roll in the journal. `outcome` is that of its last run, None until one is known.

    `is_under_way` is False after a run reached the goal. `from_releases` are the releases of the nodes before the
    roll; `marks` the marks of every node that was stopped in it, by node id. `replaced` are the files that the roll
    replaced, `earlier` those of rolls before it; `unapplied` are nodes that were not restarted with their new file.
    `pending` are nodes that it stopped and that are not proved to be back; `failed` those of them whose last start
    failed, with the release of that start. `placed` are the nodes on which it put the release where their next start
    takes it from, `started` those that it started as the release, and proved to be back. `options` are those of its
    last run, as words of a command.
    """

    to: str | None
    way: str | None
    from_releases: Mapping[int, str | None]
    outcome: str | None
    is_under_way: bool
    open_step: OpenStep | None
    marks: Mapping[int, NodeMark]
    entries: int
    last_ms: int | None
    replaced: Mapping[int, KeptFile] = field(default_factory=dict)
    earlier: Mapping[int, KeptFile] = field(default_factory=dict)
    unapplied: frozenset[int] = frozenset()
    pending: tuple[int, ...] = ()
    failed: Mapping[int, str | None] = field(default_factory=dict)
    placed: frozenset[int] = frozenset()
    started: frozenset[int] = frozenset()
    options: tuple[str, ...] = ()

    to_dict = json_of("to", "way", "from=from_releases", "outcome", "entries", "last_ms")

    def kept_files(self, to: str | None) -> Mapping[int, KeptFile]:
        """Return the files before the last roll, by node id; for that roll itself, resumed, those before the roll
        that preceded it.
        """
        return self.earlier if self.is_under_way and self.to == to else {**self.earlier, **self.replaced}


def read_record(entries: Iterable[Entry] | None) -> RollRecord | None:
    """Return the state in the entries; None without a journal. Raises InputError `journal-not-understood`."""
    if entries is None:
        return None
    held = tuple(entries)
    fold = progress_of(held)
    flight = fold.in_flight
    goal: Mapping[str, Any] = fold.goal if isinstance(fold.goal, Mapping) else {}
    before = goal.get("from")
    return RollRecord(
        to=goal.get("to"),
        way=goal.get("way"),
        from_releases={int(id): release for id, release in before.items()} if isinstance(before, Mapping) else {},
        outcome=fold.outcome,
        is_under_way=fold.is_under_way,
        open_step=None if flight is None else _step(flight.data, seq=flight.seq, since_ms=flight.at_ms),
        marks=fold.marks,
        entries=len(held),
        last_ms=held[-1].at_ms if held else None,
        replaced=fold.replaced,
        earlier=fold.earlier,
        unapplied=frozenset(fold.unapplied),
        pending=tuple(fold.pending) if fold.is_under_way else (),
        failed=dict(fold.failed) if fold.is_under_way else {},
        placed=frozenset(fold.installed),
        started=frozenset(id for id, release in fold.started_as.items() if release == goal.get("to")),
        options=fold.options if fold.is_under_way else (),
    )


class RollProgress(JournalFold):
    """Fold of the journal since the roll began.

    `pending` are nodes that were stopped and are not proved to be back, in order; `failed` those whose last start
    failed, with its release; `marks` what was known of each before its last stop. `restarted`, `installed` and
    `configured` are nodes for which that was done; `unapplied` are nodes that have a new file and were not started
    since. `replaced_since` are nodes whose binaries or file may be replaced since their last stop or start: a process
    that runs there has those from before. `started_as` is the release with which a node was started last, of nodes
    proved to be back. `starts` counts the starts of each node; `kept` is the folder of the files that it replaces.
    """

    def __init__(self) -> None:
        super().__init__()
        self.kept: str | None = None
        self.options: tuple[str, ...] = ()
        self.replaced: dict[int, KeptFile] = {}
        self.earlier: dict[int, KeptFile] = {}
        self._forget()

    def _forget(self) -> None:
        self.pending: dict[int, None] = {}
        self.failed: dict[int, str | None] = {}
        self.marks: dict[int, NodeMark] = {}
        self.restarted: set[int] = set()
        self.installed: set[int] = set()
        self.configured: set[int] = set()
        self.unapplied: set[int] = set()
        self.replaced_since: set[int] = set()
        self.started_as: dict[int, str | None] = {}
        self.starts: Counter[int] = Counter()
        self.is_verified = False
        self.has_raised_levels = False
        self.steps = 0

    @property
    def is_under_way(self) -> bool:
        """Return True if a roll began and did not reach its goal."""
        return self.goal is not None and self.outcome not in _ENDED

    def begins(self, data: Mapping[str, Any]) -> None:
        """Forget an earlier roll. A run that resumes has the same goal; a run back keeps the nodes that are down.

        A later run to the release of the roll before keeps which nodes that roll started as the release.
        """
        self.options = tuple(map(str, data.get("options") or ()))
        if self.is_under_way and self.goal == data["goal"]:
            return
        pending, marks = (self.pending, self.marks) if self.is_under_way else ({}, {})
        is_same_release = self.goal is not None and self.goal["to"] == data["goal"]["to"]
        kept = (self.installed, self.started_as) if is_same_release else (set(), {})
        self._forget()
        self.installed, self.started_as = kept
        self.pending, self.marks = pending, {id: marks[id] for id in pending if id in marks}
        self.kept = data.get("kept")
        self.earlier, self.replaced = {**self.earlier, **self.replaced}, {}

    def intends(self, data: Mapping[str, Any]) -> None:
        """Note the marks of a step, and the nodes that it stops: its hook may run from now on."""
        self.steps = max(self.steps, int(data["number"]))
        if data["action"] in (Action.INSTALL, Action.PUT_CONFIG):
            self.replaced_since.update(map(int, data["nodes"]))
        for given in data.get("marks") or ():
            mark = read_fields(NodeMark, given)
            self.marks[mark.node_id] = mark
        if data["action"] == Action.STOP:
            self.pending |= dict.fromkeys(map(int, data["nodes"]))
        elif data["action"] == Action.START:
            self.starts.update(map(int, data["nodes"]))
            self.replaced_since.difference_update(map(int, data["nodes"]))
        elif data["action"] == Action.PUT_CONFIG:
            self.unapplied.update(map(int, data["nodes"]))
            for node_id in map(int, data.get("kept") or ()):
                file = KeptFile(folder=str(self.kept), release=self.goal["from"].get(str(node_id)))
                self.replaced.setdefault(node_id, file)

    def settles(self, flight: InFlight, entry: Entry) -> None:
        """Note a step that was done, or a stop that never happened."""
        nodes = [int(id) for id in flight.data["nodes"]]
        action = flight.data["action"]
        if entry.entry != DONE:
            for node_id in entry.data.get("not_stopped", ()):
                self.pending.pop(int(node_id), None)
            if action == Action.START and entry.data.items() >= CAME_UP_NOT.items():
                self.failed |= dict.fromkeys(nodes, flight.data.get("release"))
            return
        if action == Action.STOP:
            self.replaced_since.difference_update(nodes)
        if action == Action.START:
            self.restarted.update(nodes)
            self.started_as |= dict.fromkeys(nodes, flight.data.get("release"))
            self.unapplied.difference_update(nodes)
            for node_id in nodes:
                self.pending.pop(node_id, None)
                self.failed.pop(node_id, None)
        elif action == Action.INSTALL:
            self.installed.update(nodes)
        elif action == Action.PUT_CONFIG:
            self.configured.update(nodes)
        elif action == Action.VERIFY:
            self.is_verified = True
        elif action == Action.RAISE_LEVELS:
            self.has_raised_levels = True


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


def progress_of(entries: Iterable[Entry]) -> RollProgress:
    """Return the progress by the entries of a journal. Raises InputError `journal-not-understood`."""
    return RollProgress().read(entries)
