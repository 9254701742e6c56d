"""The journal of a migration, read while another process may be writing it: nothing is locked or changed."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path

from kafkactl.change.journal_lines import read_journal
from kafkactl.core.frozen import frozen
from kafkactl.files.input_files import InputKind, read_input
from kafkactl.migration.driver.journal import SUBJECT, JournalState, remembered
from kafkactl.migration.inventory import Inventory
from kafkactl.migration.io.journal import kept_file, kept_folder


@frozen
class JournalView:
    """A journal's file and what it remembers; `file` is empty if there is none."""

    file: str = ""
    recorded: JournalState = field(default_factory=JournalState)

    def kept(self, sha256: str) -> bytes:
        """Return the bytes that were kept. Raise InputError `kept-file-damaged` if the bytes are gone or others."""
        return kept_file(kept_folder(self.file), sha256)


def read_journal_view(given: str | None, inventory: Inventory | None) -> JournalView | None:
    """Read the journal; return None if none was named and the inventory's folder has none.

    Raises InputError `input-file-unreadable` for a file that was named, and those of `read_journal`.
    """
    path = Path(given) if given is not None else _newest(inventory)
    if path is None:
        return None
    content = read_input(path, "journal", InputKind.JOURNAL)
    entries = read_journal(content, file=str(path), subject=SUBJECT, cluster_id=None).entries
    return JournalView(file=str(path), recorded=remembered(entries))


def _newest(inventory: Inventory | None) -> Path | None:
    """Return the journal that was written last in the inventory's folder: one for each cluster."""
    if inventory is None:
        return None
    folder = Path(inventory.file).parent / inventory.journal
    try:
        files = [path for path in folder.iterdir() if path.is_file() and path.suffix == ".jsonl"]
        return max(files, key=lambda path: path.stat().st_mtime_ns, default=None)
    except OSError:
        return None
