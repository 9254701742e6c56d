"""Logs for tasks to read, from listed files: grouping of files into logs, and of logs into clusters."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kafkactl.core.errors import InputError
from kafkactl.core.kafka_names import METADATA_LOG
from kafkactl.core.uris import is_on_disk, plain
from kafkactl.metadata.verify.folder import PARTITION_METADATA
from kafkactl.protocol.text.meta_properties import META_PROPERTIES
from kafkactl.spark.globs import pattern_of

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
BUNDLE_SUFFIX: Final = ".zip"
MOST_SEGMENT_BYTES: Final = 512 << 20
_HIDDEN: Final = ("_", ".")  # of folders that Spark passes over unless a path names them
_SEGMENT: Final = re.compile(r"\d{20}\.log")
_CHECKPOINT: Final = re.compile(r"\d{20}-\d{10}\.checkpoint")
# Files that Kafka writes next to segments, which a glob such as `__cluster_metadata-0/*` names as well.
_COMPANION: Final = re.compile(
    rf".*\.(?:\w*index|snapshot|deleted|tmp)|{META_PROPERTIES}|{PARTITION_METADATA}|leader-epoch-checkpoint|quorum-state"
)


@dataclass(frozen=True, slots=True)
class PlannedLog:
    """A log as a task reads it. `path` is its folder, a single file or a bundle; `files` are its files with their
    sizes, those of a folder with the meta.properties that belong to it; `singles` are the files that were named one by
    one, empty for a folder. `name` is what `cluster_of` made of the path. `is_missing`: there is no log at the path;
    `too_large`: the file that does not fit into a row of Spark; `unlisted`: the reason why the path cannot be listed.
    """

    path: str
    files: tuple[tuple[str, int], ...]
    singles: tuple[str, ...] = ()
    name: str | None = None
    cluster_id: str | None = None
    is_missing: bool = False
    too_large: str | None = None
    unlisted: str | None = None

    @property
    def is_local(self) -> bool:
        """Return True if workers can open the files: executors read `file:` paths from their own disks, too."""
        return all(is_on_disk(path) for path, _ in self.files)

    @property
    def size(self) -> int:
        """Return the bytes of all files."""
        return sum(size for _, size in self.files)

    @property
    def cluster(self) -> str:
        """Return the name of the cluster."""
        return self.name or self.cluster_id or self.title

    @property
    def title(self) -> str:
        """Return the name of the cluster if there is neither a pattern nor an id."""
        parts = plain(self.path).rstrip("/").split("/")
        is_named = parts[-1] == METADATA_LOG or bool(self.singles)
        above = [part for part in parts[: -1 if is_named else None] if part and part != METADATA_LOG]
        return above[-1] if above else parts[-1]


def path_list(paths: Paths) -> list[str]:
    """Return paths as texts, each once. Raises InputError `input-file-unreadable` for an empty path, or none."""
    several = [paths] if isinstance(paths, str | os.PathLike) else paths
    found = list(dict.fromkeys(os.fspath(path) for path in several))
    if not found or not all(found):
        raise InputError("the path of the log is empty", id="input-file-unreadable")
    return found


def find_logs(
    given: Sequence[str],
    listed: Iterable[tuple[str, int]],
    unlisted: Mapping[str, str],
    place_of: Callable[[str], str],
) -> list[PlannedLog]:
    """Return the logs among the listed files (path and size), in the order of their paths.

    A path that leads to no log gives one with `is_missing`, each of the `unlisted` paths one with the reason. Logs
    with one place, which `place_of` gives for their paths, are one log.
    """
    patterns = [(text, pattern_of(text)) for text in given]
    folders: dict[str, dict[str, int]] = {}
    for path, size in sorted(listed):
        folder, _, name = path.rpartition("/")
        folders.setdefault(folder, {})[name] = size
    found: dict[str, PlannedLog] = {}
    used: set[str] = set()
    for folder, files in folders.items():
        for text, pattern in patterns:
            for log in _logs_in(folder, files, pattern, folders):
                used.add(text)
                key = f"{log.path}\0{bool(log.singles)}"
                found[key] = _together(found.get(key, log), log)
    none = [PlannedLog(path=text, files=(), is_missing=True) for text in given if text not in {*used, *unlisted}]
    closed = (PlannedLog(path=path, files=(), unlisted=why) for path, why in unlisted.items())
    return [*_distinct(found.values(), place_of), *none, *closed]


def place_on_disk(path: str) -> str:
    """Return the path on this machine that links lead to; a path of another file system unchanged."""
    return os.path.realpath(plain(path)) if is_on_disk(path) else path


def _distinct(logs: Iterable[PlannedLog], place_of: Callable[[str], str]) -> list[PlannedLog]:
    """Return the logs without those that links or mounts lead to a second time."""
    found: dict[tuple[str, bool], PlannedLog] = {}
    for log in logs:
        place = place_of(log.path)
        key = place, bool(log.singles)
        if key not in found or place == plain(log.path):
            found[key] = log
    return sorted(found.values(), key=lambda log: log.path)


def _together(log: PlannedLog, other: PlannedLog) -> PlannedLog:
    """Return a log with the files that several paths name."""
    files = tuple(dict.fromkeys((*log.files, *other.files)))
    return replace(log, files=files, singles=tuple(sorted({*log.singles, *other.singles})))


def _logs_in(
    folder: str, files: Mapping[str, int], pattern: re.Pattern[str], folders: Mapping[str, Mapping[str, int]]
) -> Iterator[PlannedLog]:
    """Return the logs of a folder that one given path names: single files and bundles, or the folder."""
    named = [name for name in files if pattern.fullmatch(f"{folder}/{name}")]
    for name in named:
        if name.endswith(BUNDLE_SUFFIX):
            path = f"{folder}/{name}"
            yield PlannedLog(path=path, files=((path, files[name]),), singles=(path,))
    singles = [name for name in named if not name.endswith(BUNDLE_SUFFIX) and not _COMPANION.fullmatch(name)]
    if singles:
        held = tuple((f"{folder}/{name}", files[name]) for name in singles)
        own = tuple((f"{folder}/{name}", files[name]) for name in files if name == META_PROPERTIES)
        single = tuple(path for path, _ in held)
        yield PlannedLog(path=folder, files=held + own + _owners(folder, folders), singles=single)
        return
    inside = pattern.match(f"{folder}/")
    if inside is None:
        return
    *between, name = folder[inside.end() :].split("/")
    has_log = any(map(_is_log_file, files))
    is_log = folder.endswith(f"/{METADATA_LOG}") or (has_log and (not name or not _is_other(name, files)))
    if is_log and not any(part.startswith(_HIDDEN) for part in between):
        own = tuple((f"{folder}/{name}", size) for name, size in files.items() if _is_kept(name))
        yield PlannedLog(path=folder, files=own + _owners(folder, folders), is_missing=not has_log)


def _is_other(name: str, files: Mapping[str, int]) -> bool:
    """Return True for a folder with segments that is not a metadata log: one of another topic, or a hidden folder."""
    return PARTITION_METADATA in files or name.startswith(_HIDDEN)


def _is_log_file(name: str) -> bool:
    return bool(_SEGMENT.fullmatch(name) or _CHECKPOINT.fullmatch(name))


def _is_kept(name: str) -> bool:
    return _is_log_file(name) or name in (META_PROPERTIES, PARTITION_METADATA)


def _owners(folder: str, folders: Mapping[str, Mapping[str, int]]) -> tuple[tuple[str, int], ...]:
    """Return the meta.properties above a folder."""
    above = folder.rpartition("/")[0]
    size = folders.get(above, {}).get(META_PROPERTIES)
    return () if size is None else ((f"{above}/{META_PROPERTIES}", size),)


def owner_files(logs: Iterable[PlannedLog]) -> list[str]:
    """Return the paths of the meta.properties that belong to the logs, each once."""
    return sorted({path for log in logs for path, _ in log.files if path.endswith(f"/{META_PROPERTIES}")})


def without_too_large(log: PlannedLog, most: int) -> PlannedLog:
    """Return a log without its files if one of them does not fit into a row of Spark, which takes at most `most` bytes,
    and workers cannot open it as a file."""
    large = next((path for path, size in log.files if size > min(most, MOST_SEGMENT_BYTES)), None)
    if large is None or log.is_local:
        return log
    return replace(log, files=(), too_large=large)


def named(logs: Iterable[PlannedLog], cluster_of: str | None, ids: Mapping[str, str]) -> list[PlannedLog]:
    """Return the logs with the names that `cluster_of` gives them, and with the cluster ids by the path of their
    meta.properties. Raises InputError `invalid-cluster-pattern`, `cluster-not-named`."""
    try:
        pattern = None if cluster_of is None else re.compile(cluster_of)
    except re.error as error:
        raise InputError(
            f"cluster_of {cluster_of!r} is not a regular expression: {error}", id="invalid-cluster-pattern"
        ) from error
    found = []
    for log in logs:
        # As on disk: the file above the folder decides, if there is one.
        metas = [path for path, _ in log.files if path.endswith(f"/{META_PROPERTIES}") and path in ids]
        cluster_id = ids[min(metas, key=len)] if metas else None
        found.append(replace(log, name=_name(pattern, plain(log.path)), cluster_id=cluster_id))
    return found


def _name(pattern: re.Pattern[str] | None, path: str) -> str | None:
    if pattern is None:
        return None
    found = pattern.search(path)
    name = None if found is None else found[1] if pattern.groups else found[0]
    if not name:
        raise InputError(f"cluster_of {pattern.pattern!r} gives {path} no name", id="cluster-not-named")
    return name


def by_cluster(logs: Iterable[PlannedLog]) -> list[tuple[PlannedLog, ...]]:
    """Return the logs of each cluster: those of one name, else of one cluster id; any other log is a cluster.

    Raises InputError `several-clusters` if one name is given to two clusters, `cluster-named-twice` if one cluster has
    two names.
    """
    groups: dict[tuple[str, str], list[PlannedLog]] = {}
    names: dict[str, str] = {}
    for log in logs:
        if log.name is not None:
            key = ("name", log.name)
            if log.cluster_id is not None and names.setdefault(log.cluster_id, log.name) != log.name:
                raise InputError(
                    f"cluster_of names the cluster {log.cluster_id} {names[log.cluster_id]} and {log.name}",
                    id="cluster-named-twice",
                )
        else:
            key = ("path", log.path) if log.cluster_id is None else ("id", log.cluster_id)
        groups.setdefault(key, []).append(log)
    for (_, name), group in groups.items():
        ids = sorted({log.cluster_id for log in group if log.cluster_id is not None})
        if len(ids) > 1:
            raise InputError(
                f"cluster_of gives the name {name} to the clusters {', '.join(ids)}",
                id="several-clusters",
                next_step="Take the log of the other cluster away, or write a pattern that names it otherwise.",
            )
    return [tuple(group) for group in groups.values()]


def check_names(clusters: Iterable[Sequence[PlannedLog]]) -> None:
    """Raise InputError `several-clusters` if two clusters have one name, which is also that of their folders."""
    paths: dict[str, str] = {}
    for first, *_ in clusters:
        name = first.cluster
        if paths.setdefault(name, first.path) != first.path:
            raise InputError(
                f"{plain(paths[name])} and {plain(first.path)} would both be written as the cluster {name}",
                id="several-clusters",
                next_step="Name each with --cluster-of PATTERN, or export one after the other to different folders.",
            )
