"""The journal of a change: six words that every journey writes, and the fold that reads them again.

`begin` {goal}: a run starts, or resumes. `intent`: the request of a step is about to leave; nothing leaves before this
entry is on the disk. `answer` {of}: what came back, if the request has an answer. `done` {of}: the step was observed
to be done. `failed` {of, known}: it was observed, or is certain, that nothing of the request is left; `known` says why
(`failed`, `not-sent`, or `withdrawn` if a later run went by what it observed). `end` {outcome}: the run is over;
with outcome `unknown` its last intent stays open. `of` is the number of the intent. Any other entry is a fact that one
journey keeps for itself.

Journals of earlier versions have three more words, which are read as these: `undecided` (an end that is unknown),
`withdrawn`, and a `done` whose `known` is not done (both a failure).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol, Self

from kafkactl.change.journal_lines import Entry, entries_understood, value_of
from kafkactl.core.findings import Outcome
from kafkactl.core.frozen import changed, frozen

BEGIN: Final = "begin"
INTENT: Final = "intent"
ANSWER: Final = "answer"
DONE: Final = "done"
FAILED: Final = "failed"
END: Final = "end"
NOT_SENT: Final = "not-sent"
WITHDRAWN: Final = "withdrawn"


class Journal(Protocol):
    """An open journal. An entry counts once `append` returned."""

    @property
    def path(self) -> str:
        """Return the file, for messages."""
        ...

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Return all entries, oldest first."""
        ...

    def append(self, entry: str, data: Mapping[str, Any]) -> Entry:
        """Write an entry; it is on the disk when this returns. Raises FailedError `journal-not-written`."""
        ...

    def now_ms(self) -> int:
        """Return the milliseconds since the epoch, by the clock that gives entries their time."""
        ...


class RunJournal:
    """A journal in memory, for changes that leave nothing open which the cluster itself does not show."""

    path = ""

    def __init__(self) -> None:
        self.entries: tuple[Entry, ...] = ()

    def append(self, entry: str, data: Mapping[str, Any]) -> Entry:
        """Remember an entry for as long as the run lasts."""
        made = Entry(seq=len(self.entries), at_ms=self.now_ms(), entry=entry, data=dict(data), chain="")
        self.entries = (*self.entries, made)
        return made

    def now_ms(self) -> int:
        """Return 0: nothing reads the time after the run."""
        return 0


@frozen
class InFlight:
    """An intent that was not settled: its request may have left. `answer` is None if none was written."""

    seq: int
    at_ms: int
    data: Mapping[str, Any]
    answer: Mapping[str, Any] | None = None


class JournalFold:
    """Last change by the six words of the journal; a journey extends it by its own facts.

    `outcome` is None until the last run ended with a known outcome.
    """

    def __init__(self) -> None:
        self.goal: Any = None
        self.outcome: str | None = None
        self.in_flight: InFlight | None = None

    def read(self, entries: Iterable[Entry]) -> Self:
        """Fold entries, oldest first. Raises InputError `journal-not-understood`."""
        with entries_understood():
            for entry in entries:
                self.take(_in_present_words(entry))
        return self

    def take(self, entry: Entry) -> None:
        """Fold one entry in present words."""
        data, flight = entry.data, self.in_flight
        match entry.entry:
            case "begin":
                self.begins(data)
                self.goal, self.outcome = data["goal"], None
            case "intent":
                self.in_flight = InFlight(seq=entry.seq, at_ms=entry.at_ms, data=data)
                self.intends(data)
            case "answer" if flight is not None and data["of"] == flight.seq:
                self.in_flight = changed(flight, answer=data)
            case "done" | "failed" if flight is not None and data["of"] == flight.seq:
                self.in_flight = None
                self.settles(flight, entry)
            case "end":
                outcome = value_of(data, "outcome", str)
                self.outcome = self.outcome if outcome == Outcome.UNKNOWN else outcome
            case _:
                self.keeps(entry)

    def begins(self, data: Mapping[str, Any]) -> None:
        """Begin a run; `goal` and `outcome` are still those of the run before."""

    def intends(self, data: Mapping[str, Any]) -> None:
        """Record the intent of a request."""

    def settles(self, flight: InFlight, entry: Entry) -> None:
        """Return True if `done` or `failed` was written of an intent."""

    def keeps(self, entry: Entry) -> None:
        """Record a fact of the journey."""


def _in_present_words(entry: Entry) -> Entry:
    """Return the entry as this version would have written it."""
    data = entry.data
    if entry.entry == "undecided":
        return changed(entry, entry=END, data={**data, "outcome": Outcome.UNKNOWN.value})
    if entry.entry == "withdrawn":
        return changed(entry, entry=FAILED, data={**data, "known": WITHDRAWN})
    if entry.entry == DONE and data.get("known", DONE) != DONE:
        return changed(entry, entry=FAILED)
    return entry
