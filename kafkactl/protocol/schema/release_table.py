"""Tables of what differs between Kafka's releases: data files in which each row says only what changed.

A row begins with the first release and patch that it is about (`from = "4.1.1"`; without a patch, the first one of the
release). A field that a row does not give is as in the row above it; of a field that is a table itself, so is every key
that the row does not give.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from kafkactl.core.data_files import read_data
from kafkactl.core.errors import SchemaError

Version: TypeAlias = tuple[int, int, int]  # major, minor, patch


class ReleaseRow(NamedTuple):
    """Values from one patch on, with every field."""

    since: Version
    fields: Mapping[str, Any]


class ReleaseTable(NamedTuple):
    """The rows of one data file, oldest first."""

    rows: tuple[ReleaseRow, ...]

    def at(self, version: Version) -> Mapping[str, Any]:
        """Return the fields that hold at a version; those of the oldest row for a version before it."""
        return self.row_at(version).fields

    def row_at(self, version: Version) -> ReleaseRow:
        """Return the row that holds at a version; the oldest one for a version before it."""
        return next((row for row in reversed(self.rows) if row.since <= version), self.rows[0])


def read_release_table(name: str, fields: Iterable[str]) -> ReleaseTable:
    """Read the table in schemas/`name`; its first row sets every one of `fields`.

    Raises SchemaError `invalid-release-table` if a field is missing or unknown, or rows are out of order.
    """
    import tomli

    expected, filled, rows = set(fields), dict[str, Any](), list[ReleaseRow]()
    for row in tomli.loads(read_data(name).decode("utf-8"))["release"]:
        text = row.pop("from")
        since = _version(text)
        if rows and since <= rows[-1].since:
            raise SchemaError(f"{name}, {text}: the row is not newer than the one above it", id="invalid-release-table")
        filled = filled | {field: _inherited(filled.get(field), value) for field, value in row.items()}
        if set(filled) != expected:
            odd = sorted(set(filled) ^ expected)
            raise SchemaError(f"{name}, {text}: wrong or missing fields {odd}", id="invalid-release-table")
        rows.append(ReleaseRow(since, filled))
    return ReleaseTable(tuple(rows))


def _inherited(above: Any, value: Any) -> Any:
    return {**above, **value} if isinstance(above, dict) and isinstance(value, dict) else value


def _version(text: str) -> Version:
    major, minor, patch = (*text.split("."), "0")[:3]
    return int(major), int(minor), int(patch)
