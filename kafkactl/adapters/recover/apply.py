"""Write the recovered directory in an order that never leaves an incomplete one from which Kafka would start.

A node refuses to start from a directory without meta.properties, and removes `.part` files. Hence this order:

1. the plan, next to the directory, under a temporary name and then its own: ids and times survive a kill;
2. the directory and `__cluster_metadata-0` in it, both new;
3. the checkpoint as `….checkpoint.part`: written, synced, given to its owner, then renamed, and its folder synced;
4. meta.properties likewise, last;
5. both read back and compared with the plan.

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

from kafkactl.adapters.disks.apply_format import failure_finding
from kafkactl.adapters.files.filesystem import Filesystem
from kafkactl.adapters.files.found import sync_found_file
from kafkactl.adapters.files.whole_file import check_place
from kafkactl.adapters.recover.disks import checksum
from kafkactl.errors import InputError
from kafkactl.findings import Finding, Outcome, Severity
from kafkactl.frozen import frozen
from kafkactl.kafka_names import METADATA_LOG
from kafkactl.recover.plan import Result
from kafkactl.storage.model import META_PROPERTIES, staged_name

PART: Final = ".part"
_PRIVATE: Final = 0o600
_WRITE_BYTES: Final = 8 * 1024 * 1024


@frozen
class WrittenRecovery:
    """How it ended: done, nothing-to-do, refused, failed (nothing from which a node starts), or partial."""

    outcome: Outcome
    findings: tuple[Finding, ...] = ()


@frozen
class Place:
    """Where to write: the new directory, the plan next to it, and the owner of both (-1: the user of this process)."""

    directory: str
    plan_file: str
    uid: int = -1
    gid: int = -1
    mode: int | None = None


def entries_of(directory: str) -> tuple[str, ...] | None:
    """The names in a directory; None where nothing is there, and it can be made.

    Raises InputError `recovery-target-unusable`.
    """
    try:
        if not os.path.lexists(directory):
            check_place(Path(directory))
            return None
        return tuple(sorted(os.listdir(directory)))  # noqa: PTH208  # names, not paths
    except OSError as error:
        raise InputError(
            f"--out {directory} cannot be used: {error.strerror or error}", id="recovery-target-unusable"
        ) from error


def is_leftover(directory: str, result: Result) -> bool:
    """Whether all that is in the directory was left by a killed run of this plan: no meta.properties among it."""
    names = set(os.listdir(directory))  # noqa: PTH208  # names, not paths
    if not names <= {METADATA_LOG, staged_name(META_PROPERTIES)} or Path(directory).is_symlink():
        return False
    log = Path(directory, METADATA_LOG)
    if METADATA_LOG not in names:
        return True
    if log.is_symlink() or not log.is_dir():
        return False
    ours = _checkpoint(result)
    return set(os.listdir(log)) <= {ours, ours + PART}  # noqa: PTH208


def is_written(directory: str, result: Result) -> bool:
    """Whether the directory holds exactly what is planned, byte for byte."""
    names = set(os.listdir(directory))  # noqa: PTH208  # names, not paths
    log = Path(directory, METADATA_LOG)
    if names != {METADATA_LOG, META_PROPERTIES} or not log.is_dir() or set(os.listdir(log)) != {_checkpoint(result)}:  # noqa: PTH208
        return False
    return not list(_differing(directory, result))


def _checkpoint(result: Result) -> str:
    return Path(result.files[0].name).name


def apply_recovery(result: Result, plan: bytes, place: Place, files: Filesystem) -> WrittenRecovery:
    """Write plan and directory. The directory is missing or empty, or holds leftovers of this plan (`is_leftover`)."""
    work = _Work(result, plan, place, files)
    try:
        work.run()
    except OSError as error:
        finding = failure_finding(error, work.at)
        return WrittenRecovery(
            outcome=Outcome.PARTIAL if work.named else Outcome.FAILED, findings=(finding, _stands(work))
        )
    except _DiffersError as error:
        return WrittenRecovery(outcome=Outcome.PARTIAL, findings=(error.finding, _stands(work)))
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
    """What is on the disk now is not what was written."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


class _Work:
    """One apply on its way; `at` is the path that is being worked on, `named` whether a file has its final name."""

    def __init__(self, result: Result, plan: bytes, place: Place, files: Filesystem) -> None:
        self.at = place.directory
        self.named = False
        self.place = place
        self._result = result
        self._plan = plan
        self._files = files
        self._log = str(Path(place.directory, METADATA_LOG))

    def run(self) -> None:
        """All five steps. Raises OSError, _DiffersError."""
        self._write_plan()
        self._folders()
        with self._opened(self._log) as log:
            self._file(Path(self._log, _checkpoint(self._result)), PART, self._result.snapshot(), log)
            self._give(log)
        with self._opened(self.place.directory) as directory:
            self._sync(self.place.directory, directory)
            self._give(directory)
            meta = Path(self.place.directory, META_PROPERTIES)
            self._file(meta, None, (self._result.meta_properties,), directory)
        for finding in _differing(self.place.directory, self._result):
            raise _DiffersError(finding)

    # --- 1: the plan

    def _write_plan(self) -> None:
        target = self.at = self.place.plan_file
        staged = f"{target}.tmp"
        self._forget(staged)
        self._whole(staged, (self._plan,))
        self.at = target
        self._files.rename(staged, target)
        self._sync(str(Path(target).parent))

    # --- 2: folders, and what a killed run left in them

    def _folders(self) -> None:
        for folder in (self.place.directory, self._log):
            self.at = folder
            if not Path(folder).is_dir():
                self._files.mkdir(folder)
            self._sync(str(Path(folder).parent))  # also where a run that was killed has made it
        checkpoint = str(Path(self._log, _checkpoint(self._result)))
        for name in (checkpoint, checkpoint + PART, self._staged_meta()):
            self._forget(name)

    def _staged_meta(self) -> str:
        return str(Path(self.place.directory, staged_name(META_PROPERTIES)))

    def _forget(self, path: str) -> None:
        if os.path.lexists(path):
            self.at = path
            self._files.unlink(path)

    # --- 3 and 4: files

    def _file(self, path: Path, suffix: str | None, pieces: Iterable[bytes], folder: int) -> None:
        staged = str(path.with_name(staged_name(path.name) if suffix is None else path.name + suffix))
        self._whole(staged, pieces)
        self._sync(str(path.parent), folder)
        self.at = str(path)
        self._files.publish(staged, str(path), at=folder)
        self.named = True
        self._sync(str(path.parent), folder)

    def _whole(self, path: str, pieces: Iterable[bytes]) -> None:
        self.at = path
        descriptor = self._files.create(path, _PRIVATE)
        try:
            for piece in _large(pieces):
                self._write(descriptor, piece)
            self._give(descriptor)
            self._files.fsync(descriptor)
        finally:
            self._files.close(descriptor)

    def _write(self, descriptor: int, content: bytes) -> None:
        left = memoryview(content)
        while left:
            taken = self._files.write(descriptor, bytes(left))
            if taken <= 0:
                raise OSError(errno.EIO, os.strerror(errno.EIO), self.at)
            left = left[taken:]

    def _give(self, descriptor: int) -> None:
        """To the owner of the source's directory, where that is another user (root's right)."""
        found = os.fstat(descriptor)
        uid, gid = self.place.uid, self.place.gid
        if uid not in (-1, found.st_uid) or gid not in (-1, found.st_gid):
            self._files.chown(descriptor, uid, gid)

    def _sync(self, folder: str, at: int | None = None) -> None:
        self.at = folder
        self._files.fsync_directory(folder, at=at)

    @contextlib.contextmanager
    def _opened(self, folder: str) -> Iterator[int]:
        self.at = folder
        descriptor = self._files.open_folder(folder)
        try:
            yield descriptor
        finally:
            self._files.close(descriptor)


def _large(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in pieces that are worth a write each."""
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


# --- 5: what is there -----------------------------------------------------------------------------------------------


def _differing(directory: str, result: Result) -> Iterator[Finding]:
    for file in result.files:
        path = str(Path(directory, file.name))
        try:
            found = checksum(path)
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


def _stands(work: _Work) -> Finding:
    has_meta = os.path.lexists(Path(work.place.directory, META_PROPERTIES))
    if has_meta:
        text = (
            f"{work.place.directory} has all its files, but the last step failed: they may not survive a power failure"
        )
        step = "Find out what is wrong with the disk, then run the same command again: it compares every byte."
    else:
        text = f"{work.place.directory} has no meta.properties: Kafka does not start from it as it is"
        step = "Remove the cause and run the same command again: it starts again with the same ids."
    return Finding(
        id="recovery-half-written",
        severity=Severity.INFO,
        subject=f"directory {work.place.directory}",
        message=text,
        evidence={"meta_properties": has_meta},
        next_step=step,
    )
