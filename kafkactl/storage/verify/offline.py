"""Log directories that a broker gives up on its way up, and when that ends the broker.

A directory with an I/O error goes offline (`LogDirFailureChannel`). A broker without any is ended, and since 3.7 one
whose metadata log lies in a failed directory too (`LogManager`, `ReplicaManager.handleLogDirFailure`).
"""

from __future__ import annotations

from collections.abc import Iterator

from kafkactl.core.file_read import FileRead
from kafkactl.metadata.verify.checkpoint_text import checkpoint_problem
from kafkactl.storage.model import LOG_STARTS, NODE_LOCK, RECOVERY_POINTS
from kafkactl.storage.verify.model import (
    DirectoryClass,
    DirectoryFacts,
    Loss,
    Phase,
    RuleResult,
    StartContext,
    directory_subject,
    loses,
    stops,
)
from kafkactl.storage.verify.places import refusal

_OWNER_STEP = "Give the directory to the user that runs Kafka (owner and mode), or mount it for writing."
_FILE_STEP = "Remove the file; the broker then recovers every log in the directory from its start."


def offline_rules(context: StartContext) -> Iterator[RuleResult]:
    """Report directories that cannot be written, and offset checkpoints that cannot be read."""
    if not context.is_broker:
        return
    for path in context.config.log_dirs:
        directory = context.directory(path)
        if directory.kind is DirectoryClass.GOOD:
            yield from _directory(context, directory)


def _directory(context: StartContext, directory: DirectoryFacts) -> Iterator[RuleResult]:
    seen = directory.observed
    if not seen.writable:
        missing = [name for name in (RECOVERY_POINTS, LOG_STARTS) if name not in seen.offset_checkpoints]
        if missing:
            yield _cannot_make(directory, missing[0])
        else:
            yield _given_up(context, directory, f"it cannot be written: {seen.write_error}", NODE_LOCK, _OWNER_STEP)
        return
    for name, read in sorted(seen.offset_checkpoints.items()):
        problem = _problem(read)
        if problem is not None:
            yield _given_up(context, directory, f"{name} cannot be read: {problem}", name, _FILE_STEP)
            return


def _cannot_make(directory: DirectoryFacts, name: str) -> RuleResult:
    """Return the result for a file that the broker creates at start and cannot: that error is not caught."""
    seen = directory.observed
    return stops(
        "directory-not-writable",
        Phase.LOG_DIRECTORIES,
        directory_subject(directory.path),
        f"The broker cannot make {name} here: {seen.write_error}.",
        says=f"{refusal(seen.write_error)}: {directory.path.rstrip('/')}/{name}",
        owner_uid=seen.owner_uid,
        mode=oct(seen.mode),
    )


def _given_up(context: StartContext, directory: DirectoryFacts, why: str, name: str, step: str) -> RuleResult:
    subject = directory_subject(directory.path)
    ending = _ending(context, directory)
    if ending is not None:
        return stops(
            "directory-taken-offline",
            Phase.LOG_DIRECTORIES,
            subject,
            f"The broker gives this directory up, for {why}, and ends.",
            says=ending,
            next_step=step,
            file=name,
        )
    loss = Loss(what="replicas", subject=subject, message="All replicas in this directory are offline.")
    message = f"The broker starts without this directory, for {why}."
    return loses("directory-taken-offline", subject, message, loss, next_step=step, file=name)


def _ending(context: StartContext, directory: DirectoryFacts) -> str | None:
    """Return the message of a broker that exits because of this directory; None if it continues."""
    others = [path for path in context.config.log_dirs if path != directory.path]
    live = [path for path in others if not gives_up(context.directory(path))]
    if not live:
        return "Shutdown broker because all log dirs in"
    if directory.path == context.config.metadata_log_dir and context.rules.stops_without_metadata_directory:
        return f"Shutdown broker because the metadata log dir {directory.path} has failed"
    return None


def gives_up(directory: DirectoryFacts) -> bool:
    """Return True if a broker continues without this directory."""
    seen = directory.observed
    broken = any(_problem(read) is not None for read in seen.offset_checkpoints.values())
    return directory.kind is not DirectoryClass.GOOD or not seen.writable or broken


def _problem(read: FileRead) -> str | None:
    """Return an I/O error puts the directory offline.

    Any other error of the reader makes a broker continue from offset 0.
    """
    if read.content is None:
        return read.error or "unreadable"
    found = checkpoint_problem(read.content, parts=3)
    return found.words if found is not None and found.is_io else None
