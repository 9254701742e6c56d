"""The journal of a migration: what was about to be done, what was then observed, and the files as they were before.

Its vocabulary is in `change/journal` and `migration/driver/journal`: an action is `done` when the gate after it was
observed, not when a hook reports this. Lines are chained and synced (`files/journal.py`), and values that look
like secrets are left out. Files that a rollback needs whole (the nodes' own files, ZooKeeper's tree) are kept in a
folder next to the journal, named by their sha256 and readable by their owner only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kafkactl.change.journal_lines import Entry
from kafkactl.core.closing import Closing
from kafkactl.core.errors import FailedError, InputError
from kafkactl.files.filesystem import Filesystem
from kafkactl.files.input_files import InputKind, read_whole
from kafkactl.files.journal import Journal, open_journal, wall_clock_ms
from kafkactl.files.leftover_sync import sync_found_file, sync_found_name
from kafkactl.files.whole_file import make_folders, write_whole
from kafkactl.migration.driver.journal import SUBJECT, JournalState, remembered

_OWNER_ONLY = 0o600


class MigrationJournal(Closing):
    """An open journal with its folder of evidence; a context manager. `open_migration_journal` makes it."""

    def __init__(self, journal: Journal, folder: Path) -> None:
        self._journal = journal
        self.folder = folder

    def close(self) -> None:
        """Give the lock back."""
        self._journal.close()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Return all entries, oldest first."""
        return self._journal.entries

    @property
    def path(self) -> str:
        """Return the path of the file."""
        return self._journal.path

    @property
    def recorded(self) -> JournalState:
        """Return the recorded state of now."""
        return remembered(self._journal.entries)

    def now_ms(self) -> int:
        """Return the milliseconds since the epoch, by the clock that gives entries their time."""
        return self._journal.now_ms()

    @property
    def next_seq(self) -> int:
        """Return the number of the next entry."""
        return len(self._journal.entries)

    def append(self, entry: str, data: Mapping[str, Any]) -> Entry:
        """Write an entry; it is on the disk when this returns. Raises FailedError `journal-not-written`."""
        return self._journal.append(entry, data)

    def keep(self, entry: str, data: Mapping[str, Any], content: bytes) -> str:
        """Keep bytes in the journal's folder, then write an entry about them. Returns their sha256.

        Raises FailedError `journal-not-written`.
        """
        name = hashlib.sha256(content).hexdigest()
        try:
            make_folders(self.folder, mode=0o700)
            path = self.folder / name
            if not path.exists() or read_whole(path, InputKind.KEPT) != content:
                write_whole(path, content, mode=_OWNER_ONLY)
            else:
                sync_found_file(path)
                sync_found_name(path)
        except OSError as error:
            raise FailedError(
                f"{self.folder}: what a rollback needs cannot be kept: {error.strerror or error}",
                id="journal-not-written",
            ) from error
        self._journal.append(entry, {**data, "sha256": name, "bytes": len(content)})
        return name

    def kept(self, sha256: str) -> bytes:
        """Return the bytes that were kept. Raise InputError `kept-file-damaged` if the bytes are gone or others."""
        return kept_file(self.folder, sha256)


def kept_folder(path: str) -> Path:
    """Return the folder where a journal keeps what a rollback needs."""
    return Path(path + ".kept")


def kept_file(folder: Path, sha256: str) -> bytes:
    """Return the bytes that a journal kept. Raise InputError `kept-file-damaged` if the bytes are gone or others."""
    path = folder / sha256
    try:
        content = read_whole(path, InputKind.KEPT)
    except OSError as error:
        raise _damaged(path, error.strerror or str(error)) from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise _damaged(path, "its content is not what was kept")
    return content


def open_migration_journal(
    path: str,
    *,
    cluster_id: str,
    identity: Mapping[str, Any],
    files: Filesystem | None = None,
    now_ms: Any = wall_clock_ms,
) -> MigrationJournal:
    """Open or begin the journal of a cluster's migration, locked.

    `identity` says which migration this is: ZooKeeper's place and the nodes, in JSON values. Raises what `open_journal`
    raises, and InputError `journal-of-another-migration` if one with other words is under way in this file.
    """
    more = {} if files is None else {"files": files}
    journal = open_journal(path, subject=SUBJECT, cluster_id=cluster_id, now_ms=now_ms, **more)
    try:
        recorded = remembered(journal.entries)
        if recorded.is_under_way and recorded.identity is not None:
            _check_identity(path, recorded.identity, identity)
    except BaseException:
        journal.close()
        raise
    return MigrationJournal(journal, kept_folder(path))


def _check_identity(path: str, there: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    differ = sorted(name for name in {*there, *here} if there.get(name) != here.get(name))
    if not differ:
        return
    lines = "; ".join(f"{name}: journal {there.get(name)!r}, inventory {here.get(name)!r}" for name in differ)
    raise InputError(
        f"{path} is the journal of another migration of this cluster: {lines}", id="journal-of-another-migration"
    )


def _damaged(path: Path, why: str) -> InputError:
    return InputError(f"{path}: {why}", id="kept-file-damaged")
