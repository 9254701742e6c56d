"""Content of a log directory that is not data: files of an interrupted format, and a lock that a node left."""

from __future__ import annotations

import re

from kafkactl.core.kafka_names import FIRST_CHECKPOINT, METADATA_LOG
from kafkactl.protocol.text.meta_properties import META_PROPERTIES
from kafkactl.storage.model import (
    BOOTSTRAP_CHECKPOINT,
    KAFKACTL_LOCK,
    LOST_AND_FOUND,
    NODE_LOCK,
    DirectoryEntry,
    ObservedDirectory,
    is_staged_name,
)

# Kafka's own temporary names (PropertiesUtils, BootstrapDirectory); its checkpoints carry a random infix.
KAFKA_TEMPORARIES = frozenset({"meta.properties.tmp", "bootstrap.checkpoint.tmp"})
# Of ext4, of file servers, of ZFS and of GlusterFS.
_OF_FILE_SYSTEMS = frozenset({LOST_AND_FOUND, ".snapshot", ".snapshots", "~snapshot", ".zfs", ".glusterfs"})
_PARTIAL_FIRST_CHECKPOINT = r"0{20}-0{10}-?[^/]*\.checkpoint\.part"


def is_of_file_system(name: str) -> bool:
    """Return True for a folder that a file system or its server keeps at the top of a mount."""
    return name in _OF_FILE_SYSTEMS


def is_leftover(directory: ObservedDirectory, entry: DirectoryEntry) -> bool:
    """Return True for what an interrupted format leaves: temporaries and checkpoints without a log."""
    if entry.name == METADATA_LOG and entry.kind == "directory":
        inside = directory.metadata_log or ()
        return directory.metadata_log_error is None and all(map(_is_leftover_of_first_checkpoint, inside))
    if entry.kind != "file":
        return False
    known = {BOOTSTRAP_CHECKPOINT, KAFKACTL_LOCK} | KAFKA_TEMPORARIES
    return entry.name in known or is_staged_name(entry.name)


def _is_leftover_of_first_checkpoint(entry: DirectoryEntry) -> bool:
    partial = re.fullmatch(_PARTIAL_FIRST_CHECKPOINT, entry.name)
    return entry.kind == "file" and (entry.name == FIRST_CHECKPOINT or partial is not None)


def is_half_done(directory: ObservedDirectory) -> bool:
    """Return True if an interrupted format has left its traces: that is not a lost disk."""
    return any(is_leftover(directory, entry) for entry in directory.entries if entry.name != KAFKACTL_LOCK)


def has_own_traces(directory: ObservedDirectory) -> bool:
    """Return True if a run of kafkactl was killed here: its lock file or a temporary file of it is left."""
    names = {entry.name for entry in (*directory.entries, *(directory.metadata_log or ())) if entry.kind == "file"}
    return any(name == KAFKACTL_LOCK or is_staged_name(name) for name in names)


def is_only_formatted(directory: ObservedDirectory) -> bool:
    """Return True if the directory holds no more than a format writes: no node has run on it."""
    return all(entry.name == META_PROPERTIES for entry in data_entries(directory))


def data_entries(directory: ObservedDirectory) -> list[DirectoryEntry]:
    """Return the names in the directory but for file system folders, an empty lock and leftovers of a format."""
    return [
        entry
        for entry in directory.entries
        if not is_of_file_system(entry.name) and not _is_empty_lock(entry) and not is_leftover(directory, entry)
    ]


def _is_empty_lock(entry: DirectoryEntry) -> bool:
    """Return True for the file that a node locks: it holds nothing, and stays when the node ends."""
    return entry.name == NODE_LOCK and entry.kind == "file" and entry.size_bytes == 0
