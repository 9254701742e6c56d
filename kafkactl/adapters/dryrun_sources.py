"""From paths to the state that a dry run is played on: replicas of one cluster's log, and the best of them.

Sources are replicas where their folders carry one cluster id, or where the caller says so. The one that goes farthest
in the newest epoch is taken, as an election would (`VoteRequest`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from kafkactl.adapters.input_files import read_input
from kafkactl.adapters.log_source import LogSource, open_source
from kafkactl.dryrun.commit_bound import commit_bound, lineage_of
from kafkactl.dryrun.facts import facts_of
from kafkactl.dryrun.loader import CONFIGS_SINCE, Started, started
from kafkactl.dryrun.local import Loaded, load
from kafkactl.dryrun.scenarios import World
from kafkactl.errors import InputError
from kafkactl.features.releases import Release
from kafkactl.frozen import frozen
from kafkactl.protocol.properties import parse_properties

# Reads logs to their ends, or up to an offset.
Engine: TypeAlias = Callable[[Sequence[LogSource], int | None], list[Loaded]]


@frozen
class Sources:
    """The logs that were named, of one cluster. `paths` are as they were given."""

    paths: tuple[str, ...]
    logs: tuple[LogSource, ...]
    cluster_id: str | None


def open_replicas(paths: Sequence[str], *, same_cluster: bool = False) -> Sources:
    """Open what was named. Raises InputError `several-clusters`, and what `open_source` raises."""
    given = tuple(dict.fromkeys(paths))
    logs = tuple(open_source(path) for path in given)
    ids = {log.cluster_id for log in logs if log.cluster_id is not None}
    unknown = len(logs) > 1 and any(log.cluster_id is None for log in logs)
    if not same_cluster and (len(ids) > 1 or unknown):
        which = ", ".join(f"{log.name}: {log.cluster_id or 'not known'}" for log in logs)
        raise InputError(
            f"the sources are not known to be of one cluster ({which})",
            id="several-clusters",
            next_step="Ask about one cluster at a time; if these are replicas of one log, say --same-cluster.",
        )
    return Sources(paths=given, logs=logs, cluster_id=next(iter(sorted(ids)), None))


def in_process(logs: Sequence[LogSource], at: int | None) -> list[Loaded]:
    """The local engine."""
    return [load(log.segments, log.checkpoints, at=at) for log in logs]


def on_spark(master: str | None) -> Engine:
    """The Spark engine on that master. Raises as `spark_session.check_spark`; what it gives, as `spark_session`."""
    from kafkactl.adapters.spark_session import check_spark, spark_session

    check_spark(master)

    def engine(logs: Sequence[LogSource], at: int | None) -> list[Loaded]:
        from kafkactl.dryrun.spark_engine import load_logs
        from kafkactl.dryrun.spark_plan import ClusterLog

        with spark_session(master) as spark:
            return load_logs(
                spark, [ClusterLog(segments=log.segments, checkpoints=log.checkpoints, at=at) for log in logs]
            )

    return engine


def read_world(
    sources: Sources,
    *,
    release: Release | None,
    static: Mapping[str, str] | None,
    at: int | None = None,
    restarts: bool = False,
    engine: Engine = in_process,
) -> World:
    """The state at the end of the log (or after offset `at`), and what a prediction stands on beside it.

    With `restarts` also what a node makes of it that starts from its newest checkpoint, and from offset 0.
    """
    read = zip(engine(sources.logs, at), sources.logs, strict=True)
    loaded, log = max(read, key=lambda one: (one[0].last_epoch, one[0].last_offset))
    loaded = replace(loaded, committed_offset=_committed(sources, loaded))
    facts = facts_of(
        loaded.image,
        release=release,
        static=static,
        leader_id=None if loaded.leader is None else loaded.leader.id,
        leader_epoch=max(loaded.last_epoch, 0),
        next_offset=loaded.last_offset + 1,
        timestamp_ms=loaded.last_timestamp_ms,
    )
    runs = facts.release.version
    keeps_configs = (runs.major, runs.minor) >= CONFIGS_SINCE
    found = tuple(_started(log, keeps_configs=keeps_configs)) if restarts else ()
    return World(loaded=loaded, facts=facts, cluster_id=sources.cluster_id, started=found)


def _committed(sources: Sources, loaded: Loaded) -> int | None:
    """What one log says of itself, or several logs together prove; they count as those of different voters."""
    voters = len(loaded.image.voters or loaded.voters)
    if len(sources.logs) < 2 or not voters:
        return loaded.committed_offset
    proved = commit_bound([lineage_of(log.segments) for log in sources.logs], voters)
    known = [one for one in (loaded.committed_offset, proved) if one is not None]
    return max(known, default=None)


def _started(log: LogSource, *, keeps_configs: bool) -> Iterator[Started]:
    yield started(log.segments, log.checkpoints, keeps_configs=keeps_configs)
    if log.checkpoints and log.segments and log.segments[0].base_offset == 0:
        yield started(log.segments, (), keeps_configs=keeps_configs)


def read_static(path: str | None) -> dict[str, str] | None:
    """The settings of a controller's properties file; None where none was named."""
    if path is None:
        return None
    return dict(parse_properties(read_input(Path(path), "configuration file"), file=path).mapping)
