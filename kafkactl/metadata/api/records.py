"""The records of a metadata log, one by one, without holding them: a log has millions."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkactl.core.errors import InputError
from kafkactl.core.wording import did_you_mean
from kafkactl.files.children import LeftToParentError, done_ahead, useful_processes
from kafkactl.metadata.api.places import LogPlace, client_of_place, log_files
from kafkactl.metadata.dump.findings import dump_findings, empty_log, torn_tail
from kafkactl.metadata.dump.lines import LineMaker, RecordFilter, record_type_names
from kafkactl.metadata.log.keys import Key, KeyFilter
from kafkactl.protocol.batch_scan import Damage
from kafkactl.protocol.log.batch_runs import BatchRun, end_offset, walk_runs

if TYPE_CHECKING:
    from kafkactl.core.findings import Finding

_FIRST_BYTES: Final = 256 * 1024
_STRETCH_BYTES: Final = 6 * 1024 * 1024  # a smaller one costs more: each child fills its memories of texts again


class RecordDump:
    """The records that `dump_records` selects; iterate over `records` or `texts`, once.

    `findings` says what could not be read of what was iterated over so far. Each folder is a log of its own.
    """

    def __init__(self, place: LogPlace, wanted: RecordFilter, *, checkpoints: bool, show_secrets: bool) -> None:
        self._place = place
        self._wanted = wanted
        self._checkpoints = checkpoints
        self._maker = LineMaker(wanted, hide=not show_secrets)
        self._read: list[str] = []
        self._is_empty = wanted == RecordFilter()

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield each record as JSON values: offset, epoch, timestamp_ms, kind, type, version, data, file."""
        for file, pieces in self._files():
            for record in self._maker.objects(pieces, file=file):
                self._is_empty = False
                yield record

    def texts(self) -> Iterator[str]:
        """Yield the records as lines of JSON, some thousand in a text."""
        for file, pieces in self._files():
            for text in self._maker.lines(pieces, file=file):
                self._is_empty = False
                yield text

    def encoded(self, processes: int | None = None) -> Generator[bytes, None, None]:
        """Yield the lines in UTF-8, made by several processes (default: as many as are of use here), which are forked.

        For programs of their own, not for those that have threads. Same lines, same order, same findings.
        """
        count = useful_processes() if processes is None else processes
        if count < 2 or client_of_place(self._place) is not None:
            yield from (text.encode() for text in self.texts())
            return
        for file, pieces in self._files():
            for part in self._made(file, pieces, count):
                self._is_empty = False
                yield part

    def _made(self, file: str, pieces: Iterable[bytes], processes: int) -> Iterator[bytes]:
        maker = self._maker
        stretches = _stretches(walk_runs(pieces, file=file), maker.next_offset)
        for stretch in itertools.islice(stretches, 1):  # the first lines appear before any process is started
            yield from (text.encode() for text in maker.lines_of(stretch.found, file=file))

        def work(stretch: _Stretch) -> Iterator[bytes]:
            if isinstance(stretch.found, Damage):
                raise LeftToParentError
            yield from maker.made_apart(stretch.found, stretch.next_offset, file=file)
            if maker.problem_count:
                raise LeftToParentError  # each problem is reported by the process that reports them all

        with closing(done_ahead(stretches, work, processes, alone=_is_damage)) as done:
            for stretch, made in done:
                if made is None or isinstance(stretch.found, Damage):
                    yield from (text.encode() for text in maker.lines_of(stretch.found, file=file))
                else:
                    maker.pass_over(stretch.found)
                    yield from made

    def _files(self) -> Iterator[tuple[str, Iterable[bytes]]]:
        wanted = self._wanted
        folder: PurePath | None = None
        files = log_files(
            self._place,
            checkpoints=self._checkpoints,
            from_offset=None if wanted.key is not None else wanted.from_offset,
            to_offset=wanted.to_offset,
            whole=True,
        )
        for file in files:
            self._read.append(file.name)
            if folder not in (None, PurePath(file.name).parent):
                self._maker.end_log()
            folder = PurePath(file.name).parent
            if file.kind == "segment" and wanted.none(file.base_offset or 0, 2**63):
                continue
            self._maker.begin(file.kind, file.base_offset)
            yield file.name, file.pieces()
        self._maker.end_log()

    @property
    def findings(self) -> list[Finding]:
        """Return damage, missing records, and that there was no record at all; complete after the last record."""
        maker = self._maker
        found = [*dump_findings(maker.problems, maker.problem_count), *map(torn_tail, maker.tails)]
        if self._is_empty:
            found.append(empty_log(", ".join(self._read) or "without segments", what="record in what was read"))
        return found


class _Stretch(NamedTuple):
    """A part of a run, or damage; `next_offset` is the one that must come next before it."""

    found: BatchRun | Damage
    next_offset: int | None


def _is_damage(stretch: _Stretch) -> bool:
    return isinstance(stretch.found, Damage)


def _stretches(found: Iterable[BatchRun | Damage], next_offset: int | None) -> Iterator[_Stretch]:
    """Yield runs and damages in smaller parts, of which the first is the smallest."""
    most = _FIRST_BYTES
    for run in found:
        if isinstance(run, Damage):
            yield _Stretch(run, next_offset)
            next_offset = None
            continue
        at, places = 0, run.positions
        while at < len(places):
            end = max(bisect_left(places, places[at] + most, at), at + 1)
            part = BatchRun(run.data, run.base, places[at:end])
            yield _Stretch(part, next_offset)
            at, next_offset, most = end, end_offset(part), _STRETCH_BYTES


def dump_records(
    place: LogPlace,
    *,
    types: Iterable[str] = (),
    key: str | None = None,
    from_offset: int | None = None,
    to_offset: int | None = None,
    checkpoints: bool = False,
    show_secrets: bool = False,
) -> RecordDump:
    """Return the records of a log, in order: all, or those of these types, about a key, from one offset to another
    (both in).

    `types` are names such as TopicRecord or TOPIC_RECORD; `key` is a topic, id, broker or user by its bare name.
    Checkpoints of a folder are read with `checkpoints`; their offsets are their own. Nothing is read before the
    result is iterated over. Raises InputError `no-such-record-type`; iterating raises InputError and UnreachableError.
    """
    wanted = RecordFilter(
        types=record_types(types),
        key=None if key is None else KeyFilter(Key(sorts=None, name=key)),
        from_offset=from_offset,
        to_offset=to_offset,
    )
    return RecordDump(place, wanted, checkpoints=checkpoints, show_secrets=show_secrets)


def record_types(names: Iterable[str]) -> frozenset[str] | None:
    """Return the record types with these names, kafkactl's or those of Kafka's tool, `Record` optional. Raise
    InputError."""
    known = {name.lower(): name for name in record_type_names()}
    found = set()
    for name in names:
        word = name.replace("_", "").lower()  # Kafka's tool prints REGISTER_BROKER_RECORD
        match = known.get(word) or known.get(f"{word}record")
        if match is None:
            raise InputError(
                f"there is no record type {name!r}.{did_you_mean(name, list(known.values()))}",
                id="no-such-record-type",
                next_step="Types are called as in the output: " + ", ".join(known.values()),
            )
        found.add(match)
    return frozenset(found) or None
