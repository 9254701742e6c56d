"""The records of a file as values with their places: what `replay` takes, damage included."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kafkactl.core.errors import DecodeError
from kafkactl.metadata.image.model import LogRecord
from kafkactl.protocol.batch_scan import Damage
from kafkactl.protocol.control_records import ControlRecord, decode_control_record
from kafkactl.protocol.log.batch_runs import walk_runs
from kafkactl.protocol.log.frame import MetadataRecord, decode_record
from kafkactl.protocol.record_batch import BatchHeader, Record, decode_header, decode_records


def log_records(pieces: Iterable[bytes], *, file: str) -> Iterator[LogRecord]:
    """Yield every record in the order of the file; in place of one that cannot be read, its DecodeError.

    A DecodeError of a damage bears the offset that should have come there. Raises only what `pieces` raises.
    """
    offset, epoch, timestamp_ms, damage_end = 0, -1, -1, -1
    for found in walk_runs(pieces, file=file):
        if isinstance(found, Damage):
            if found.position != damage_end:
                yield LogRecord(offset, epoch, timestamp_ms, found.error)
            damage_end = found.end
            continue
        for position in found.positions:
            try:
                header = decode_header(found.data, position, file=file, base=found.base)
            except DecodeError as error:
                yield LogRecord(offset, epoch, timestamp_ms, error)
                continue
            yield from _of_batch(found.data, header, found.base, file)
            offset, epoch, timestamp_ms = header.last_offset + 1, header.partition_leader_epoch, header.max_timestamp_ms


def _of_batch(data: bytes, header: BatchHeader, base: int, file: str) -> Iterator[LogRecord]:
    epoch = header.partition_leader_epoch
    try:
        records = decode_records(data, header, file=file, base=base)
    except DecodeError as error:
        yield LogRecord(header.base_offset, epoch, header.max_timestamp_ms, error)
        return
    read = _control if header.is_control else _data
    for record in records:
        yield LogRecord(record.offset, epoch, record.timestamp_ms, read(record, file))


def _control(record: Record, file: str) -> ControlRecord | DecodeError:
    try:
        return decode_control_record(
            record.key, record.value, file=file, key_base=record.key_position, value_base=record.value_position
        )
    except DecodeError as error:
        return error


def _data(record: Record, file: str) -> MetadataRecord | DecodeError:
    if record.key is not None or record.value is None:
        text = "a metadata record has a value and no key"
        return DecodeError(text, id="not-a-metadata-record", offset=record.position, path="RecordBatch", file=file)
    try:
        return decode_record(record.value, file=file, base=record.value_position)
    except DecodeError as error:
        return error
