"""A metadata log without its secrets, as an observation saves it.

Invariant: offsets, epochs, times and every record stay; SCRAM keys and the values of password configurations become
`<redacted>`. What cannot be read, and so could be anything, is blanked, and stays unreadable in the same place. Ids of
delegation tokens stay, as in a saved ZooKeeper tree, unless `Replacements` are given. A batch in which nothing has to
be hidden keeps its very bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from kafkactl.core.errors import DecodeError, EncodeError
from kafkactl.protocol.batch_scan import Damage
from kafkactl.protocol.compiled_runtime import IrregularError
from kafkactl.protocol.log.batch_runs import BATCH_HEAD, UNUSUAL_BITS, BatchRun
from kafkactl.protocol.log.frame import FRAME_VERSION, MetadataRecord, decode_record, encode_record
from kafkactl.protocol.plain_records import plain_spans
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
from kafkactl.protocol.redact import REDACTED, shown_config
from kafkactl.protocol.schema.definitions import message

REDACTED_BYTES: Final = REDACTED.encode()
"""The replacement of salt and keys of a SCRAM credential."""
_CONFIG, _SCRAM = 4, 11  # api keys of the records that may hold secrets
_TOKENS: Final = frozenset({10, 26})  # of those that name a delegation token
_SAFE: Final = frozenset(range(30)) - {_CONFIG, _SCRAM}
_SCRAM_FIELDS: Final = ("Salt", "StoredKey", "ServerKey")
_FRAME_BYTES: Final = 3  # frame, api key and version; without what follows no record can be read


SCRAM, CONFIG, TOKEN, UNREADABLE = "scram_credentials", "config_values", "delegation_token_ids", "unreadable_bytes"


class Replacements:
    """Replacements of secrets and of ids of delegation tokens, each id by a number of its own; they are counted.

    A value of this class is given for all files that belong together: a token has the same number in all of them.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._tokens: dict[str, str] = {}

    def token(self, id: str) -> str:
        """Return the replacement of the id of a token."""
        return self._tokens.setdefault(id, f"{REDACTED[:-1]}-{len(self._tokens) + 1}>")


def redact_runs(runs: Iterable[BatchRun | Damage], replacements: Replacements | None = None) -> Iterator[bytes]:
    """Yield the bytes of a file in pieces, in order, without secrets. `walk_runs` gives the input.

    A piece is a whole run of batches: with one batch in each, readers of the pieces take ten times as long.
    """
    for run in runs:
        if isinstance(run, Damage):
            yield _blank(run.end - run.position, is_cut=run.error.id == "truncated-batch", replacements=replacements)
            continue
        yield b"".join(redact_batch(batch, replacements) for batch in _batches(run))


def _batches(run: BatchRun) -> Iterator[bytes]:
    for at in run.positions:
        length = int.from_bytes(run.data[at + LENGTH_END - 4 : at + LENGTH_END], "big")
        yield run.data[at : at + LENGTH_END + length]


def redact_batch(data: bytes, replacements: Replacements | None = None) -> bytes:
    """Return a whole and sound batch without secrets."""
    if _is_safe(data, _SAFE if replacements is None else _SAFE - _TOKENS):
        return data
    try:
        header = decode_header(data, 0)
        if header.is_control:
            return data
        records = decode_records(data, header)
    except DecodeError:
        return _blank(len(data), replacements=replacements)
    values = [_value(record, replacements) for record in records]
    if all(record.key is None and record.value is value for record, value in zip(records, values, strict=True)):
        return data
    return _encoded(header, records, values) or _blank(len(data), replacements=replacements)


def _is_safe(data: bytes, safe: frozenset[int]) -> bool:
    """Return True if all records are known to be of types without secrets; False if that takes decoding."""
    _, length, _, attributes, delta, _, _, count = BATCH_HEAD.unpack_from(data, 0)
    if attributes & UNUSUAL_BITS or delta != count - 1:
        return False
    try:
        spans = plain_spans(data, HEADER_BYTES, LENGTH_END + length, count)
    except IrregularError:
        return False
    return all(
        stop - start >= _FRAME_BYTES and data[start] == FRAME_VERSION and data[start + 1] in safe
        for _, start, stop in spans
    )


def _value(record: Record, replacements: Replacements | None) -> bytes:
    """Return the replacement of a record's value; the same object if nothing has to be hidden."""
    value = record.value or b""
    if record.key is not None or record.value is None:
        return b""
    try:
        found = decode_record(value)
    except DecodeError:
        return _without_rest(value, replacements)
    hidden, what = _hidden(found, replacements)
    if hidden is None:
        return value
    try:
        encoded = encode_record(message(found.type), found.version, hidden)
    except EncodeError:
        return _without_rest(value, replacements)
    if replacements is not None:
        replacements.counts[what] += 1
    return encoded


def _without_rest(value: bytes, replacements: Replacements | None) -> bytes:
    if replacements is not None:
        replacements.counts[UNREADABLE] += max(0, len(value) - _FRAME_BYTES)
    return value[:_FRAME_BYTES]


def _hidden(record: MetadataRecord, replacements: Replacements | None) -> tuple[dict[str, object] | None, str]:
    """Return the data of a record without its secrets, None if it has none; and the kinds of what was hidden."""
    data = record.data
    if record.api_key == _SCRAM:
        return {**data, **dict.fromkeys(_SCRAM_FIELDS, REDACTED_BYTES)}, SCRAM
    if record.api_key in _TOKENS and replacements is not None:
        return {**data, "TokenId": replacements.token(data["TokenId"])}, TOKEN
    if record.api_key != _CONFIG:
        return None, ""
    shown = shown_config(data["ResourceType"], data["Name"], data["Value"])
    return None if shown == data["Value"] else {**data, "Value": shown}, CONFIG


def _encoded(header: BatchHeader, records: tuple[Record, ...], values: list[bytes]) -> bytes | None:
    """Return the batch with other values; None if it has gaps in its offsets, which Kafka never makes."""
    if header.last_offset - header.base_offset + 1 != len(records) or any(
        record.offset != offset for offset, record in enumerate(records, header.base_offset)
    ):
        return None
    return encode_batch(
        [(None, value) for value in values],
        base_offset=header.base_offset,
        timestamp_ms=header.base_timestamp_ms,
        partition_leader_epoch=header.partition_leader_epoch,
    )


def _blank(size: int, *, is_cut: bool = False, replacements: Replacements | None = None) -> bytes:
    """Return as many blank bytes, which look like a batch with a wrong CRC or the beginning of a cut one."""
    if replacements is not None:
        replacements.counts[UNREADABLE] += size
    head = bytearray(max(size, HEADER_BYTES))
    length = max(size - LENGTH_END, HEADER_BYTES - LENGTH_END) + is_cut
    head[LENGTH_END - 4 : LENGTH_END] = length.to_bytes(4, "big")
    head[MAGIC_POSITION] = MAGIC
    if is_cut and 0 < size < LENGTH_END:
        head[size - 1] = 1  # before the length is whole nothing else distinguishes it from the zeros behind a log
    return bytes(head[:size])
