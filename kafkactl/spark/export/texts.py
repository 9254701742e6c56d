"""Rows of tables as text: lines of JSON, and cells of CSV."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from kafkactl.core.safe_text import json_text
from kafkactl.spark.arrow import as_text, micros
from kafkactl.spark.columns import Columns

Row = tuple[Any, ...]


def json_lines(columns: Columns, rows: Iterable[Row]) -> Iterator[str]:
    """Return each row as a JSON object without a line break; times in ISO 8601."""
    names = [column.name for column in columns]
    for row in rows:
        yield json_text(dict(zip(names, _plain(columns, row), strict=True)), compact=True)


def csv_cells(columns: Columns, rows: Iterable[Row]) -> Iterator[list[str | None]]:
    """Return the cells of each row: numbers as digits, lists and structs as JSON text, None for null."""
    for row in rows:
        yield [_cell(value) for value in _plain(columns, row)]


def _plain(columns: Columns, row: Row) -> Iterator[Any]:
    """Return the values of a row as JSON has them; times in ISO 8601."""
    for column, value in zip(columns, row, strict=True):
        if column.type == "timestamp":
            yield None if micros(value) is None else _iso(value)
        else:
            yield as_text(value)


def _iso(time_ms: int) -> str:
    time = datetime.fromtimestamp(time_ms // 1000, UTC).replace(microsecond=time_ms % 1000 * 1000)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _cell(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, separators=(",", ":")) if isinstance(value, list | tuple | dict) else str(value)
