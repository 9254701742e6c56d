"""Which engine replays the logs: in process or on Spark, by what was asked for and by what the logs weigh.

Both give the same answer, so `auto` only has to know which is sooner. The figures are measured, and given with the
machine they are of in docs/decisions/0014-the-spark-plan.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple

from kafkactl.core.errors import KafkactlError
from kafkactl.core.frozen import frozen
from kafkactl.core.wording import counted
from kafkactl.metadata.io.source import LogSource

EngineName = Literal["local", "spark"]
LOCAL: Final = "local"
SPARK: Final = "spark"
# Seconds on the clock until Spark has answered about next to nothing, with two cores or more; and of one processor for
# each GB of log, the driver's part of it, which no second core shortens, apart.
SPARK_START_S: Final = 5.5
SPARK_DRIVER_S_PER_GB: Final = 3.0
SPARK_WORKERS_S_PER_GB: Final = 14.0
LOCAL_S_PER_GB: Final = 15.0


@frozen
class Engine:
    """The engine by name, the master of Spark (None: what its settings say, else this machine), and why."""

    name: EngineName
    master: str | None = None
    why: str = ""


class Weighed(NamedTuple):
    """Choice of an engine by the size of the logs."""

    is_for_spark: bool
    why: str


def chosen_engine(
    asked: str,
    master: str | None,
    context_master: str | None,
    clusters: Sequence[Sequence[LogSource]],
    *,
    cores: int | None = None,
) -> Engine:
    """Return the engine for the logs of these clusters, of each of which one log is replayed.

    `asked` is `auto`, `local` or `spark`; `cores` are this machine's.
    """
    return engine_for(asked, master, context_master, lambda: _weighed(clusters, cores or os.cpu_count() or 1))


def engine_for(asked: str, master: str | None, context_master: str | None, weigh: Callable[[], Weighed]) -> Engine:
    """Return the engine for other work than a replay; `weigh` is asked where nothing but the logs decides."""
    named = master or context_master
    if asked == LOCAL:
        return Engine(name=LOCAL)
    if asked == SPARK or named is not None:
        by_context = f"the context names the Spark master {named}" if master is None and named else ""
        return Engine(name=SPARK, master=named, why=by_context)
    found = weigh()
    missing = _missing() if found.is_for_spark else None
    if missing is not None:
        return Engine(name=LOCAL, why=f"{found.why}, but {missing}")
    return Engine(name=SPARK if found.is_for_spark else LOCAL, why=found.why)


def context_master(name: str | None) -> str | None:
    """Return the Spark master that a context names: the one of this name, else the current one. Raises InputError."""
    from kafkactl.files.contexts import contexts_file, load_contexts

    contexts = load_contexts(contexts_file(os.environ))
    chosen = name or contexts.current
    return None if chosen is None else contexts.context(chosen).spark_master


def weighed(size: int, worth: float, cores: int, *, what: str) -> Weighed:
    """Decide if logs of this size (`what` names them) are worth Spark, which is faster from `worth` bytes on.

    >>> weighed(65_000_000, float("inf"), 1, what="log").why
    'in process: 0.07 GB of log, and Spark is never sooner done on 1 core'
    """
    text = f"{size / 1e9:.2f} GB of {what}"
    if size >= worth:
        return Weighed(True, f"Spark is sooner done with {text}")
    spark = "is never sooner done" if worth == float("inf") else f"is sooner done from {worth / 1e9:.1f} GB"
    return Weighed(False, f"in process: {text}, and Spark {spark} on {counted(cores, 'core')}")


def _weighed(clusters: Sequence[Sequence[LogSource]], cores: int) -> Weighed:
    return weighed(sum(max(map(_bytes, logs)) for logs in clusters), worth_bytes(cores), cores, what="log")


def _bytes(log: LogSource) -> int:
    return sum(Path(segment.name).stat().st_size for segment in log.segments)


def worth_bytes(cores: int) -> float:
    """Return the size in bytes from which Spark is faster on one machine with so many cores; infinite if it
    never is.

    >>> worth_bytes(1)
    inf
    """
    gained = LOCAL_S_PER_GB - SPARK_DRIVER_S_PER_GB - SPARK_WORKERS_S_PER_GB / cores
    return SPARK_START_S / gained * 1e9 if gained > 0 else float("inf")


def _missing() -> str | None:
    """Return the reason why Spark is not available; None if it is."""
    from kafkactl.spark.session import check_spark

    try:
        check_spark(None)
    except KafkactlError as error:
        return error.message
    return None
