"""The data pipeline on Spark: metadata logs as DataFrames of a caller's SparkSession.

Each function takes the session first, uses its settings, and never stops it or changes a setting. Files come in through
Spark's `binaryFile` source; one task folds one log with the same code as the commands in process, so equal logs give
equal rows. The functions need the extra `spark`, on the workers too: pyspark, pyarrow, pandas and numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.core.lazy import lazy_names

__all__ = [
    "KafkaMetadata",
    "changes",
    "errors",
    "findings",
    "predictions",
    "records",
    "remote_findings",
    "remote_segments",
    "ship_code",
    "state",
]

if TYPE_CHECKING:
    from kafkactl.jobs.ship import ship_code
    from kafkactl.spark.frames import (
        changes,
        errors,
        findings,
        predictions,
        records,
        remote_findings,
        remote_segments,
        state,
    )
    from kafkactl.spark.kafka_metadata import KafkaMetadata
else:
    __getattr__ = lazy_names(
        __name__,
        {
            f"{__name__}.frames": (
                "changes",
                "errors",
                "findings",
                "predictions",
                "records",
                "remote_findings",
                "remote_segments",
                "state",
            ),
            f"{__name__}.kafka_metadata": ("KafkaMetadata",),
            "kafkactl.jobs.ship": ("ship_code",),
        },
    )
