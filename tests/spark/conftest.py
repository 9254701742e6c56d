"""A Spark session of the tests of one module, as a user would make it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options of a JVM whose work is short, as kafkactl starts it: the second compiler takes longer than it saves."""
MOUNT = "viewfs://test/logs"
"""The folder `root` by Hadoop's file layer, in which workers cannot open files."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a module's logs."""
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="module")
def session(root: Path) -> Iterator[SparkSession]:
    """Yield a session on two cores. It is stopped at the end of the module, by the test and not by kafkactl."""
    pytest.importorskip("pandas")
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYSPARK_PYTHON", sys.executable)
        settings = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "ERROR",
            "spark.driver.defaultJavaOptions": QUICK_JVM,
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.session.timeZone": "Asia/Tokyo",
            "spark.hadoop.fs.viewfs.mounttable.test.link./logs": root.as_uri(),
            # The JVM outlives the session of a module: a kept file system would show another module the logs of this.
            "spark.hadoop.fs.viewfs.impl.disable.cache": "true",
        }
        builder = SparkSession.builder.master("local[2]").appName("a caller's own")
        for name, value in settings.items():
            builder = builder.config(name, value)
        made = builder.getOrCreate()
        yield made
        made.stop()
