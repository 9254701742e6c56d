"""The files in the folder of the metadata log, apart from snapshots: may they be opened, and do the small ones parse?

Sources: `LogLoader`, `LogFileUtils`, `PartitionMetadataReadBuffer`, `LeaderEpochCheckpointFile`, `CheckpointFile`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kafkactl.core.errors import InputError
from kafkactl.core.file_read import FileRead
from kafkactl.core.values import METADATA_TOPIC_ID, ZERO_UUID, Uuid
from kafkactl.metadata.verify.checkpoint_text import NOT_UTF8, checkpoint_problem, utf8_text
from kafkactl.metadata.verify.folder import LEADER_EPOCH_CHECKPOINT, PARTITION_METADATA, TO_WRITE
from kafkactl.protocol.text.java_text import parse_int
from kafkactl.storage.verify.model import Phase, RuleResult, StartContext, file_subject, stops, warns

_OFFSET_NAMED = (".log", ".index", ".timeindex", ".txnindex", ".snapshot", ".swap", ".cleaned")
_COLON = re.compile(r":\s+", re.ASCII)


def file_rules(context: StartContext) -> Iterator[RuleResult]:
    """Report files that cannot be opened, have a wrong name, or do not parse."""
    yield from _files_usable(context)
    yield from _file_names(context)
    yield from _small_files(context)


def _files_usable(context: StartContext) -> Iterator[RuleResult]:
    log = context.log
    if log.state == "unreadable":
        yield stops(
            "metadata-log-unreadable",
            Phase.METADATA_DIRECTORY,
            f"directory {log.path}",
            f"The directory cannot be listed: {log.error}.",
            says=f"{log.path}",
        )
    for name, words in log.passed_over:
        yield warns(
            "log-file-not-regular",
            file_subject(f"{log.path}/{name}"),
            f"The name is that of a segment, and there is {words}: a node starts without it.",
            next_step="Find out who made it: Kafka makes regular files only. Then move it away.",
        )
    for name, error in log.unreadable:
        yield stops(
            "metadata-log-unreadable",
            Phase.METADATA_LOG,
            file_subject(f"{log.path}/{name}"),
            f"The file cannot be opened as a node opens it: {error}.",
            says=_open_words(f"{log.path}/{name}", error),
        )


def _open_words(path: str, error: str) -> str:
    if error.endswith(TO_WRITE):
        return f"java.nio.file.AccessDeniedException: {path}"
    return f"Could not read file {path}"


def _file_names(context: StartContext) -> Iterator[RuleResult]:
    """Check names of segments, indexes and producer snapshots: a node parses the offset in each such name."""
    for entry in context.metadata_directory.observed.metadata_log or ():
        stem, dot, _ = entry.name.partition(".")
        if entry.kind == "file" and dot and entry.name.endswith(_OFFSET_NAMED) and parse_int(stem, 64) is None:
            yield stops(
                "file-not-named-by-offset",
                Phase.METADATA_LOG,
                file_subject(f"{context.log.path}/{entry.name}"),
                "A file of this kind is named by an offset of 20 digits; this one is not.",
                says=f'For input string: "{stem}"',
            )


def _small_files(context: StartContext) -> Iterator[RuleResult]:
    found = context.log.small_files.get(PARTITION_METADATA)
    if found is not None and found.content is not None:
        yield from _partition_metadata(found)
    found = context.log.small_files.get(LEADER_EPOCH_CHECKPOINT)
    if found is not None and found.content is not None:
        yield from _leader_epochs(found)


def _partition_metadata(found: FileRead) -> Iterator[RuleResult]:
    """Check the two lines `version: 0` and `topic_id: …`; the text before the colons is ignored."""
    problem = _partition_metadata_problem(found.content or b"")
    if problem is not None:
        yield stops(
            "broken-partition-metadata",
            Phase.METADATA_LOG,
            file_subject(found.path),
            "The file does not name the metadata topic.",
            says=problem,
        )


def _partition_metadata_problem(content: bytes) -> str | None:
    """Return the error of a node for the file (`PartitionMetadataReadBuffer`); None if the file is valid."""
    text = utf8_text(content)
    if text is None:
        return NOT_UTF8
    fields = [_COLON.split(line) for line in text.splitlines()[:2]]
    if any(len(field) != 2 for field in fields) or (fields and parse_int(fields[0][1]) is None):
        return "Malformed line in"
    if fields and parse_int(fields[0][1]) != 0:
        return "Unrecognized version of partition metadata file"
    if len(fields) < 2:  # the reader asks a line that is not there
        return 'because "this.text" is null'
    return _topic_id_problem(fields[1][1])


def _topic_id_problem(text: str) -> str | None:
    try:
        topic_id = Uuid.parse(text)
    except InputError:
        return "java.lang.IllegalArgumentException"
    if topic_id == METADATA_TOPIC_ID:
        return None
    return "Invalid topic ID" if topic_id == ZERO_UUID else f"log already contained topic ID {topic_id}"


def _leader_epochs(found: FileRead) -> Iterator[RuleResult]:
    """Check entries of epoch and offset (`LeaderEpochCheckpointFile`)."""
    problem = checkpoint_problem(found.content or b"", parts=2)
    if problem is not None:
        yield stops(
            "broken-leader-epoch-checkpoint",
            Phase.METADATA_LOG,
            file_subject(found.path),
            f"The file is not one that a node can read: {problem.words}",
            says=problem.words,
        )
