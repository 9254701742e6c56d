"""Findings that do not change a start: leftovers, owners, modes, readable secrets, unequal copies."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kafkactl.core.file_read import FileRead
from kafkactl.core.kafka_names import FIRST_CHECKPOINT
from kafkactl.metadata.log.scan import Contents, FoundBatch, walk_batches
from kafkactl.storage.verify.model import RuleResult, StartContext, directory_subject, file_subject, informs, warns

_LEFTOVER = re.compile(r".*\.(tmp|part|deleted|swap|cleaned)")
_GROUP_OR_OTHER_READ = 0o044
_SHOWN = 5


def hygiene_rules(context: StartContext) -> Iterator[RuleResult]:
    """Yield the results of all hygiene rules."""
    yield from _leftovers(context)
    yield from _as_root(context)
    yield from _owners(context)
    yield from _readable_secrets(context)
    yield from _unequal_bootstrap(context)


def _leftovers(context: StartContext) -> Iterator[RuleResult]:
    for directory in context.directories:
        seen = directory.observed
        names = [entry.name for entry in (*seen.entries, *(seen.metadata_log or ())) if entry.kind == "file"]
        left = [name for name in names if _LEFTOVER.fullmatch(name)]
        if left:
            yield informs(
                "leftover-files",
                directory_subject(directory.path),
                " ".join(_described(left)),
                next_step="A node removes or ignores them.",
                names=left,
            )


def _described(left: list[str]) -> Iterator[str]:
    """Yield descriptions of leftovers; a running node keeps deleted files for a minute (`file.delete.delay.ms`)."""
    taken_out = [name for name in left if name.endswith(".deleted")]
    others = [name for name in left if not name.endswith(".deleted")]
    if others:
        yield f"Something was interrupted here: {_some(others)}."
    if taken_out:
        yield f"A node took these out of its log and has not deleted them yet: {_some(taken_out)}."


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _as_root(context: StartContext) -> Iterator[RuleResult]:
    """Report that permissions are unknown: root may read and write everything, and Kafka seldom runs as root."""
    owners = sorted({directory.observed.owner_uid for directory in context.directories})
    if context.observed.process_uid == 0 and any(owners):
        yield informs(
            "verified-as-root",
            f"node {context.config.node_id}",
            f"verify runs as root, and the directories belong to user {', '.join(map(str, owners))}: what that user may"
            " read and write was not judged.",
            next_step="Run it as the user that runs Kafka.",
            owners=owners,
        )


def _owners(context: StartContext) -> Iterator[RuleResult]:
    """Report files of another owner than their directory: most often the format was run as root."""
    for directory in context.directories:
        seen = directory.observed
        reads = [seen.meta_properties, seen.bootstrap_checkpoint, *seen.metadata_files.values()]
        others = sorted({file.path for file in reads if file is not None and file.owner_uid != seen.owner_uid})
        if others:
            yield warns(
                "files-of-another-owner",
                directory_subject(directory.path),
                f"The directory belongs to user {seen.owner_uid}, and some of its files do not: {', '.join(others)}.",
                files=others,
            )


def _readable_secrets(context: StartContext) -> Iterator[RuleResult]:
    for directory in context.directories:
        seen = directory.observed
        for read in (seen.bootstrap_checkpoint, seen.metadata_files.get(FIRST_CHECKPOINT)):
            if read is not None and read.mode & _GROUP_OR_OTHER_READ and _contents(read).scram:
                yield warns(
                    "readable-scram-credentials",
                    file_subject(read.path),
                    "The file holds SCRAM credentials (keys, not passwords), and others on this host may read it.",
                    next_step=f"chmod 600 {read.path}",
                    mode=oct(read.mode),
                )


def _contents(read: FileRead) -> Contents:
    contents, data = Contents(), read.content or b""
    for found in walk_batches([data], len(data), file=read.path, check_crc=False):
        if isinstance(found, FoundBatch):
            contents.add(found, file=read.path)
    return contents


def _unequal_bootstrap(context: StartContext) -> Iterator[RuleResult]:
    """Report directories whose bootstrap files differ; only the file of the metadata directory is used."""
    reads = [(directory, directory.observed.bootstrap_checkpoint) for directory in context.directories]
    found = {file.path: _contents(read) for file, read in reads if read is not None and read.content is not None}
    kinds = {(tuple(sorted(contents.levels.items())), tuple(sorted(contents.scram))) for contents in found.values()}
    if len(kinds) > 1:
        yield warns(
            "bootstrap-checkpoints-differ",
            f"node {context.config.node_id}",
            "The directories hold different founding records; only those of the metadata directory are used.",
            next_step="Compare them with `kafkactl storage dump`.",
            levels={path: contents.levels for path, contents in found.items()},
        )
