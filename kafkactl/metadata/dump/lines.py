"""The records of segments and checkpoints as JSON lines, one a record, with nothing in between where all is usual.

What is usual: data batches without compression, records without key, headers and time of their own, whole batches
inside the range that is asked for. They go from bytes to text in one step (`dump_text.text_maker`). Everything else,
damage first of all, goes through the reference codec, record by record; a record that it cannot read has its line,
too, and its error in `problems`.
"""

from __future__ import annotations

import base64
import functools
import struct
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from kafkactl.core.errors import DecodeError
from kafkactl.core.frozen import frozen
from kafkactl.metadata.dump.text import MAY_GIVE_UP, TextMaker, compact_json, record_json, text_maker
from kafkactl.metadata.log.batch_runs import BatchRun, end_offset, walk_runs
from kafkactl.metadata.log.frame import FRAME_VERSION, decode_record
from kafkactl.metadata.log.keys import KeyFilter
from kafkactl.protocol.batch_scan import Damage
from kafkactl.protocol.compiled_runtime import IrregularError
from kafkactl.protocol.control_records import ControlRecord, ControlType, decode_control_record
from kafkactl.protocol.json_form import to_json
from kafkactl.protocol.plain_records import plain_spans
from kafkactl.protocol.record_batch import HEADER_BYTES, LENGTH_END, Record, decode_header, decode_records
from kafkactl.protocol.schema.definitions import control_record, message, metadata_record_names

if TYPE_CHECKING:
    from kafkactl.metadata.dump.columns import ColumnLines

# Base offset, leader epoch, attributes, last offset delta, base timestamp, record count.
_HEADER = struct.Struct(">q4xi5xhiq22xi")
_CONTROL_BIT = 0x20
_USUAL_ATTRIBUTES = 0  # neither compressed, nor with the broker's time, nor of a producer's transaction
WORTH_BYTES = 1 << 20
_LINES_AT_ONCE = 8192
_MOST_CHARACTERS = 256 * 1024 * 1024  # of the lines of a batch that are made at once, at the least
_LEAST_LINE = 128
_MOST_PROBLEMS = 1000
_FEW_RECORDS: Final = 256  # fewer, next to each other, are sooner printed one by one
_LEAST_RUN_BYTES: Final = 32 * 1024  # of a run that is printed by columns once numpy is loaded

# As Kafka's dump tool calls them.
CONTROL_NAMES: dict[ControlType, str] = {control_type: control_type.record_name for control_type in ControlType}


@frozen
class Wanted:
    """Which records are asked for: of these types (None: all), about this key, from one offset to another, both in."""

    types: frozenset[str] | None = None
    key: KeyFilter | None = None
    from_offset: int | None = None
    to_offset: int | None = None

    def offset(self, offset: int) -> bool:
        """Whether this offset is in the range."""
        low, high = self.from_offset, self.to_offset
        return (low is None or offset >= low) and (high is None or offset <= high)

    def whole(self, first: int, last: int) -> bool:
        """Whether all offsets from first to last are in the range."""
        return self.offset(first) and self.offset(last)

    def none(self, first: int, last: int) -> bool:
        """Whether no offset from first to last is in the range."""
        low, high = self.from_offset, self.to_offset
        return (low is not None and last < low) or (high is not None and first > high)


def record_type_names() -> tuple[str, ...]:
    """Everything that `Wanted.types` may name: metadata records by definition, control records by Kafka's tool."""
    return (*metadata_record_names(), *CONTROL_NAMES.values())


class LineMaker:
    """Turns files into lines; `problems` collects what could not be read (the first thousand), `count` records shown.

    `tail` is what the log ends with where that is not a whole batch, which is harmless as long as nothing follows;
    `tails` are those of the logs before it.
    With `hide` secrets are left out of the lines. `worth_bytes` is the size from which a run of batches is printed by
    columns; None for never. The lines are the same.
    """

    def __init__(self, wanted: Wanted, *, hide: bool, worth_bytes: int | None = WORTH_BYTES) -> None:
        self.problems: list[DecodeError] = []
        self.problem_count = 0
        self.tail: DecodeError | None = None
        self.tails: list[DecodeError] = []
        self.count = 0
        self.next_offset: int | None = None  # the offset that must come next; None where it is unknown
        self._in_checkpoint = False
        self._damage_end = -1  # where the last damage of the file ended
        self._in_log = wanted
        self._in_snapshot = replace(wanted, from_offset=None, to_offset=None)  # its offsets are not the log's
        # Asked once: a log has many batches, and most of them few records.
        self._takes_all = wanted.key is None and wanted.from_offset is None and wanted.to_offset is None
        self._hide = hide
        self._makers = _Makers(wanted.types, hide)
        self._worth_bytes = worth_bytes if self._takes_all else None
        self._columns: ColumnLines | None = None

    def end_log(self) -> None:
        """What comes next, if anything does, is another log and follows on nothing."""
        if self.tail is not None:
            self.tails.append(self.tail)
        self.tail = self.next_offset = None

    def begin(self, kind: str, base_offset: int | None) -> None:
        """The next file is a segment or a checkpoint; `base_offset` is what its name says, None where it says nothing.

        A segment follows the one before it where its name says so, so that what is missing between them is seen.
        """
        self._follow_tail()
        self._damage_end = -1
        if kind == "checkpoint":
            self.next_offset, self._in_checkpoint = 0, True
        else:
            if self._in_checkpoint or self.next_offset is None or base_offset is None:
                self.next_offset = base_offset
            self._in_checkpoint = False

    @property
    def _wanted(self) -> Wanted:
        return self._in_snapshot if self._in_checkpoint else self._in_log

    def lines(self, pieces: Iterable[bytes], *, file: str) -> Iterator[str]:
        """The lines of one file, some thousand at a time, each with its line feed. Raises only what `pieces` raise."""
        for found in walk_runs(pieces, file=file):
            yield from self.lines_of(found, file=file)

    def lines_of(self, found: BatchRun | Damage, *, file: str) -> Iterator[str]:
        """The lines of what comes next in a file (`walk_runs`)."""
        columns = None if isinstance(found, Damage) else self.prepared(found)
        if columns is not None and not isinstance(found, Damage):
            yield from self._by_columns(columns, found, file)
            return
        for entries in self._texts(found, file):
            for start in range(0, len(entries), _LINES_AT_ONCE):  # a batch may have many
                yield "".join(entries[start : start + _LINES_AT_ONCE])

    def objects(self, pieces: Iterable[bytes], *, file: str) -> Iterator[dict[str, Any]]:
        """The same as values, for printing them in another form."""
        from json import loads

        for found in walk_runs(pieces, file=file):
            for entries in self._texts(found, file):
                yield from map(loads, entries)

    def made_apart(self, run: BatchRun, next_offset: int | None, *, file: str) -> Iterator[bytes]:
        """The lines of a run whose turn has not come, in UTF-8, for `pass_over`; this maker is of no other use then.

        `next_offset` is the one that must come next. The lines do not count where `problem_count` is not 0 behind
        them: then the run is to be taken in its turn.
        """
        self.tail, self.next_offset, self.problem_count = None, next_offset, 0
        for text in self.lines_of(run, file=file):
            yield text.encode()

    def pass_over(self, run: BatchRun) -> None:
        """The lines of this run, the next in its file, were made apart; they are not in `count`."""
        self._follow_tail()
        self.next_offset = end_offset(run)

    def prepared(self, run: BatchRun) -> ColumnLines | None:
        """What prints such a run by columns, made when it is first worth it; None where it is not."""
        if self._worth_bytes is None:
            return None
        worth_bytes = min(self._worth_bytes, _LEAST_RUN_BYTES) if self._columns is not None else self._worth_bytes
        if run.positions[-1] - run.positions[0] < worth_bytes:
            return None
        if self._columns is None:
            from kafkactl.metadata.dump.columns import ColumnLines

            self._columns = ColumnLines(lambda frame: self._makers[frame] is not None)
        return self._columns

    # --- batches ----------------------------------------------------------------------------------------------

    def _by_columns(self, columns: ColumnLines, run: BatchRun, file: str) -> Iterator[str]:
        """As `_texts`, joined: usual batches that follow on each other by columns, each of the others as there."""
        self._follow_tail()
        tail, positions, at = _tail(file), run.positions, 0
        batches = columns.show(run)
        while at < len(positions):
            behind = at if batches is None else batches.usual_until(at, self.next_offset)
            if batches is None or batches.records_of(at, behind) < _FEW_RECORDS:
                lines = list(self._batch(run, positions[at], file, tail))
                for start in range(0, len(lines), _LINES_AT_ONCE):
                    self.count += len(lines[start : start + _LINES_AT_ONCE])
                    yield "".join(lines[start : start + _LINES_AT_ONCE])
                at += 1
                continue
            for text, count in columns.texts(batches, at, behind, tail, functools.partial(self._other, run, file)):
                self.count += count
                yield text
            self.next_offset, at = int(batches.heads.last[behind - 1]) + 1, behind

    def _other(self, run: BatchRun, file: str, start: int, stop: int) -> str:
        """A record's text from behind its time up to the brace that closes its data."""
        make = self._makers[run.data[start : start + 3]] or _rare
        try:
            return f',"kind":"record",{make(run.data, start + 3, stop)}'
        except MAY_GIVE_UP:
            return self._careful_text(run.data[start:stop], run.base + start, file)[:-1]

    def _texts(self, found: BatchRun | Damage, file: str) -> Iterator[list[str]]:
        self._follow_tail()
        if isinstance(found, Damage):
            if found.position != self._damage_end and found.may_be_tail and not self._in_checkpoint:
                self.tail = found.error
            elif found.position != self._damage_end:
                self._remember(found.error)
            self._damage_end, self.next_offset = found.end, None
            return
        tail = _tail(file)
        out: list[str] = []
        for position in found.positions:
            batch = self._batch(found, position, file, tail)
            if isinstance(batch, list):
                out += batch
                if len(out) >= _LINES_AT_ONCE:
                    self.count += len(out)
                    yield out
                    out = []
                continue
            for text in batch:
                out.append(text)
                if len(out) >= _LINES_AT_ONCE:
                    self.count += len(out)
                    yield out
                    out = []
        if out:
            self.count += len(out)
            yield out

    def _follow_tail(self) -> None:
        """Something comes behind what looked like the end: it was damage."""
        if self.tail is not None:
            self._remember(self.tail)
            self.tail = None

    def _remember(self, error: DecodeError) -> None:
        self.problem_count += 1
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(error)

    def _batch(self, run: BatchRun, position: int, file: str, tail: str) -> Iterable[str]:
        """The lines of a batch, as a list where they are few or short."""
        data = run.data
        base_offset, epoch, attributes, last_delta, timestamp_ms, count = _HEADER.unpack_from(data, position)
        if base_offset != self.next_offset is not None:
            self._out_of_order(run.base + position, base_offset, file)
        self.next_offset = base_offset + last_delta + 1
        is_usual = attributes == _USUAL_ATTRIBUTES
        if not self._takes_all:
            wanted, last = self._wanted, base_offset + last_delta
            if wanted.key is None and wanted.none(base_offset, last):
                return []
            is_usual = is_usual and wanted.key is None and wanted.whole(base_offset, last)
        if is_usual and count * (len(tail) + _LEAST_LINE) <= _MOST_CHARACTERS:
            head = f',"epoch":{epoch},"timestamp_ms":{timestamp_ms}'
            before = self.problem_count, len(self.problems)
            try:
                return self._usual(run, position, count, base_offset, (head, tail, file))
            except IrregularError:
                self.problem_count = before[0]
                del self.problems[before[1] :]
        return self._careful_batch(run, position, file)

    def _out_of_order(self, position: int, offset: int, file: str) -> None:
        text = f"the batch begins with offset {offset}; expected {self.next_offset}"
        self._remember(DecodeError(text, id="offset-gap", offset=position, path="RecordBatch", file=file))

    def _usual(
        self, run: BatchRun, position: int, count: int, base_offset: int, texts: tuple[str, str, str]
    ) -> list[str]:
        """The lines of a usual batch; raises IrregularError where its records are framed otherwise.

        One loop without calls but the one that makes the text: a log has millions of records.
        """
        data, makers = run.data, self._makers
        end = position + LENGTH_END + int.from_bytes(data[position + 8 : position + LENGTH_END], "big")
        head, tail, file = texts
        middle = head + ',"kind":"record",'
        lines: list[str] = []
        add = lines.append
        for delta, start, stop in plain_spans(data, position + HEADER_BYTES, end, count):
            make = makers[data[start : start + 3]]
            if make is not None:
                try:
                    add(f'{{"offset":{base_offset + delta}{middle}{make(data, start + 3, stop)}{tail}')
                except MAY_GIVE_UP:
                    text = self._careful_text(data[start:stop], run.base + start, file)
                    add(f'{{"offset":{base_offset + delta}{head}{text}{tail[1:]}')
        return lines

    # --- the careful way --------------------------------------------------------------------------------------

    def _careful_batch(self, run: BatchRun, position: int, file: str) -> Iterator[str]:
        try:
            header = decode_header(run.data, position, file=file, base=run.base)
            records = decode_records(run.data, header, file=file, base=run.base)
        except DecodeError as error:
            self._remember(error)
            return
        for record in records:
            fields = self._control(record, file) if header.is_control else self._data(record, file)
            if fields is not None:
                start = f'{{"offset":{record.offset},"epoch":{header.partition_leader_epoch}'
                yield f'{start},"timestamp_ms":{record.timestamp_ms}{fields},"file":{compact_json(_text(file))}}}\n'

    def _control(self, record: Record, file: str) -> str | None:
        """The text of a control record's line after its time; None if it is not asked for."""
        try:
            found = decode_control_record(
                record.key, record.value, file=file, key_base=record.key_position, value_base=record.value_position
            )
        except DecodeError as error:
            return self._undecodable(error, record.value or b"") if self._wanted.offset(record.offset) else None
        types = self._wanted.types
        name = CONTROL_NAMES[found.type]
        if self._wanted.key is not None or (types is not None and name not in types):
            return None
        if not self._wanted.offset(record.offset):
            return None
        return f',"kind":"control","type":"{name}","version":{found.version},"data":{compact_json(control_json(found))}'

    def _data(self, record: Record, file: str) -> str | None:
        wanted, value = self._wanted, record.value or b""
        key = wanted.key
        if key is not None and not key.may_match(value):
            return None
        if record.key is not None or record.value is None:
            text = "a metadata record has a value and no key"
            error = DecodeError(text, id="not-a-metadata-record", offset=record.position, path="RecordBatch", file=file)
            return self._undecodable(error, value) if wanted.offset(record.offset) else None
        if key is not None and not self._matches(key, value):
            return None
        if not wanted.offset(record.offset) or self._makers.is_unwanted(value):
            return None
        return self._careful_text(value, record.value_position, file)

    @staticmethod
    def _matches(key: KeyFilter, value: bytes) -> bool:
        try:
            return key.matches(decode_record(value))
        except DecodeError:
            return False  # what it is about is unknown

    def _careful_text(self, value: bytes, base: int, file: str) -> str:
        try:
            found = decode_record(value, file=file, base=base)
        except DecodeError as error:
            return self._undecodable(error, value)
        data = compact_json(record_json(found, hide=self._hide))
        return f',"kind":"record","type":"{found.type}","version":{found.version},"data":{data}'

    def _undecodable(self, error: DecodeError, value: bytes) -> str:
        """The line of a record that cannot be read. Its bytes may hold secrets."""
        self._remember(error)
        raw = None if self._hide else base64.b64encode(value).decode("ascii")
        details = compact_json({"id": error.id, "message": error.reason, "value": raw})
        return f',"kind":"undecodable","type":null,"version":null,"data":null,"error":{details}'


def control_json(record: ControlRecord) -> dict[str, Any]:
    """A control record's data as JSON, named as in Kafka's."""
    spec = control_record(record.type)
    version = min(record.version, spec.valid_versions.highest)
    shown = to_json(spec, version, record.data)
    return {"version": record.version, **shown} if record.type in (ControlType.ABORT, ControlType.COMMIT) else shown


def _tail(file: str) -> str:
    """What ends a line behind the data of a record: its closing brace, the file, and a line feed."""
    return f'}},"file":{compact_json(_text(file))}}}\n'


def _text(file: str) -> str:
    """A path as JSON can carry it: names may hold bytes that are not text (PEP 383)."""
    return file.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


class _Makers(dict[bytes, TextMaker | None]):
    """For the first three bytes of a record's value: who makes its text; None where it is not asked for."""

    def __init__(self, types: frozenset[str] | None, hide: bool) -> None:
        super().__init__()
        self._types = types
        self._hide = hide

    def is_unwanted(self, value: bytes) -> bool:
        """Whether a record is of a type that is not asked for."""
        return self[value[:3]] is None

    def __missing__(self, frame: bytes) -> TextMaker | None:
        made = self._made(frame)
        if len(self) < _MOST_PROBLEMS:
            self[frame] = made
        return made

    def _made(self, frame: bytes) -> TextMaker | None:
        if len(frame) < 3 or frame[0] != FRAME_VERSION or frame[1] > 127 or frame[2] > 127:
            return _rare
        spec = next((type_ for type_ in map(message, metadata_record_names()) if type_.api_key == frame[1]), None)
        if spec is None:
            return _rare
        if self._types is not None and spec.name not in self._types:
            return None
        version = frame[2]
        if version not in spec.valid_versions or not spec.is_flexible(version):
            return _rare
        return _maker(spec.name, version, self._hide)


@functools.cache
def _maker(name: str, version: int, hide: bool) -> TextMaker:
    lead = f'"type":"{name}","version":{version},"data":{{'
    return text_maker(message(name), version, hide=hide, lead=lead)


def _rare(_data: bytes, _begin: int, _end: int) -> str:
    """For what only the careful way can read, or say why it cannot."""
    raise IrregularError
