"""The lines of usual batches by columns: a line is a row of numbers of texts (`words.py`), joined for many rows.

Partition records in the form that Kafka writes (`replay/columns/tagged_fields.py`) and no-ops are made in this way;
`lines.py` gives the text of every other record, in the order of the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from kafkactl.metadata.dump.words import IdWords, Label, Words
from kafkactl.metadata.replay.columns import tagged_fields
from kafkactl.metadata.replay.columns.bytes import Array, Window
from kafkactl.metadata.replay.columns.frame import Batches, batches, heads
from kafkactl.metadata.replay.columns.tagged_fields import IDS_BYTES
from kafkactl.metadata.replay.topics import CHANGE, NEWEST, PARTITION
from kafkactl.protocol.form import default_value
from kafkactl.protocol.log.batch_runs import BatchRun
from kafkactl.protocol.log.frame import FRAME_VERSION
from kafkactl.protocol.schema.definitions import message
from kafkactl.protocol.schema.spec import json_name

_ROWS_AT_ONCE: Final = 16_384
_LINES_AT_ONCE: Final = 2_048  # joined: their text, some 0.5 MB, is copied from one cache of a processor to another
_FAR: Final = 1 << 62  # offsets from here on are for numbers without bounds
_LOW_DIGITS: Final = 3  # of an offset; what stands above these returns again and again
_NAMES: Final = {CHANGE: "PartitionChangeRecord", PARTITION: "PartitionRecord"}
_NO_OP: Final = FRAME_VERSION | 20 << 8
_NO_OP_BYTES: Final = 4  # with its count of tagged fields, which is 0
_LEAST_BYTES: Final = 3 + IDS_BYTES
_NOT_SHOWN: Final = 1 << 40  # no field of four bytes holds it
RECORD: Final = ',"kind":"record",'

IsWanted: TypeAlias = Callable[[bytes], bool]
"""Gets the first three bytes of a record's value; gives True if the record is asked for."""
OtherText: TypeAlias = Callable[[int, int], str]
"""Gets begin and end of a record in the run; gives its text after its time, up to the closing brace of its data."""


class _Field(NamedTuple):
    """A field as JSON: its name, its place in `tagged_fields.py`, its kind, and the value that is not shown."""

    name: str
    row: int
    kind: str
    default: int


_LISTS: Final = {
    "Replicas": tagged_fields.REPLICAS,
    "Isr": tagged_fields.ISR,
    "RemovingReplicas": tagged_fields.REMOVING,
    "AddingReplicas": tagged_fields.ADDING,
    "EligibleLeaderReplicas": tagged_fields.ELR,
    "LastKnownElr": tagged_fields.LAST_KNOWN,
}
_EPOCHS: Final = {"Leader": 0, "LeaderEpoch": 4, "PartitionEpoch": 8}  # of a PartitionRecord, in its epochs


class ColumnLines:
    """Maker of the lines of a run's usual batches; the run stays until the next is shown."""

    def __init__(self, is_wanted: IsWanted) -> None:
        self._is_wanted = is_wanted
        self._window = Window()
        self._fields = {key: _fields(key) for key in _NAMES}
        self._begin_again()

    def _begin_again(self) -> None:
        self._words = words = Words()
        self._topics = IdWords(words, (',"topicId":"', '"'))
        self._directories = IdWords(words, ('"', '"')), IdWords(words, (',"', '"'))
        low = range(10**_LOW_DIGITS)
        self._plain = words.add([str(number) for number in low])
        self._padded = words.add([str(number).rjust(_LOW_DIGITS, "0") for number in low])
        self._no_op: int | None = None
        self._wanted: dict[int, bool] = {}

    def show(self, run: BatchRun, first: int, end: int) -> Batches | None:
        """Return the batches of a run by columns, those within the offsets from `first` to below `end` as usual ones;
        None if an offset is too large or negative."""
        self._window.show(run.data)
        taken = heads(self._window, run.positions)
        if bool(((taken.offset < 0) | (taken.offset > _FAR)).any()):
            return None
        attributes = self._window.u1[taken.at + 21] | self._window.u1[taken.at + 22]
        return batches(self._window, taken._replace(is_usual=taken.is_usual & (attributes == 0)), first=first, end=end)

    def texts(self, found: Batches, first: int, behind: int, tail: str, other: OtherText) -> Iterator[tuple[str, int]]:
        """Yield the lines of the batches from `first` to below `behind`, which are usual and next to each other.

        Each text comes with how many lines it has. `tail` is what stands after the data of a record.
        """
        begin = int(found.row[first])
        counts = found.heads.counts[first:behind]
        end, last = begin + int(counts.sum()), behind
        batch = np.repeat(np.arange(first, last), counts)
        for start in range(begin, end, _ROWS_AT_ONCE):
            rows = np.arange(start, min(start + _ROWS_AT_ONCE, end))
            yield from self._parts(found, rows, batch[rows - begin], tail, other)

    def _parts(
        self, found: Batches, rows: Array, batch: Array, tail: str, other: OtherText
    ) -> Iterator[tuple[str, int]]:
        if self._words.is_full:
            self._begin_again()
        start, end = found.records.start[rows], found.records.end[rows]
        kind = self._window.u4[start] & 0xFFFFFF
        kept = self._kept(kind)
        if kept is not None:
            rows, batch, start, end, kind = (column[kept] for column in (rows, batch, start, end, kind))
            if not len(rows):
                return
        line = _Lines(len(rows))
        self._offsets(line, found.heads.offset[batch] + rows - found.row[batch], tail)
        self._batch_heads(line, found, batch)
        self._records(line, start, end, kind, other)
        for numbers, count in line.parts():
            yield self._words.joined(numbers, tail), count

    def _kept(self, kind: Array) -> Array | None:
        """Return the rows that are asked for; None for all."""
        unwanted = [number for number in np.unique(kind).tolist() if not self._takes(number)]
        return np.flatnonzero(~np.isin(kind, unwanted)) if unwanted else None

    def _takes(self, kind: int) -> bool:
        found = self._wanted.get(kind)
        if found is None:
            found = self._wanted[kind] = self._is_wanted(kind.to_bytes(3, "little"))
        return found

    def _offsets(self, line: _Lines, offset: Array, tail: str) -> None:
        """Add the offset, and before it the end of the previous line of the same part."""
        high, low = np.divmod(offset, 10**_LOW_DIGITS)
        own, place = np.unique(high, return_inverse=True)
        starts = [f'{{"offset":{number or ""}' for number in own.tolist()]
        numbers = self._words.add([f"{tail}{text}" for text in starts]) + place.reshape(-1)
        numbers[::_LINES_AT_ONCE] = self._words.add(starts) + place.reshape(-1)[::_LINES_AT_ONCE]
        line.add(numbers)
        line.add(low + np.where(high == 0, self._plain, self._padded))

    def _batch_heads(self, line: _Lines, found: Batches, batch: Array) -> None:
        first, last = int(batch[0]), int(batch[-1]) + 1
        epochs, times = found.heads.epoch[first:last].tolist(), found.heads.timestamp[first:last].tolist()
        pairs = zip(epochs, times, strict=True)
        base = self._words.add([f',"epoch":{epoch},"timestamp_ms":{time}' for epoch, time in pairs])
        line.add(batch - first + base)

    def _records(self, line: _Lines, start: Array, end: Array, kind: Array, other: OtherText) -> None:
        """Add the content of each record."""
        is_done = np.zeros(len(start), bool)
        size = end - start
        key, version = (kind >> 8) & 0xFF, kind >> 16
        is_known = ((kind & 0xFF) == FRAME_VERSION) & (version <= NEWEST) & (size >= _LEAST_BYTES)
        for own in (CHANGE, PARTITION):
            rows = np.flatnonzero(is_known & (key == own))
            if len(rows):
                is_done[rows] = self._of_partitions(line, own, rows, start[rows], end[rows])
        is_no_op = (kind == _NO_OP) & (size == _NO_OP_BYTES) & (self._window.u1[start + 3] == 0)
        no_ops = np.flatnonzero(is_no_op)
        if len(no_ops):
            is_done[no_ops] = True
            if self._no_op is None:
                at = int(no_ops[0])
                self._no_op = self._words.add([other(int(start[at]), int(end[at]))])
            line.add(np.full(len(no_ops), self._no_op), no_ops)
        left = np.flatnonzero(~is_done)
        if len(left):
            spans = zip(start[left].tolist(), end[left].tolist(), strict=True)
            base = self._words.add([other(*span) for span in spans])
            line.add(np.arange(base, base + len(left)), left)

    def _of_partitions(self, line: _Lines, key: int, rows: Array, start: Array, end: Array) -> Array:
        """Add the records that are written as Kafka writes them; return which these are."""
        window = self._window
        taken = tagged_fields.heads(window, start, end)
        epochs: Array | None = None
        if key == CHANGE:
            given = tagged_fields.changes(window, taken)
        else:
            given, epochs = tagged_fields.partitions(window, taken)
        is_regular = ~given.irregular
        at = given.at
        if not bool(is_regular.all()):
            own = np.flatnonzero(is_regular)
            rows, taken, at = rows[own], taken.only(own), at[:, own]
            epochs = epochs[own] if epochs is not None else None
        leads = [(f'{RECORD}"type":"{_NAMES[key]}","version":{version},"data":{{"partitionId":', "")
                 for version in range(NEWEST + 1)]  # fmt: skip
        line.add(self._words.of_numbers(taken.number, leads, taken.version.astype(np.int64)), rows)
        line.add(self._topics.of(taken.first, taken.second), rows)
        for field in self._fields[key]:
            if field.kind == "epoch" and epochs is not None:
                self._number(line, field, rows, window.i4[epochs + field.row])
                continue
            given_by = np.flatnonzero(at[field.row])
            if len(given_by):
                self._field(line, field, rows[given_by], at[field.row, given_by].astype(np.int64))
        return is_regular

    def _field(self, line: _Lines, field: _Field, rows: Array, at: Array) -> None:
        window = self._window
        if field.kind == "int32":
            self._number(line, field, rows, window.i4[at])
        elif field.kind == "int8":
            self._number(line, field, rows, window.u1[at].astype(np.int8))
        elif field.kind == "ids":
            self._id_list(line, field, rows, at)
        else:
            self._directory_list(line, field, rows, at)

    def _number(self, line: _Lines, field: _Field, rows: Array, values: Array) -> None:
        values = values.astype(np.int64)
        is_default = values == field.default
        if bool(is_default.any()):
            rows, values = rows[~is_default], values[~is_default]
        line.add(self._words.of_numbers(values, [(f',"{field.name}":', "")]), rows)

    def _id_list(self, line: _Lines, field: _Field, rows: Array, at: Array) -> None:
        """Add a list of integers: each element with the text around it."""
        counts = self._window.u1[at].astype(np.int64) - 1
        opening = f',"{field.name}":['
        empty = np.flatnonzero(counts == 0)
        if len(empty):
            line.add(np.full(len(empty), self._words.add([f"{opening}]"])), rows[empty])
            full = np.flatnonzero(counts)
            rows, at, counts = rows[full], at[full], counts[full]
        number, place = _elements(counts)
        values = self._window.i4[np.repeat(at + 1, counts) + 4 * number].astype(np.int64)
        kind = (number == 0) + 2 * (number == np.repeat(counts - 1, counts))
        labels: list[Label] = [(",", ""), (opening, ""), (",", "]"), (opening, "]")]
        line.add_lists(self._words.of_numbers(values, labels, kind), rows, counts, place)

    def _directory_list(self, line: _Lines, field: _Field, rows: Array, at: Array) -> None:
        window = self._window
        counts = window.u1[at].astype(np.int64) - 1
        number, place = _elements(counts)
        begin = np.repeat(at + 1, counts) + 16 * number
        halves = window.u8[begin].astype(np.uint64), window.u8[begin + 8].astype(np.uint64)
        found = np.zeros(len(number), np.int64)
        for is_later, texts in enumerate(self._directories):
            own = np.flatnonzero((number > 0) == bool(is_later))
            found[own] = texts.of(halves[0][own], halves[1][own])
        base = self._words.add([f',"{field.name}":[', "]"])
        line.add(np.full(len(rows), base), rows)
        line.add_lists(found, rows, counts, place)
        line.add(np.full(len(rows), base + 1), rows)


def _elements(counts: Array) -> tuple[Array, Array]:
    """Return for the elements of lists side by side the place in the list, and the list."""
    place = np.repeat(np.arange(len(counts)), counts)
    return np.arange(len(place)) - (np.cumsum(counts) - counts)[place], place


def _fields(key: int) -> tuple[_Field, ...]:
    """Return the fields after the ids as they are printed: tagged ones after the others."""
    spec = message(_NAMES[key])
    found = []
    for field in sorted(spec.fields, key=lambda field: field.tag is not None):
        name, default = json_name(field.name), default_value(field)
        if field.name in _LISTS:
            found.append(_Field(name, _LISTS[field.name], "ids", _NOT_SHOWN))
        elif field.name == "Directories":
            found.append(_Field(name, tagged_fields.DIRECTORIES, "uuids", _NOT_SHOWN))
        elif field.name == "LeaderRecoveryState":
            found.append(_Field(name, tagged_fields.RECOVERY, "int8", default))
        elif key == PARTITION and field.name in _EPOCHS:
            found.append(_Field(name, _EPOCHS[field.name], "epoch", _NOT_SHOWN))
        elif field.name == "Leader":
            found.append(_Field(name, tagged_fields.LEADER, "int32", default))
    return tuple(found)


class _Lines:
    """Rows of numbers of texts. Every part is put after those that its rows already have."""

    def __init__(self, rows: int) -> None:
        self._parts: list[tuple[Array, Array | slice, Array | None, Array | None]] = []
        self._lengths = np.zeros(rows, np.int64)

    def add(self, numbers: Array, rows: Array | None = None) -> None:
        """Add a text to each of these rows (to all, in their order, without `rows`); no row twice."""
        which: Array | slice = slice(None) if rows is None else rows
        self._lengths[which] += 1
        self._parts.append((numbers, which, None, None))

    def add_lists(self, numbers: Array, rows: Array, counts: Array, place: Array) -> None:
        """Add several texts to each row: `counts` has their number, and `place` the row of each."""
        self._lengths[rows] += counts
        self._parts.append((numbers, rows, counts, place))

    def parts(self) -> Iterator[tuple[Array, int]]:
        """Yield the numbers of some rows at a time, row by row, and the number of rows."""
        numbers, ends = self._numbers(), np.cumsum(self._lengths)
        begin = 0
        for first in range(0, len(ends), _LINES_AT_ONCE):
            count = min(_LINES_AT_ONCE, len(ends) - first)
            end = int(ends[first + count - 1])
            yield numbers[begin:end], count
            begin = end

    def _numbers(self) -> Array:
        behind = np.cumsum(self._lengths)
        at = behind - self._lengths
        out: Array = np.empty(int(behind[-1]), np.int64)
        for numbers, rows, counts, place in self._parts:
            if counts is None or place is None:
                out[at[rows]] = numbers
                at[rows] += 1
            else:
                first = at[rows] - (np.cumsum(counts) - counts)
                out[first[place] + np.arange(len(numbers))] = numbers
                at[rows] += counts
        return out
