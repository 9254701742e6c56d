"""A session with unusual settings: the rows are those of the local fold, and the settings stay as they are."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafkactl.spark.api import SETTINGS, export_tables
from kafkactl.spark.export.cluster_tables import ExportPlan, Point
from tests.spark.conftest import MOUNT
from tests.spark.logs import write_all_logs

pytestmark = [pytest.mark.slow, pytest.mark.timeout(2400)]  # a JVM starts, which takes minutes under load
pa = pytest.importorskip("pyarrow")
spark = pytest.importorskip("kafkactl.spark")

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = dict[str, Any]
SQL = "spark.sql."
# All values are other than the defaults, and are set at once.
OF_READING = {
    "ansi.enabled": "false",
    "caseSensitive": "true",
    "session.timeZone": "America/St_Johns",
    "timestampType": "TIMESTAMP_NTZ",
    "shuffle.partitions": "1",
    "adaptive.enabled": "false",
    "adaptive.coalescePartitions.parallelismFirst": "false",
    "codegen.wholeStage": "false",
    "codegen.factoryMode": "NO_CODEGEN",
    "autoBroadcastJoinThreshold": "-1",
    "leafNodeDefaultParallelism": "1",
    "execution.arrow.pyspark.enabled": "true",
    "execution.arrow.maxRecordsPerBatch": "1",
    "execution.arrow.maxBytesPerBatch": "1",
    "execution.arrow.useLargeVarTypes": "true",
    "execution.pyspark.udf.faulthandler.enabled": "true",
    "files.maxPartitionBytes": "64",
    "files.openCostInBytes": "1",
    "files.minPartitionNum": "7",
    "files.ignoreCorruptFiles": "true",
    "files.ignoreMissingFiles": "true",
    "sources.parallelPartitionDiscovery.threshold": "0",
    "sources.partitionColumnTypeInference.enabled": "false",
    "sources.useV1SourceList": "",
    "optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.PushDownPredicates",
}
OF_WRITING = {
    "session.timeZone": "America/St_Johns",
    "timestampType": "TIMESTAMP_NTZ",
    "ansi.enabled": "false",
    "caseSensitive": "true",
    "execution.arrow.useLargeVarTypes": "true",
    "files.maxRecordsPerFile": "3",
    "legacy.timeParserPolicy": "LEGACY",
    "parquet.compression.codec": "gzip",
    "parquet.writeLegacyFormat": "true",
    "parquet.outputTimestampType": "TIMESTAMP_MILLIS",
    "parquet.datetimeRebaseModeInWrite": "LEGACY",
    "parquet.int96RebaseModeInWrite": "LEGACY",
    "parquet.fieldId.write.enabled": "false",
    "sources.partitionOverwriteMode": "dynamic",
    "sources.useV1SourceList": "",
}


@pytest.fixture(scope="module")
def logs(root: Path) -> Path:
    """Return the folder of two captured logs and a damaged one."""
    write_all_logs(root / "logs", releases=("4.4.0", "3.9.2"), made=("torn",))
    return root / "logs"


@contextmanager
def changed(session: SparkSession, values: dict[str, str]) -> Iterator[None]:
    """Set all settings, check that the body leaves every one, and set them as before."""
    earlier = {name: session.conf.get(SQL + name, None) for name in values}
    assert not [name for name, value in values.items() if earlier[name] == value]
    for name, value in values.items():
        session.conf.set(SQL + name, value)
    before = session.conf.getAll
    try:
        yield
        assert session.conf.getAll == before
    finally:
        for name, value in earlier.items():
            if value is None:
                session.conf.unset(SQL + name)
            else:
                session.conf.set(SQL + name, value)


def ordered(rows: list[Row]) -> list[str]:
    return sorted(str({name: row[name] for name in sorted(row)}) for row in rows)


def rows_here(path: str, table: str) -> list[str]:
    """Return the rows of the local fold."""
    reader = spark.KafkaMetadata({"path": path, "table": table}).reader(None)
    batches = [batch for part in reader.partitions() for batch in reader.read(part)]
    return ordered(pa.Table.from_batches(batches).to_pylist())


def rows_there(frame: DataFrame, root: Path) -> list[str]:
    """Return the rows of a frame, with times in UTC."""
    table = frame.toArrow()
    for at, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(at, field.name, table.column(at).cast(pa.timestamp("us", tz="UTC")))
    return [row.replace(MOUNT, str(root)) for row in ordered(table.to_pylist())]


def test_rows_under_unusual_settings_are_those_of_the_local_fold(session: SparkSession, root: Path, logs: Path) -> None:
    session.dataSource.register(spark.KafkaMetadata)
    expected = {table: rows_here(str(logs), table) for table in ("records", "brokers", "partitions")}
    with changed(session, OF_READING):
        source = session.read.format("kafka-metadata").option("table", "partitions").load(str(logs))
        for table, frame in {
            "records": spark.records(session, f"{MOUNT}/logs"),
            "brokers": spark.state(session, logs, "brokers"),
            "partitions": source,
        }.items():
            assert rows_there(frame, root) == expected[table] != [], table


def texts(out: Path, form: str) -> list[str]:
    """Return the rows of all tables in a folder as sorted texts."""
    from pyarrow import dataset

    found: list[str] = []
    for table in sorted(out.iterdir()):
        for path in sorted(table.rglob("part-*")):
            assert path.suffix == f".{form}", path
            if form == "parquet":
                rows = dataset.dataset(path, format="parquet").to_table()
                kinds = sorted(f"{field.name} {field.type}" for field in rows.schema)
                found += [f"{table.name} {kinds} {row}" for row in ordered(rows.to_pylist())]
            else:
                with path.open(encoding="utf-8", newline="") as file:
                    found += [f"{table.name} {row}" for row in (csv.DictReader(file) if form == "csv" else file)]
    return sorted(found)


@pytest.mark.parametrize("form", ["parquet", "jsonl", "csv"])
def test_files_under_unusual_settings_are_those_written_in_process(
    session: SparkSession, logs: Path, tmp_path: Path, form: str
) -> None:
    from kafkactl.spark.export.on_spark import export_by_spark

    tables = ("brokers", "configs", "findings")
    export_tables([str(logs)], tmp_path / "here", tables=tables, form=form)
    plan = ExportPlan((str(logs),), str(tmp_path / "there"), tables, form, Point(), "error", None)
    with changed(session, OF_WRITING):
        given = session.newSession()
        for name, value in {**{SQL + name: value for name, value in OF_WRITING.items()}, **SETTINGS}.items():
            given.conf.set(name, value)  # as spark-defaults.conf has them
        export_by_spark(given, plan)
    assert texts(tmp_path / "there", form) == texts(tmp_path / "here", form) != []
