"""A session of Spark Connect gives the same tables as a session with a driver in this process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.dryrun.odd_logs import CASES, damaged, encoded
from tests.repository.tree import ROOT
from tests.spark.connect_tables import tables_of
from tests.spark.logs import write_all_logs, write_log

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]  # a JVM starts, which takes minutes under load
pytest.importorskip("pandas")
pytest.importorskip("grpc", reason="pyspark[connect] is not installed")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_tables_equal_those_of_a_driver_in_this_process(session: SparkSession, root: Path) -> None:
    write_all_logs(root, releases=("4.4.0",), made=False)
    write_log(root, "ended", encoded(CASES["ended"]))
    write_log(root, "damaged", dict(damaged())["torn"])
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, "-m", "tests.spark.connect_tables", str(root), "mounted"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    found = json.loads(run.stdout.splitlines()[-1])
    expected = tables_of(session, str(root))
    assert found[str(root)] == expected and all(rows for name, rows in expected.items() if name != "errors")
    mounted = {
        name: [row.replace("viewfs://test/mounted", str(root)) for row in rows]
        for name, rows in found["viewfs://test/mounted"].items()
    }
    assert {name: sorted(rows) for name, rows in mounted.items()} == expected
