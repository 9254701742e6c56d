"""Tables of metadata logs as files, written by Spark: the same rows as in process, whole or not at all."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafkactl.core.errors import InputError, RefusedError
from kafkactl.spark.api import EXPORTED, LogExport, export_tables
from kafkactl.spark.export.cluster_tables import ExportPlan, Point
from kafkactl.spark.export.hadoop import HadoopFolder, staging_in
from tests.repository.tree import ROOT
from tests.spark.conftest import MOUNT
from tests.spark.logs import write_all_logs

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]  # a JVM starts, which takes minutes under load
pytest.importorskip("pyarrow")
spark = pytest.importorskip("kafkactl.spark.export.on_spark")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CLUSTER_OF = "([^/]+)/__cluster_metadata-0"
# Rows of all releases and of every odd and damaged log are compared in test_tables and test_history; a file more is
# written for each log and table.
RELEASES = ("3.9.2", "4.3.1", "4.4.0")
MADE = (
    "ended", "never ended", "eligible leaders cleared", "no metadata.version", "values that are not known",
    "not decodable", "a value above four kilobytes", "flipped 3", "torn", "hole", "older epoch", "empty",
)  # fmt: skip


@pytest.fixture(scope="module")
def logs(root: Path) -> Path:
    """Return the folder of captured, odd and damaged logs."""
    assert len(write_all_logs(root / "logs", releases=RELEASES, made=MADE)) == len(RELEASES) + len(MADE)
    return root / "logs"


@pytest.fixture
def exporting(session: SparkSession) -> Iterable[SparkSession]:
    """Yield the session with the settings of an export."""
    session.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    yield session
    session.conf.unset("spark.sql.parquet.outputTimestampType")


def plan(path: Path | str, out: Path | str, tables: Iterable[str] = ("topics",), **more: Any) -> ExportPlan:
    values = {"form": "parquet", "point": Point(), "mode": "error", "cluster_of": CLUSTER_OF, **more}
    return ExportPlan(paths=(str(path),), out=str(out), names=tuple(tables), **values)


def rows_of(out: Path, table: str) -> list[str]:
    """Return the rows of a table as sorted texts, with cluster and day."""
    from pyarrow import dataset

    found = dataset.dataset(out / table, format="parquet", partitioning="hive", exclude_invalid_files=True)
    rows = [{name: row[name] for name in sorted(row)} for row in found.to_table().to_pylist()]
    return sorted(map(str, rows))


def days_of(out: Path, table: str) -> set[str]:
    return {str(path.parent.relative_to(out)) for path in (out / table).rglob("*.*") if path.name[0] not in "._"}


def answers(found: LogExport) -> list[str]:
    return sorted(json.dumps(cluster.to_dict(), default=str) for cluster in found.clusters)


def test_tables_equal_those_written_in_process(exporting: SparkSession, logs: Path, tmp_path: Path) -> None:
    found = spark.export_by_spark(exporting, plan(logs, tmp_path / "spark", EXPORTED))
    expected = export_tables([str(logs)], tmp_path / "local", tables=EXPORTED, cluster_of=CLUSTER_OF)
    assert found.engine == "spark" and expected.engine == "local"
    assert answers(found) == answers(expected)
    assert [(table.name, table.rows) for table in found.tables] == [
        (table.name, table.rows) for table in expected.tables
    ]
    for table in found.tables:
        rows = rows_of(tmp_path / "spark", table.name)
        assert rows == rows_of(tmp_path / "local", table.name), table.name
        assert len(rows) == table.rows
        assert days_of(tmp_path / "spark", table.name) <= days_of(tmp_path / "local", table.name)
        assert (tmp_path / "spark" / table.name / "_SUCCESS").exists()
        written = list((tmp_path / "spark" / table.name).rglob("part-*.parquet"))
        assert (len(written), sum(path.stat().st_size for path in written)) == (table.files, table.bytes)
    assert sorted(path.name for path in (tmp_path / "spark").iterdir()) == sorted(EXPORTED)
    for name in ("brokers", "delegation_tokens"):
        here, there = (exporting.read.parquet(str(tmp_path / engine / name)) for engine in ("local", "spark"))
        assert here.exceptAll(there).isEmpty() and there.exceptAll(here).isEmpty()


def test_texts_equal_those_written_in_process(exporting: SparkSession, logs: Path, tmp_path: Path) -> None:
    tables = ("brokers", "configs", "findings", "delegation_tokens")
    for form in ("jsonl", "csv"):
        spark.export_by_spark(exporting, plan(logs, tmp_path / f"spark-{form}", tables, form=form))
        export_tables([str(logs)], tmp_path / f"local-{form}", tables=tables, form=form, cluster_of=CLUSTER_OF)
        for table in tables:
            here, there = (
                sorted(row for path in (tmp_path / f"{engine}-{form}" / table).rglob(f"*.{form}") for row in read(path))
                for engine in ("local", "spark")
            )
            assert here == there, (form, table)


def read(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        if path.suffix == ".csv":
            return list(map(str, csv.DictReader(file)))
        return [str(json.loads(line)) for line in file.read().split("\n") if line]


def test_other_file_system_has_the_same_tables(exporting: SparkSession, root: Path, logs: Path) -> None:
    tables = ("records", "partitions", "findings")
    there = plan(f"{MOUNT}/logs/4.*", f"{MOUNT}/out", tables)
    found = spark.export_by_spark(exporting, there)
    with pytest.raises(RefusedError) as refused:
        spark.export_by_spark(exporting, there)
    assert (refused.value.id, refused.value.exit_code) == ("table-exists", 3)
    expected = export_tables([str(logs / "4.*")], root / "local", tables=tables, cluster_of=CLUSTER_OF)
    assert found.tables[1].path == f"{MOUNT}/out/partitions"
    for table in tables:
        copied = [row.replace(MOUNT, str(root)) for row in rows_of(root / "out", table)]
        assert copied == rows_of(root / "local", table) and copied
    sources = {cluster.source.replace(MOUNT, str(root)) for cluster in found.clusters}
    assert sources == {cluster.source for cluster in expected.clusters}


def test_modes_replace_days_and_tables(exporting: SparkSession, logs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    # As a task of an interrupted export of this process can leave it.
    with staging_in(HadoopFolder(exporting, str(out))) as interrupted:
        first = plan(logs / "4.*", out, ("topics", "acls"))
        spark.export_by_spark(exporting, first)
        assert (out / interrupted).is_dir()
    (out / interrupted / "topics" / "_temporary").mkdir(parents=True)
    whole = rows_of(out, "topics")
    with pytest.raises(RefusedError) as refused:
        spark.export_by_spark(exporting, plan(logs, out, ("brokers", "acls")))
    assert refused.value.id == "table-exists" and not (out / "brokers").exists()
    spark.export_by_spark(exporting, first._replace(mode="append"))
    assert rows_of(out, "topics") == whole
    spark.export_by_spark(exporting, plan(logs / "3.9*", out, mode="append"))
    assert set(rows_of(out, "topics")) > set(whole)
    export_tables([str(logs / "3.9*")], out, tables=["topics"], mode="append", cluster_of=CLUSTER_OF)
    notes = next((out / "topics").glob("cluster=*")) / "notes.txt"
    notes.touch()
    with pytest.raises(RefusedError, match=r"contains cluster=.*/notes\.txt, which no export has written"):
        spark.export_by_spark(exporting, plan(logs / "4.4.0", out, mode="overwrite"))
    notes = notes.rename(next((out / "topics" / "cluster=4.4.0").glob("date=*")) / "notes.txt")
    with pytest.raises(RefusedError, match=r"contains cluster=4.4.0/date=.*/notes\.txt, which no export has written"):
        spark.export_by_spark(exporting, plan(logs / "4.4.0", out, mode="append"))
    notes.unlink()
    spark.export_by_spark(exporting, plan(logs / "4.4.0", out, mode="overwrite"))
    assert rows_of(out, "topics") and set(rows_of(out, "topics")) < set(whole)
    assert sorted(path.name for path in out.iterdir()) == ["acls", "topics"]
    assert sorted(path.name for path in (out / "topics").iterdir() if path.name[0] != ".") == [
        "_SUCCESS", "cluster=4.4.0",
    ]  # fmt: skip


def test_point_of_the_log_limits_all_tables(exporting: SparkSession, logs: Path, tmp_path: Path) -> None:
    tables = ("records", "changes", "topics")
    spark.export_by_spark(exporting, plan(logs / "4.4.0", tmp_path / "spark", tables, point=Point(at=60)))
    export_tables([str(logs / "4.4.0")], tmp_path / "local", tables=tables, at=60, cluster_of=CLUSTER_OF)
    for table in tables:
        assert rows_of(tmp_path / "spark", table) == rows_of(tmp_path / "local", table)
    offsets = exporting.read.parquet(str(tmp_path / "spark" / "records")).groupBy().max("offset").first()
    assert offsets is not None and offsets[0] == 60


def test_no_readable_log_writes_nothing(exporting: SparkSession, root: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        spark.export_by_spark(exporting, plan(root / "none", tmp_path / "out", cluster_of=None))
    assert refused.value.id == "no-metadata-log" and not (tmp_path / "out").exists()


def test_cluster_names_have_the_folders_of_sparks_rule(session: SparkSession) -> None:
    from kafkactl.spark.export.layout import day_folder

    names = "".join(map(chr, range(1, 128))) + "é 日"
    jvm: Any = session._jvm
    escaped = jvm.org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils.escapePathName(names)
    assert day_folder(names, "2026-11-28") == f"cluster={escaped}/date=2026-11-28"


def test_killed_export_leaves_no_table_and_is_cleaned_by_the_next(
    exporting: SparkSession, logs: Path, tmp_path: Path
) -> None:
    # The process ends between the two renames of a day that exists: the old rows come back.
    out = tmp_path / "out"
    spark.export_by_spark(exporting, plan(logs / "4.4.0", out))
    before = rows_of(out, "topics")
    program = f"""
import os, signal
from kafkactl.spark.api import export_tables
from kafkactl.spark.export.hadoop import HadoopFolder
move = HadoopFolder.move
def killed(self, old, new):
    move(self, old, new)
    if "/old-days/" in new:
        os.killpg(0, signal.SIGKILL)
HadoopFolder.move = killed
export_tables([{str(logs / "4.4.0")!r}], {str(out)!r}, tables=["topics"], mode="append", cluster_of={CLUSTER_OF!r},
              engine="spark", master="local[1]")
"""
    environment = {**os.environ, "SPARK_DRIVER_MEMORY": "512m"}
    killed = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, start_new_session=True, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    assert not (out / "topics" / "_SUCCESS").exists() and rows_of(out, "topics") == []
    spark.export_by_spark(exporting, plan(logs / "4.3.1", out, mode="append"))
    assert set(rows_of(out, "topics")) > set(before)
    assert [path.name for path in out.iterdir()] == ["topics"]


def test_command_chooses_spark_for_a_uri(root: Path, logs: Path, tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text(
        f"spark.hadoop.fs.viewfs.mounttable.test.link./logs {root.as_uri()}\nspark.master local[1]\n"
        "spark.driver.memory 512m\n"
    )
    command = [
        sys.executable, "-m", "kafkactl", "log", "export", str(logs / "4.4.0"), "--out", f"{MOUNT}/command", "-v",
        "--table", "brokers", "-o", "json",
    ]  # fmt: skip
    environment = {**os.environ, "SPARK_CONF_DIR": str(tmp_path)}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    answer = json.loads(run.stdout)
    assert answer["engine"] == "spark" and answer["tables"][0]["path"] == f"{MOUNT}/command/brokers"
    assert "is in a file system that Spark opens" in run.stderr
    assert len(rows_of(root / "command", "brokers")) == answer["tables"][0]["rows"] > 0
