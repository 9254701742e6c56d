"""Choice of the engine that folds the metadata topic: in process or on Spark, from the option and the size of the logs.

Both give the same answer, so `auto` only has to know which is sooner. The figures are measured, and recorded with the
machine they are of in docs/decisions/0022-tiered.md.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from kafkactl.dryrun.api.engines import LOCAL, SPARK, Engine, Weighed, engine_for, weighed
from kafkactl.tiered.io.sources import MetadataReplica
from kafkactl.tiered.ledger import Ledger, MetadataLog, fold

AUTO_ENGINE: Final = "auto"
IN_PROCESS: Final = Engine(name=LOCAL)
# Seconds of one processor for each GB of log in one process, and of the driver to join the folds of a GB. Of a log
# whose segments all live: if most are deleted, as in a log of many years, Spark is sooner than this says.
LOCAL_S_PER_GB: Final = 42.0
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
        sizes = [sum(file.size for file in replica.files) for replica in replicas]
        seconds = [size / 1e9 * LOCAL_S_PER_GB for size in sizes]
        joining = sum(sizes) / 1e9 * DRIVER_S_PER_GB
        text = f"{sum(sizes) / 1e9:.2f} GB of metadata logs"
        return weighed(seconds, cores or os.cpu_count() or 1, what=text, more_on_spark=joining)

    return engine_for(asked, master, context_master, weigh)


def folded(
    engine: Engine,
    logs: Sequence[tuple[MetadataReplica, MetadataLog]],
    *,
    keep_deleted: bool,
    watched: frozenset[bytes],
    name: str,
) -> Ledger:
    """Fold all records of the logs with that engine; `name` is that of the application. Raise as `fold_on_spark`."""
    if engine.name != SPARK:
        return fold([log for _, log in logs], keep_deleted=keep_deleted, watched=watched)
    from kafkactl.tiered.io.spark import fold_on_spark

    return fold_on_spark(engine.master, name, logs, keep_deleted=keep_deleted, watched=watched)
