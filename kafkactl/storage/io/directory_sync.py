"""A directory that was found formatted, or found without a format: brought to the disk as it was found.

A format that was killed after a rename leaves a name that the next run sees and that a power failure removes. So
what a run reports as done without having written it is synced first: the few small files of a format and the folders
that hold them, and nothing of what a node writes.
"""

from __future__ import annotations

import os
from pathlib import Path

from kafkactl.core.kafka_names import FIRST_CHECKPOINT, METADATA_LOG
from kafkactl.files.filesystem import Filesystem
from kafkactl.files.leftover_sync import sync_found_file, sync_found_name
from kafkactl.protocol.text.meta_properties import META_PROPERTIES
from kafkactl.storage.model import BOOTSTRAP_CHECKPOINT

_FILES = (META_PROPERTIES, BOOTSTRAP_CHECKPOINT, f"{METADATA_LOG}/{FIRST_CHECKPOINT}")


def settle_directory(path: str, files: Filesystem) -> None:
    """Sync what a format wrote into a directory, its folders, and its own name. Raises OSError."""
    if not Path(path).is_dir():
        return
    for name in _FILES:
        sync_found_file(Path(path, name), files)
    for folder in (Path(path, METADATA_LOG), Path(path)):
        if folder.is_dir() and os.access(folder, os.R_OK):
            files.fsync_directory(str(folder))
    sync_found_name(path, files)
