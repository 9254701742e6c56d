"""Grouping of the sources of a dry run: replicas of one cluster's log, and other clusters.

Sources with one cluster id are replicas, and so are those that `--cluster-of` gives one name, or all with
`--same-cluster`. Any other source is a cluster of its own. Files of one folder that are named one by one are one log.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding, note, warning
from kafkactl.core.frozen import frozen
from kafkactl.metadata.io.source import LogFile, LogSource, log_folder, open_source


@frozen
class Cluster:
    """The logs of one cluster. `paths` are as they were given; `name` is what `--cluster-of` made of them.

    `findings` say how it is known that they are of one cluster, if that is not plain.
    """

    paths: tuple[str, ...]
    logs: tuple[LogSource, ...]
    cluster_id: str | None
    name: str | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def title(self) -> str:
        """Return the name, the id, or the path that distinguishes the cluster."""
        return self.name or self.cluster_id or self.paths[0]


def open_clusters(
    paths: Mapping[str, str], *, same_cluster: bool = False, cluster_of: str | None = None
) -> tuple[Cluster, ...]:
    """Open what was named, in the order in which clusters are met. `paths` are the sources as they were given, with
    where they are on this machine (`log_places`).

    `cluster_of` is a regular expression that is searched for in each path; its first group, or all that it matched, is
    the name of the cluster. Raises InputError `invalid-cluster-pattern`, `cluster-not-named`, `cluster-named-twice`,
    `several-clusters`, and what `open_source` raises.
    """
    return clusters_of(_joined(_opened(paths)), same_cluster=same_cluster, cluster_of=cluster_of)


def clusters_of(
    logs: Iterable[tuple[LogSource, tuple[str, ...]]], *, same_cluster: bool = False, cluster_of: str | None = None
) -> tuple[Cluster, ...]:
    """Return the clusters of logs, of which only names and cluster ids are used, each with the paths that named it.

    Raises as `open_clusters`, but for the last.
    """
    pattern = _pattern(cluster_of)
    sources = [_Source(log=log, name=_name(pattern, log.name), paths=given) for log, given in logs]
    if same_cluster:
        return (_same(sources),)
    groups: list[list[_Source]] = []
    for source in sources:
        into = [group for group in groups if any(_belong(source, other) for other in group)]
        groups = [group for group in groups if group not in into]
        groups.append([*(other for group in into for other in group), source])
    groups.sort(key=lambda group: sources.index(group[0]))
    return tuple(_cluster(group, alone=len(groups) == 1) for group in groups)


@frozen
class _Source:
    log: LogSource
    name: str | None
    paths: tuple[str, ...]


def _belong(source: _Source, other: _Source) -> bool:
    """Raise InputError if name and id do not say the same."""
    ids = source.log.cluster_id, other.log.cluster_id
    same_id = None not in ids and ids[0] == ids[1]
    same_name = source.name is not None and source.name == other.name
    if same_id and source.name != other.name:
        raise InputError(
            f"{other.log.name} and {source.log.name} are of the cluster {ids[0]}, and --cluster-of names it "
            f"{other.name} and {source.name}",
            id="cluster-named-twice",
        )
    if same_name and None not in ids and not same_id:
        raise InputError(
            f"{source.log.name} is the log of another cluster ({ids[0]}) than {other.log.name} ({ids[1]}), and "
            f"--cluster-of names both {source.name}",
            id="several-clusters",
            next_step="Take the log of the other cluster away, or write a pattern that names it otherwise.",
        )
    return same_id or same_name


def _cluster(group: Sequence[_Source], *, alone: bool) -> Cluster:
    ids = {source.log.cluster_id for source in group if source.log.cluster_id is not None}
    logs = tuple(source.log for source in group)
    findings: tuple[Finding, ...] = ()
    if not ids and group[0].name is None and not alone:
        findings = (
            note(
                "cluster-id-not-known",
                f"log {logs[0].name}",
                "no meta.properties in or above its folder has a cluster id: the log was taken as a separate cluster",
                "--same-cluster takes all sources as replicas of one log, --cluster-of those that it gives one name.",
            ),
        )
    return Cluster(
        paths=tuple(path for source in group for path in source.paths),
        logs=logs,
        cluster_id=next(iter(ids), None),
        name=group[0].name,
        findings=findings,
    )


def _same(sources: Sequence[_Source]) -> Cluster:
    logs = tuple(source.log for source in sources)
    ids = sorted({log.cluster_id for log in logs if log.cluster_id is not None})
    findings: tuple[Finding, ...] = ()
    if len(ids) > 1:
        listed = ", ".join(f"{log.name}: {log.cluster_id or 'not known'}" for log in logs)
        findings = (
            warning(
                "several-clusters",
                "the sources",
                f"the sources were taken as replicas of one log, and have different cluster ids ({listed})",
                "Leave --same-cluster out if they are not.",
                clusters=ids,
            ),
        )
    return Cluster(
        paths=tuple(path for source in sources for path in source.paths),
        logs=logs,
        cluster_id=ids[0] if len(ids) == 1 else None,
        name=sources[0].name,
        findings=findings,
    )


def _pattern(text: str | None) -> re.Pattern[str] | None:
    try:
        return None if text is None else re.compile(text)
    except re.error as error:
        raise InputError(
            f"--cluster-of {text!r} is not a regular expression: {error}", id="invalid-cluster-pattern"
        ) from error


def _name(pattern: re.Pattern[str] | None, path: str) -> str | None:
    if pattern is None:
        return None
    found = pattern.search(path)
    name = None if found is None else found[1] if pattern.groups else found[0]
    if not name:
        raise InputError(f"--cluster-of {pattern.pattern!r} gives {path} no name", id="cluster-not-named")
    return name


def _opened(paths: Mapping[str, str]) -> Iterator[LogSource]:
    """Yield each log once, whatever paths name it."""
    seen: set[str] = set()
    for given, path in paths.items():
        log = replace(open_source(path), name=given)
        place = str(Path(log_folder(path) or path).resolve())
        if place not in seen:
            seen.add(place)
            yield log


def _joined(logs: Iterator[LogSource]) -> list[tuple[LogSource, tuple[str, ...]]]:
    """Return single files of one folder as one log, in the place of the first. Each log has the paths that named it."""
    found: list[tuple[LogSource, tuple[str, ...]]] = []
    places: dict[Path, int] = {}
    for log in logs:
        given = (log.name,)
        if log.is_folder:
            found.append((log, given))
            continue
        folder = Path((*log.segments, *log.checkpoints)[0].name).resolve().parent
        if folder not in places:
            places[folder] = len(found)
            found.append((log, given))
        else:
            before, names = found[places[folder]]
            found[places[folder]] = (_together(before, log), names + given)
    return found


def _together(log: LogSource, other: LogSource) -> LogSource:
    segments = sorted((*log.segments, *other.segments), key=_place)
    checkpoints = sorted((*log.checkpoints, *other.checkpoints), key=_place)
    return replace(log, segments=tuple(segments), checkpoints=tuple(checkpoints))


def _place(file: LogFile) -> tuple[bool, int, int]:
    return file.base_offset is None, file.base_offset or 0, file.epoch or 0
