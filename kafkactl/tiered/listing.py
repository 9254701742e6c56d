"""Listings of an object store as text: lines, JSON lines, one JSON document, CSV. Recognized by content.

Raises InputError `invalid-listing` with the place of what cannot be read, and `truncated-listing`.
"""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kafkactl.core.errors import InputError
from kafkactl.core.json_input import JsonInputError, parse_json
from kafkactl.tiered.bucket import StoredObject
from kafkactl.tiered.listing_fields import KEYS, SIZES, ListedVersion, listed_folder, listed_version, plain_name
from kafkactl.tiered.listing_lines import folder_line, form_of, has_no_object, is_size, refused_form

# A number that may be a size, and behind another one rather is a time that counts seconds.
_SECONDS: Final = re.compile(r"\d{10,11}")
_LEAST_SECONDS: Final = 10**9
_LEAST_MS: Final = 10**11  # of a time in milliseconds: in 1973
_MORE: Final = (
    "IsTruncated", "NextToken", "NextContinuationToken", "nextPageToken", "nextMarker", "NextMarker", "NextKeyMarker",
    "next-start-with", "opc-next-page", "nextFileName",
)  # fmt: skip
_PARTS: Final = ("Contents", "Versions", "items", "data", "files")  # of a document, each a list of entries
_FOLDER_PARTS: Final = ("CommonPrefixes", "prefixes")
# Of a document that is a listing, also if it has no objects.
_LISTING_MARKS: Final = (*_FOLDER_PARTS, "DeleteMarkers", "RequestCharged", "KeyCount", "IsTruncated")
_INNER: Final = ("properties", "metadata", "MessageContent")  # of an entry: where its attributes are
_SAMPLED_LINES: Final = 20
_ENCODED: Final = re.compile(rb"(?:%[0-9A-Fa-f]{2})+")
_IN_MS: Final = "expected milliseconds or ISO 8601"
_AGAIN: Final = "Make the listing again, and wait until it is written."
_NEXT_STEP: Final = (
    "Use what one of these prints: `aws s3api list-objects-v2`, `rclone lsjson --recursive`, `gcloud storage objects "
    "list --format=json`, `az storage blob list --output json`, `mc ls --recursive --json`, `s5cmd --json ls`, `oci os "
    "object list --all`; or an S3 Inventory, lines `key size [time]`, or a URL (s3://, gs://, abfs://)."
)

# A field by which a tool is recognized that lists without sizes, or versions without marking the latest.
_WAYS: Final = (
    ("storage-tier", "List with `oci os object list --all`, without --fields."),
    ("data", "List with `oci os object list --all`."),
    ("Name", "List with `openstack object list CONTAINER --all --long --format json`."),
)


class ListedFolder(NamedTuple):
    """An entry that names a folder: the objects in it are listed elsewhere, or not at all."""

    key: str


def check_form(first: str, *, file: str) -> None:
    """Refuse lines of a tool that do not have what an audit needs; `first` is the first line that is not blank."""
    refused = refused_form(first)
    if refused is not None:
        raise InputError(f"{file}: {refused.found}", id="invalid-listing", next_step=refused.next_step)


def parse_lines(lines: Iterable[str], *, file: str) -> tuple[StoredObject, ...]:
    """Return the objects that lines of a tool, with their line ends, name; entries of folders are left out."""
    return _objects(_line_entries(lines, file), file)


def parse_json_lines(lines: Iterable[str], *, file: str) -> tuple[StoredObject, ...]:
    """Return the current objects that JSON lines, with their line ends, name; entries of folders are left out."""
    return _objects(_current(_json_lines(lines, file)), file)


def parse_document(text: str, *, file: str) -> tuple[StoredObject, ...]:
    """Return the current objects that one JSON document names; entries of folders are left out."""
    return _objects(_current(_json_entries(text, file)), file)


def is_json_line(first: str) -> bool:
    """Return True if a line alone is a JSON object: further lines make it the first of JSON lines."""
    try:
        return isinstance(parse_json(first), dict)
    except JsonInputError:
        return False


def _objects(entries: Iterable[StoredObject | ListedFolder], file: str) -> tuple[StoredObject, ...]:
    """Return the objects among the entries. Raise InputError if the entries are those of one folder alone."""
    objects, folders = [], []
    for entry in entries:
        if isinstance(entry, ListedFolder):
            folders.append(entry.key)
        elif not _is_folder(entry):
            objects.append(entry)
    parents = {_parent(key) for key in folders}
    # A recursive listing, which may name folders, too, has objects in one of them or elsewhere.
    if len(parents) == 1 and all(_parent(found.key) in parents for found in objects):
        raise InputError(
            f"{file} lists one folder: the objects in {folders[0]} and in the other folders of it are not listed",
            id="truncated-listing",
            next_step="List everything below it: with --recursive, and without a delimiter.",
        )
    return tuple(objects)


def _parent(key: str) -> str:
    return key.rstrip("/").rpartition("/")[0]


def _is_folder(found: StoredObject) -> bool:
    return found.key.endswith("/") and found.size <= 0


def _current(versions: Iterable[ListedVersion | ListedFolder]) -> Iterator[StoredObject | ListedFolder]:
    """Return the current objects. Versions with an ordinal are compared by key; the other entries are current."""
    ordered: dict[str, ListedVersion] = {}
    for version in versions:
        if isinstance(version, ListedFolder):
            yield version
        elif version.ordinal is None:
            if version.found is not None:
                yield version.found
        elif version.key not in ordered or version.ordinal > (ordered[version.key].ordinal or 0):
            ordered[version.key] = version
    yield from (version.found for version in ordered.values() if version.found is not None)


def _line_entries(lines: Iterable[str], file: str) -> Iterator[StoredObject | ListedFolder]:
    remaining = iter(lines)
    sampled = list(itertools.islice(remaining, _SAMPLED_LINES))
    form = form_of([line.rstrip("\r\n") for line in sampled])
    dated: bool | None = None
    end: re.Pattern[str] | None = None  # of a tool that printed its head
    number = 0
    for number, whole in enumerate(itertools.chain(sampled, remaining), 1):
        line = whole.rstrip("\r\n")
        if has_no_object(line):
            continue
        if form is not None and form.has_no_object(line):
            end = form.end if form.is_head(line) else None if end and end.fullmatch(line) else end
            continue
        if (folder := folder_line(line)) is not None:
            yield ListedFolder(folder)
            continue
        if "\r" in line:
            raise invalid(file, f"line {number}", "a carriage return within the line: lines have to end in a line feed")
        found = None if form is None else form.read(line)
        # A line that is cut in its time seems to have none, and in its size or key may seem to be whole.
        if line == whole and (found is None or (dated and found.mtime_ms is None)):
            raise _cut(file, number)
        if found is None:
            check_form(line, file=f"{file}, line {number}")
            raise invalid(file, f"line {number}", f"no size in {line[:80]!r}")
        if found.mtime_ms is None and found.size >= _LEAST_SECONDS and _ends_in_seconds(line):
            raise invalid(file, f"line {number}", f"the time in {line[-40:]!r} seems to count seconds: {_IN_MS}")
        dated = found.mtime_ms is not None and dated is not False
        yield found
    if end is not None:
        raise _cut(file, number, "after")


def _cut(file: str, line: int, where: str = "within") -> InputError:
    return InputError(
        f"{file} ends {where} line {line}, before the listing does",
        id="truncated-listing",
        next_step=_AGAIN,
    )


def _ends_in_seconds(line: str) -> bool:
    """Return True if two numbers end a line, of which the second is read as a size and is as large as a time."""
    parts = line.rsplit(maxsplit=2)
    return len(parts) == 3 and is_size(parts[1]) and _SECONDS.fullmatch(parts[2]) is not None


def _json_entries(text: str, file: str) -> Iterator[ListedVersion | ListedFolder]:
    try:
        document = parse_json(text)
    except JsonInputError as error:
        raise InputError(
            f"{file} ends before its JSON does, or is not JSON: {error}",
            id="truncated-listing",
            next_step=f"{_AGAIN} {_NEXT_STEP}",
        ) from None
    yield from _document(document, file)


def _document(document: Any, file: str) -> Iterator[ListedVersion | ListedFolder]:
    entries = document
    if isinstance(document, dict):
        parts = [document[name] for name in _PARTS if document.get(name) is not None]
        if not all(isinstance(part, list) for part in parts):
            raise _no_object(document, file, "the document", "expected objects")
        is_list = bool(parts) or any(name in document for name in _LISTING_MARKS)
        entries = list(itertools.chain.from_iterable(parts)) if is_list else [document]
    for page in [document, *(entries[-1:] if isinstance(entries, list) else ())]:
        if isinstance(page, dict) and any(page.get(name) for name in _MORE):
            raise InputError(
                f"{file} is the first part of a listing: it says that more objects follow",
                id="truncated-listing",
                next_step="List all objects: `aws s3api list-objects-v2` without --max-items, "
                "`az storage blob list --num-results '*'`, `oci os object list --all`.",
            )
    if not isinstance(entries, list):
        raise invalid(file, "the document", "expected objects")
    if isinstance(document, dict):
        yield from _folders(document)
    is_encoded = isinstance(document, dict) and document.get("EncodingType") == "url"
    for at, entry in enumerate(entries):
        for version in _entry(entry, file, f"object {at}"):
            yield version.decoded(_decoded) if is_encoded and isinstance(version, ListedVersion) else version


def _folders(document: Mapping[str, Any]) -> Iterator[ListedFolder]:
    """Yield the folders that a document names next to its objects, as texts or with the name Prefix."""
    for part in (document.get(name) for name in _FOLDER_PARTS):
        for entry in part if isinstance(part, list) else ():
            key = entry.get("Prefix") if isinstance(entry, dict) else entry
            if isinstance(key, str):
                yield ListedFolder(key)


def _json_lines(lines: Iterable[str], file: str) -> Iterator[ListedVersion | ListedFolder]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entry = parse_json(line)
        except JsonInputError as error:
            if not line.endswith(("\n", "\r")):
                raise _cut(file, number) from None
            raise invalid(file, f"line {number}", f"not JSON: {error}") from None
        yield from _entry(entry, file, f"line {number}")


def _entry(entry: Any, file: str, place: str) -> Iterator[ListedVersion | ListedFolder]:
    """Return the object or folder of an entry, nothing for a message of the tool."""
    if isinstance(entry, dict):
        if entry.get("status") == "error":
            raise InputError(
                f"{file}, {place}: the tool reports an error: the listing is not whole",
                id="truncated-listing",
                next_step="Repair what the entry reports, and make the listing again.",
            )
        if (folder := listed_folder(entry)) is not None:
            yield ListedFolder(folder)
            return
        if entry.get("version_id") and "is_latest" not in entry:
            raise InputError(
                f"{file}, {place}: `s5cmd ls --all-versions` lists old versions without marking them",
                id="invalid-listing",
                next_step="List without --all-versions.",
            )
        if "MessageType" in entry and entry["MessageType"] != "ListObject":
            return
    fields = _flat(entry) if isinstance(entry, dict) else {}
    yield _version(fields, file, place)


def _version(fields: Mapping[str, Any], file: str, place: str) -> ListedVersion:
    """Return the version that attributes describe. Raise InputError."""
    try:
        version = listed_version(fields)
    except ValueError as error:
        raise invalid(file, place, f"{error}: {_IN_MS}") from None
    if version is None:
        raise _no_object(fields, file, place, "no key or size")
    if version.found is not None:
        _check_time(version.found, file, place)
    return version


def _no_object(fields: Mapping[str, Any], file: str, place: str, what: str) -> InputError:
    """Return the error of a document or entry without objects, with the way of the tool that its fields belong to."""
    error = invalid(file, place, what)
    ways = (way for name, way in _WAYS if name in fields)
    error.next_step = next(ways, error.next_step)
    return error


def _flat(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the attributes of an entry, with those of the objects inside that some tools write them to."""
    fields = entry
    for name in _INNER:
        inner = entry.get(name)
        if isinstance(inner, str) and inner[:1] == "{":
            try:
                inner = parse_json(inner)
            except JsonInputError:
                inner = None
        if isinstance(inner, dict):
            fields = {**fields, **inner}
    return fields


def _check_time(found: StoredObject, file: str, place: str) -> None:
    """Refuse an object whose time counts seconds: it would be older than any limit."""
    if found.mtime_ms is not None and found.mtime_ms < _LEAST_MS:
        raise invalid(file, place, f"the time {found.mtime_ms} does not count milliseconds: {_IN_MS}")


def csv_header(line: str) -> bool:
    """Return True if a line names the columns of a CSV file: a key and a size are among them."""
    if "," not in line or line[:1] in ("{", "["):
        return False
    names = {plain_name(name.strip().strip('"')) for name in line.split(",")}
    return bool(names & set(KEYS)) and bool(names & set(SIZES))


def headed_rows(lines: Iterable[str], *, file: str) -> Iterator[Mapping[str, str]]:
    """Yield the rows of a CSV file whose first line that is not blank names its columns."""
    remaining = iter(lines)
    header = next((line for line in remaining if line.strip()), "")
    names = next(_rows([header], file))
    return csv_rows(remaining, [name.strip() for name in names], file=file)


def csv_rows(lines: Iterable[str], columns: Sequence[str], *, file: str) -> Iterator[Mapping[str, str]]:
    """Return the rows of a CSV file without a header."""
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


def inventory_objects(rows: Iterable[Mapping[str, Any]], *, encoded: bool, file: str) -> Iterator[StoredObject]:
    """Return the current objects of an inventory's rows, without folders, older versions and delete markers.

    `encoded`: keys are URL-encoded, as in the CSV files of an S3 Inventory.
    """
    for number, row in enumerate(rows, 1):
        found = _version(row, file, f"row {number}").found
        if found is not None and not _is_folder(found):
            yield found._replace(key=_decoded(found.key)) if encoded else found


def _decoded(key: str) -> str:
    """Return a key without URL encoding: `+` is a blank, `%2F` a byte of its UTF-8."""
    blanks = key.replace("+", " ").encode()
    plain = _ENCODED.sub(lambda found: bytes.fromhex(found[0].decode().replace("%", "")), blanks)
    return plain.decode("utf-8", "replace")


def invalid(file: str, place: str, what: str) -> InputError:
    """Return the error of a listing that cannot be read."""
    return InputError(f"{file}, {place}: {what}", id="invalid-listing", next_step=_NEXT_STEP)
