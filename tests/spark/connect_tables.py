"""Tables of the logs below a path as JSON, read in a session of Spark Connect with a server on this machine.

python -m tests.spark.connect_tables PATH MOUNTED. `builder.remote("local[2]")` starts the server as a process.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import kafkactl.spark as metadata
from tests.spark.conftest import QUICK_JVM

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CLUSTER_OF: Final = "([^/]+)/__cluster_metadata-0"
SCENARIOS: Final = ({"name": "broker-loss", "brokers": [1]},)
TABLES: Final[dict[str, Callable[[SparkSession, str], DataFrame]]] = {
    "records": lambda session, path: metadata.records(session, path, cluster_of=CLUSTER_OF),
    "partitions": lambda session, path: metadata.state(session, path, "partitions", cluster_of=CLUSTER_OF),
    "changes": lambda session, path: metadata.changes(session, path, cluster_of=CLUSTER_OF),
    "findings": lambda session, path: metadata.findings(session, path, cluster_of=CLUSTER_OF),
    "predictions": lambda session, path: metadata.predictions(session, path, SCENARIOS, cluster_of=CLUSTER_OF),
    "errors": lambda session, path: metadata.errors(session, path, cluster_of=CLUSTER_OF),
}


def tables_of(session: SparkSession, path: str) -> dict[str, list[str]]:
    """Return the rows of each table as sorted texts."""
    return {name: sorted(map(str, read(session, path).collect())) for name, read in TABLES.items()}


def main() -> None:
    """Print the tables of a path, and of the same folder in a file system that only Hadoop opens."""
    from pyspark.sql import SparkSession

    path, mount = sys.argv[1:3]
    builder = SparkSession.builder.remote("local[2]")
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.defaultJavaOptions": QUICK_JVM,
        f"spark.hadoop.fs.viewfs.mounttable.test.link./{mount}": f"file://{path}",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        assert "connect" in type(session).__module__, type(session)
        before = session.conf.getAll
        found = {place: tables_of(session, place) for place in (path, f"viewfs://test/{mount}")}
        assert session.conf.getAll == before and session.range(3).count() == 3
        print(json.dumps(found))
    finally:
        session.stop()


if __name__ == "__main__":
    main()
