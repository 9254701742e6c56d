"""Writer of the recovered directory, in an order that never leaves an incomplete one from which Kafka would start.

Another user may own the folder around the directory and be at work there while root recovers. So that folder is opened
once and locked, every other name is looked up below an open directory, and no link is followed
(`storage.io.format_folders`). A node refuses to start from a directory without meta.properties, and removes `.part`
files. Hence this order:

1. look again: the directory is the one that was looked at, and holds nothing but leftovers of this very plan;
2. the plan, next to the directory, under a temporary name and then its own, which it never takes from another plan:
   ids and times survive a kill;
3. the directory and `__cluster_metadata-0` in it, both new;
4. the checkpoint as `….checkpoint.part`: written, synced, given to its owner, then renamed, and its folder synced;
5. meta.properties written likewise; then both folders given to the owner; then its name, last;
6. both read back and compared with the plan.

The next run with the same plan file removes what a killed run left, unless there is a meta.properties. Only names that
this module creates are ever removed. Nothing else is opened for writing.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from kafkactl.core.errors import DecodeError, InputError, RefusedError
from kafkactl.core.findings import Finding, Outcome, Severity, error_finding
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import METADATA_LOG
from kafkactl.files.filesystem import Filesystem
from kafkactl.files.input_files import InputKind, read_whole
from kafkactl.files.leftover_sync import sync_found_file
from kafkactl.files.one_file import read_file
from kafkactl.protocol.text.meta_properties import META_PROPERTIES, parse_meta_properties
from kafkactl.quorum.io.recover.disks import checksum
from kafkactl.quorum.io.recover.target import TargetLook, staged_plan
from kafkactl.quorum.recover.answer import read_kept_plan
from kafkactl.quorum.recover.plan import Result
from kafkactl.storage.io.apply_format import appeared_finding, failure_finding
from kafkactl.storage.io.format_folders import Folders, identity
from kafkactl.storage.model import Owner, staged_name

PART: Final = ".part"
_PRIVATE: Final = 0o600
_WRITE_BYTES: Final = 8 * 1024 * 1024


@frozen
class WrittenRecovery:
    """Result of the write: done, nothing-to-do, refused, failed (no node starts from it), or partial."""

    outcome: Outcome
    findings: tuple[Finding, ...] = ()


@frozen
class Place:
    """The place of a recovery: the new directory as it was looked at, the plan next to it, and the owner of both."""

    directory: str
    plan_file: str
    look: TargetLook
    owner: Owner | None = None


def is_leftover(directory: str, result: Result) -> bool:
    """Return True if a killed run of this plan left all that is in the directory: no meta.properties among it."""
    with _opened(directory) as at:
        return _is_leftover(at, result)


def _is_leftover(at: int, result: Result) -> bool:
    names = _names(at)
    if not names <= {METADATA_LOG, staged_name(META_PROPERTIES)}:
        return False
    if METADATA_LOG not in names:
        return True
    ours = _checkpoint(result)
    try:
        with _opened(METADATA_LOG, at) as log:
            return _names(log) <= {ours, ours + PART}
    except OSError:  # a link, or a file
        return False


def is_written(directory: str, result: Result) -> bool:
    """Return True if the directory holds exactly what is planned, byte for byte."""
    with _opened(directory) as at:
        if _names(at) != {METADATA_LOG, META_PROPERTIES}:
            return False
        try:
            with _opened(METADATA_LOG, at) as log:
                if _names(log) != {_checkpoint(result)}:
                    return False
                opened = {directory: at, str(Path(directory, METADATA_LOG)): log}
                return not list(_differing(directory, result, opened))
        except OSError:
            return False


def _names(at: int) -> set[str]:
    return set(os.listdir(at))


@contextlib.contextmanager
def _opened(path: str, at: int | None = None) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _checkpoint(result: Result) -> str:
    return Path(result.files[0].name).name


def apply_recovery(result: Result, plan: bytes, place: Place, files: Filesystem) -> WrittenRecovery:
    """Write plan and directory, whose lock the caller holds, if the directory is as it was looked at."""
    work = _Work(result, plan, place, files)
    with contextlib.closing(work.folders):
        try:
            work.run()
        except RefusedError as error:
            work.withdraw()
            finding = error_finding(f"directory {place.directory}", error)
            return WrittenRecovery(outcome=Outcome.REFUSED, findings=(finding,))
        except OSError as error:
            return work.ended(failure_finding(error, work.at))
        except _DiffersError as error:
            return work.ended(error.finding)
    return WrittenRecovery(outcome=Outcome.DONE)


def settle_recovery(result: Result, place: Place, files: Filesystem) -> WrittenRecovery:
    """Sync what is there exactly as planned: the run that wrote it may have been killed before it did."""
    at = place.directory
    try:
        for at in (*(str(Path(place.directory, file.name)) for file in result.files), place.plan_file):
            sync_found_file(at, files)
        for at in (str(Path(place.directory, METADATA_LOG)), place.directory, str(Path(place.directory).parent)):
            files.fsync_directory(at)
    except OSError as error:
        return WrittenRecovery(outcome=Outcome.FAILED, findings=(failure_finding(error, at),))
    return WrittenRecovery(outcome=Outcome.NOTHING_TO_DO)


class _DiffersError(Exception):
    """Difference between the disk and the written content."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


class _Work:
    """An apply on its way; `at` is the path that is being worked on, `named` whether a file has its final name."""

    def __init__(self, result: Result, plan: bytes, place: Place, files: Filesystem) -> None:
        self.named = False
        self._is_publishing = False  # from the first rename of a file in the directory on, nothing is withdrawn
        self.folders = Folders(files, place.owner)
        self._place = place
        self._result = result
        self._plan = plan
        self._files = files
        self._above = str(Path(place.directory).parent)
        self._log = str(Path(place.directory, METADATA_LOG))
        self._meta = str(Path(place.directory, META_PROPERTIES))
        self._made: list[str] = []

    @property
    def at(self) -> str:
        """Return the path that is being worked on."""
        return self.folders.at

    def run(self) -> None:
        """Apply all six steps. Raise RefusedError, OSError, _DiffersError."""
        self._look_again()
        self._write_plan()
        self._open_folders()
        checkpoint = str(Path(self._log, _checkpoint(self._result)))
        self._whole(checkpoint + PART, self._result.snapshot())
        self._sync(self._log)
        self._publish(checkpoint + PART, checkpoint)
        staged = str(Path(self._place.directory, staged_name(META_PROPERTIES)))
        self._whole(staged, (self._result.meta_properties,))
        self._sync(self._place.directory)
        self.folders.give_folders(self._place.directory)
        self._publish(staged, self._meta)
        self._read_back()

    def _look_again(self) -> None:
        directory, at = self._place.directory, self.folders.open(self._above)
        found = os.fstat(at)
        if (found.st_dev, found.st_ino) != self._place.look.above:
            raise _changed(self._above, "leads to another folder than when it was looked at")
        self.folders.at = directory
        kept = self._kept_id()
        place = identity(directory, at)
        if place != self._place.look.place:
            raise _changed(directory, "is not what it was when it was looked at")
        if place is not None:
            self._check_names(self.folders.below(directory), is_ours=kept is not None)

    def _kept_id(self) -> str | None:
        """Return the directory id of the kept plan, which is that of this plan; None if no plan is kept."""
        path, at = self._place.plan_file, self.folders[self._above]
        if identity(path, at) is None:
            return None
        try:
            data = read_whole(Path(path).name, InputKind.KEPT, follow=False, at=at)
            kept = str(read_kept_plan(data, file=path).directory_id)
        except (OSError, InputError) as error:
            raise _changed(path, f"came there meanwhile, and is not the plan of this recovery: {error}") from error
        if kept != str(self._result.directory_id):
            raise _changed(
                path,
                f"is the plan of another recovery, with directory id {kept}; the directory id of this plan is"
                f" {self._result.directory_id}",
            )
        return kept

    def _check_names(self, at: int, *, is_ours: bool) -> None:
        """Raise RefusedError for anything but leftovers of this very plan."""
        directory = self._place.directory
        if identity(self._meta, at) is not None:
            raise _changed(directory, f"was written meanwhile: {self._whose_meta(at)}")
        names = sorted(_names(at))
        if names and not (is_ours and _is_leftover(at, self._result)):
            raise _changed(directory, f"holds {', '.join(names[:8])}, which this recovery did not write")

    def _whose_meta(self, at: int) -> str:
        """Return a clause about the meta.properties in the new directory, and whether this plan is its source."""
        content = read_file(self._meta, at=at).content
        if content == self._result.meta_properties:
            return f"its meta.properties is the one of this plan (directory id {self._result.directory_id})"
        try:
            found = parse_meta_properties(content or b"", file=self._meta).directory_id
        except DecodeError:
            found = None
        whose = "is not of this plan" if found is None else f"has directory id {found}"
        return f"its meta.properties {whose}, and this plan has directory id {self._result.directory_id}"

    def _write_plan(self) -> None:
        target, at = self._place.plan_file, self.folders[self._above]
        self.folders.at = target
        if identity(target, at) is not None:
            sync_found_file(target, self._files, at=at)
        else:
            self._whole(staged_plan(self._place.directory), (self._plan,), at=at)
            self.folders.at = target
            try:
                self._files.publish(staged_plan(self._place.directory), target, at=at)
            except FileExistsError:
                raise _changed(target, "came there meanwhile") from None
            self._made.append(target)
        self._sync(self._above)

    def _open_folders(self) -> None:
        at = self.folders.below(self._place.directory)
        self._check_names(at, is_ours=True)
        log = self.folders.below(self._log)
        checkpoint = str(Path(self._log, _checkpoint(self._result)))
        self._forget(str(Path(self._place.directory, staged_name(META_PROPERTIES))), at)
        for path in (checkpoint, checkpoint + PART):
            self._forget(path, log)

    def _forget(self, path: str, at: int) -> None:
        """Remove a leftover; a file next to a meta.properties is none."""
        self.folders.at = path
        if identity(path, at) is not None:
            self._check_names(self.folders[self._place.directory], is_ours=True)
            self._files.unlink(path, at=at)

    def _whole(self, path: str, pieces: Iterable[bytes], at: int | None = None) -> None:
        self.folders.at = path
        folder = self.folders[str(Path(path).parent)] if at is None else at
        self._made.append(path)
        try:
            descriptor = self._files.create(path, _PRIVATE, at=folder)
        except FileExistsError:
            self._made.remove(path)
            raise
        try:
            for piece in _large(pieces):
                self._write(descriptor, piece)
            self.folders.give(descriptor)
            self._files.fsync(descriptor)
        finally:
            self._files.close(descriptor)

    def _publish(self, staged: str, path: str) -> None:
        self.folders.at = path
        folder = str(Path(path).parent)
        self._is_publishing = True
        try:
            self._files.publish(staged, path, at=self.folders[folder])
        except FileExistsError:
            raise _DiffersError(appeared_finding(path)) from None
        self.named = True
        self._sync(folder)

    def _write(self, descriptor: int, content: bytes) -> None:
        left = memoryview(content)
        while left:
            taken = self._files.write(descriptor, bytes(left))
            if taken <= 0:
                raise OSError(errno.EIO, os.strerror(errno.EIO), self.at)
            left = left[taken:]

    def _sync(self, folder: str) -> None:
        self.folders.at = folder
        self._files.fsync_directory(folder, at=self.folders[folder])

    def _read_back(self) -> None:
        directory = self._place.directory
        opened = {folder: self.folders[folder] for folder in (directory, self._log)}
        for finding in _differing(directory, self._result, opened):
            raise _DiffersError(finding)
        found = os.fstat(self.folders[directory])
        if identity(directory, self.folders[self._above]) != (found.st_dev, found.st_ino):
            raise _DiffersError(_differs(directory, "another directory is at this path now"))

    def withdraw(self) -> None:
        """Remove what this run has made, as long as no file may have its final name."""
        if self._is_publishing:
            return
        plan = self._place.plan_file
        for path in reversed([path for path in self._made if path != plan]):
            self._remove(path)
        self.folders.withdraw()
        at = self.folders.opened(self._place.directory)
        if plan in self._made and not (at is not None and _names(at)):  # the plan explains leftovers
            self._remove(plan)

    def _remove(self, path: str) -> None:
        with contextlib.suppress(OSError):
            self._files.unlink(path, at=self.folders[str(Path(path).parent)])

    def ended(self, finding: Finding) -> WrittenRecovery:
        """Return the result of a run that failed: partial if a file has its final name."""
        self.withdraw()
        outcome = Outcome.PARTIAL if self.named else Outcome.FAILED
        return WrittenRecovery(outcome=outcome, findings=(finding, self._remaining()))

    def _remaining(self) -> Finding:
        directory = self._place.directory
        at = self.folders.opened(directory)
        has_meta = at is not None and identity(self._meta, at) is not None
        if at is None or not has_meta:
            text = f"{directory} has no meta.properties: Kafka does not start from it as it is"
            step = "Remove the cause and run the same command again."
        elif read_file(self._meta, at=at).content == self._result.meta_properties:
            text = f"{directory} has all files of this plan, but the last step failed: {_MAY_BE_LOST}"
            step = "Find out what is wrong with the disk, then run the same command again: it compares every byte."
        else:
            text = f"{directory} was not written as planned: {self._whose_meta(at)}"
            step = "Start no node from it. Find out which program wrote there, and recover into another directory."
        return Finding(
            id="recovery-half-written",
            severity=Severity.INFO,
            subject=f"directory {directory}",
            message=text,
            evidence={"meta_properties": has_meta},
            next_step=step,
        )


_MAY_BE_LOST: Final = "they may not survive a power failure"


def _changed(path: str, what: str) -> RefusedError:
    return RefusedError(
        f"{path} {what}",
        id="recovery-target-changed",
    )


def _large(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the bytes in pieces that are large enough for one write."""
    held: list[bytes] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= _WRITE_BYTES:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


def _differing(directory: str, result: Result, opened: dict[str, int]) -> Iterator[Finding]:
    """Yield a finding for each file that is not as planned; `opened` are the descriptors of the folders."""
    for file in result.files:
        path = str(Path(directory, file.name))
        try:
            found = checksum(path, at=opened[str(Path(path).parent)])
        except InputError as error:
            yield _differs(path, error.message)
            continue
        if (found.size, found.sha256) != (file.size, file.sha256):
            yield _differs(path, f"{found.size} bytes with SHA-256 {found.sha256}, expected {file.size}, {file.sha256}")


def _differs(path: str, what: str) -> Finding:
    return Finding(
        id="written-bytes-differ",
        severity=Severity.BLOCKER,
        subject=f"file {path}",
        message=f"{path} was written and read back: {what}",
    )
