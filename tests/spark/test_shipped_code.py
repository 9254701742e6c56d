"""Workers that have pyarrow, pandas and numpy, and not kafkactl: its code comes with the session."""

from __future__ import annotations

import shlex
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pandas
import pyarrow
import pytest

from tests.spark.conftest import QUICK_JVM
from tests.spark.logs import write_all_logs

pytestmark = pytest.mark.slow
spark = pytest.importorskip("kafkactl.spark")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def bare_session(tmp_path: Path) -> Iterator[SparkSession]:
    """Yield a session whose workers run Python without site packages but for those of the needed modules."""
    from pyspark.sql import SparkSession

    places = {str(Path(module.__file__).parents[1]) for module in (pandas, pyarrow)}
    places |= {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    python = tmp_path / "python"
    python.write_text(
        f"#!/bin/sh\nPYTHONPATH=$PYTHONPATH:{shlex.quote(':'.join(sorted(places)))}\nexport PYTHONPATH\n"
        f'exec {shlex.quote(sys.executable)} -S -P "$@"\n'
    )
    python.chmod(0o755)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYSPARK_PYTHON", str(python))
        builder = SparkSession.builder.master("local[2]").appName("bare").config("spark.ui.enabled", "false")
        builder = builder.config("spark.driver.defaultJavaOptions", QUICK_JVM)
        made = builder.config("spark.ui.showConsoleProgress", "false").config("spark.log.level", "ERROR").getOrCreate()
        yield made
        made.stop()


def import_origin(batches):  # type: ignore[no-untyped-def]
    """Return where a worker finds kafkactl, without the code of this repository."""
    import importlib.util

    import pyarrow as pa

    for _ in batches:
        spec = importlib.util.find_spec("kafkactl")
        yield pa.RecordBatch.from_pydict({"origin": ["" if spec is None else str(spec.origin)]})


def test_tables_come_from_shipped_code(bare_session: SparkSession, tmp_path: Path) -> None:
    import_origin.__module__ = "__main__"  # pickled by value: workers have no tests either
    logs = write_all_logs(tmp_path / "logs", releases=("4.4.0",), made=False)
    rows = spark.predictions(bare_session, tmp_path / "logs", [{"name": "broker-loss", "brokers": [1]}]).collect()
    assert [row["error"] for row in rows] == [None]
    assert spark.findings(bare_session, tmp_path / "logs").count() > 0 and logs
    origins = {row["origin"] for row in bare_session.range(2).mapInArrow(import_origin, "origin string").collect()}
    assert origins and all(".zip" in origin for origin in origins), origins
