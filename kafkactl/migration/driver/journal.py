"""State in a migration's journal: the fold of its entries.

In addition to the six words of `change/journal` it has facts: `state` (another one was observed), `starting` (a node is
about to be started with the file of a phase), `original`, `own-file`, `file`, `tree` and `znode` (what is kept next to
it), `rendered` (the folder whose files are used).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol, Self

from kafkactl.change.journal import DONE, WITHDRAWN, InFlight, Journal, JournalFold
from kafkactl.change.journal_lines import Entry, value_of
from kafkactl.core.frozen import frozen

SUBJECT: Final = "migration"
FORWARD, BACK, FINALIZE = "run", "rollback", "finalize"


@frozen
class PendingAction:
    """An action that was begun, and of which no end was written. `data` is what the intent said."""

    seq: int
    action: str
    target: str
    data: Mapping[str, Any]
    at_ms: int


class JournalState(JournalFold):
    """Content of a journal about the last migration in it.

    `state` is the last one that was observed, None before the first; `identity` the migration's own words. `done` are
    the actions that reached their gate in this run or an earlier one of the same goal, oldest first; `failed` is the
    last one that did not, while nothing was done since, and `unfinished` are all that were begun and not seen through.
    `originals` gives the sha256 of each node's own file from before anything was changed, with the edits that were
    carried into it since; `files` those of the files that were put, or meant to be put, in place. `rendered` is the
    folder whose files are used, None if the driver renders them itself. `starting` are nodes that were started, by
    name and phase, and not seen to be up yet, with the time of it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.identity: Mapping[str, Any] | None = None
        self.done: tuple[tuple[str, str], ...] = ()
        self._forget()

    def _forget(self) -> None:
        """Discard the content about a migration that has ended."""
        self.state: str | None = None
        self.in_flight: InFlight | None = None
        self.failed: PendingAction | None = None
        self.unfinished: dict[tuple[str, str], None] = {}
        self.originals: dict[str, str] = {}
        self.files: dict[str, tuple[str, ...]] = {}
        self.rendered: str | None = None
        self.starting: dict[tuple[str, str], int] = {}
        self.trees: tuple[str, ...] = ()
        self.is_finalizing = False

    @property
    def pending(self) -> PendingAction | None:
        """Return the action that is in flight."""
        return None if self.in_flight is None else _pending(self.in_flight)

    @property
    def is_under_way(self) -> bool:
        """Return True if a migration was begun that has neither reached its end nor been rolled back."""
        return self.goal is not None and not self._is_over

    @property
    def _is_over(self) -> bool:
        return self.outcome == "done" and self.goal in (BACK, FINALIZE)

    def begins(self, data: Mapping[str, Any]) -> None:
        """Apply the begin of a migration: files kept by one that has ended do not belong to it."""
        if self._is_over:
            self._forget()
        if self.goal != _text(data, "goal") or self.outcome is not None:
            self.done = ()
        self.identity = value_of(data, "migration", dict)

    def intends(self, data: Mapping[str, Any]) -> None:
        """Apply an intent: it is unfinished until its gate was observed."""
        self.unfinished[_text(data, "action"), _text(data, "target")] = None
        self.is_finalizing = self.is_finalizing or bool(data.get("irreversible"))

    def settles(self, flight: InFlight, entry: Entry) -> None:
        """Record the end of an action: done, failed, or given up by a later run.

        The last one leaves open if a node was started.
        """
        pending, is_withdrawn = _pending(flight), entry.data.get("known") == WITHDRAWN
        if entry.entry == DONE:
            self.done = (*self.done, (pending.action, pending.target))
            self.unfinished.pop(self.done[-1], None)
        self.failed = None if is_withdrawn or entry.entry == DONE else pending
        if not is_withdrawn:
            self.starting = {key: at for key, at in self.starting.items() if key[0] != pending.target}

    def keeps(self, entry: Entry) -> None:
        """Apply an entry that is needed for a later step."""
        data = entry.data
        match entry.entry:
            case "state":
                self.state = _text(data, "state")
            case "starting":
                self.starting[_text(data, "target"), _text(data, "phase")] = entry.at_ms
            case "original":
                self.originals.setdefault(_text(data, "node"), _text(data, "sha256"))
            case "own-file":
                self.originals[_text(data, "node")] = _text(data, "sha256")
            case "file":
                self.files[_text(data, "node")] = (*self.files.get(_text(data, "node"), ()), _text(data, "sha256"))
            case "rendered":
                self.rendered = _text(data, "folder")
            case "tree":
                self.trees = (*self.trees, _text(data, "sha256"))


def _text(data: Mapping[str, Any], key: str) -> str:
    return value_of(data, key, str)


def _pending(flight: InFlight) -> PendingAction:
    data = flight.data
    return PendingAction(
        seq=flight.seq, action=_text(data, "action"), target=_text(data, "target"), data=data, at_ms=flight.at_ms
    )


def remembered(entries: Iterable[Entry]) -> JournalState:
    """Return the state of the last migration by the entries of a journal, oldest first."""
    return JournalState().read(entries)


class DriverJournal(Journal, Protocol):
    """The open journal of a migration with the files that a rollback needs, as the driver uses it; a context manager.

    Every method that writes raises FailedError `journal-not-written`.
    """

    def __enter__(self) -> Self:
        """Open already."""
        ...

    def __exit__(self, *_: object) -> None:
        """Close it."""
        ...

    @property
    def recorded(self) -> JournalState:
        """Return the state of the last migration by the entries."""
        ...

    @property
    def folder(self) -> Path:
        """Return the folder of the kept files."""
        ...

    @property
    def next_seq(self) -> int:
        """Return the number of the next entry."""
        ...

    def keep(self, entry: str, data: Mapping[str, Any], content: bytes) -> str:
        """Keep bytes next to the journal, then write an entry of them; their sha256."""
        ...

    def kept(self, sha256: str) -> bytes:
        """Return the bytes that were kept. Raise InputError `kept-file-damaged`."""
        ...
