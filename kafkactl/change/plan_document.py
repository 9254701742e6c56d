"""Format of every plan file: one JSON object with kind, version and a checksum of everything else in it.

What this file guards: a plan that is applied is the plan that was reviewed. The checksum finds what was cut off or
changed by hand; it is made without a key, so it does not prove who made the plan. Therefore each kind of plan is also
made once more from the live state before it is applied, and compared.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, TypeVar

from kafkactl.core.errors import InputError, RefusedError
from kafkactl.core.json_input import JsonInputError, parse_json
from kafkactl.core.safe_text import escaped

PLAN_FILE_MODE = 0o600
CHECKSUM = "plan_sha256"

_UNFIT = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
_Value = TypeVar("_Value")


def sealed(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document with its checksum."""
    return {**document, CHECKSUM: checksum(document)}


def checksum(document: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the canonical JSON without the checksum itself: sorted keys, no blanks, UTF-8."""
    rest = {key: value for key, value in document.items() if key != CHECKSUM}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def render_document(document: Mapping[str, Any]) -> bytes:
    """Return the file: JSON with sorted keys, its checksum included."""
    return (escaped(json.dumps(sealed(document), indent=1, sort_keys=True, ensure_ascii=False)) + "\n").encode("utf-8")


def read_document(data: bytes, *, file: str, kind: str, schema_version: int, made_by: str) -> dict[str, Any]:
    """Return the object in a plan file of this kind; `made_by` is the command that makes one.

    Raises InputError `not-a-plan-file` (not JSON, not a plan of this kind, a plan of another version) and RefusedError
    `plan-file-edited` if the checksum does not fit the rest.
    """
    document = _load(data, file, made_by)
    if document.get("kind") != kind:
        raise not_a_plan(file, f'expected "kind": "{kind}", found {document.get("kind")!r}', made_by)
    if document.get("schema_version") != schema_version:
        found = document.get("schema_version")
        raise not_a_plan(file, f"schema_version is {found!r}, this kafkactl knows {schema_version}", made_by)
    expected = checksum(document)
    if document.get(CHECKSUM) != expected:
        raise RefusedError(
            f"{file} was changed after it was planned: its checksum is {expected}, "
            f"and plan_sha256 says {document.get(CHECKSUM)}",
            id="plan-file-edited",
        )
    return document


def not_a_plan(file: str, why: str, made_by: str) -> InputError:
    """Return the error for a file that is not a plan of the expected kind."""
    return InputError(
        f"{file} is not a plan of kafkactl: {why}", id="not-a-plan-file", next_step=f"Make one with `{made_by}`."
    )


def _load(data: bytes, file: str, made_by: str) -> dict[str, Any]:
    try:
        document = parse_json(data, unique_keys=True)
    except JsonInputError as error:
        raise not_a_plan(file, f"not JSON: {error}", made_by) from None
    if not isinstance(document, dict):
        raise not_a_plan(file, "expected a JSON object", made_by)
    return document


def checked(value: Any, type_: type[_Value], key: str) -> _Value:
    """Return the value, if it has this type. Raises ValueError; a number has 64 bits, a text no control characters."""
    if not isinstance(value, type_) or (isinstance(value, bool) and type_ is not bool):
        raise ValueError(f"{key} is {type(value).__name__}, expected is {type_.__name__}")
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        raise ValueError(f"{key} is a number of more than 64 bits")
    if isinstance(value, str) and _UNFIT.search(value):
        raise ValueError(f"{key} holds a control character or half a character")
    return value


def text_in(document: Mapping[str, Any], key: str) -> str:
    """Return a text. Raises ValueError, and KeyError if there is none, as the functions below do."""
    return checked(document[key], str, key)


def number_in(document: Mapping[str, Any], key: str) -> int:
    """Return a whole number of 64 bits."""
    return checked(document[key], int, key)


def flag_in(document: Mapping[str, Any], key: str) -> bool:
    """Return the boolean with this key."""
    return checked(document[key], bool, key)


def table_in(document: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return an object."""
    return checked(document[key], dict, key)


def list_in(document: Mapping[str, Any], key: str) -> list[Any]:
    """Return a list of anything."""
    return checked(document[key], list, key)


def tables_in(document: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """Return a list of objects."""
    return [checked(item, dict, key) for item in list_in(document, key)]


def texts_in(document: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Return a list of texts."""
    return tuple(checked(item, str, key) for item in list_in(document, key))


def levels_in(document: Mapping[str, Any], key: str) -> dict[str, int]:
    """Return an object of numbers, such as feature levels by name."""
    table = table_in(document, key)
    return {name: number_in(table, name) for name in table}
