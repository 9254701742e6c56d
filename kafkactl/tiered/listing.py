"""Listings of an object store as text: lines, JSON lines, one JSON document, CSV. Recognized by content.

Raises InputError `invalid-listing` with the place of what cannot be read, and `truncated-listing`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from kafkactl.errors import InputError
from kafkactl.json_input import JsonInputError, parse_json
from kafkactl.tiered.bucket import StoredObject

# What `aws s3 ls --recursive` prints: date, time, size, key; behind the last object it may print sums.
_AWS_LINE: Final = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s+(\d+)\s(.+)")
_SUMS: Final = re.compile(r"\s*Total (Objects|Size):.*")
_MILLISECONDS: Final = re.compile(r"\d{12,}")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT?\S*")
# A number that may be a size, and behind another one rather is a time that counts seconds.
_SECONDS: Final = re.compile(r"\d{10,11}")
_LEAST_SECONDS: Final = 10**9
_TOO_LARGE: Final = 1 << 63
_LEAST_MS: Final = 10**11  # of a time in milliseconds: in 1973
_KEYS, _SIZES = ("key", "Key", "Path"), ("size", "Size")
_TIMES = ("mtime_ms", "last_modified", "LastModified", "ModTime")
_MORE = ("IsTruncated", "NextToken", "NextContinuationToken")
INVENTORY_COLUMNS: Final = frozenset({"key", "size", "lastmodifieddate", "lastmodified", "islatest", "isdeletemarker"})
_ENCODED: Final = re.compile(rb"(?:%[0-9A-Fa-f]{2})+")
_IN_MS: Final = "expected milliseconds or ISO 8601"
_AGAIN: Final = "Make the listing again, and wait until it is written."
_NEXT_STEP: Final = "A listing has lines `key size [time]`, JSON with key and size, or is an S3 Inventory."


def parse_lines(lines: Iterable[str], *, file: str) -> Iterator[StoredObject]:
    """Yield the objects that lines `key size [time]`, with their line ends, name; entries of folders are left out."""
    return (found for found in _line_entries(lines, file) if not _is_folder(found))


def parse_json_lines(lines: Iterable[str], *, file: str) -> Iterator[StoredObject]:
    """Yield the objects that JSON lines, with their line ends, name; entries of folders are left out."""
    return (found for found in _json_lines(lines, file) if not _is_folder(found))


def parse_document(text: str, *, file: str) -> Iterator[StoredObject]:
    """Yield the objects that one JSON document names; entries of folders are left out."""
    return (found for found in _json_entries(text, file) if not _is_folder(found))


def is_json_line(first: str) -> bool:
    """Return True if a line alone is a JSON object: further lines make it the first of JSON lines."""
    try:
        return isinstance(parse_json(first), dict)
    except JsonInputError:
        return False


def _is_folder(found: StoredObject) -> bool:
    return found.key.endswith("/") and found.size <= 0


# --- lines ----------------------------------------------------------------------------------------------------------


def _line_entries(lines: Iterable[str], file: str) -> Iterator[StoredObject]:
    dated: bool | None = None
    for number, whole in enumerate(lines, 1):
        line = whole.rstrip("\r\n")
        if not line.strip() or _SUMS.fullmatch(line):
            continue
        found = _line(line)
        # A line that is cut in its time seems to have none, and in its size or key may seem to be whole.
        if line == whole and (found is None or (dated and found.mtime_ms is None)):
            raise _cut(file, number)
        if found is None:
            raise invalid(file, f"line {number}", f"no size in {line[:80]!r}")
        if found.mtime_ms is None and found.size >= _LEAST_SECONDS and _ends_in_seconds(line):
            raise invalid(file, f"line {number}", f"the time in {line[-40:]!r} seems to count seconds: {_IN_MS}")
        dated = found.mtime_ms is not None and dated is not False
        yield found


def _cut(file: str, line: int) -> InputError:
    return InputError(
        f"{file} ends within line {line}",
        id="truncated-listing",
        next_step=_AGAIN,
    )


def _line(line: str) -> StoredObject | None:
    aws = _AWS_LINE.fullmatch(line)
    if aws is not None:
        return StoredObject(aws[3], int(aws[2]), time_of(aws[1]))
    parts = line.strip().rsplit(maxsplit=2)
    if len(parts) == 3 and _is_size(parts[1]):
        time_ms = time_of(parts[2]) if _MILLISECONDS.fullmatch(parts[2]) or _TIME.fullmatch(parts[2]) else None
        if time_ms is not None:
            return StoredObject(parts[0], int(parts[1]), time_ms)
    parts = line.strip().rsplit(maxsplit=1)
    return StoredObject(parts[0], int(parts[1]), None) if len(parts) == 2 and _is_size(parts[1]) else None


def _ends_in_seconds(line: str) -> bool:
    """Whether two numbers end a line, of which the second is taken for a size and is as large as a time."""
    parts = line.rsplit(maxsplit=2)
    return len(parts) == 3 and _is_size(parts[1]) and _SECONDS.fullmatch(parts[2]) is not None


def _is_size(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 19


def time_of(value: object) -> int | None:
    """Milliseconds since the epoch of a time as listings write it; without a zone it is UTC. None for anything else,
    and for 0, which stores without times give."""
    if type(value) is int:
        return value or None if abs(value) < _TOO_LARGE else None
    if not isinstance(value, str):
        return None
    if value.isascii() and value.isdecimal() and len(value) <= 19:
        return int(value)
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        return None
    return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)


# --- JSON -----------------------------------------------------------------------------------------------------------


def _json_entries(text: str, file: str) -> Iterator[StoredObject]:
    try:
        document = parse_json(text)
    except JsonInputError as error:
        raise InputError(
            f"{file} ends before its JSON does, or is not JSON: {error}",
            id="truncated-listing",
            next_step=_AGAIN,
        ) from None
    yield from _document(document, file)


def _document(document: Any, file: str) -> Iterator[StoredObject]:
    if isinstance(document, dict) and any(document.get(name) for name in _MORE):
        raise InputError(
            f"{file} is the first part of a listing: it says that more objects follow",
            id="truncated-listing",
            next_step="List all objects, for example with `aws s3api list-objects-v2` and no --max-items.",
        )
    entries = document.get("Contents", [document]) if isinstance(document, dict) else document
    if not isinstance(entries, list):
        raise invalid(file, "the document", "expected objects")
    for at, entry in enumerate(entries):
        found = _entry(entry)
        if found is None:
            raise invalid(file, f"object {at}", "no key or size")
        _check_time(found, file, f"object {at}")
        if not (isinstance(entry, dict) and entry.get("IsDir") is True):
            yield found


def _json_lines(lines: Iterable[str], file: str) -> Iterator[StoredObject]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found = _entry(parse_json(line))
        except JsonInputError as error:
            if not line.endswith(("\n", "\r")):
                raise _cut(file, number) from None
            raise invalid(file, f"line {number}", f"not JSON: {error}") from None
        if found is None:
            raise invalid(file, f"line {number}", "no key or size")
        _check_time(found, file, f"line {number}")
        yield found


def _entry(entry: Any) -> StoredObject | None:
    if not isinstance(entry, dict):
        return None
    key, size = _first(entry, _KEYS), _first(entry, _SIZES)
    if not isinstance(key, str) or type(size) is not int or not -1 <= size < _TOO_LARGE:
        return None
    return StoredObject(key, size, time_of(_first(entry, _TIMES)))


def _check_time(found: StoredObject, file: str, place: str) -> None:
    """An object whose time counts seconds would be older than any limit."""
    if found.mtime_ms is not None and found.mtime_ms < _LEAST_MS:
        raise invalid(file, place, f"the time {found.mtime_ms} does not count milliseconds: {_IN_MS}")


def _first(entry: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((entry[name] for name in names if entry.get(name) is not None), None)


# --- rows of an inventory -------------------------------------------------------------------------------------------


def csv_rows(lines: Iterable[str], columns: Sequence[str], *, file: str) -> Iterator[Mapping[str, str]]:
    """The rows of a CSV file without a header."""
    for number, row in enumerate(_rows(lines, file), 1):
        if row and len(row) != len(columns):
            raise invalid(file, f"row {number}", f"{len(row)} values, and {len(columns)} columns are named")
        if row:
            yield dict(zip(columns, row, strict=True))


def _rows(lines: Iterable[str], file: str) -> Iterator[list[str]]:
    reader = csv.reader(lines)
    try:
        yield from reader
    except csv.Error as error:
        raise invalid(file, f"line {reader.line_num}", f"not CSV: {error}") from error


def inventory_object(row: Mapping[str, Any], *, encoded: bool, file: str) -> StoredObject | None:
    """The object of one row; None for an older version or a delete marker.

    `encoded`: keys are URL-encoded, as in CSV. Column names are compared without case and signs: an inventory writes
    `LastModifiedDate` in CSV and `last_modified_date` in Parquet.
    """
    fields = {inventory_column(name): value for name, value in row.items()}
    if not _true(fields.get("islatest"), default=True) or _true(fields.get("isdeletemarker"), default=False):
        return None
    key, size = fields.get("key"), fields.get("size")
    if not isinstance(key, str) or size is None or not str(size).isdecimal():
        raise invalid(file, "a row", "no key or size")
    time = fields.get("lastmodifieddate", fields.get("lastmodified"))
    time_ms = time_of(time.isoformat()) if isinstance(time, datetime) else time_of(time)
    found = StoredObject(_decoded(key) if encoded else key, int(size), time_ms)
    return None if _is_folder(found) else found


def inventory_column(name: str) -> str:
    """Return the name of a column without case and signs."""
    return name.lower().replace("_", "").replace(" ", "")


def _decoded(key: str) -> str:
    """A key without URL encoding: `+` is a blank, `%2F` a byte of its UTF-8."""
    blanks = key.replace("+", " ").encode()
    plain = _ENCODED.sub(lambda found: bytes.fromhex(found[0].decode().replace("%", "")), blanks)
    return plain.decode("utf-8", "replace")


def _true(value: object, *, default: bool) -> bool:
    if value is None or value == "":
        return default
    return value if isinstance(value, bool) else str(value).lower() == "true"


def invalid(file: str, place: str, what: str) -> InputError:
    """A listing that cannot be read."""
    return InputError(f"{file}, {place}: {what}", id="invalid-listing", next_step=_NEXT_STEP)
