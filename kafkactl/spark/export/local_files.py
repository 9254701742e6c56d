"""Tables as files on disks of this machine, written first to a staging folder."""

from __future__ import annotations

import csv
import fcntl
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from kafkactl.core.errors import FailedError
from kafkactl.files.held_folder import held_folder
from kafkactl.files.whole_file import put_in_place, staging_folder
from kafkactl.spark.arrow import batches
from kafkactl.spark.columns import Columns
from kafkactl.spark.export.layout import (
    STAGING,
    SUCCESS,
    EarlierTable,
    check_columns,
    check_table,
    day_folder,
    is_written,
)
from kafkactl.spark.export.texts import csv_cells, json_lines

Row = tuple[Any, ...]
_DAYS: Final = "cluster=*/date=*"
_OLD: Final = ".old"


class Written(NamedTuple):
    """A file of a table."""

    rows: int
    bytes: int


class Export:
    """Tables that are written to a staging folder in `out` and moved to their places at the end."""

    def __init__(self, out: Path, staging: Path, form: str, mode: str, *, shown: str) -> None:
        self._out = out
        self._shown = shown
        self._staging = staging
        self._form = form
        self._mode = mode

    @contextmanager
    def file(self, table: str, cluster: str, day: str | None) -> Iterator[BinaryIO]:
        """Open the file of a table about a cluster on a day, whose content the caller writes."""
        folder = self._staging / table / day_folder(cluster, day)
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f"part-00000.{self._form}").open("wb") as sink:
            yield sink

    def write(self, table: str, cluster: str, day: str | None, columns: Columns, rows: Iterable[Row]) -> Written:
        """Write the rows of a table about a cluster on a day. Raises FailedError `tables-not-written`."""
        folder = self._staging / table / day_folder(cluster, day)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"part-00000.{self._form}"
        count = _WRITERS[self._form](path, columns, rows)
        return Written(count, path.stat().st_size)

    def finish(self) -> None:
        """Move the tables to their places, each with a file `_SUCCESS` after all others.

        Raises RefusedError `table-exists` before the first one is moved.
        """
        staged = {
            str(table.relative_to(self._staging)): sorted(str(day.relative_to(table)) for day in table.glob(_DAYS))
            for table in sorted({folder.parent for folder in self._staging.rglob("cluster=*")})
        }
        with _locked(self._out):
            for name, days in staged.items():
                target = self._out / name
                _complete(target)
                check_table(self._shown, name, _earlier(target, days, self._mode), form=self._form, mode=self._mode)
                if self._mode == "append":
                    known, new = (_columns_in(place, self._form) for place in (target, self._staging / name))
                    check_columns(self._shown, name, known, new)
            for name, days in staged.items():
                self._put_in_place(self._staging / name, self._out / name, days)

    def _put_in_place(self, table: Path, target: Path, days: Iterable[str]) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        if self._mode == "overwrite" or not target.exists():
            (table / SUCCESS).touch()
            _replace(table, target)
            return
        (target / SUCCESS).unlink(missing_ok=True)
        for day in days:
            (target / day).parent.mkdir(parents=True, exist_ok=True)
            _replace(table / day, target / day)
        (target / SUCCESS).touch()


def _replace(new: Path, place: Path) -> None:
    """Replace a folder. An earlier folder stays next to it if the process is killed between two renames."""
    put_in_place(new, place, place.with_name(f".{place.name}{_OLD}"))


def _complete(table: Path) -> None:
    """Undo what a process left that was killed between two renames: move an earlier folder back if its place is empty,
    else remove it."""
    for old in (table.with_name(f".{table.name}{_OLD}"), *table.glob(f"cluster=*/.date=*{_OLD}")):
        place = old.with_name(old.name[1:].removesuffix(_OLD))
        if old.is_dir() and not place.exists():
            old.rename(place)
        elif old.is_dir() and all(map(is_written, _files(old))):
            shutil.rmtree(old)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder's exports; without locks in the file system nothing is held."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _columns_in(table: Path, form: str) -> tuple[str, ...] | None:
    """Return the columns of a table that its first file shows; None if no file shows them, as of JSON lines."""
    first = next((table / file for file in _files(table) if is_written(file) and file.endswith(f".{form}")), None)
    if first is None or form == "jsonl":
        return None
    with first.open("rb") as file:
        if form == "csv":
            return tuple(file.readline().decode("utf-8").strip().split(","))
        import pyarrow.parquet as pq

        return tuple(pq.ParquetFile(file).schema_arrow.names)


@contextmanager
def export_to(out: Path, tables: Iterable[str], form: str, mode: str) -> Iterator[Export]:
    """Return an export that is finished at the end of the body; after an error nothing is changed.

    Raises RefusedError `table-exists`, FailedError `tables-not-written`.
    """
    try:
        for table in tables:
            check_table(str(out), table, _earlier(out / table, (), mode), form=form, mode=mode)
        is_new = not out.exists()
        out.mkdir(parents=True, exist_ok=True)
        try:
            with held_folder(out) as held, staging_folder(held, STAGING) as staging:
                export = Export(held, staging, form, mode, shown=str(out))
                yield export
                export.finish()
        finally:
            if is_new and not any(out.iterdir()):
                out.rmdir()
    except FileExistsError as error:
        raise FailedError(f"{out} cannot be written: it is a file", id="tables-not-written") from error
    except OSError as error:
        raise FailedError(f"{out} cannot be written: {error.strerror or error}", id="tables-not-written") from error


def _earlier(table: Path, days: Iterable[str], mode: str) -> EarlierTable | None:
    """Return what is in the place of a table, of which `days` are replaced; None if there is nothing."""
    if not table.is_dir():
        return EarlierTable([table.name], (), ()) if os.path.lexists(table) else None
    replaced = [""] if mode == "overwrite" else days
    removed = (os.path.join(day, file) for day in replaced for file in _files(table / day))  # noqa: PTH118  # names
    return EarlierTable(sorted(path.name for path in table.iterdir()), _files(table), removed)


def _files(table: Path) -> Iterator[str]:
    """Yield the paths of all files and links below the folder of a table."""
    for path in table.rglob("*"):
        if path.is_symlink() or not path.is_dir():
            yield str(path.relative_to(table))


def _write_parquet(path: Path, columns: Columns, rows: Iterable[Row]) -> int:
    import pyarrow.parquet as pq

    from kafkactl.spark.arrow import arrow_schema

    count = 0
    # pyarrow takes no path whose bytes are not UTF-8.
    with path.open("wb") as file, pq.ParquetWriter(file, arrow_schema(columns)) as writer:
        for batch in batches(columns, rows):
            writer.write_batch(batch)
            count += batch.num_rows
    return count


def _write_jsonl(path: Path, columns: Columns, rows: Iterable[Row]) -> int:
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for count, line in enumerate(json_lines(columns, rows), start=1):  # noqa: B007  # the last one is the number
            file.write(f"{line}\n")
    return count


def _write_csv(path: Path, columns: Columns, rows: Iterable[Row]) -> int:
    count = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([column.name for column in columns])
        for count, cells in enumerate(csv_cells(columns, rows), start=1):  # noqa: B007  # as above
            writer.writerow(cells)
    return count


_WRITERS: Final[Mapping[str, Callable[[Path, Columns, Iterable[Row]], int]]] = {
    "parquet": _write_parquet,
    "jsonl": _write_jsonl,
    "csv": _write_csv,
}
