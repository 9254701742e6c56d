"""Nightly job of a platform team: which clusters does the loss of one or two brokers make unavailable?

    spark-submit fleet_risk.py s3a://backup/2026-11-28 --out s3a://lake/fleet --day 2026-11-28

Reads the metadata logs of all clusters below a path, and writes two tables with a folder for the day: `risk`, a row for
each cluster and scenario, and `unanswered`, the errors in place of answers, such as a log that could not be read. A
second run replaces the day. Prints the clusters at risk, the worst first. Ends with 0, or 5 if answers are missing.

The driver needs kafkactl with the extra `spark`; workers get its code from the driver.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

import kafkactl.spark as metadata

SCENARIOS = (
    {"name": "broker-loss", "worst": 1},
    {"name": "broker-loss", "worst": 2},
    {"name": "rolling-restart"},
)
WORST_FIRST = ("wedged", "unavailable", "unknown", "refused", "degraded", "ok")


def main(arguments: Sequence[str]) -> int:
    """Run the job, and return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="+", metavar="PATH", help="metadata logs, folders above them, or globs")
    parser.add_argument("--out", required=True, metavar="URI", help="the folder of the tables")
    parser.add_argument("--day", required=True, metavar="YYYY-MM-DD", help="the day of the logs")
    parser.add_argument("--cluster-of", metavar="PATTERN", help="a regular expression that names the cluster of a path")
    given = parser.parse_args(arguments)

    spark = SparkSession.builder.appName("fleet risk").getOrCreate()
    found = metadata.predictions(spark, given.logs, SCENARIOS, cluster_of=given.cluster_of).persist()
    try:
        risk = found.where("error is null").drop("error")
        write(risk, f"{given.out}/risk/date={given.day}")
        unanswered = found.where("error is not null").select("cluster_id", "cluster", "scenario", "error")
        write(unanswered, f"{given.out}/unanswered/date={given.day}")
        show(risk)
        count = unanswered.count()
        if count:
            print(f"{count} answers are missing:")
            unanswered.show(truncate=False)
        return 5 if count else 0
    finally:
        found.unpersist()


def write(table: DataFrame, place: str) -> None:
    """Write a table as one file, in place of that of an earlier run."""
    table.coalesce(1).write.mode("overwrite").parquet(place)


def show(risk: DataFrame) -> None:
    """Print the clusters with another verdict than ok, the worst first."""
    order = sql.array_position(sql.array(*map(sql.lit, WORST_FIRST)), sql.col("verdict"))
    columns = ("cluster", "scenario", "input", "verdict", "offline", "under_min_isr", "findings")
    risk.where("verdict != 'ok'").orderBy(order, sql.desc("offline"), "cluster").select(*columns).show(100, False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
