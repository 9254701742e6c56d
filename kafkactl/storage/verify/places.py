"""Places and permissions: the metadata log's directory, links, locks, foreign folders.

Sources: `KafkaRaftServer.initializeLogDirs`, `KafkaRaftManager`, `LogManager`, `LocalLog.parseTopicPartitionName`.
A node that is only a controller has no LogManager: it locks its metadata directory and looks at no other content.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kafkactl.core.kafka_names import METADATA_LOG, METADATA_TOPIC
from kafkactl.metadata.verify.folder import LEADER_EPOCH_CHECKPOINT
from kafkactl.protocol.text.java_text import parse_int
from kafkactl.storage.leftovers import is_of_file_system
from kafkactl.storage.model import NODE_LOCK, DirectoryEntry
from kafkactl.storage.verify.model import (
    DirectoryClass,
    DirectoryFacts,
    Phase,
    RuleResult,
    StartContext,
    directory_subject,
    informs,
    stops,
)

_SUBDIRECTORY = (
    "It belongs to the file system and cannot be moved: use a subdirectory of the mount in log.dirs. What the directory"
    " holds is moved into it while the node is stopped."
)
REMOTE_INDEX_CACHE = "remote-log-index-cache"
# `\S+-\S+\.\S+-(…)` of Kafka's `LocalLog`, in time that grows with the name.
_RETIRED = re.compile(r"\S[^\s-]*-\S[^\s.]*\.\S+-(delete|future|stray)", re.ASCII)


def place_rules(context: StartContext) -> Iterator[RuleResult]:
    """Yield the results of all rules of directory locations."""
    yield from unexpected_metadata_log(context)
    yield from _metadata_directory_usable(context)
    yield from _locked(context)
    if context.is_broker:
        yield from _same_place_twice(context)
        yield from _foreign_folders(context)
        yield from _same_partition_twice(context)


def unexpected_metadata_log(context: StartContext) -> Iterator[RuleResult]:
    """Report a metadata log outside the metadata log directory, after a reorder of log.dirs for example."""
    metadata_dir = context.config.metadata_log_dir
    for directory in context.directories:
        has_log = any(entry.name == METADATA_LOG for entry in directory.observed.entries)
        if directory.path == metadata_dir or directory.kind is DirectoryClass.ERROR or not has_log:
            continue
        place = f"{directory.path.rstrip('/')}/{METADATA_LOG}"
        yield stops(
            "unexpected-metadata-location",
            Phase.METADATA_LOCATION,
            directory_subject(directory.path),
            f"A metadata log lies here, but the configuration puts it into {metadata_dir}.",
            says=f"Found unexpected metadata location in data directory `{place}` (the configured metadata directory"
            f" is {metadata_dir}).",
            next_step=f"Set metadata.log.dir={directory.path}, or restore the old order of log.dirs.",
            metadata_log_dir=metadata_dir,
        )


def _metadata_directory_usable(context: StartContext) -> Iterator[RuleResult]:
    """Check that `__cluster_metadata-0` can be made if it is missing, and written into."""
    metadata_dir = context.config.metadata_log_dir
    place = f"{metadata_dir.rstrip('/')}/{METADATA_LOG}"
    if context.log.state == "not-a-directory":
        yield stops(
            "metadata-log-not-a-directory",
            Phase.METADATA_DIRECTORY,
            directory_subject(metadata_dir),
            f"{METADATA_LOG} is not a directory.",
            says=f"java.nio.file.FileAlreadyExistsException: {place}",
        )
    else:
        yield from _metadata_directory_not_writable(context, place)


def _metadata_directory_not_writable(context: StartContext, place: str) -> Iterator[RuleResult]:
    """Check, in this order, that the folder and the lock file can be created and the folder can be written."""
    seen = context.metadata_directory.observed
    has_lock = any(entry.name == NODE_LOCK for entry in seen.entries)
    refused = None
    if context.log.state == "missing" and not seen.writable:
        refused = place
    elif context.locks_metadata_directory and not has_lock and not seen.writable:
        refused = f"{context.config.metadata_log_dir.rstrip('/')}/{NODE_LOCK}"
    elif context.log.state == "directory" and context.log.write_error:
        refused = _first_file_made(context, place)
    if refused is not None:
        error = seen.write_error or context.log.write_error
        yield stops(
            "directory-not-writable",
            Phase.METADATA_DIRECTORY,
            directory_subject(context.config.metadata_log_dir),
            f"The node cannot write here: {error}.",
            says=f"{refusal(error)}: {refused}",
            owner_uid=seen.owner_uid,
            mode=oct(seen.mode),
        )


def _first_file_made(context: StartContext, place: str) -> str | None:
    """Return the file that a node creates first in the folder; None if unreadable files end the node before it
    writes."""
    if LEADER_EPOCH_CHECKPOINT not in context.log.small_files:
        return f"{place}/{LEADER_EPOCH_CHECKPOINT}"
    return None if context.log.unreadable else f"{place}/"


def refusal(error: str | None) -> str:
    """Return the exception that Java makes of the system's refusal."""
    denied = (error or "").startswith("Permission denied")
    return "java.nio.file.AccessDeniedException" if denied else "java.nio.file.FileSystemException"


def _locked(context: StartContext) -> Iterator[RuleResult]:
    """Report locked directories. The roles and the release decide which directories a node locks."""
    own = context.running_on
    if own:
        yield _runs(context, own)
    for path in _locked_paths(context):
        seen = context.directory(path).observed
        if seen.locked_by_process and context.directory(path) not in own:
            holder = f" (process {seen.lock_holder_pid})" if seen.lock_holder_pid else ""
            yield stops(
                "directory-in-use",
                Phase.LOG_DIRECTORIES,
                directory_subject(path),
                f"A running process holds the lock of this directory{holder}.",
                says=f"Failed to acquire lock on file .lock in {_java_path(path)}. A Kafka instance in another"
                " process or thread is using this directory.",
                process_id=seen.lock_holder_pid,
            )


def _runs(context: StartContext, own: Sequence[DirectoryFacts]) -> RuleResult:
    process_id = own[0].observed.lock_holder_pid
    return informs(
        "node-is-running",
        f"node {context.config.node_id}",
        f"The node runs{f' (process {process_id})' if process_id else ''} and holds the lock of its directories. Its"
        " next start is predicted, as if it were stopped now.",
        process_id=process_id,
        directories=[directory.path for directory in own],
    )


def _locked_paths(context: StartContext) -> list[str]:
    config = context.config
    paths = list(config.log_dirs) if context.is_broker else []
    if context.locks_metadata_directory:
        paths.append(config.metadata_log_dir)
    online = {directory.path for directory in context.directories if directory.kind is not DirectoryClass.ERROR}
    return [path for path in dict.fromkeys(paths) if path in online]


def _same_place_twice(context: StartContext) -> Iterator[RuleResult]:
    """Report one real path named twice; from 4.2 on an equal text is dropped with a warning
    (`ConfigDef.parseValue`)."""
    seen: dict[str, str] = {}
    for path in context.log_dirs_as_written:
        directory = context.directory(path)
        if directory.kind is DirectoryClass.ERROR:
            continue
        real_path = directory.observed.real_path
        if real_path in seen:
            yield stops(
                "same-directory-twice",
                Phase.LOG_DIRECTORIES,
                directory_subject(path),
                f"{path} and {seen[real_path]} are the same place ({real_path}).",
                says=f"Duplicate log directory found: {', '.join(map(_java_path, context.log_dirs_as_written))}",
                next_step="Name every disk once in log.dirs.",
                real_path=real_path,
            )
        seen.setdefault(real_path, path)


def _java_path(path: str) -> str:
    """Return a path as java.io.File prints it: no slash twice, none at the end."""
    return re.sub("/+", "/", path).rstrip("/") or "/"


def _foreign_folders(context: StartContext) -> Iterator[RuleResult]:
    for path in dict.fromkeys(context.config.log_dirs):
        directory = context.directory(path)
        if directory.kind is DirectoryClass.ERROR:
            continue
        for entry in directory.observed.entries:
            if _is_folder(entry) and not _is_known_name(context, entry.name):
                yield _foreign(directory, entry)


def _is_folder(entry: DirectoryEntry) -> bool:
    """Return True for a folder, or a link to a folder."""
    return entry.kind == "directory" or entry.links_to_directory


def _foreign(directory: DirectoryFacts, entry: DirectoryEntry) -> RuleResult:
    return stops(
        "foreign-folder-in-log-directory",
        Phase.BROKER_LOGS,
        directory_subject(directory.path),
        f"The folder {entry.name!r} is not named like a partition, and a broker refuses to load such a directory.",
        says=f"'{entry.name}' is not in the form of topic-partition",
        next_step=_SUBDIRECTORY if is_of_file_system(entry.name) else "Move it away.",
        name=entry.name,
    )


def _is_known_name(context: StartContext, name: str) -> bool:
    if name == REMOTE_INDEX_CACHE:
        return context.rules.knows_remote_index_cache
    return partition_of(name, stray_known=context.rules.knows_stray_folders) is not None


def partition_of(name: str, *, stray_known: bool = True) -> tuple[str, int] | None:
    """Return topic and partition of a folder in a log directory; None if a broker would not load it.

    `topic-partition`, and also `topic-partition.id-delete`, `-future` and, since 3.6.1, `-stray`; the number is
    read by Java's parseInt, so `t--1` and `t-+1` pass (`LocalLog.parseTopicPartitionName`).
    """
    if "-" not in name:
        return None
    suffixes = ("-delete", "-future", "-stray") if stray_known else ("-delete", "-future")
    if name.endswith(suffixes):
        if _RETIRED.fullmatch(name) is None:
            return None
        name = name[: name.rindex(".")]
    topic, _, number = name.rpartition("-")
    partition = parse_int(number) if number else None
    return None if not topic or partition is None else (topic, partition)


def _same_partition_twice(context: StartContext) -> Iterator[RuleResult]:
    """Yield the same replica in two directories; a future replica next to the current one is the one exception."""
    seen: dict[tuple[tuple[str, int], bool], str] = {}
    for path in dict.fromkeys(context.config.log_dirs):
        directory = context.directory(path)
        entries = () if directory.kind is DirectoryClass.ERROR else directory.observed.entries
        for entry in entries:
            partition = partition_of(entry.name) if entry.kind == "directory" else None
            if partition is None or partition[0] == METADATA_TOPIC or entry.name.endswith(("-delete", "-stray")):
                continue
            place = f"{path.rstrip('/')}/{entry.name}"
            other = seen.setdefault((partition, entry.name.endswith("-future")), place)
            if other != place and not _becomes_stray(context, partition[0]):
                yield _twice(directory, f"{partition[0]}-{partition[1]}", other, place)


def _becomes_stray(context: StartContext, topic: str) -> bool:
    """Return True if the start sets a replica aside as a stray.

    Since 3.7 it does so for a topic that is not in the metadata (KAFKA-14616).
    """
    return context.rules.sets_strays_aside and topic not in context.topics.values()


def _twice(directory: DirectoryFacts, partition: str, other: str, place: str) -> RuleResult:
    return stops(
        "same-partition-twice",
        Phase.BROKER_LOGS,
        directory_subject(directory.path),
        f"The partition {partition} lies in {other} and in {place}.",
        says=f"Duplicate log directories for {partition} are found in both",
        partition=partition,
    )
