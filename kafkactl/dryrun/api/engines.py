"""Choice of the engine: in process or on Spark, from the option and the amount of work.

Both give the same answer, so `auto` only has to know which is sooner. A task of Spark reads one log, so that Spark is
sooner only with several logs, and if they take longer than its start; their number alone decides nothing. The figures
are measured: docs/proof/spark.md and docs/proof/bench.md give the machine.
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
# Measured by bench/spark.py (docs/proof/spark.md): seconds on the clock for a session and an empty job, and the factor
# of a task against the same work in process.
SPARK_START_S: Final = 10.0
SPARK_RATIO: Final = 1.15
REPLAY_S_PER_GB: Final = 15.0
WORTH: Final = 1.5  # times sooner, as the figures are of one machine, and an interruption loses less in process


@frozen
class Engine:
    """The engine by name, the master of Spark (None: what its settings say, else this machine), and why."""

    name: EngineName
    master: str | None = None
    why: str = ""


class Weighed(NamedTuple):
    """Choice of an engine by the work."""

    is_for_spark: bool
    why: str


def chosen_engine(
    asked: str,
    master: str | None,
    context_master: str | None,
    clusters: Sequence[Sequence[LogSource]],
    *,
    passes: float = 1,
    cores: int | None = None,
) -> Engine:
    """Return the engine for the logs of these clusters.

    `asked` is `auto`, `local` or `spark`; `passes` is the work on a log in replays of it; `cores` are this machine's.
    """

    def weigh() -> Weighed:
        sizes = [max(map(_bytes, logs)) for logs in clusters]
        seconds = [size / 1e9 * REPLAY_S_PER_GB * passes for size in sizes]
        return weighed(seconds, cores or os.cpu_count() or 1, what=f"{sum(sizes) / 1e9:.2f} GB of log")

    return engine_for(asked, master, context_master, weigh)


def engine_for(asked: str, master: str | None, context_master: str | None, weigh: Callable[[], Weighed]) -> Engine:
    """Return the engine for any work; `weigh` is asked if nothing but the work decides."""
    named = master or context_master
    if asked == LOCAL:
        return Engine(name=LOCAL, why="in process: --engine local")
    if asked == SPARK or named is not None:
        by = "--engine spark"
        if named is not None:
            by = f"--master {named}" if master is not None else f"the context names the Spark master {named}"
        return Engine(name=SPARK, master=named, why=f"on Spark: {by}")
    found = weigh()
    missing = _missing() if found.is_for_spark else None
    if missing is not None:
        return Engine(name=LOCAL, why=f"in process: {found.why}, but {missing}")
    return Engine(
        name=SPARK if found.is_for_spark else LOCAL,
        why=f"{'on Spark' if found.is_for_spark else 'in process'}: {found.why}",
    )


def context_master(name: str | None) -> str | None:
    """Return the Spark master that a context names: the one of this name, else the current one. Raises InputError."""
    from kafkactl.files.contexts import contexts_file, load_contexts

    contexts = load_contexts(contexts_file(os.environ))
    chosen = name or contexts.current
    return None if chosen is None else contexts.context(chosen).spark_master


def weighed(seconds: Sequence[float], cores: int, *, what: str, more_on_spark: float = 0.0) -> Weighed:
    """Decide if work is worth Spark on this machine. `seconds` has the time of each part in process, which is a task;
    `more_on_spark` is the time to join them.

    >>> weighed([30.0], 8, what="2.00 GB of log").why
    '2.00 GB of log, about 30 s of work in process and 44 s on Spark with 8 cores'
    >>> weighed([30.0] * 8, 8, what="16.00 GB of log").is_for_spark
    True
    """
    local = sum(seconds)
    spark = SPARK_START_S + more_on_spark + SPARK_RATIO * max(max(seconds, default=0.0), local / cores)
    text = f"{what}, about {local:.0f} s of work in process and {spark:.0f} s on Spark with {counted(cores, 'core')}"
    return Weighed(spark * WORTH < local, text)


def _bytes(log: LogSource) -> int:
    return sum(Path(segment.name).stat().st_size for segment in log.segments)


def _missing() -> str | None:
    """Return the reason why Spark is not available; None if it is."""
    from kafkactl.jobs.session import check_spark

    try:
        check_spark(None)
    except KafkactlError as error:
        return error.message
    return None
