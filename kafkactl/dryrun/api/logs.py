"""States on which a dry run simulates, from the logs of clusters: one replica of each is folded.

Which one is `dryrun.replicas`' to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from kafkactl.core.findings import Finding
from kafkactl.core.frozen import frozen
from kafkactl.core.uris import is_uri, needs_spark, path_needs_spark, plain_paths
from kafkactl.core.values import Uuid
from kafkactl.dryrun.answer import Source
from kafkactl.dryrun.api.clusters import Cluster
from kafkactl.dryrun.controller.facts import facts_of
from kafkactl.dryrun.engine.loader import TIMES_READ, Started, started
from kafkactl.dryrun.engine.local import GAP, Loaded, load
from kafkactl.dryrun.engine.replicas import Replica, compared, farthest, proved, replica_of
from kafkactl.dryrun.scenario import ScenarioContext
from kafkactl.files.input_files import InputKind, read_input
from kafkactl.metadata.io.source import LogSource, announce
from kafkactl.metadata.verify.histories import CONTRADICTIONS
from kafkactl.protocol.catalog.releases import Release, find_release
from kafkactl.protocol.catalog.start_rules import start_rules
from kafkactl.protocol.text.properties import parse_properties

__all__ = [
    "Chosen",
    "choose",
    "find_release",
    "is_uri",
    "needs_spark",
    "path_needs_spark",
    "plain_paths",
    "read_chosen",
    "read_static",
    "source_of",
]


@frozen
class Chosen:
    """The log that is folded for a cluster; `replicas` and `findings` are empty if there is only one."""

    cluster: Cluster
    log: LogSource
    replicas: tuple[Replica, ...] = ()
    findings: tuple[Finding, ...] = ()


def choose(cluster: Cluster) -> Chosen:
    """Return the replica with the longest log, and the findings about the others.

    Raises what reading them raises.
    """
    if len(cluster.logs) == 1:
        return Chosen(cluster=cluster, log=cluster.logs[0], findings=cluster.findings)
    replicas = tuple(replica_of(log) for log in cluster.logs)
    at = farthest(replicas)
    findings = (*cluster.findings, *compared(replicas, at))
    return Chosen(cluster=cluster, log=cluster.logs[at], replicas=replicas, findings=findings)


def read_chosen(
    chosen: Chosen,
    *,
    release: Release | None = None,
    static: Mapping[str, str] | None = None,
    at: int | None = None,
    restarts: bool = False,
    past_damage: bool = False,
) -> ScenarioContext:
    """Return the state at the end of a cluster's log (or after offset `at`) with the other input of a prediction.

    With `restarts` the state of a node that starts from the newest checkpoint, and from offset 0, is read, too. Raises
    what reading raises.
    """
    log = chosen.log
    announce([*log.checkpoints[-1:], *log.segments])
    loaded = load(log.segments, log.checkpoints, at=at, past_damage=past_damage)
    return _context(chosen, loaded, release, static, restarts=restarts)


def _context(
    chosen: Chosen, read: Loaded, release: Release | None, static: Mapping[str, str] | None, *, restarts: bool
) -> ScenarioContext:
    loaded = replace(read, committed_offset=_committed(chosen, read))
    facts = facts_of(
        loaded.image,
        release=release,
        static=static,
        leader_id=None if loaded.leader is None else loaded.leader.id,
        leader_epoch=max(loaded.last_epoch, 0),
        next_offset=loaded.last_offset + 1,
        timestamp_ms=loaded.last_timestamp_ms,
        departed=loaded.departed,
        starting=loaded.starting,
    )
    keeps_configs = start_rules(facts.release).keeps_orphaned_configs
    is_whole = not any(finding.id == GAP for finding in loaded.findings)
    found = tuple(_started(chosen.log, keeps_configs=keeps_configs, is_whole=is_whole)) if restarts else ()
    return ScenarioContext(
        loaded=loaded, facts=facts, cluster_id=chosen.cluster.cluster_id, started=found, notes=chosen.findings
    )


def _committed(chosen: Chosen, loaded: Loaded) -> int | None:
    """Return the committed end that one log shows, or that the logs of several nodes of one history prove.

    A snapshot of any node contains committed records only. The voters are those at the end of the log, which a replay
    that ends before it does not reach.
    """
    is_one_history = not any(finding.id in CONTRADICTIONS for finding in chosen.findings)
    if len(chosen.replicas) < 2 or not is_one_history:
        return loaded.committed_offset
    known = [loaded.committed_offset, *(end - 1 for log in chosen.replicas for end, _ in log.snapshot_ends if end)]
    voters, end = _voters(loaded), chosen.replicas[chosen.cluster.logs.index(chosen.log)].sound_end
    if voters and loaded.last_offset + 1 >= end:
        known.append(proved(chosen.replicas, voters))
    return max((bound for bound in known if bound is not None), default=None)


def _voters(loaded: Loaded) -> dict[int, Uuid | None]:
    """Return the voters by id, with the directory id if the voter set is in the log."""
    if loaded.image.voters:
        return {voter.node_id: voter.directory_id for voter in loaded.image.voters}
    return dict.fromkeys(loaded.voters)


def _started(log: LogSource, *, keeps_configs: bool, is_whole: bool) -> Iterator[Started]:
    """Yield the state from the newest checkpoint, and from offset 0 if no later record is missing."""
    announce([*log.checkpoints[-1:], *log.segments * TIMES_READ])
    yield started(log.segments, log.checkpoints, keeps_configs=keeps_configs)
    if is_whole and log.checkpoints and log.segments and log.segments[0].base_offset == 0:
        announce(log.segments * TIMES_READ)
        yield started(log.segments, (), keeps_configs=keeps_configs)


def source_of(chosen: Chosen, loaded: Loaded) -> Source:
    """Return the description of the log in an answer."""
    cluster = chosen.cluster
    return {
        "paths": list(cluster.paths),
        "cluster": cluster.name,
        "cluster_id": cluster.cluster_id,
        "first_offset": loaded.first_offset,
        "last_offset": loaded.last_offset,
        "committed_offset": loaded.committed_offset,
        "snapshot_offset": loaded.snapshot_offset,
        "records": loaded.records,
        "replicas": [
            {
                "path": log.name,
                "end_offset": replica.sound_end,
                "last_epoch": replica.epoch,
                "is_replayed": log is chosen.log,
            }
            for log, replica in zip(cluster.logs, chosen.replicas, strict=False)
        ],
    }


def read_static(path: str | None) -> dict[str, str] | None:
    """Return the settings of a controller's properties file; None if none was named."""
    if path is None:
        return None
    return dict(
        parse_properties(read_input(Path(path), "configuration file", InputKind.NODE_CONFIG), file=path).mapping
    )
