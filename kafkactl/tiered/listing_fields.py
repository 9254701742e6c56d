"""Names under which tools and inventories write the attributes of an object, and the object that they describe.

Names are compared without case and signs: an S3 Inventory writes `LastModifiedDate` in CSV and `last_modified_date` in
Parquet, Azure's inventory `Last-Modified`, `gcloud storage objects list` `update_time`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, NamedTuple

from kafkactl.tiered.bucket import StoredObject

# The first name that has a value counts: `rclone lsjson` repeats the last part of the Path as the Name.
KEYS: Final = ("key", "path", "name", "filename")
SIZES: Final = ("size", "contentlength", "bytes")
_TIMES: Final = (
    "mtimems",
    "lastmodified",
    "lastmodifieddate",
    "lastmodifiedtime",
    "modtime",
    "updatetime",
    "updated",
    "timemodified",
    "uploadtimestamp",
    "creationtime",
    "timecreated",
)
_CLASSES: Final = ("storageclass", "storagetier", "blobtier", "blobaccesstier", "accesstier", "tier")
_ARCHIVE_TIERS: Final = ("intelligenttieringaccesstier", "archivestatus")
_LATEST: Final = ("islatest", "iscurrentversion")
_DELETED: Final = ("isdeletemarker", "deleted")
# A value under one of these names belongs to an object that was replaced or deleted.
_REPLACED: Final = ("snapshot", "noncurrenttime", "timedeleted", "softdeletetime")
_VERSION: Final = "versionid"
_ORDINAL: Final = "versionordinal"  # of `mc ls --versions`: the highest is the latest
_FOLDER: Final = "hdiisfolder"  # of Azure: a blob that is a directory
_ACTION: Final = "action"  # of Backblaze: what a version is; versions are ordered by their time
_UNFINISHED: Final = "start"  # the action of a large file of which parts are being uploaded
FIELDS: Final = frozenset(
    (*KEYS, *SIZES, *_TIMES, *_CLASSES, *_ARCHIVE_TIERS, *_LATEST, *_DELETED, *_REPLACED, _ORDINAL, _VERSION, _FOLDER)
)
_RESTORE: Final = "restorestatus"
_ARCHIVAL_STATE: Final = "archivalstate"  # of Oracle
# Amazon S3, Azure, Oracle, Alibaba. Google's class ARCHIVE is read without a restore.
_ARCHIVED: Final = frozenset({"GLACIER", "DEEP_ARCHIVE", "Archive", "ColdArchive", "DeepColdArchive"})
_ARCHIVED_TIERS: Final = frozenset({"ARCHIVE", "DEEP_ARCHIVE", "ARCHIVE_ACCESS", "DEEP_ARCHIVE_ACCESS"})
_FOLDER_MARKS: Final = ("IsDir", "isDirectory")  # of rclone, and of `az storage fs file list`
_FOLDER_TYPES: Final = frozenset({"prefix", "folder", "directory", "DIRECTORY"})
_FOLDER_KEYS: Final = ("key", "Path", "name", "url", "fileName")
_URL_MARK: Final = "://"
_TOO_LARGE: Final = 1 << 63


class ListedVersion(NamedTuple):
    """An entry of a listing: an object, or a version of a key that is not its current object.

    `ordinal` orders the versions of a key if the listing does not mark the latest.
    """

    key: str
    found: StoredObject | None
    ordinal: int | None = None

    def decoded(self, plain: Callable[[str], str]) -> ListedVersion:
        """Return the version under the key that `plain` makes of its key."""
        key = plain(self.key)
        return self._replace(key=key, found=None if self.found is None else self.found._replace(key=key))


class _Names(NamedTuple):
    """The names of an entry's attributes by what they mean, in the order in which they count."""

    keys: tuple[str, ...]
    sizes: tuple[str, ...]
    times: tuple[str, ...]
    classes: tuple[str, ...]
    tiers: tuple[str, ...]
    latest: tuple[str, ...]
    deleted: tuple[str, ...]
    replaced: tuple[str, ...]
    ordinals: tuple[str, ...]
    restores: tuple[str, ...]
    versions: tuple[str, ...]
    folders: tuple[str, ...]
    actions: tuple[str, ...]


_MEANINGS: Final = (
    KEYS, SIZES, _TIMES, _CLASSES, _ARCHIVE_TIERS, _LATEST, _DELETED, _REPLACED, (_ORDINAL,),
    (_RESTORE, _ARCHIVAL_STATE), (_VERSION,), (_FOLDER,), (_ACTION,),
)  # fmt: skip


@functools.lru_cache(maxsize=256)
def _names(given: tuple[str, ...]) -> _Names:
    """Return these names by their meaning; the entries of one listing have few different sets of names."""
    by_plain: dict[str, str] = {}
    for name in given:
        by_plain.setdefault(plain_name(name), name)
    return _Names(*(tuple(by_plain[word] for word in words if word in by_plain) for words in _MEANINGS))


def listed_version(fields: Mapping[str, Any]) -> ListedVersion | None:
    """Return the object that the attributes of an entry describe; None if they have no key or no size.

    Raise ValueError for a time of an unknown form.
    """
    names = _names(tuple(fields))
    key = _first(fields, names.keys)
    if not isinstance(key, str):
        return None
    ordinal = _first(fields, names.ordinals)
    order = ordinal if type(ordinal) is int else None
    if (names.latest or names.deleted or names.replaced) and _is_replaced(fields, names):
        return ListedVersion(plain_key(key), None, order)
    if names.folders and _true(_first(fields, names.folders)):
        return ListedVersion(plain_key(key), None)
    time_ms = _written_ms(_first(fields, names.times))
    if names.actions and (action := _first(fields, names.actions)) is not None:
        order = time_ms
        if action != "upload":
            return ListedVersion(plain_key(key), None, None if action == _UNFINISHED else order)
    size = _whole_number(_first(fields, names.sizes))
    if size is None or not -1 <= size < _TOO_LARGE:
        return None
    is_archived = bool(names.classes or names.tiers) and _is_archived(fields, names)
    found = StoredObject(plain_key(key), size, time_ms, is_archived)
    return ListedVersion(found.key, found, order)


@functools.cache
def plain_name(name: str) -> str:
    """Return the name of an attribute in lower case, without `_`, `-` and blanks."""
    return name.lower().replace("_", "").replace("-", "").replace(" ", "")


def plain_key(key: str) -> str:
    """Return a key without the scheme and the bucket of a URL such as `s3://bucket/key`."""
    if _URL_MARK not in key:
        return key
    scheme, mark, rest = key.partition(_URL_MARK)
    return rest.partition("/")[2] if mark and scheme.isalnum() else key


def is_archive_class(storage_class: str | None) -> bool:
    """Return True for a storage class whose objects are not read before a restore."""
    return storage_class in _ARCHIVED


def _written_ms(value: object) -> int | None:
    """Return the time of an object, None for none. Raise ValueError for a time of an unknown form."""
    time_ms = time_of(value)
    if time_ms is None and value not in (None, "", 0, "0"):
        raise ValueError(f"the time {str(value)[:40]!r} is of an unknown form")
    return time_ms


def time_of(value: object) -> int | None:
    """Return a time in ms since the epoch; without a zone the time is UTC. None for other values, and for 0, which
    stores without times give."""
    if isinstance(value, datetime):
        value = value.isoformat()
    if type(value) is int:
        return value or None if abs(value) < _TOO_LARGE else None
    if not isinstance(value, str):
        return None
    if value.isascii() and value.isdecimal() and len(value) <= 19:
        return int(value)
    try:
        found = parsedate_to_datetime(value) if value.endswith(" GMT") else datetime.fromisoformat(value)
    except ValueError:
        return None
    return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)


def listed_folder(entry: Mapping[str, Any]) -> str | None:
    """Return the key of an entry that is a folder; None for another entry. A key is "" if the entry has none."""
    if isinstance(entry.get("subdir"), str):
        return plain_key(entry["subdir"])
    is_marked = any(entry.get(name) is True for name in _FOLDER_MARKS)
    if not (is_marked or entry.get("type") in _FOLDER_TYPES or entry.get(_ACTION) == "folder"):
        return None
    key = next((entry[name] for name in _FOLDER_KEYS if isinstance(entry.get(name), str)), "")
    return plain_key(key)


def _first(fields: Mapping[str, Any], names: Iterable[str]) -> Any:
    for name in names:
        value = fields[name]
        if value is not None and value != "":
            return value
    return None


def _whole_number(value: Any) -> int | None:
    if type(value) is int:
        return value
    return int(value) if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 19 else None


def _is_replaced(fields: Mapping[str, Any], names: _Names) -> bool:
    latest, deleted = _first(fields, names.latest), _first(fields, names.deleted)
    if latest is None and names.latest and _first(fields, names.versions) is not None:
        return True  # Azure marks the current version only, and gives older versions null.
    return (latest is not None and not _true(latest)) or _true(deleted) or _first(fields, names.replaced) is not None


def _is_archived(fields: Mapping[str, Any], names: _Names) -> bool:
    restored = _first(fields, names.restores)
    if restored == "Restored" or (isinstance(restored, Mapping) and restored.get("RestoreExpiryDate") is not None):
        return False
    return is_archive_class(_first(fields, names.classes)) or _first(fields, names.tiers) in _ARCHIVED_TIERS


def _true(value: object) -> bool:
    return value if isinstance(value, bool) else str(value).lower() == "true"
