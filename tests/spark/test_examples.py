"""The nightly job of docs/examples, in a session and as spark-submit runs it."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bench.log_shape import Shape
from bench.make_metadata_log import write_log
from kafkactl.dryrun.api import predict, read_context
from tests.installed import place_of
from tests.repository.tree import ROOT
from tests.spark.conftest import QUICK_JVM

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]  # a JVM starts, which takes minutes under load
pytest.importorskip("pandas")
JOB = ROOT / "docs" / "examples" / "fleet_risk.py"
SUBMIT = place_of("pyspark") / "bin" / "spark-submit"


def submit(*arguments: str) -> subprocess.CompletedProcess[str]:
    address = ("spark.driver.host=127.0.0.1", "spark.driver.bindAddress=127.0.0.1")
    settings = ("spark.ui.enabled=false", *address, f"spark.driver.defaultJavaOptions={QUICK_JVM}")
    options = [option for setting in settings for option in ("--conf", setting)]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    command = [str(SUBMIT), "--master", "local[2]", *options, str(JOB), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_second_run_replaces_the_day_and_reports_the_log_without_an_answer(
    session: SparkSession, tmp_path: Path
) -> None:
    from pyarrow import dataset

    for name, seed in (("first", 1), ("second", 2)):
        write_log(tmp_path / "logs" / name, Shape(records=900, partitions=250, brokers=5, seed=seed))
    logs = sorted((tmp_path / "logs").glob("*/__cluster_metadata-0"))
    words = (str(tmp_path / "logs"), "--out", f"file://{tmp_path}/out", "--day", "2026-11-28")
    assert runpy.run_path(str(JOB))["main"](words) == 0  # in the session of this process, a JVM less
    broken = tmp_path / "logs" / "broken" / "__cluster_metadata-0"
    broken.mkdir(parents=True)
    (broken / f"{50:020d}.log").write_bytes(b"")
    run = submit(*words)
    assert run.returncode == 5, run.stderr[-2000:]
    assert "answers are missing" in run.stdout
    missing = dataset.dataset(tmp_path / "out" / "unanswered", partitioning="hive", exclude_invalid_files=True)
    found = missing.to_table().to_pylist()
    assert {row["cluster"] for row in found} == {"broken"} and len(found) == 3
    rows = dataset.dataset(tmp_path / "out" / "risk", partitioning="hive", exclude_invalid_files=True).to_table()
    found = {(row["cluster"], row["input"]): row["verdict"] for row in rows.to_pylist() if "worst" in row["input"]}
    assert len(rows) == 6
    for log in logs:
        for worst in (1, 2):
            expected = predict(read_context(str(log)), "broker-loss", worst=worst).verdict
            key = next(key for key in found if key[0] == log.parent.name and json.loads(key[1])["worst"] == worst)
            assert found[key] == expected
    assert set(map(str, rows.column("date").to_pylist())) == {"2026-11-28"}
