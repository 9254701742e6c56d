"""The registrations of brokers in the segments of a log, found by their bytes without decoding the rest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from kafkactl.core.errors import DecodeError
from kafkactl.metadata.io.source import SEGMENT, LogFile
from kafkactl.metadata.log.turns import BrokerStart
from kafkactl.protocol.log.batch_runs import BatchRun, walk_runs
from kafkactl.protocol.log.frame import MetadataRecord, decode_record
from kafkactl.protocol.record_batch import decode_header, decode_records
from kafkactl.protocol.schema.definitions import message

_FRAME: Final = bytes([1, message("RegisterBrokerRecord").api_key or 0])  # the frame's version, and the type
# A record without a key whose value begins so: the key's length (-1), that of the value, the frame, the version.
_RECORD: Final = rb"\x01[\x80-\xff]{0,3}[\x00-\x7f]" + re.escape(_FRAME) + rb"[\x00-\x0f]"


def broker_starts(files: Iterable[LogFile]) -> Iterator[BrokerStart]:
    """Yield the registrations in the order of the log, damaged records left out. Raises what the pieces raise."""
    for file in files:
        if file.kind != SEGMENT:
            continue
        for run in walk_runs(file.pieces(), file=file.name):
            if isinstance(run, BatchRun):
                yield from _in_run(run, file.name)


def _in_run(run: BatchRun, file: str) -> Iterator[BrokerStart]:
    found = re.compile(_RECORD, re.DOTALL)
    for position in run.positions:
        header = decode_header(run.data, position, file=file, base=run.base)
        if header.is_control or not found.search(run.data, position, position + header.size_bytes):
            continue
        try:
            for record in decode_records(run.data, header, file=file, base=run.base):
                if record.value is not None and record.value.startswith(_FRAME):
                    yield _start(decode_record(record.value, file=file), record.offset, record.timestamp_ms)
        except DecodeError:
            continue  # the replay reports it


def _start(record: MetadataRecord, offset: int, timestamp_ms: int) -> BrokerStart:
    places = (f"{point['Host']}:{point['Port']}" for point in record.data["EndPoints"])
    return BrokerStart(
        broker=record.data["BrokerId"],
        offset=offset,
        timestamp_ms=timestamp_ms,
        incarnation=record.data["IncarnationId"],
        addresses=tuple(sorted(places)),
    )
