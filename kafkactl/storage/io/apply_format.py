"""Apply of a format plan: at no instant are there disks from which Kafka would start by mistake.

A node is formatted, for Kafka, where every one of its directories holds a meta.properties; it refuses to start while
one of them holds none. So meta.properties is the commit mark, and the order below must be kept:

1. make the directories, open each once, and lock each against a second kafkactl;
2. stage every file of every directory under a temporary name: written, synced, its directory synced. A full or
   read-only disk shows here, before anything is visible;
3. publish directory by directory, data directories first and the metadata directory last; inside each the 0-0
   checkpoint, then bootstrap.checkpoint, then (the directory is its owner's by now) meta.properties; nothing that
   appeared meanwhile is replaced; after each rename its directory is synced;
4. read everything back and compare with the plan.

Killed anywhere, the metadata directory holds no meta.properties until all else stands. Its staged files also tell
the next run that this is half a format and not a disk that lost its content (kafkactl.storage.format.guard). A rename
that would have to copy (EXDEV) is an error, never a copy.
"""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

from kafkactl.core.errors import RefusedError
from kafkactl.core.findings import Finding, Outcome, Severity, error_finding
from kafkactl.core.kafka_names import METADATA_LOG
from kafkactl.files.filesystem import Filesystem
from kafkactl.files.one_file import read_file
from kafkactl.protocol.text.meta_properties import META_PROPERTIES
from kafkactl.storage.io.directory_sync import settle_directory
from kafkactl.storage.io.format_folders import Folders, identity
from kafkactl.storage.io.locks import directory_lock
from kafkactl.storage.model import (
    KAFKACTL_LOCK,
    Action,
    Applied,
    FormatPlan,
    PlannedDirectory,
    PlannedFile,
    Progress,
    is_staged_name,
    staged_name,
)

# The mode that open(2) gets if the plan leaves it to the umask, and if the plan names one (as Kafka's
# Files.createTempFile does).
_OPEN_MODE = 0o666
_PRIVATE_MODE = 0o600


def apply_plan(plan: FormatPlan, files: Filesystem) -> Applied:
    """Carry out the plan. Applying the same plan again changes nothing.

    Refusals and failures are results as well: the outcome, the state of each directory, and a finding that says what to
    do. Errors of the disks are not raised. A plan that was refused is not carried out.
    """
    work = _Work(plan, files)
    if plan.outcome is not Outcome.PLANNED:
        if plan.outcome is Outcome.NOTHING_TO_DO:
            return work.settled()
        return Applied(outcome=plan.outcome, progress=_untouched(plan), findings=plan.findings)
    with contextlib.closing(work.folders):
        return _carried_out(work)


def _carried_out(work: _Work) -> Applied:
    try:
        with contextlib.ExitStack() as locks:
            work.run(locks)
    except RefusedError as error:
        work.withdraw()
        return work.refused(error)
    except _ReadBackError as error:
        return work.failed(error.finding)
    except OSError as error:
        finding = failure_finding(error, work.at)
        if not work.published:
            work.withdraw()
        return work.failed(finding)
    return work.finished()


def _untouched(plan: FormatPlan) -> dict[str, Progress]:
    return {directory.path: _idle(directory) for directory in plan.directories}


def _idle(directory: PlannedDirectory) -> Progress:
    return Progress.NOT_STARTED if directory.action is Action.FORMAT else Progress.UNCHANGED


class _ReadBackError(Exception):
    """Difference between the disk and the written content."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


class _Work:
    """A run of a plan: what was made so far, so that a failure can report what is left and what was undone."""

    def __init__(self, plan: FormatPlan, files: Filesystem) -> None:
        self.plan = plan
        self.files = files
        self.folders = Folders(files, plan.owner)
        self.published = False  # the first rename was tried: from here on nothing is undone
        self._staged: list[str] = []
        self._leftovers: dict[str, tuple[int, int] | None] = {}
        self._done: set[str] = set()
        self._touched: set[str] = set()
        formatted = [directory for directory in plan.directories if directory.action is Action.FORMAT]
        # Stable: data directories in the order of the config, then the metadata directory.
        self._targets = sorted(formatted, key=lambda directory: directory.role == "metadata")
        self._unchanged: set[str] = set()

    @property
    def at(self) -> str:
        """Return the path that is being worked on."""
        return self.folders.at

    def run(self, locks: contextlib.ExitStack) -> None:
        """Run all four steps. Raise RefusedError, OSError or _ReadBackError."""
        self.tidy()
        self._settle_found()
        for target in self._targets:
            descriptor = self.folders.make(target)
            locks.enter_context(directory_lock(target.path, self.files, at=descriptor))
        targets = [target for target in self._targets if not self._is_done_already(target)]
        for target in targets:
            self._stage(target)
        for target in targets:
            self.folders.check(target)
        for target in targets:
            self._publish(target)
        for target in targets:
            self._read_back(target)
            self._done.add(target.path)

    def settled(self) -> Applied:
        """Sync what was found to disk, and return the result of a plan that has nothing to do."""
        try:
            self.tidy()
            self._settle_found()
        except RefusedError as error:
            return self.refused(error)
        except OSError as error:
            return self.failed(failure_finding(error, self.at))
        return Applied(outcome=self.plan.outcome, progress=_untouched(self.plan), findings=self.plan.findings)

    def _settle_found(self) -> None:
        for directory in self.plan.directories:
            if directory.action is Action.KEEP:
                self.folders.at = directory.path
                settle_directory(directory.path, self.files)

    def tidy(self) -> None:
        """Remove the lock file that a killed run left in a directory which it had finished.

        Raises RefusedError if that run was not killed: a process holds the lock, or has released it since the directory
        was looked at.
        """
        for directory in self.plan.directories:
            if directory.action is Action.FORMAT:
                continue
            left = _lock_file(directory.path)
            if left is not None:
                with contextlib.suppress(OSError), directory_lock(directory.path, self.files):
                    left = left if _lock_file(directory.path) == left else None
            if left is None and KAFKACTL_LOCK in directory.found:
                raise RefusedError(f"{directory.path} was formatted after this plan was made", id="formatted-meanwhile")

    def _is_done_already(self, target: PlannedDirectory) -> bool:
        """Return True if this plan was applied before; refuse a directory that was formatted after the plan was
        made."""
        path, at = self._of(target, META_PROPERTIES)
        if identity(path, at) is None:
            return False
        planned = next(file.content for file in target.files if file.name == META_PROPERTIES)
        if read_file(path, at=at).content != planned:
            raise RefusedError(f"{target.path} was formatted after this plan was made", id="formatted-meanwhile")
        settle_directory(target.path, self.files)
        self._unchanged.add(target.path)
        return True

    def _of(self, target: PlannedDirectory, name: str) -> tuple[str, int]:
        """Return the path of a planned file, and its open directory."""
        path = Path(target.path, name)
        self.folders.at = str(path)
        return str(path), self.folders[str(path.parent)]

    def _stage(self, target: PlannedDirectory) -> None:
        self._touched.add(target.path)
        folders = sorted({str(Path(target.path, file.name).parent) for file in target.files})
        for folder in folders:
            self._remove_leftovers(folder, self.folders.below(folder))
        for file in target.files:
            self._stage_file(target, file)
        for folder in folders:
            self.folders.at = folder
            self.files.fsync_directory(folder, at=self.folders[folder])

    def _remove_leftovers(self, folder: str, at: int) -> None:
        for name in sorted(os.listdir(at)):
            if is_staged_name(name):
                self.folders.at = str(Path(folder, name))
                self.files.unlink(self.at, at=at)

    def _stage_file(self, target: PlannedDirectory, file: PlannedFile) -> None:
        final, at = self._of(target, file.name)
        # What an interrupted format left is replaced; what comes after this look is not.
        self._leftovers[final] = identity(final, at) if file.name != META_PROPERTIES else None
        path = self.folders.at = _staged_path(target, file)
        self._staged.append(path)
        descriptor = self.files.create(path, _OPEN_MODE if file.mode is None else _PRIVATE_MODE, at=at)
        try:
            self._write(descriptor, file.content)
            if file.mode is not None:
                self.files.chmod(descriptor, file.mode)
            self.folders.give(descriptor)
            self.files.fsync(descriptor)
        finally:
            self.files.close(descriptor)

    def _write(self, descriptor: int, content: bytes) -> None:
        left = memoryview(content)
        while left:
            taken = self.files.write(descriptor, bytes(left))
            if taken <= 0:
                raise OSError(errno.EIO, os.strerror(errno.EIO), self.at)
            left = left[taken:]

    def _publish(self, target: PlannedDirectory) -> None:
        """Publish the files of the directory; change its owner right before its commit mark, after which one name
        changes."""
        for file in target.files:
            if file.name == META_PROPERTIES:
                self.published = True
                self.folders.give_folders(target.path)
            path, at = self._of(target, file.name)
            self.published = True
            leftover = self._leftovers[path]
            if leftover is not None and identity(path, at) == leftover:
                self.files.unlink(path, at=at)
            self._name(_staged_path(target, file), path, at)
            self.files.fsync_directory(str(Path(path).parent), at=at)

    def _name(self, staged: str, path: str, at: int) -> None:
        try:
            self.files.publish(staged, path, at=at)
        except FileExistsError:
            raise _ReadBackError(appeared_finding(path)) from None

    def _read_back(self, target: PlannedDirectory) -> None:
        for file in target.files:
            path, at = self._of(target, file.name)
            found = read_file(path, at=at)
            if found.content != file.content:
                raise _ReadBackError(_differs(path, found.error or "other bytes than those written"))
            if file.mode is not None and found.mode != file.mode:
                raise _ReadBackError(_differs(path, f"mode {found.mode:04o} instead of {file.mode:04o}"))

    def withdraw(self) -> None:
        """Remove the temporary files and new directories as far as possible; none of them is visible yet."""
        for path in reversed(self._staged):
            with contextlib.suppress(OSError):
                self.files.unlink(path, at=self.folders[str(Path(path).parent)])
        self.folders.withdraw()

    def refused(self, error: RefusedError) -> Applied:
        """Return the result of a refusal that changed nothing."""
        finding = error_finding(f"node {self.plan.node_id}", error)
        return Applied(outcome=Outcome.REFUSED, progress=_untouched(self.plan), findings=(*self.plan.findings, finding))

    def failed(self, finding: Finding) -> Applied:
        """Return failed if no directory was formatted, partial if at least one was."""
        progress = {directory.path: self._progress(directory) for directory in self.plan.directories}
        stands = {Progress.DONE, Progress.UNKNOWN}
        outcome = Outcome.PARTIAL if stands & set(progress.values()) else Outcome.FAILED
        summary = _what_stands(self.plan, progress)
        return Applied(outcome=outcome, progress=progress, findings=(*self.plan.findings, finding, summary))

    def finished(self) -> Applied:
        """Return the result of a plan that was applied completely."""
        progress = {directory.path: self._progress(directory) for directory in self.plan.directories}
        outcome = Outcome.DONE if self._done else Outcome.NOTHING_TO_DO
        return Applied(outcome=outcome, progress=progress, findings=self.plan.findings)

    def _progress(self, directory: PlannedDirectory) -> Progress:
        path = directory.path
        if directory.action is not Action.FORMAT or path in self._unchanged:
            return Progress.UNCHANGED
        if path in self._done:
            return Progress.DONE
        if os.path.lexists(Path(path, META_PROPERTIES)):
            return Progress.UNKNOWN
        return Progress.HALF_DONE if path in self._touched and self.published else Progress.NOT_STARTED


def _lock_file(directory: str) -> tuple[int, int] | None:
    """Return inode and time of change of kafkactl's lock file in a directory; None if there is none."""
    try:
        found = Path(directory, KAFKACTL_LOCK).lstat()
    except OSError:
        return None
    return found.st_ino, found.st_ctime_ns


def _staged_path(target: PlannedDirectory, file: PlannedFile) -> str:
    final = Path(target.path, file.name)
    return str(final.with_name(staged_name(final.name)))


def appeared_finding(path: str) -> Finding:
    """Return a finding for a file of another program in the place of one that was about to be named."""
    return Finding(
        id="appeared-meanwhile",
        severity=Severity.BLOCKER,
        subject=f"file {path}",
        message=f"{path} appeared while its directory was being written; it was not replaced",
    )


def _differs(path: str, what: str) -> Finding:
    return Finding(
        id="written-bytes-differ",
        severity=Severity.BLOCKER,
        subject=f"file {path}",
        message=f"{path} was written and read back: it holds {what}",
    )


# What the operating system said -> what we call it, and what to try.
_FAILURES: dict[int, tuple[str, str]] = {
    errno.ENOSPC: ("no-space-left", "Free some space on this disk and run the same command again."),
    errno.EDQUOT: ("no-space-left", "Raise the disk quota of this user and run the same command again."),
    errno.EACCES: ("write-not-permitted", "Run as the user that owns the directory, or give it to this user."),
    errno.EPERM: ("write-not-permitted", "Run as root to use --owner, or as the user that owns the directory."),
    errno.EROFS: ("read-only-filesystem", "Mount the file system for writing; see the kernel log for the reason."),
    errno.EIO: ("disk-io-error", "The disk reports an error: see the kernel log, replace it, and run this again."),
    errno.EXDEV: (
        "rename-across-filesystems",
        f"{METADATA_LOG} or a file in the directory is a mount of its own: unmount it and run this again.",
    ),
    errno.ENOTDIR: ("path-is-not-a-directory", "A part of this path is not a directory: move it away."),
    errno.EEXIST: ("path-is-not-a-directory", "A part of this path is not a directory: move it away."),
}


def failure_finding(error: OSError, at: str) -> Finding:
    """Return a finding for what the operating system refused; `at` is the path that was worked on."""
    id_, next_step = _FAILURES.get(error.errno or 0, ("write-failed", "Remove the cause and run this again."))
    # An operation in an open directory reports the last name alone.
    path = str(Path(at).parent / error.filename) if isinstance(error.filename, str) else at
    return Finding(
        id=id_,
        severity=Severity.BLOCKER,
        subject=f"file {path}",
        message=f"{path}: {error.strerror or error}",
        evidence={"path": path, "errno": errno.errorcode.get(error.errno or 0, "")},
        next_step=next_step,
    )


# What stands after a failure: id, words, how to go on. In the order of "how far it came".
_NOT_BEGUN = (
    "format-not-begun",
    "nothing was changed",
    "Run the same command again: it starts from the beginning.",
)
_HALF_DONE = (
    "format-half-done",
    "no directory was formatted and no node starts from them as they are",
    "Run the same command again: what lies there now is not data and will be replaced.",
)
_SOME_DONE = (
    "format-partly-done",
    "only some directories are formatted, and no node starts from them as they are",
    "Run the same command again (`format` needs --ignore-formatted for it): it formats what is left.",
)
_NOT_CONFIRMED = (
    "format-not-confirmed",
    "every directory is formatted, but the last step failed and it may not survive a power failure",
    "Check the disk, then run `kafkactl storage verify` before the node starts.",
)


def _what_stands(plan: FormatPlan, progress: dict[str, Progress]) -> Finding:
    wanted = {progress[directory.path] for directory in plan.directories if directory.action is Action.FORMAT}
    stands = {Progress.DONE, Progress.UNKNOWN, Progress.UNCHANGED}
    if wanted <= stands:
        id_, words, next_step = _NOT_CONFIRMED
    elif wanted & stands:
        id_, words, next_step = _SOME_DONE
    else:
        id_, words, next_step = _HALF_DONE if Progress.HALF_DONE in wanted else _NOT_BEGUN
    states = {path: state.value for path, state in progress.items()}
    listed = ", ".join(f"{path} {state}" for path, state in states.items())
    return Finding(
        id=id_,
        severity=Severity.INFO,
        subject=f"node {plan.node_id}",
        message=f"{words} ({listed})",
        evidence={"directories": states},
        next_step=next_step,
    )
