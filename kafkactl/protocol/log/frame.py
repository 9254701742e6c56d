"""The frame around every record of the metadata log, and of the topic of KIP-405: which message follows.

`unsigned varint frame version (1) · unsigned varint api key · unsigned varint version · message`, and nothing after.
Frame 0 was that of the 2.8 preview; no later Kafka reads it. Source: `server-common/.../AbstractApiMessageSerde.java`.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from kafkactl.core.errors import DecodeError, EncodeError, SchemaError
from kafkactl.core.frozen import frozen
from kafkactl.protocol.codec import Message, decode_message, encode_message
from kafkactl.protocol.primitives import Reader, base128
from kafkactl.protocol.schema.definitions import metadata_record
from kafkactl.protocol.schema.spec import MessageSpec

if TYPE_CHECKING:
    from kafkactl.protocol.compiled import Decoder

_WORTH_COMPILING = 64  # records of one kind: writing and compiling a decoder takes as long as reading so many
FRAME_VERSION = 1
_FRAME_BYTES = 3  # of the usual frame, in which each part takes one
_INT16_MAX = 0x7FFF  # api keys and versions are int16


@frozen
class MetadataRecord:
    """A record of the metadata log: `type` is its name in Kafka (`PartitionRecord`), `data` as in the codec."""

    type: str
    api_key: int
    version: int
    data: Message = field(repr=False)  # may hold SCRAM keys and passwords


def encode_record(spec: MessageSpec, version: int, value: Mapping[str, Any]) -> bytes:
    """Return the framed bytes of a record. Raise EncodeError if the value does not fit the message at this version."""
    if spec.api_key is None:
        raise EncodeError("only a message with an api key can be a record", id="not-a-record", path=spec.name)
    content = encode_message(spec, version, value)
    return bytes([FRAME_VERSION]) + base128(spec.api_key) + base128(version) + content


def decode_record(
    data: bytes,
    *,
    file: str | None = None,
    base: int = 0,
    find: Callable[[int], MessageSpec] = metadata_record,
) -> MetadataRecord:
    """Return the record that `data` holds and nothing else; `base` is its begin in `file`.

    `find` gives the message of an api key (`definitions.remote_log_record` for the topic of KIP-405). Raises
    DecodeError: `unsupported-frame-version`, `unknown-record-type`, `unsupported-message-version`, `trailing-bytes`,
    or what is wrong with the message.
    """
    # Each part of the usual frame takes one byte; whatever is unusual or wrong goes the careful way.
    if len(data) > 2 and data[0] == FRAME_VERSION and data[1] < 0x80 and data[2] < 0x80:
        api_key, version, position = data[1], data[2], 3
    else:
        api_key, version, position = _read_frame(data, file=file, base=base)
    kind = _kind_of(api_key, version, find)
    if kind is None:
        raise _unknown(data, api_key, version, find, file=file, base=base)
    value, end = kind.decode(data, file=file, offset=position, base=base)
    if end != len(data):
        text = f"{len(data) - end} bytes behind the end"
        raise DecodeError(text, id="trailing-bytes", offset=base + end, path=kind.name, file=file)
    return MetadataRecord(type=kind.name, api_key=api_key, version=version, data=value)


def expect(values: Iterable[bytes]) -> None:
    """Prepare to decode these records of the metadata log: the decoders of frequent kinds are compiled now, instead of
    after the first records, which the reference codec would read."""
    for head, count in Counter(value[:_FRAME_BYTES] for value in values).items():
        if count >= _WORTH_COMPILING and len(head) == _FRAME_BYTES and head[0] == FRAME_VERSION and max(head) < 0x80:
            kind = _kind_of(head[1], head[2], metadata_record)
            if kind is not None:
                kind.compile()


def _read_frame(data: bytes, *, file: str | None, base: int) -> tuple[int, int, int]:
    """Return api key, version, and the position of the message."""
    reader = Reader(data, file=file, base=base)
    reader.path.append("frame")
    frame_version = reader.unsigned_varint()
    if frame_version != FRAME_VERSION:
        message = f"the frame version {frame_version}; only {FRAME_VERSION} is known"
        raise reader.error(message, id="unsupported-frame-version", position=0)
    numbers = []
    for what in ("api key", "version"):
        start = reader.position
        number = reader.unsigned_varint()
        if number > _INT16_MAX:
            raise reader.error(f"the {what} {number} is above {_INT16_MAX}", id="varint-overflow", position=start)
        numbers.append(number)
    return numbers[0], numbers[1], reader.position


class _Kind:
    """A record type at a version. `decode` is the reference codec for the first records, then the compiled one."""

    __slots__ = ("_left", "_spec", "_version", "decode", "name")

    def __init__(self, spec: MessageSpec, version: int) -> None:
        self.name = spec.name
        self.decode: Decoder = self._careful
        self._spec = spec
        self._version = version
        self._left = _WORTH_COMPILING

    def compile(self) -> None:
        """Switch to the compiled codec."""
        if self._left >= 0:
            from kafkactl.protocol.compiled import decoder

            self._left = -1
            self.decode = decoder(self._spec, self._version)

    def _careful(self, data: bytes, *, file: str | None = None, offset: int = 0, base: int = 0) -> tuple[Message, int]:
        self._left -= 1
        if self._left == 0:
            self.compile()
        return decode_message(self._spec, self._version, data, file=file, offset=offset, base=base)


@functools.lru_cache(maxsize=1024)  # hostile bytes may name a million kinds
def _kind_of(api_key: int, version: int, find: Callable[[int], MessageSpec]) -> _Kind | None:
    """Return the kind of an api key and version; None if it does not exist."""
    spec = _find(api_key, find)
    if spec is None or version not in spec.valid_versions:
        return None
    return _Kind(spec, version)


def _find(api_key: int, find: Callable[[int], MessageSpec]) -> MessageSpec | None:
    try:
        return find(api_key)
    except SchemaError as error:
        if error.id != "unknown-definition":
            raise
        return None


def _unknown(
    data: bytes, api_key: int, version: int, find: Callable[[int], MessageSpec], *, file: str | None, base: int
) -> DecodeError:
    spec = _find(api_key, find)
    reader = Reader(data, file=file, base=base)
    reader.path.append("frame" if spec is None else spec.name)
    reader.unsigned_varint()
    if spec is None:
        return reader.error(f"no record type has the api key {api_key}", id="unknown-record-type")
    reader.unsigned_varint()
    message = f"version {version} is not known; expected {spec.valid_versions}"
    return reader.error(message, id="unsupported-message-version")
