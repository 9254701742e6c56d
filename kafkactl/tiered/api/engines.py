"""Which engine folds the metadata topic: in process or on Spark, by what was asked for and by what the logs weigh.

Both give the same answer, so `auto` only has to know which is sooner. The figures are measured, and recorded with the
machine they are of in docs/decisions/0022-tiered.md.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from kafkactl.dryrun.api.engines import LOCAL, SPARK, SPARK_START_S, Engine, Weighed, engine_for, weighed
from kafkactl.tiered.io.sources import MetadataReplica
from kafkactl.tiered.ledger import Ledger, MetadataLog, fold

AUTO_ENGINE: Final = "auto"
IN_PROCESS: Final = Engine(name=LOCAL)
# Seconds of one processor for each GB of log: in one process; on Spark of the workers together, and of the driver. Of
# a log whose segments all live: where most are deleted, as in a log of many years, Spark is sooner than this says.
LOCAL_S_PER_GB: Final = 42.0
WORKERS_S_PER_GB: Final = 69.0
DRIVER_S_PER_GB: Final = 16.0


def chosen_engine(
    asked: str,
    master: str | None,
    context_master: str | None,
    replicas: Sequence[MetadataReplica],
    *,
    cores: int | None = None,
) -> Engine:
    """Return the engine for these metadata partitions.

    `asked` is `auto`, `local` or `spark`, `cores` are this machine's.
    """

    def weigh() -> Weighed:
        size = sum(file.size for replica in replicas for file in replica.files)
        useful = min(cores or os.cpu_count() or 1, max(1, len(replicas)))
        return weighed(size, worth_bytes(useful), useful, what="metadata logs")

    return engine_for(asked, master, context_master, weigh)


def worth_bytes(cores: int) -> float:
    """Return the size in bytes from which Spark is faster on one machine with so many cores; infinite if it
    never is.

    >>> worth_bytes(1)
    inf
    """
    gained = LOCAL_S_PER_GB - DRIVER_S_PER_GB - WORKERS_S_PER_GB / cores
    return SPARK_START_S / gained * 1e9 if gained > 0 else float("inf")


def folded(
    engine: Engine,
    logs: Sequence[tuple[MetadataReplica, MetadataLog]],
    *,
    keep_deleted: bool,
    watched: frozenset[bytes],
) -> Ledger:
    """Fold all records of the logs with that engine. Raise on Spark as `spark_context` and `fold_on_spark` do."""
    if engine.name != SPARK:
        return fold([log for _, log in logs], keep_deleted=keep_deleted, watched=watched)
    from kafkactl.spark.session import spark_context
    from kafkactl.tiered.io.spark import fold_on_spark

    with spark_context(engine.master) as context:
        return fold_on_spark(context, logs, keep_deleted=keep_deleted, watched=watched)
