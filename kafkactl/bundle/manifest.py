"""`manifest.json` of a bundle: what was gathered, what was not and why, and the SHA-256 of every member."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Final, Literal, TypeVar

from kafkactl.bundle.members import MANIFEST, is_member_name
from kafkactl.core.answers import by_fields, json_of
from kafkactl.core.errors import InputError
from kafkactl.core.frozen import frozen
from kafkactl.core.json_input import JsonInputError, parse_json

KIND: Final = "bundle.manifest"
SCHEMA_VERSION: Final = 1
GATHERED: Final = "gathered"
FAILED: Final = "failed"
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
Value = TypeVar("Value")


@frozen
class Member:
    """A file in the archive."""

    path: str
    size: int
    sha256: str

    to_dict = by_fields


@frozen
class PartError:
    """Reason why a part was not gathered."""

    id: str
    message: str
    next_step: str

    to_dict = by_fields


@frozen
class PartResult:
    """A part of a bundle and what became of it."""

    name: str
    """The command that gives it, with a number if there are several."""
    about: str
    members: tuple[str, ...] = ()
    """Files of the part in the archive."""
    exit_code: int | None = None
    """The exit code of that command; None for a part that failed."""
    error: PartError | None = None

    @property
    def is_gathered(self) -> bool:
        """Return True if it is in the bundle."""
        return self.error is None

    @property
    def state(self) -> Literal["gathered", "failed"]:
        """Return `gathered` or `failed`."""
        return GATHERED if self.is_gathered else FAILED

    to_dict = json_of("name", "about", "state", "exit_code", "members", "error")


@frozen
class SavedLog:
    """A metadata log in a bundle."""

    number: int
    source: str
    """Source from which the log was read."""
    folder: str
    """Folder of the log in the archive."""
    cluster_id: str | None
    replaced: Mapping[str, int] = field(default_factory=dict)
    """Values that differ from those of the node: records of SCRAM credentials, ids of delegation tokens, values of
    configurations, and bytes that could not be read and were blanked."""

    to_dict = by_fields


@frozen
class Manifest:
    """The description of a bundle's content. `created_ms` is in milliseconds since the epoch. `cluster_id` is None if
    no part contains one, or if several parts contain different ones."""

    kafkactl_version: str
    created_ms: int
    cluster_id: str | None
    """None if nothing shows it, or the parts show several."""
    parts: tuple[PartResult, ...]
    logs: tuple[SavedLog, ...] = ()
    members: tuple[Member, ...] = ()
    """Files of the archive except the manifest itself."""

    def part(self, name: str) -> PartResult | None:
        """Return the part with this name."""
        return next((part for part in self.parts if part.name == name), None)

    to_dict = by_fields


def render_manifest(manifest: Manifest) -> bytes:
    """Return the bytes of the file; equal manifests give equal bytes."""
    document = {"kind": KIND, "schema_version": SCHEMA_VERSION, **manifest.to_dict()}
    return json.dumps(document, indent=1, ensure_ascii=True).encode() + b"\n"


def parse_manifest(data: bytes, *, file: str) -> Manifest:
    """Return the manifest of the bundle `file`. Raises InputError `invalid-bundle`, `bundle-too-new`."""
    try:
        document = parse_json(data)
    except JsonInputError as error:
        raise _invalid(file, f"is not JSON: {error}") from None
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise _invalid(file, f"is of another kind than {KIND}")
    version = document.get("schema_version")
    if type(version) is int and version > SCHEMA_VERSION:
        raise InputError(
            f"the bundle {file} has the schema version {version}, and this kafkactl reads up to {SCHEMA_VERSION}",
            id="bundle-too-new",
        )
    if version != SCHEMA_VERSION:
        raise _invalid(file, "has no schema version")
    try:
        return _manifest(document)
    except _WrongShapeError as error:
        raise _invalid(file, str(error)) from error


def _invalid(file: str, why: str) -> InputError:
    return InputError(f"{MANIFEST} in the bundle {file} {why}", id="invalid-bundle")


class _WrongShapeError(Exception):
    """A value of another type than the manifest has there."""


def _manifest(found: Mapping[str, Any]) -> Manifest:
    return Manifest(
        kafkactl_version=_text(found, "kafkactl_version"),
        created_ms=_number(found, "created_ms"),
        cluster_id=_text_or_none(found, "cluster_id"),
        parts=_each(found, "parts", _part),
        logs=_each(found, "logs", _log),
        members=_each(found, "members", _member),
    )


def _part(found: Mapping[str, Any]) -> PartResult:
    error = found.get("error")
    code = found.get("exit_code")
    if not (error is None or isinstance(error, dict)) or not (code is None or type(code) is int):
        raise _WrongShapeError("has a part whose error is not an object or whose exit code is not a number")
    return PartResult(
        name=_text(found, "name"),
        about=_text(found, "about"),
        members=tuple(_names(found)),
        exit_code=code,
        error=None
        if error is None
        else PartError(id=_text(error, "id"), message=_text(error, "message"), next_step=_text(error, "next_step")),
    )


def _names(found: Mapping[str, Any]) -> list[str]:
    names = found.get("members")
    if not isinstance(names, list) or not all(isinstance(name, str) and is_member_name(name) for name in names):
        raise _WrongShapeError("has a part whose members are not names")
    return names


def _log(found: Mapping[str, Any]) -> SavedLog:
    replaced = found.get("replaced")
    if not isinstance(replaced, dict) or not all(type(count) is int for count in replaced.values()):
        raise _WrongShapeError("has a log that does not say what was replaced in it")
    return SavedLog(
        number=_number(found, "number"),
        source=_text(found, "source"),
        folder=_text(found, "folder"),
        cluster_id=_text_or_none(found, "cluster_id"),
        replaced=replaced,
    )


def _member(found: Mapping[str, Any]) -> Member:
    path, sha256 = _text(found, "path"), _text(found, "sha256")
    if not is_member_name(path) or not _SHA256.fullmatch(sha256):
        raise _WrongShapeError("names a member without a path or SHA-256 of such a member")
    return Member(path=path, size=_number(found, "size"), sha256=sha256)


def _each(found: Mapping[str, Any], name: str, make: Callable[[Mapping[str, Any]], Value]) -> tuple[Value, ...]:
    values = found.get(name)
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise _WrongShapeError(f"has no list of objects {name}")
    return tuple(map(make, values))


def _text(found: Mapping[str, Any], name: str) -> str:
    value = found.get(name)
    if not isinstance(value, str):
        raise _WrongShapeError(f"has no text {name}")
    return value


def _text_or_none(found: Mapping[str, Any], name: str) -> str | None:
    return None if found.get(name) is None else _text(found, name)


def _number(found: Mapping[str, Any], name: str) -> int:
    value = found.get(name)
    if type(value) is not int or value < 0:
        raise _WrongShapeError(f"has no number {name}")
    return value
