"""Control records: what a log states about itself, not about the cluster.

A control record's key is two int16: a version (0) and the type. Its value is the bare message, without the frame that
metadata records have. Source: `clients/.../record/ControlRecordType.java`, `ControlRecordUtils.java`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from kafkactl.core.errors import DecodeError
from kafkactl.core.frozen import frozen
from kafkactl.protocol.codec import Message, decode_message, encode_message
from kafkactl.protocol.primitives import Reader, Writer
from kafkactl.protocol.schema.definitions import control_record
from kafkactl.protocol.schema.spec import MessageSpec


class ControlType(IntEnum):
    """The types of control records, by their number in the key."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6

    @property
    def record_name(self) -> str:
        """Return the name in DumpLogSegments and in every answer, such as `LeaderChange`."""
        return _RECORD_NAMES[self]


_RECORD_NAMES = {
    ControlType.ABORT: "Abort",
    ControlType.COMMIT: "Commit",
    ControlType.LEADER_CHANGE: "LeaderChange",
    ControlType.SNAPSHOT_HEADER: "SnapshotHeader",
    ControlType.SNAPSHOT_FOOTER: "SnapshotFooter",
    ControlType.KRAFT_VERSION: "KRaftVersion",
    ControlType.KRAFT_VOTERS: "KRaftVoters",
}

# Producer transactions end with a message that a version precedes; the others carry a Version field of their own.
_MARKERS = frozenset({ControlType.ABORT, ControlType.COMMIT})
_VERSION = "Version"
KEY_VERSION = 0


@frozen
class ControlRecord:
    """A control record; `data` is keyed by the field names of its definition, `version` the one that it was read in."""

    type: ControlType
    data: Message
    version: int = 0


def encode_control_record(record_type: ControlType, data: Mapping[str, Any]) -> tuple[bytes, bytes]:
    """Encode key and value. A missing field takes its default; `Version` picks the message's version."""
    key = Writer()
    key.number("int16", KEY_VERSION)
    key.number("int16", int(record_type))
    spec = control_record(record_type)
    if record_type not in _MARKERS:
        return key.to_bytes(), encode_message(spec, _version_named(spec, data.get(_VERSION)), data)
    prefix = Writer()
    prefix.number("int16", data.get(_VERSION, 0))
    message = {name: held for name, held in data.items() if name != _VERSION}
    return key.to_bytes(), prefix.to_bytes() + encode_message(spec, spec.valid_versions.highest, message)


def decode_control_record(
    key: bytes | None, value: bytes | None, *, file: str | None = None, key_base: int = 0, value_base: int = 0
) -> ControlRecord:
    """Return a control record from its key and value, which begin at `key_base` and `value_base` in `file`.

    Raises DecodeError, `unknown-control-record` for a type that is not in `ControlType`.
    """
    record_type = _decode_type(key, file=file, base=key_base)
    if value is None:
        raise _error(f"a {record_type.name} record without a value", "null-not-allowed", value_base, file)
    spec = control_record(record_type)
    if record_type in _MARKERS:
        data = _decode_marker(spec, value, file=file, base=value_base)
        return ControlRecord(type=record_type, data=data, version=data[_VERSION])
    data, version = _decode_value(spec, value, file=file, base=value_base)
    return ControlRecord(type=record_type, data=data, version=version)


def _decode_type(key: bytes | None, *, file: str | None, base: int) -> ControlType:
    if key is None:
        raise _error("a control record without a key", "null-not-allowed", base, file)
    reader = Reader(key, file=file, base=base)
    reader.path.append("ControlRecord")
    version, number = reader.int16(), reader.int16()
    if version < KEY_VERSION:
        message = f"a key of version {version}; expected {KEY_VERSION} or more"
        raise reader.error(message, id="unsupported-message-version", position=0)
    try:
        return ControlType(number)
    except ValueError:
        known = ", ".join(f"{control_type.value} {control_type.name}" for control_type in ControlType)
        message = f"the type {number} is not known; there are {known}"
        raise reader.error(message, id="unknown-control-record", position=2) from None


def _decode_value(spec: MessageSpec, value: bytes, *, file: str | None, base: int) -> tuple[Message, int]:
    """Return the message and its version: the one that its own first field names.

    Kafka up to 4.4 writes and reads every version of LeaderChangeMessage in the form of version 0
    (`ControlRecordUtils.java`), so if the named version does not fit the bytes, version 0 is tried.
    """
    version = _version_named(spec, int.from_bytes(value[:2], "big", signed=True))
    try:
        return _decode_whole(spec, version, value, file=file, base=base), version
    except DecodeError as error:
        try:
            return _decode_whole(spec, 0, value, file=file, base=base), 0
        except DecodeError:
            raise error from None


def _version_named(spec: MessageSpec, named: object) -> int:
    """Return the version of the message to use if its Version field holds `named`."""
    return min(max(named, 0), spec.valid_versions.highest) if isinstance(named, int) else 0


def _decode_whole(spec: MessageSpec, version: int, value: bytes, *, file: str | None, base: int) -> Message:
    message, end = decode_message(spec, version, value, file=file, base=base)
    if end != len(value):
        text = f"{len(value) - end} bytes behind the end"
        raise DecodeError(text, id="trailing-bytes", offset=base + end, path=spec.name, file=file)
    return message


def _decode_marker(spec: MessageSpec, value: bytes, *, file: str | None, base: int) -> Message:
    """Decode the end of a producer's transaction; bytes after it belong to later versions
    (`EndTransactionMarker.java`)."""
    reader = Reader(value, file=file, base=base)
    reader.path.append(spec.name)
    version = reader.int16()
    if version < 0:
        raise reader.error(f"the version {version}", id="unsupported-message-version", position=0)
    message, _ = decode_message(spec, spec.valid_versions.highest, value, file=file, offset=2, base=base)
    return {_VERSION: version, **message}


def _error(message: str, error_id: str, position: int, file: str | None) -> DecodeError:
    return DecodeError(message, id=error_id, offset=position, path="ControlRecord", file=file)
