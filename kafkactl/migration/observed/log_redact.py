"""A metadata log without its secrets, as an observation saves it.

The law: offsets, epochs, times and every record stay; SCRAM keys and the values of password configurations become
`<redacted>`. What cannot be read, and so could be anything, is blanked, and stays unreadable in the same place. Ids of
delegation tokens stay, as in a saved ZooKeeper tree. A batch in which nothing has to be hidden keeps its very bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from kafkactl.errors import DecodeError, EncodeError
from kafkactl.metadata.image.redact import REDACTED, shown_config
from kafkactl.metadata.log.batch_runs import BatchRun
from kafkactl.metadata.log.frame import FRAME_VERSION, MetadataRecord, decode_record, encode_record
from kafkactl.metadata.replay.batches import BATCH_HEAD, UNUSUAL_BITS, framed
from kafkactl.protocol.batch_scan import Damage
from kafkactl.protocol.record_batch import (
    HEADER_BYTES,
    LENGTH_END,
    MAGIC,
    MAGIC_POSITION,
    BatchHeader,
    Record,
    decode_header,
    decode_records,
    encode_batch,
)
from kafkactl.schema.definitions import message

REDACTED_BYTES: Final = REDACTED.encode()
"""What stands in place of salt and keys of a SCRAM credential."""
_CONFIG, _SCRAM = 4, 11  # api keys of the records that may hold secrets
_SAFE: Final = frozenset(range(30)) - {_CONFIG, _SCRAM}
_SCRAM_FIELDS: Final = ("Salt", "StoredKey", "ServerKey")
_FRAME_BYTES: Final = 3  # frame, api key and version; without what follows no record can be read


def redact_runs(runs: Iterable[BatchRun | Damage]) -> Iterator[bytes]:
    """The bytes of a file in pieces, in their order, without secrets. Takes what `walk_runs` gives."""
    for run in runs:
        if isinstance(run, Damage):
            yield _blank(run.end - run.position, is_cut=run.error.id == "truncated-batch")
            continue
        for at in run.positions:
            length = int.from_bytes(run.data[at + LENGTH_END - 4 : at + LENGTH_END], "big")
            yield redact_batch(run.data[at : at + LENGTH_END + length])


def redact_batch(data: bytes) -> bytes:
    """One whole and sound batch without secrets."""
    if _is_safe(data):
        return data
    try:
        header = decode_header(data, 0)
        if header.is_control:
            return data
        records = decode_records(data, header)
    except DecodeError:
        return _blank(len(data))
    values = [_value(record) for record in records]
    if all(record.key is None and record.value is value for record, value in zip(records, values, strict=True)):
        return data
    return _encoded(header, records, values) or _blank(len(data))


def _is_safe(data: bytes) -> bool:
    """Whether none of its records is of a type that may hold a secret; False where that is not seen at once."""
    _, length, _, attributes, delta, _, _, count = BATCH_HEAD.unpack_from(data, 0)
    if attributes & UNUSUAL_BITS or delta != count - 1:
        return False
    places = framed(data, HEADER_BYTES, LENGTH_END + length, count)
    return places is not None and all(
        data[start] == FRAME_VERSION and data[start + 1] in _SAFE for start in places[::2]
    )


def _value(record: Record) -> bytes:
    """What stands for the value of a record; the same object where nothing has to be hidden."""
    value = record.value or b""
    if record.key is not None or record.value is None:
        return b""
    try:
        found = decode_record(value)
    except DecodeError:
        return value[:_FRAME_BYTES]
    hidden = _hidden(found)
    if hidden is None:
        return value
    try:
        return encode_record(message(found.type), found.version, hidden)
    except EncodeError:
        return value[:_FRAME_BYTES]


def _hidden(record: MetadataRecord) -> dict[str, object] | None:
    """The data of a record without its secrets; None where it has none."""
    data = record.data
    if record.api_key == _SCRAM:
        return {**data, **dict.fromkeys(_SCRAM_FIELDS, REDACTED_BYTES)}
    if record.api_key != _CONFIG:
        return None
    shown = shown_config(data["ResourceType"], data["Name"], data["Value"])
    return None if shown == data["Value"] else {**data, "Value": shown}


def _encoded(header: BatchHeader, records: tuple[Record, ...], values: list[bytes]) -> bytes | None:
    """The batch with other values; None where it is not of Kafka's making, with gaps in its offsets."""
    if [record.offset for record in records] != list(range(header.base_offset, header.last_offset + 1)):
        return None
    return encode_batch(
        [(None, value) for value in values],
        base_offset=header.base_offset,
        timestamp_ms=header.base_timestamp_ms,
        partition_leader_epoch=header.partition_leader_epoch,
    )


def _blank(size: int, *, is_cut: bool = False) -> bytes:
    """As many bytes that say nothing, and look like a batch whose CRC is wrong, or the beginning of one that is cut."""
    head = bytearray(max(size, HEADER_BYTES))
    length = max(size - LENGTH_END, HEADER_BYTES - LENGTH_END) + is_cut
    head[LENGTH_END - 4 : LENGTH_END] = length.to_bytes(4, "big")
    head[MAGIC_POSITION] = MAGIC
    if is_cut and 0 < size < LENGTH_END:
        head[size - 1] = 1  # before the length is whole nothing else tells it from the zeros behind a log
    return bytes(head[:size])
