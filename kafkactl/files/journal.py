"""The journal of a change: each intended request and its result, on the disk before the run acts on it.

The state of the cluster is read from the cluster; the journal only records what a run did. It shows a later run which
request was under way when an earlier run was killed, and which states the earlier run caused. An entry is written and
synced when `append` returns. An open journal is locked, so that two runs on one machine cannot use it at once.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kafkactl._version import __version__
from kafkactl.change.journal_lines import (
    HEADER,
    TORN,
    VERSION,
    Entry,
    JournalText,
    entry_line,
    new_entry,
    read_journal,
    torn_data,
)
from kafkactl.core.closing import Closing
from kafkactl.core.errors import FailedError, RefusedError
from kafkactl.core.wording import file_name_of
from kafkactl.files.filesystem import Filesystem, OsFilesystem
from kafkactl.files.input_files import InputKind, check_regular, read_open, read_whole
from kafkactl.files.leftover_sync import make_found

_FOLDER_MODE = 0o700


def journal_path(subject: str, cluster_id: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return the journal's path in the user's state folder (XDG): one file for each subject and cluster."""
    state = environment.get("XDG_STATE_HOME") or ""
    home = Path(state) if Path(state).is_absolute() else Path(environment.get("HOME") or "/") / ".local/state"
    return str(home / "kafkactl" / f"{subject}-{file_name_of(cluster_id)}.jsonl")


def wall_clock_ms() -> int:
    """Return the milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


class Journal(Closing):
    """An open, locked journal; a context manager. `open_journal` makes it."""

    def __init__(self, path: str, descriptor: int, files: Filesystem, now_ms: Callable[[], int]) -> None:
        self._path = path
        self._descriptor = descriptor
        self._files = files
        self._now_ms = now_ms
        self._text = JournalText(entries=())
        self._broken = False

    def close(self) -> None:
        """Give the lock back."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    @property
    def path(self) -> str:
        """Return the file."""
        return self._path

    def now_ms(self) -> int:
        """Return the milliseconds since the epoch, by the clock that gives entries their time."""
        return self._now_ms()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Return all entries, oldest first."""
        return self._text.entries

    def append(self, entry: str, data: Mapping[str, Any]) -> Entry:
        """Write an entry; it is on the disk when this returns.

        Raises FailedError `journal-not-written`. After that the journal accepts no more entries in this run, because
        what is on the disk is unknown until the file is read again.
        """
        if self._broken:
            raise self._not_written("an earlier entry could not be written")
        made = new_entry(self._text, entry, data, at_ms=self._now_ms())
        self._broken = True
        try:
            self._write((b"\n" if self._text.open_end else b"") + entry_line(made))
            self._files.fsync(self._descriptor)
        except OSError as error:
            raise self._not_written(error.strerror or str(error)) from error
        self._broken = False
        self._text = JournalText(entries=(*self._text.entries, made))
        return made

    def load(self, *, subject: str, cluster_id: str) -> None:
        """Read the file, and create or repair it if necessary. `open_journal` calls this."""
        try:
            self._files.fsync(self._descriptor)  # an earlier run may have been killed before it did
            self._files.fsync_directory(str(Path(self.path).parent))
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            content = read_open(self._descriptor, InputKind.JOURNAL, self.path)
        except OSError as error:
            raise self._not_written(error.strerror or str(error)) from error
        self._text = read_journal(content, file=self.path, subject=subject, cluster_id=cluster_id)
        os.lseek(self._descriptor, 0, os.SEEK_END)
        if torn := self._text.torn:
            # The line break ends the torn line, the entry behind it says that it is torn.
            self._text = JournalText(entries=self._text.entries, open_end=True)
            if not self._text.entries:
                os.ftruncate(self._descriptor, 0)  # not even the first entry was there: nothing to keep
                os.lseek(self._descriptor, 0, os.SEEK_SET)
                self._text = JournalText(entries=())
            else:
                self.append(TORN, torn_data(torn))
        if not self._text.entries:
            about = {"version": VERSION, "subject": subject, "cluster_id": cluster_id, "kafkactl": __version__}
            self.append(HEADER, about)

    def _write(self, data: bytes) -> None:
        while data:
            data = data[self._files.write(self._descriptor, data) :]

    def _not_written(self, reason: str) -> FailedError:
        return FailedError(f"the journal {self.path} cannot be written: {reason}", id="journal-not-written")


def open_journal(
    path: str,
    *,
    subject: str,
    cluster_id: str,
    files: Filesystem | None = None,
    now_ms: Callable[[], int] = wall_clock_ms,
) -> Journal:
    """Open or begin the journal of a cluster, locked; the folder is made if it is missing.

    Raises RefusedError `another-kafkactl-is-changing`, FailedError `journal-not-written`, and what `read_journal`
    raises. Nothing that is in the file is lost by any of them.
    """
    port = files or OsFilesystem()
    try:
        make_found(Path(path).parent, port, mode=_FOLDER_MODE)
        descriptor = _locked(port, path)
    except BlockingIOError:
        raise RefusedError(f"another kafkactl is at work with {path}", id="another-kafkactl-is-changing") from None
    except OSError as error:
        raise FailedError(
            f"the journal {path} cannot be opened: {error.strerror}", id="journal-not-written", next_step=_of_whom(path)
        ) from error
    journal = Journal(path, descriptor, port, now_ms)
    try:
        journal.load(subject=subject, cluster_id=cluster_id)
    except BaseException:
        journal.close()
        raise
    return journal


def _of_whom(path: str) -> str | None:
    """Return the next step if a journal belongs to another user; None without a journal.

    The general advice, another file, would ignore the entries of that user's run, and that it may still run.
    """
    try:
        owner = Path(path).stat().st_uid
    except OSError:
        return None
    if owner == os.geteuid():
        return None
    name = f"user {owner}"
    with contextlib.suppress(KeyError):
        name = pwd.getpwuid(owner).pw_name
    return (
        f"Run the command as {name}, whose changes the journal records. With another --journal it would not be "
        "seen whether such a change is still being made."
    )


def journal_content(path: str) -> bytes | None:
    """Return the bytes of a journal that nothing is written to; None if the file is not there or cannot be read."""
    try:
        return read_whole(Path(path), InputKind.JOURNAL)
    except OSError:
        return None


def _locked(files: Filesystem, path: str) -> int:
    descriptor = files.lock(path)
    try:
        check_regular(os.fstat(descriptor), path)
    except BaseException:
        files.close(descriptor)
        raise
    return descriptor
