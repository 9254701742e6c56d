"""Names of tables' folders and files, equal for all engines, and the modes of an export."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from kafkactl.core.errors import RefusedError
from kafkactl.spark.arrow import micros

SUCCESS: Final = "_SUCCESS"
MODES: Final = ("error", "overwrite", "append")
FORMATS: Final = ("parquet", "jsonl", "csv")
STAGING: Final = ".kafkactl-export."
NO_DAY: Final = "__HIVE_DEFAULT_PARTITION__"
"""The day of a log without a time; readers give null for it."""

# Spark's own rule (ExternalCatalogUtils.escapePathName), so that a day has one folder whatever engine writes it.
_ESCAPED: Final = re.compile(r"""[\x01-\x1f\x7f"#%'*/:=?\\{\[\]^]""")


class EarlierTable(NamedTuple):
    """A table that is there: the names in its folder, the paths of all files below it, and of those to be removed."""

    names: Iterable[str]
    files: Iterable[str]
    removed: Iterable[str]


def check_table(out: str, table: str, earlier: EarlierTable | None, *, form: str, mode: str) -> None:
    """Raise RefusedError `table-exists` if a table that is there cannot take the rows.

    No file is removed that no export has written. The first one that an export has written has the format of all.
    """
    if earlier is None:
        return
    if mode == "error":
        raise RefusedError(f"{out} contains the table {table} already", id="table-exists")
    among = (name for name in earlier.names if name != SUCCESS and not name.startswith(("cluster=", ".")))
    strange = next(among, None) or next((path for path in earlier.removed if not is_written(path)), None)
    if strange is not None:
        raise RefusedError(
            f"{out}/{table} contains {strange}, which no export has written",
            id="table-exists",
            next_step=f"Move {strange} to another place, or name another directory.",
        )
    other = PurePosixPath(next(filter(_is_part, earlier.files), "")).suffix[1:]
    if mode == "append" and other not in ("", form):
        raise RefusedError(
            f"{out} contains the table {table} as {other}, and {form} is written",
            id="table-exists",
            next_step="Append in the format of the table, use `--mode overwrite`, or name another directory.",
        )


def check_columns(out: str, table: str, known: tuple[str, ...] | None, new: tuple[str, ...] | None) -> None:
    """Raise RefusedError `table-exists` if a table that is there has other columns, as those of another release do.

    Readers take the columns of a table from one of its files. None is for columns that are not known.
    """
    if known is None or new is None or known == new:
        return
    names = ", ".join(sorted(set(known) ^ set(new))) or "their order"
    raise RefusedError(
        f"{out} contains the table {table} with other columns ({names})",
        id="table-exists",
        next_step="Use `--mode overwrite`, or name another directory.",
    )


def _is_part(path: str) -> bool:
    file = PurePosixPath(path)
    return file.name.startswith("part-") and file.suffix[1:] in FORMATS


def is_written(path: str) -> bool:
    """Return True for a file of an export, or a checksum that Hadoop writes next to it."""
    name = PurePosixPath(path).name
    return _is_part(path) or name == SUCCESS or (name.startswith(".") and name.endswith(".crc"))


def day_of(time_ms: int | None) -> str | None:
    """Return the UTC day of a time; None for an unknown time, and for one that no table can hold.

    >>> day_of(0), day_of(None)
    ('1970-01-01', None)
    """
    if micros(time_ms) is None or time_ms is None:
        return None
    return datetime.fromtimestamp(time_ms // 1000, UTC).strftime("%Y-%m-%d")


def day_folder(cluster: str, day: str | None) -> str:
    """Return the folder of a cluster's day within a table.

    >>> day_folder("a b:c", "2026-11-28"), day_folder("prod", None)
    ('cluster=a b%3Ac/date=2026-11-28', 'cluster=prod/date=__HIVE_DEFAULT_PARTITION__')
    """
    name = _ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", cluster)
    return f"cluster={name}/date={day or NO_DAY}"
