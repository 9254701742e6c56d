"""`--details DIR`: tables as Parquet files, all of them or none.

They are written into a temporary folder next to DIR and synced; then it replaces DIR at once. DIR may be new, empty, or
hold the tables of an earlier run; anything else in it is refused.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple

from kafkactl.core.errors import FailedError, InputError, RefusedError
from kafkactl.core.extras import install_advice
from kafkactl.dryrun.detail_tables import BOOL, FLOAT, INT, INTS, NAMES, OUTCOMES, TEXT, TEXTS, Table
from kafkactl.files.held_folder import held_folder
from kafkactl.files.leftover_sync import sync_found_name
from kafkactl.files.whole_file import check_place, put_in_place, staging_folder, sync_folder

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS: Final = 50_000  # of a row group
_SUFFIX: Final = ".parquet"


class WrittenTable(NamedTuple):
    """A table as the content of its file."""

    name: str
    content: bytes


def written_table(table: Table | WrittenTable) -> WrittenTable:
    """Return a table as the content of its file."""
    if isinstance(table, WrittenTable):
        return table
    sink = io.BytesIO()
    write_table(sink, table)
    return WrittenTable(table.name, sink.getvalue())


def write_table(sink: BinaryIO, table: Table | WrittenTable) -> None:
    """Write a table as Parquet, row group by row group, so that a million partitions are not in memory twice."""
    if isinstance(table, WrittenTable):
        sink.write(table.content)
        return
    import pyarrow as pa
    from pyarrow import parquet

    types = _types()
    schema = pa.schema([(name, types[kind]) for name, kind in table.columns])
    rows = iter(table.rows)
    with parquet.ParquetWriter(sink, schema, compression="zstd") as writer:
        while taken := list(islice(rows, _ROWS)):
            writer.write_table(_columns(taken, schema))


def check_details_target(path: Path) -> None:
    """Raise the errors of `write_details` about its target, before the work is done.

    InputError `details-need-extra`, RefusedError `details-folder-not-ours`, FailedError `details-not-written`.
    """
    check_format()
    try:
        if path.resolve() == Path.cwd():  # an empty path, too
            raise RefusedError("the current directory would be replaced by tables", id="details-folder-not-ours")
        check_place(path.resolve())
        strange = None if not _is_there(path) else next(_not_ours(path), None)
    except OSError as error:
        raise _not_written(path, error.strerror or str(error)) from error
    if strange is not None:
        raise RefusedError(
            f"{path} contains {strange}, which is not a table written by kafkactl", id="details-folder-not-ours"
        )


def check_format() -> None:
    """Raise InputError `details-need-extra` if Parquet cannot be written."""
    if find_spec("pyarrow") is None:
        raise InputError(
            "--details writes Parquet, and pyarrow cannot be imported",
            id="details-need-extra",
            next_step=f"{install_advice('spark')}, or leave out --details.",
        )


def make_folder(path: Path) -> None:
    """Create the folder for the folders of several clusters. Raise FailedError `details-not-written`."""
    try:
        path.mkdir(exist_ok=True)
        sync_found_name(path)
    except OSError as error:
        raise _not_written(path, error.strerror or str(error)) from error


def _is_there(path: Path) -> bool:
    if path.is_dir():
        return True
    if path.exists() or path.is_symlink():
        raise NotADirectoryError(20, "not a directory")
    return False


def _not_ours(path: Path) -> Iterator[str]:
    """Yield the names in a folder that no earlier run has written there."""
    for inside in sorted(path.iterdir()):
        if inside.is_dir() and not inside.is_symlink():
            yield from (f"{inside.name}/{name}" for name in _not_ours(inside))
        elif inside.suffix != _SUFFIX or inside.stem not in NAMES:
            yield inside.name


def write_details(path: Path, tables: Iterable[Table | WrittenTable]) -> None:
    """Write the tables, those whose name has a slash into folders below. Raises as `check_details_target`."""
    check_details_target(path)
    place = path.resolve()
    try:
        with (
            held_folder(place.parent) as above,
            staging_folder(above, f".{place.name[:100]}.") as temporary,
        ):
            _write_tables(temporary / "new", tables)
            put_in_place(temporary / "new", above / place.name, temporary / "old")
            sync_folder(above)
    except OSError as error:
        raise _not_written(path, error.strerror or str(error)) from error


def _write_tables(new: Path, tables: Iterable[Table | WrittenTable]) -> None:
    for table in tables:
        file = new / f"{table.name}{_SUFFIX}"
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("wb") as sink:
            write_table(sink, table)
            sink.flush()
            os.fsync(sink.fileno())
    for folder in {file.parent for file in new.rglob(f"*{_SUFFIX}")} | {new}:
        sync_folder(folder)


def _columns(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    import pyarrow as pa

    columns = zip(*rows, strict=True)
    return pa.Table.from_arrays(
        [pa.array(held, field.type) for held, field in zip(columns, schema, strict=True)], schema=schema
    )


def _types() -> dict[str, pa.DataType]:
    import pyarrow as pa

    ints = pa.list_(pa.int32())
    outcome = pa.struct([("leader", pa.int32()), ("isr", ints), ("elr", ints), ("last_known_elr", ints)])
    return {
        TEXT: pa.string(),
        INT: pa.int64(),
        BOOL: pa.bool_(),
        FLOAT: pa.float64(),
        INTS: ints,
        TEXTS: pa.list_(pa.string()),
        OUTCOMES: pa.list_(outcome),
    }


def _not_written(path: Path, why: str) -> FailedError:
    return FailedError(f"the tables could not be written to {path}: {why}", id="details-not-written")
