"""The records of segments and checkpoints as JSON lines, one a record.

Usual batches that follow on each other go by columns (`columns.py`). All others, and everything about one key, are
decoded record by record; a record that cannot be decoded has its line, too, and its error in `problems`.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

from kafkactl.core.errors import DecodeError
from kafkactl.core.frozen import frozen
from kafkactl.metadata.dump.columns import RECORD, ColumnLines
from kafkactl.metadata.dump.text import compact_json, record_json
from kafkactl.metadata.log.keys import KeyFilter
from kafkactl.protocol.batch_scan import Damage
from kafkactl.protocol.control_records import ControlRecord, ControlType, decode_control_record
from kafkactl.protocol.json_form import to_json
from kafkactl.protocol.log.batch_runs import BatchRun, end_offset, walk_runs
from kafkactl.protocol.log.frame import FRAME_VERSION, decode_record
from kafkactl.protocol.record_batch import Record, decode_header, decode_records
from kafkactl.protocol.schema.definitions import control_record, message, metadata_record_names

_OFFSETS = struct.Struct(">q15xi")  # base offset, last offset delta
_LINES_AT_ONCE: Final = 8192
_MOST_PROBLEMS: Final = 1000
_NO_END: Final = 1 << 63

# As Kafka's dump tool calls them.
CONTROL_NAMES: dict[ControlType, str] = {control_type: control_type.record_name for control_type in ControlType}


@frozen
class RecordFilter:
    """The records that are asked for: types (None: all), key, and the first and the last offset."""

    types: frozenset[str] | None = None
    key: KeyFilter | None = None
    from_offset: int | None = None
    to_offset: int | None = None

    def offset(self, offset: int) -> bool:
        """Return True if this offset is in the range."""
        low, high = self.from_offset, self.to_offset
        return (low is None or offset >= low) and (high is None or offset <= high)

    def none(self, first: int, last: int) -> bool:
        """Return True if no offset from first to last is in the range."""
        low, high = self.from_offset, self.to_offset
        return (low is not None and last < low) or (high is not None and first > high)


def record_type_names() -> tuple[str, ...]:
    """Return the names for `RecordFilter.types`: metadata records by definition, control records by Kafka's tool."""
    return (*metadata_record_names(), *CONTROL_NAMES.values())


class LineMaker:
    """Converter of files into lines; `problems` is what could not be read (the first thousand), `count` shown records.

    `tail` is what the log ends with if that is not a whole batch, which is harmless as long as nothing follows;
    `tails` are those of the logs before it. With `hide` secrets are left out of the lines.
    """

    def __init__(self, wanted: RecordFilter, *, hide: bool) -> None:
        self.problems: list[DecodeError] = []
        self.problem_count = 0
        self.tail: DecodeError | None = None
        self.tails: list[DecodeError] = []
        self.count = 0
        self.next_offset: int | None = None  # None if it is unknown
        self._in_checkpoint = False
        self._damage_end = -1  # where the last damage of the file ended
        self._in_log = wanted
        self._in_snapshot = replace(wanted, from_offset=None, to_offset=None)  # its offsets are not the log's
        self._hide = hide
        self._types = {message(name).api_key: name for name in metadata_record_names()}
        self._columns = ColumnLines(self._is_wanted) if wanted.key is None else None

    def end_log(self) -> None:
        """End a log: what comes next, if anything does, is another log and follows on nothing."""
        if self.tail is not None:
            self.tails.append(self.tail)
        self.tail = self.next_offset = None

    def begin(self, kind: str, base_offset: int | None) -> None:
        """Begin a segment or a checkpoint; `base_offset` is that of its name, None if its name has none.

        A segment whose name has an offset follows the one before it, so that missing records between them are noticed.
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
    def _wanted(self) -> RecordFilter:
        return self._in_snapshot if self._in_checkpoint else self._in_log

    def lines(self, pieces: Iterable[bytes], *, file: str) -> Iterator[str]:
        """Yield the lines of one file, some thousand at a time, each with its line feed. Raises only what `pieces`
        raise."""
        for found in walk_runs(pieces, file=file):
            yield from self.lines_of(found, file=file)

    def lines_of(self, found: BatchRun | Damage, *, file: str) -> Iterator[str]:
        """Yield the lines of what comes next in a file (`walk_runs`)."""
        self._follow_tail()
        if isinstance(found, Damage):
            self._take_damage(found)
        else:
            yield from self._run(found, file)

    def objects(self, pieces: Iterable[bytes], *, file: str) -> Iterator[dict[str, Any]]:
        """Yield the lines as values, for printing them in another form."""
        from json import loads

        for text in self.lines(pieces, file=file):
            yield from map(loads, text.split("\n")[:-1])

    def made_apart(self, run: BatchRun, next_offset: int | None, *, file: str) -> Iterator[bytes]:
        """Yield the lines of a run whose turn has not come, in UTF-8, for `pass_over`; use this maker for nothing else
        then.

        `next_offset` is the one that must come next. The lines do not count if `problem_count` is not 0 after them:
        then the run is to be taken in its turn.
        """
        self.tail, self.next_offset, self.problem_count = None, next_offset, 0
        for text in self.lines_of(run, file=file):
            yield text.encode()

    def pass_over(self, run: BatchRun) -> None:
        """Take a run, the next in its file, whose lines were made apart; they are not in `count`."""
        self._follow_tail()
        self.next_offset = end_offset(run)

    def _run(self, run: BatchRun, file: str) -> Iterator[str]:
        tail, positions, at = _tail(file), run.positions, 0
        low, high = self._wanted.from_offset, self._wanted.to_offset
        found = None
        if self._columns is not None:
            found = self._columns.show(run, max(0, low or 0), _NO_END if high is None else high + 1)
        lines: list[str] = []
        while at < len(positions):
            after = at if found is None else found.usual_until(at, self.next_offset)
            if self._columns is None or found is None or after == at:
                for line in self._batch(run, positions[at], file):
                    lines.append(line)
                    if len(lines) >= _LINES_AT_ONCE:
                        yield self._joined(lines)
                at += 1
                continue
            yield self._joined(lines)

            def other(start: int, stop: int) -> str:
                return self._text(run.data[start:stop], run.base + start, file)[:-1]

            for text, count in self._columns.texts(found, at, after, tail, other):
                self.count += count
                yield text
            self.next_offset, at = int(found.heads.last[after - 1]) + 1, after
        yield self._joined(lines)

    def _joined(self, lines: list[str]) -> str:
        self.count += len(lines)
        text = "".join(lines)
        lines.clear()
        return text

    def _take_damage(self, damage: Damage) -> None:
        if damage.position != self._damage_end and damage.may_be_tail and not self._in_checkpoint:
            self.tail = damage.error
        elif damage.position != self._damage_end:
            self._remember(damage.error)
        self._damage_end, self.next_offset = damage.end, None

    def _follow_tail(self) -> None:
        """Count what looked like the end of the log as damage, because something follows."""
        if self.tail is not None:
            self._remember(self.tail)
            self.tail = None

    def _remember(self, error: DecodeError) -> None:
        self.problem_count += 1
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(error)

    def _out_of_order(self, position: int, offset: int, file: str) -> None:
        text = f"the batch begins with offset {offset}; expected {self.next_offset}"
        self._remember(DecodeError(text, id="offset-gap", offset=position, path="RecordBatch", file=file))

    def _batch(self, run: BatchRun, position: int, file: str) -> Iterator[str]:
        base_offset, last_delta = _OFFSETS.unpack_from(run.data, position)
        if base_offset != self.next_offset is not None:
            self._out_of_order(run.base + position, base_offset, file)
        self.next_offset = base_offset + last_delta + 1
        if self._wanted.key is None and self._wanted.none(base_offset, base_offset + last_delta):
            return
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
                yield f'{start},"timestamp_ms":{record.timestamp_ms}{fields},"file":{compact_json(_shown(file))}}}\n'

    def _control(self, record: Record, file: str) -> str | None:
        """Return the text of a control record's line after its time; None if it is not asked for."""
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
        if not wanted.offset(record.offset) or not self._is_wanted(value[:3]):
            return None
        return self._text(value, record.value_position, file)

    @staticmethod
    def _matches(key: KeyFilter, value: bytes) -> bool:
        try:
            return key.matches(decode_record(value))
        except DecodeError:
            return False  # what it is about is unknown

    def _is_wanted(self, frame: bytes) -> bool:
        """Return True if records that begin with these three bytes are asked for; unknown records always are."""
        types = self._wanted.types
        if types is None or len(frame) < 3 or frame[0] != FRAME_VERSION or frame[1] > 127 or frame[2] > 127:
            return True
        name = self._types.get(frame[1])
        return name is None or name in types

    def _text(self, value: bytes, base: int, file: str) -> str:
        """Return the text of a record's line after its time, up to the brace that closes its data."""
        try:
            found = decode_record(value, file=file, base=base)
        except DecodeError as error:
            return self._undecodable(error, value)
        data = compact_json(record_json(found, hide=self._hide))
        return f'{RECORD}"type":"{found.type}","version":{found.version},"data":{data}'

    def _undecodable(self, error: DecodeError, value: bytes) -> str:
        """Return the text of a record that cannot be read. Its bytes may hold secrets."""
        self._remember(error)
        raw = None if self._hide else base64.b64encode(value).decode("ascii")
        details = compact_json({"id": error.id, "message": error.reason, "value": raw})
        return f',"kind":"undecodable","type":null,"version":null,"data":null,"error":{details}'


def control_json(record: ControlRecord) -> dict[str, Any]:
    """Return a control record's data as JSON, named as in Kafka's."""
    spec = control_record(record.type)
    version = min(record.version, spec.valid_versions.highest)
    shown = to_json(spec, version, record.data)
    return {"version": record.version, **shown} if record.type in (ControlType.ABORT, ControlType.COMMIT) else shown


def _tail(file: str) -> str:
    """Return the end of a line after the data of a record: its closing brace, the file, and a line feed."""
    return f'}},"file":{compact_json(_shown(file))}}}\n'


def _shown(file: str) -> str:
    """Return a path as JSON can carry it: names may hold bytes that are not text (PEP 383)."""
    return file.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
