"""Rows of a number and a pickled value, from a task to the driver or to another task."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

PICKLED: Final = "number int, value binary"
"""Columns of the rows."""


def pickled_row(number: int, value: object) -> pa.RecordBatch:
    """Return one row."""
    import pyarrow as pa

    content = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    columns = [pa.array([number], pa.int32()), pa.array([content], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, names=["number", "value"])


def unpickled(rows: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Any]]:
    """Yield the numbers and values of the rows that a task gets."""
    for batch in rows:
        for number, content in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield number, pickle.loads(content)


def collected(frame: DataFrame) -> dict[int, Any]:
    """Return the values by their numbers. Raises what Spark raises."""
    return {row["number"]: pickle.loads(row["value"]) for row in frame.collect()}
