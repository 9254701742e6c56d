"""The records of a metadata log as rows: the lines of `log dump`, taken apart."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any, Final, cast

from kafkactl.metadata.api.places import log_files
from kafkactl.metadata.dump.lines import LineMaker, RecordFilter
from kafkactl.metadata.dump.text import compact_json
from kafkactl.metadata.io.source import LogSource
from kafkactl.metadata.log.keys import identities
from kafkactl.protocol.batch_scan import Damage
from kafkactl.protocol.log.batch_runs import BatchRun, walk_runs
from kafkactl.protocol.log.frame import MetadataRecord
from kafkactl.protocol.schema.spec import json_name
from kafkactl.spark.record_times import ALL_TIMES, Times

Row = tuple[Any, ...]
_TIME_AT: Final = 3
_OFFSET_BYTES: Final = 8  # a batch begins with the offset of its first record


def record_rows(
    source: LogSource, wanted: RecordFilter, *, times: Times = ALL_TIMES, hide: bool = True
) -> Iterator[Row]:
    """Return file, offset, epoch, time in ms, first offset of the batch, kind, type, version, key and data of each
    record; those of a checkpoint if it was named as a file, or if there is no segment. Raises what reading raises."""
    maker = LineMaker(wanted, hide=hide)
    files = log_files(source, checkpoints=not source.is_folder, from_offset=wanted.from_offset)
    for file in files:
        if file.kind == "segment" and wanted.none(file.base_offset or 0, 2**63):
            continue
        maker.begin(file.kind, file.base_offset)
        tail = len(f',"file":{compact_json(_text(file.name))}}}')
        for found in walk_runs(file.pieces(), file=file.name):
            if isinstance(found, Damage):
                deque(maker.lines_of(found, file=file.name), maxlen=0)
                continue
            for is_wanted, part in ((held, part) for run in _ascending(found) for held, part in times.divided(run)):
                if is_wanted:
                    rows = _rows_of(maker, part, file.name, tail)
                    yield from rows if times == ALL_TIMES else (row for row in rows if times.has(row[_TIME_AT]))
                else:
                    maker.pass_over(part)
    maker.end_log()


def _rows_of(maker: LineMaker, run: BatchRun, file: str, tail: int) -> Iterator[Row]:
    bases = _bases(run)
    for text in maker.lines_of(run, file=file):
        for line in text.split("\n")[:-1]:
            yield _row(file, line, tail, bases)


def _text(file: str) -> str:
    return file.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _bases(run: BatchRun) -> list[int]:
    return [int.from_bytes(run.data[at : at + _OFFSET_BYTES], "big", signed=True) for at in run.positions]


def _ascending(run: BatchRun) -> Iterator[BatchRun]:
    """Divide a run so that offsets ascend in each part: a repeated batch begins a new one."""
    bases, begin = _bases(run), 0
    for at in range(1, len(bases)):
        if bases[at] <= bases[at - 1]:
            yield BatchRun(run.data, run.base, run.positions[begin:at])
            begin = at
    yield BatchRun(run.data, run.base, run.positions[begin:])


def _row(file: str, line: str, tail: int, bases: list[int]) -> Row:
    head, _, rest = line.partition(',"data":')
    fields = json.loads(head + "}")
    kind, type = fields["kind"], fields["type"]
    data = None if kind == "undecodable" else rest[:-tail]
    at = bisect_right(bases, fields["offset"]) - 1
    batch = bases[max(at, 0)] if bases else fields["offset"]
    key = _key(type, data) if kind == "record" and data is not None else None
    return (
        file, fields["offset"], fields["epoch"], fields["timestamp_ms"], batch, kind, type, fields["version"], key,
        data,
    )  # fmt: skip


class _ByName(dict[str, Any]):
    """The fields of a record's JSON by the names of its definition."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        super().__init__(data)

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(json_name(name))
        return [_ByName(part) for part in value] if isinstance(value, list) and name == "Entity" else value


def _key(type: str, data: str) -> str | None:
    """Return the first name by which `--key` finds a record."""
    record = SimpleNamespace(type=type, data=_ByName(json.loads(data)))
    return next((value for _, value in identities(cast("MetadataRecord", record))), None)
