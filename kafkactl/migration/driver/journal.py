"""What the journal of a migration remembers: the fold of its entries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Final, Protocol, Self

from kafkactl.change.journal_lines import Entry, entries_understood, value_of
from kafkactl.frozen import frozen

SUBJECT: Final = "migration"


FORWARD, BACK, FINALIZE = "run", "rollback", "finalize"


@frozen
class Pending:
    """An action that was begun, and of which no end was written. `data` is what the intent said."""

    seq: int
    action: str
    target: str
    data: Mapping[str, Any]
    at_ms: int


@frozen
class Memory:
    """What a journal remembers of the last migration in it.

    `state` is the last one that was observed, None before the first; `identity` the migration's own words. `done` are
    the actions that reached their gate in this run or an earlier one of the same goal, oldest first; `failed` is the
    last one that did not, while nothing was done since, and `unfinished` are all that were begun and not seen through.
    `originals` gives the sha256 of each node's own file from before anything was changed, with the edits that were
    carried into it since; `files` those of the files that were put, or meant to be put, in place. `rendered` is the
    folder whose files are used, None where the driver renders them itself. `starting` are nodes that were started, by
    name and phase, and not seen to be up yet, with the time of it.
    """

    goal: str | None = None
    identity: Mapping[str, Any] | None = None
    state: str | None = None
    pending: Pending | None = None
    failed: Pending | None = None
    done: tuple[tuple[str, str], ...] = ()
    unfinished: tuple[tuple[str, str], ...] = ()
    originals: Mapping[str, str] | None = None
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rendered: str | None = None
    starting: Mapping[tuple[str, str], int] = field(default_factory=dict)
    trees: tuple[str, ...] = ()
    outcome: str | None = None
    is_finalizing: bool = False

    @property
    def is_under_way(self) -> bool:
        """Whether a migration was begun that has neither reached its end nor been taken back."""
        return self.goal is not None and not (self.outcome == "done" and self.goal in (BACK, FINALIZE))


def remembered(entries: Iterable[Entry]) -> Memory:
    """What the entries of a journal, oldest first, say of the last migration."""
    folding = _Folding()
    with entries_understood():
        for one in entries:
            folding.take(one)
        return folding.memory()


class _Folding:
    def __init__(self) -> None:
        self.goal: str | None = None
        self.identity: Mapping[str, Any] | None = None
        self.state: str | None = None
        self.pending: Pending | None = None
        self.failed: Pending | None = None
        self.done: list[tuple[str, str]] = []
        self.unfinished: dict[tuple[str, str], None] = {}
        self.originals: dict[str, str] = {}
        self.files: dict[str, tuple[str, ...]] = {}
        self.rendered: str | None = None
        self.starting: dict[tuple[str, str], int] = {}
        self.trees: list[str] = []
        self.outcome: str | None = None
        self.is_finalizing = False

    def take(self, one: Entry) -> None:
        data = one.data
        match one.entry:
            case "begin":
                self._begin(data)
            case "state":
                self.state = _text(data, "state")
            case "intent":
                self.pending = Pending(
                    seq=one.seq, action=_text(data, "action"), target=_text(data, "target"), data=data, at_ms=one.at_ms
                )
                self.unfinished[_text(data, "action"), _text(data, "target")] = None
                self.is_finalizing = self.is_finalizing or bool(data.get("irreversible"))
            case "done" | "failed" | "withdrawn" if self.pending is not None and data["of"] == self.pending.seq:
                if one.entry == "done":
                    self.done.append((self.pending.action, self.pending.target))
                    self.unfinished.pop(self.done[-1], None)
                self.failed = self.pending if one.entry == "failed" else None
                if one.entry != "withdrawn":
                    target = self.pending.target
                    self.starting = {key: at for key, at in self.starting.items() if key[0] != target}
                self.pending = None
            case "end":
                self.outcome = _text(data, "outcome")
            case _:
                self._keep(one)

    def _keep(self, one: Entry) -> None:
        """What is remembered for a later step."""
        data = one.data
        match one.entry:
            case "starting":
                self.starting[_text(data, "target"), _text(data, "phase")] = one.at_ms
            case "original":
                self.originals.setdefault(_text(data, "node"), _text(data, "sha256"))
            case "own-file":
                self.originals[_text(data, "node")] = _text(data, "sha256")
            case "file":
                self.files[_text(data, "node")] = (*self.files.get(_text(data, "node"), ()), _text(data, "sha256"))
            case "rendered":
                self.rendered = _text(data, "folder")
            case "tree":
                self.trees.append(_text(data, "sha256"))

    def _begin(self, data: Mapping[str, Any]) -> None:
        if self.goal in (BACK, FINALIZE) and self.outcome == "done":
            # The one before is over: what it kept is no longer what is there before this one.
            self.originals, self.trees, self.state, self.is_finalizing = {}, [], None, False
            self.files, self.rendered, self.starting = {}, None, {}
            self.pending = self.failed = None
            self.unfinished = {}
        goal = _text(data, "goal")
        if self.goal != goal or self.outcome is not None:
            self.done = []
        self.goal, self.identity, self.outcome = goal, value_of(data, "migration", dict), None

    def memory(self) -> Memory:
        return Memory(
            goal=self.goal,
            identity=self.identity,
            state=self.state,
            pending=self.pending,
            failed=self.failed,
            done=tuple(self.done),
            unfinished=tuple(self.unfinished),
            originals=dict(self.originals),
            files=dict(self.files),
            rendered=self.rendered,
            starting=dict(self.starting),
            trees=tuple(self.trees),
            outcome=self.outcome,
            is_finalizing=self.is_finalizing,
        )


def _text(data: Mapping[str, Any], key: str) -> str:
    return value_of(data, key, str)


class DriverJournal(Protocol):
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
    def path(self) -> str:
        """The file, for messages."""
        ...

    @property
    def memory(self) -> Memory:
        """What the entries say of the last migration."""
        ...

    @property
    def folder(self) -> Path:
        """Where the files are kept."""
        ...

    @property
    def next_seq(self) -> int:
        """The number of the next entry."""
        ...

    def now_ms(self) -> int:
        """Milliseconds since the epoch, by the clock that gives entries their time."""
        ...

    def begin(self, goal: str, identity: Mapping[str, Any], *, until: str | None = None) -> None:
        """A run towards a goal begins, or is resumed."""
        ...

    def state(self, state: str, facts: Mapping[str, Any]) -> None:
        """Another state is observed."""
        ...

    def intent(self, action: str, target: str, data: Mapping[str, Any]) -> int:
        """Something is about to be changed; the number of the entry."""
        ...

    def done(self, seq: int, evidence: Mapping[str, Any]) -> None:
        """The gate behind an intent was observed."""
        ...

    def failed(self, seq: int, evidence: Mapping[str, Any]) -> None:
        """An action did not do what it should."""
        ...

    def withdrawn(self, seq: int, why: str) -> None:
        """An intent of an earlier run is given up."""
        ...

    def starting(self, seq: int, target: str, phase: str) -> None:
        """The process of a node is about to be started with the file of a phase."""
        ...

    def note(self, entry: str, data: Mapping[str, Any]) -> None:
        """Any other entry."""
        ...

    def end(self, outcome: str) -> None:
        """The run is over."""
        ...

    def keep(self, entry: str, data: Mapping[str, Any], content: bytes) -> str:
        """Keep bytes beside the journal, then write an entry of them; their sha256."""
        ...

    def kept(self, sha256: str) -> bytes:
        """Bytes that were kept. Raises InputError `kept-file-damaged`."""
        ...
