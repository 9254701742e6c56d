"""Rows as Arrow batches: types follow from the DDL of the columns."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from kafkactl.spark.columns import Columns

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS: Final = 4096  # rows of a batch


def batches(columns: Columns, rows: Iterable[tuple[Any, ...]]) -> Iterator[pa.RecordBatch]:
    """Return the rows as batches. Times are milliseconds since 1970; lists of structs hold tuples or mappings."""
    import pyarrow as pa

    schema = arrow_schema(columns)
    times = [at for at, column in enumerate(columns) if column.type == "timestamp"]
    for some in _batched(rows):
        values: list[Any] = [list(column) for column in zip(*some, strict=True)]
        for at in times:
            values[at] = [micros(value) for value in values[at]]
        arrays = [_array(column, field.type) for column, field in zip(values, schema, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _array(values: list[Any], type: pa.DataType) -> pa.Array:
    import pyarrow as pa

    try:
        return pa.array(values, type=type)
    except UnicodeEncodeError:  # bytes of a name that are not UTF-8 (PEP 383)
        return pa.array(as_text(values), type=type)


def as_text(value: Any) -> Any:
    """Return a value in which bytes that are not UTF-8 (PEP 383) are written out."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    if isinstance(value, dict):
        return {name: as_text(part) for name, part in value.items()}
    return [as_text(part) for part in value] if isinstance(value, list | tuple) else value


def _batched(rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[tuple[Any, ...], ...]]:
    rest = iter(rows)
    return iter(lambda: tuple(itertools.islice(rest, _ROWS)), ())


_LAST_MS: Final = 253_402_300_799_999  # the end of the year 9999, the last that SQL can show


def micros(time_ms: int | None) -> int | None:
    """Return a time in microseconds; None for an unknown time, and for one that no table can hold."""
    return None if time_ms is None or not 0 <= time_ms <= _LAST_MS else time_ms * 1000


def arrow_schema(columns: Columns) -> pa.Schema:
    """Return the Arrow schema of the columns."""
    import pyarrow as pa

    return pa.schema([(column.name, _type(column.type)) for column in columns])


def _type(text: str) -> pa.DataType:
    """Return the Arrow type of a type in Spark's DDL."""
    import pyarrow as pa

    if text.startswith("array<"):
        return pa.list_(_type(text.removeprefix("array<")[:-1]))
    if text.startswith("struct<"):
        parts = (part.partition(":") for part in _split(text.removeprefix("struct<")[:-1]))
        return pa.struct([(name, _type(type)) for name, _, type in parts])
    plain = {
        "string": pa.string(),
        "binary": pa.binary(),
        "int": pa.int32(),
        "bigint": pa.int64(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
        "timestamp": pa.timestamp("us", tz="UTC"),
    }
    return plain[text]


def _split(text: str) -> Iterator[str]:
    """Split at the commas that are in no angle brackets."""
    depth, begin = 0, 0
    for at, letter in enumerate(text):
        depth += (letter == "<") - (letter == ">")
        if letter == "," and depth == 0:
            yield text[begin:at]
            begin = at + 1
    yield text[begin:]
