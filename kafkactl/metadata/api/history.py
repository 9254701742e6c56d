"""History of a topic, broker, configuration or user: every record that changed it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from kafkactl.metadata.api.places import LogPlace, client_of_place, log_files, opened_sources
from kafkactl.metadata.dump.findings import dump_findings, empty_log, gap_finding
from kafkactl.metadata.dump.history import Event, History
from kafkactl.metadata.dump.records import log_records
from kafkactl.metadata.io.image import history_files, joined, without_needless
from kafkactl.metadata.log.keys import RESOURCE_WORDS, Key, KeyFilter

if TYPE_CHECKING:
    from kafkactl.core.findings import Finding
    from kafkactl.metadata.io.source import LogFile

SUBJECTS: Final[Mapping[str, tuple[str, ...]]] = {
    "topic": ("topic", "topic-id"),
    "broker": ("broker",),
    "controller": ("controller",),
    "config": ("config",),
    "user": ("user",),
    "feature": ("feature",),
    "acl": ("acl",),
}
"""What a history can be about, and the sorts of key that this names (metadata/log/keys.py)."""

CONFIG_KINDS: Final = tuple(RESOURCE_WORDS.values())
"""The words before the colon of a `config` subject, such as topic and broker."""


class RecordHistory:
    """The records about one subject; iterate over `events` once, then `findings` and `is_empty` are complete."""

    def __init__(self, place: LogPlace, key: Key) -> None:
        self._place = place
        self._filter = KeyFilter(key)
        self._history = History(self._filter)
        self._read: list[str] = []
        self.is_empty = True

    def events(self) -> Iterator[Event]:
        """Yield each record with its file, and whether it was applied: a transaction may be aborted."""
        for file in _files(self._place):
            self._read.append(file.name)
            records = log_records(file.pieces(), file=file.name)
            for event in self._history.events(records, file=file.name, is_segment=file.kind == "segment"):
                self.is_empty = False
                yield event
        for event in self._history.rest():
            self.is_empty = False
            yield event

    @property
    def names(self) -> list[str]:
        """Return the names of other subjects of the same kind, if people choose them: what may have been meant."""
        return sorted(self._filter.names)

    @property
    def findings(self) -> list[Finding]:
        """Return the findings about unread parts, which may concern the subject."""
        history = self._history
        found = dump_findings(history.problems, history.problem_count, history.tail)
        found += [gap_finding(*gap, then="what they said of it is not here") for gap in history.gaps]
        if not history.records:
            found.append(empty_log(", ".join(self._read)))
        return found


def record_history(place: LogPlace, subject: str, name: str | int, *, partition: int | None = None) -> RecordHistory:
    """Return the records about a `topic` (name or id), `broker`, `controller`, `config` (topic:NAME …), `user`,
    `feature` or `acl`; `partition` limits those about a topic.

    If the log does not begin at offset 0, the snapshot that replaces what was before is read first. Nothing is
    read before `events` is iterated over, which raises InputError and UnreachableError. Raises ValueError for another
    subject, and for a partition of something that is not a topic.
    """
    if subject not in SUBJECTS:
        raise ValueError(f"subject is {subject!r}; expected one of {', '.join(SUBJECTS)}")
    if partition is not None and subject != "topic":
        raise ValueError(f"a {subject} has no partition {partition}; expected subject 'topic'")
    return RecordHistory(place, Key(sorts=frozenset(SUBJECTS[subject]), name=str(name), partition=partition))


def _files(place: LogPlace) -> Iterable[LogFile]:
    """Yield all files that can hold something of the past."""
    if client_of_place(place) is not None:
        return without_needless(log_files(place, checkpoints=True, whole=True))
    return history_files(joined(opened_sources(place)))
