"""Tables on a standalone cluster whose workers do not have kafkactl, also when one of them is killed."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafkactl.metadata.api import load_image
from tests.spark.conftest import QUICK_JVM
from tests.spark.logs import write_all_logs
from tests.spark.standalone import Standalone

pytestmark = [pytest.mark.lab, pytest.mark.timeout(2400)]
spark = pytest.importorskip("kafkactl.spark")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Standalone]:
    with ExitStack() as stack:
        yield Standalone(tmp_path, stack)


@pytest.fixture
def session(cluster: Standalone) -> Iterator[SparkSession]:
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYSPARK_PYTHON", sys.executable)
        settings = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "ERROR",
            "spark.executor.memory": "512m",
            "spark.driver.defaultJavaOptions": QUICK_JVM,
            "spark.executor.defaultJavaOptions": QUICK_JVM,
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
        }
        builder = SparkSession.builder.master(cluster.master).appName("tables")
        for name, value in settings.items():
            builder = builder.config(name, value)
        made = builder.getOrCreate()
        yield made
        made.stop()


def test_rows_are_the_same_when_a_worker_is_killed(session: SparkSession, cluster: Standalone, tmp_path: Path) -> None:
    logs = write_all_logs(tmp_path / "logs")
    killing = threading.Thread(target=cluster.kill_busy_worker)
    killing.start()
    for _ in range(3):  # until after the worker was killed
        rows = spark.state(
            session, tmp_path / "logs", "partitions", cluster_of="([^/]+)/__cluster_metadata-0"
        ).collect()
        found = {(row["cluster"], row["topic_id"], row["partition"], row["leader"]) for row in rows if not row["error"]}
        expected = {
            (log.parent.name, str(topic.id), number, partition.leader)
            for log in logs
            for topic in load_image(log).image.topics.values()
            for number, partition in topic.partitions.items()
        }
        assert found == expected
    killing.join()
    _check_export(session, tmp_path)


def _check_export(session: SparkSession, tmp_path: Path) -> None:
    """Check that the worker that is left writes to a folder that driver and workers share."""
    from kafkactl.spark.api import export_tables
    from kafkactl.spark.export.cluster_tables import ExportPlan, Point
    from kafkactl.spark.export.on_spark import export_by_spark

    tables = ("partitions", "findings")
    logs = str(tmp_path / "logs" / "4.*")
    plan = ExportPlan((logs,), str(tmp_path / "spark"), tables, "jsonl", Point(), "error", None)
    found = export_by_spark(session, plan)
    expected = export_tables([logs], tmp_path / "local", tables=tables, form="jsonl")
    for table in tables:
        here, there = (
            sorted(
                line
                for path in (tmp_path / engine / table).rglob("*.jsonl")
                for line in path.read_text("utf-8").splitlines()
            )
            for engine in ("local", "spark")
        )
        assert here == there and here
    assert [table.rows for table in found.tables] == [table.rows for table in expected.tables]
