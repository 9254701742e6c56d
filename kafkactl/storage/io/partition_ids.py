"""The topic ids in the partition folders of a log directory, read from `partition.metadata` without following links."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from kafkactl.files.input_files import InputKind, open_regular, read_open
from kafkactl.metadata.verify.folder import PARTITION_METADATA
from kafkactl.storage.partition_folders import (
    PartitionIds,
    live_partition,
    parse_topic_id,
    partition_ids,
    stray_partition,
)

_UNREAD: Final = "?"


def read_partition_ids(directories: Iterable[str]) -> PartitionIds:
    """Return the ids in the folders of these directories; what cannot be read makes the answer an incomplete one.

    A folder that disappears meanwhile belongs to a topic that is being deleted, and is left out.
    """
    found: list[tuple[str, str | None]] = []
    is_complete = True
    for directory in directories:
        try:
            names = sorted(os.listdir(directory))  # noqa: PTH208  # names, not paths
        except FileNotFoundError:
            continue
        except OSError:
            is_complete = False
            continue
        for name in names:
            path = str(Path(directory, name))
            if (live_partition(name) or stray_partition(name)) is None or not _is_folder(path):
                continue
            id = _id_in(path)
            if id == _UNREAD:
                is_complete = is_complete and not _is_folder(path)
            else:
                found.append((path, id))
    return partition_ids(found, is_complete=is_complete)


def _is_folder(path: str) -> bool:
    return Path(path).is_dir() and not Path(path).is_symlink()


def _id_in(folder: str) -> str | None:
    """Return the id that a folder names, None for none, and `?` for what cannot be read."""
    file = f"{folder}/{PARTITION_METADATA}"
    try:
        descriptor = open_regular(file, follow=False)
    except FileNotFoundError:
        return None if _is_folder(folder) else _UNREAD
    except OSError:
        return _UNREAD
    try:
        id = parse_topic_id(read_open(descriptor, InputKind.PARTITION_METADATA, file))
    except OSError:
        return _UNREAD
    finally:
        os.close(descriptor)
    return None if id is None else str(id)
