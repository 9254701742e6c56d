"""The file `quorum-state`: whom a node follows or voted for, in which epoch. One line of JSON without a line end.

A node that loses it may vote twice in one epoch. `data_version` 0 belongs to kraft.version 0 (static voters), 1 to
kraft.version 1 (KIP-853). Reading takes and refuses what Kafka does (`raft/.../FileQuorumStateStore.java`, tried
against 4.4.0): only the first line counts, what follows the object on it is ignored, the last of equal keys wins.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from kafkactl.core.errors import DecodeError, InputError
from kafkactl.core.frozen import frozen
from kafkactl.core.values import ZERO_UUID, Uuid

NO_NODE = -1
VERSIONS = (0, 1)
_DATA_VERSION = "data_version"
_PATH = "QuorumStateData"
_INT32 = range(-(2**31), 2**31)
_INT64 = range(-(2**63), 2**63)


@frozen
class QuorumStateFile:
    """An election as a node remembers it. -1 means no leader and for no vote.

    `cluster_id`, `applied_offset` and `current_voters` exist in data version 0 only, `voted_directory_id` in 1 only
    (zero if unknown).
    """

    data_version: int
    leader_id: int = NO_NODE
    leader_epoch: int
    voted_id: int = NO_NODE
    voted_directory_id: Uuid = ZERO_UUID
    cluster_id: str = ""
    applied_offset: int = 0
    current_voters: tuple[int, ...] = ()


def decode_quorum_state(data: bytes, *, file: str | None = None, any_version: bool = False) -> QuorumStateFile:
    """Read the file's content. `any_version`: whatever data version it names, its fields are those of 0, as Kafka
    before 3.7 reads it.

    Raises DecodeError: `quorum-state-empty`, `quorum-state-not-json`, `quorum-state-not-object`,
    `quorum-state-without-version`, `quorum-state-unknown-version`, `quorum-state-invalid-field`.
    """
    fields = _Fields(_parsed(data, file), file, _PATH)
    version = _data_version(fields, any_version=any_version)
    leader_id, leader_epoch, voted_id = (
        fields.integer(name, _INT32) for name in ("leaderId", "leaderEpoch", "votedId")
    )
    is_first = version == 0 or any_version
    return QuorumStateFile(
        data_version=version,
        leader_id=leader_id,
        leader_epoch=leader_epoch,
        voted_id=voted_id,
        voted_directory_id=ZERO_UUID if is_first else fields.uuid("votedDirectoryId"),
        cluster_id=fields.text("clusterId") if is_first else "",
        applied_offset=fields.integer("appliedOffset", _INT64) if is_first else 0,
        current_voters=_voters(fields) if is_first else (),
    )


def _voters(fields: _Fields) -> tuple[int, ...]:
    return tuple(voter.integer("voterId", _INT32) for voter in fields.objects("currentVoters"))


def _parsed(data: bytes, file: str | None) -> dict[str, Any]:
    """Return the JSON object on the first line."""

    def refuse(text: str, error_id: str, position: int = 0) -> DecodeError:
        return DecodeError(text, id=error_id, offset=position, path=_PATH, file=file)

    if not data:
        raise refuse("the file is empty", "quorum-state-empty")
    line = data.replace(b"\r", b"\n").split(b"\n", 1)[0]
    try:
        text = line.decode("utf-8")
        start = len(text) - len(text.lstrip(" \t"))
        value = _DECODER.raw_decode(text, start)[0] if start < len(text) else None
    except UnicodeDecodeError as error:
        raise refuse(f"not UTF-8: {error.reason}", "quorum-state-not-json", error.start) from error
    except json.JSONDecodeError as error:
        position = len(error.doc[: error.pos].encode("utf-8"))
        raise refuse(f"not JSON: {error.msg}", "quorum-state-not-json", position) from error
    except (ValueError, RecursionError) as error:  # a number of a thousand digits, a thousand brackets
        raise refuse("not JSON that Kafka would write", "quorum-state-not-json") from error
    if not isinstance(value, dict):
        raise refuse(f"the first line is not a JSON object: {text[:40]!r}", "quorum-state-not-object")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)  # NaN and Infinity are JSON to Python and to no other reader


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def _data_version(fields: _Fields, *, any_version: bool) -> int:
    """Return the data version as Java's `shortValue` does: 0 without a number, else the low 16 bits of an int."""
    if _DATA_VERSION not in fields.values:
        raise fields.error(f"there is no {_DATA_VERSION}", "quorum-state-without-version", _DATA_VERSION)
    value = fields.values[_DATA_VERSION]
    number = 0 if isinstance(value, bool) or not isinstance(value, (int, float)) else value
    if isinstance(number, float):
        number = int(max(-(2.0**31), min(number, 2.0**31 - 1)))
    version = (number + 2**15) % 2**16 - 2**15
    if version not in VERSIONS and not any_version:
        text = f"data_version ({version}) is not within the min (0) and max (1) supported version"
        raise fields.error(text, "quorum-state-unknown-version", _DATA_VERSION)
    return version


class _Fields:
    """The fields of a JSON object, each as its type; a missing or wrong one is `quorum-state-invalid-field`."""

    def __init__(self, values: Mapping[str, Any], file: str | None, path: str) -> None:
        self.values = values
        self._file = file
        self._path = path

    def error(self, text: str, error_id: str, name: str) -> DecodeError:
        return DecodeError(text, id=error_id, offset=0, path=f"{self._path}.{name}", file=self._file)

    def _wrong(self, name: str, value: object, expected: str) -> DecodeError:
        text = f"{value!r:.60} found, {expected} expected"
        return self.error(text, "quorum-state-invalid-field", name)

    def _get(self, name: str) -> Any:
        if name not in self.values:
            raise self.error("the field is missing", "quorum-state-invalid-field", name)
        return self.values[name]

    def integer(self, name: str, allowed: range) -> int:
        value = self._get(name)
        if type(value) is not int or value not in allowed:
            raise self._wrong(name, value, f"a number from {allowed.start} to {allowed.stop - 1}")
        return value

    def text(self, name: str) -> str:
        value = self._get(name)
        if not isinstance(value, str):
            raise self._wrong(name, value, "a text")
        return value

    def uuid(self, name: str) -> Uuid:
        value = self.text(name)
        try:
            return Uuid.parse(value)
        except InputError:
            raise self._wrong(name, value, "a uuid") from None

    def objects(self, name: str) -> list[_Fields]:
        value = self._get(name)
        if not isinstance(value, list):
            raise self._wrong(name, value, "an array")
        for index, item in enumerate(value):
            if not isinstance(item, dict):
                raise self._wrong(f"{name}[{index}]", item, "an object")
        return [_Fields(item, self._file, f"{self._path}.{name}[{index}]") for index, item in enumerate(value)]
