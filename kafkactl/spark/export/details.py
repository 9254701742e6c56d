"""`--details URI` of a dry run: tables in the layout of an export; a day of a cluster replaces an earlier one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafkactl.dryrun.detail_tables import Table
from kafkactl.dryrun.io.detail_files import WrittenTable, write_table, written_table
from kafkactl.spark.export.hadoop import HadoopFolder, staging_in
from kafkactl.spark.export.layout import day_folder
from kafkactl.spark.export.local_files import export_to
from kafkactl.spark.export.on_spark import put_in_place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FORM: Final = "parquet"
_MODE: Final = "append"


def write_here(folder: Path, tables: Iterable[Table | WrittenTable], cluster: str, day: str | None) -> None:
    """Write the tables about a cluster to a folder of this machine. Raises FailedError `tables-not-written`."""
    with export_to(folder, (), _FORM, _MODE) as export:
        for table in tables:
            with export.file(table.name, cluster, day) as sink:
                write_table(sink, table)


def write_by_hadoop(
    session: SparkSession, uri: str, tables: Iterable[Table | WrittenTable], cluster: str, day: str | None
) -> None:
    """Write the tables about a cluster to a folder of another file system. Raises FailedError `tables-not-written`."""
    folder, place = HadoopFolder(session, uri), day_folder(cluster, day)
    names = []
    with staging_in(folder) as staging:
        for table in tables:
            folder.write(f"{staging}/{table.name}/{place}/part-00000.{_FORM}", written_table(table).content)
            names.append(table.name)
        for name in names:
            put_in_place(folder, staging, name, _MODE, [place])
