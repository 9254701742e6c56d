"""The directories of a format: made, opened once, held by their descriptors, and given to their owner at the end.

Another user may own a log directory or a folder above it, and be at work there while root formats. So a directory is
opened once, compared with the one that was looked at when the plan was made, and from then on named by its descriptor
alone. No link is followed below a log directory. A directory is given away when nothing is left to be made in it.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from kafkactl.core.errors import RefusedError
from kafkactl.core.kafka_names import METADATA_LOG
from kafkactl.files.filesystem import Filesystem
from kafkactl.files.leftover_sync import sync_found_name
from kafkactl.protocol.text.meta_properties import META_PROPERTIES
from kafkactl.storage.leftovers import KAFKA_TEMPORARIES
from kafkactl.storage.model import (
    BOOTSTRAP_CHECKPOINT,
    KAFKACTL_LOCK,
    LOST_AND_FOUND,
    Owner,
    PlannedDirectory,
    is_staged_name,
)

_OURS = frozenset({META_PROPERTIES, BOOTSTRAP_CHECKPOINT, METADATA_LOG, KAFKACTL_LOCK, LOST_AND_FOUND})


class Folders:
    """Open directories by path. `at` is the path that is being worked on."""

    def __init__(self, files: Filesystem, owner: Owner | None) -> None:
        self.at = ""
        self._files = files
        self._owner = owner
        self._open: dict[str, int] = {}
        self._created: list[str] = []

    def __getitem__(self, path: str) -> int:
        """Return the descriptor of a directory that was opened here."""
        return self._open[path]

    def opened(self, path: str) -> int | None:
        """Return the descriptor of a directory; None if it is not open."""
        return self._open.get(path)

    def make(self, target: PlannedDirectory) -> int:
        """Open a log directory, which is made with its parents if it is missing.

        Raises RefusedError `changed-meanwhile` if it is not the one that was planned for, OSError.
        """
        self.at = path = str(Path(target.path))
        missing = [folder for folder in (Path(path), *Path(path).parents) if not folder.is_dir()]
        if missing:
            self._descend(missing[::-1])
        elif target.place is not None:
            sync_found_name(path, self._files)
            self._keep(path, self._files.open_folder(path))
        else:
            self._descend([Path(path)])
        self.check(target)
        return self._open[path]

    def open(self, path: str) -> int:
        """Open a folder that this run has not made, over links. Raises OSError."""
        self.at = path
        if path not in self._open:
            self._keep(path, self._files.open_folder(path))
        return self._open[path]

    def _descend(self, folders: list[Path]) -> None:
        """Open the folders from the parent of the first one down; create missing ones, and never follow a link."""
        above = str(folders[0].parent)
        if above not in self._open:
            sync_found_name(above, self._files)
            self._keep(above, self._files.open_folder(above))
        for folder in folders:
            self.below(str(folder))

    def below(self, path: str) -> int:
        """Open, or make, a directory in one that is open; a link in its place is an error."""
        self.at = path
        if path in self._open:
            return self._open[path]
        above = str(Path(path).parent)
        at = self._open[above]
        if not _is_there(path, at):
            self._mkdir(path, at)
        self._files.fsync_directory(above, at=at)  # also if a run that was killed has made it
        self._keep(path, self._files.open_folder(path, at=at))
        return self._open[path]

    def _mkdir(self, path: str, at: int) -> None:
        self._created.append(path)
        try:
            self._files.mkdir(path, at=at)
        except FileExistsError:
            self._created.remove(path)  # another kafkactl was there first

    def _keep(self, path: str, descriptor: int) -> None:
        self._open[path] = descriptor

    def check(self, target: PlannedDirectory) -> None:
        """Raise RefusedError if the directory is another one, or holds more, than when the plan was made."""
        at = self._open[str(Path(target.path))]
        found = os.fstat(at)
        if target.place is not None and target.place != (found.st_dev, found.st_ino):
            raise _changed(target.path, "leads to another directory than the one that was looked at")
        names = set(os.listdir(at))  # noqa: PTH208 - of the descriptor
        new = sorted(name for name in names - target.found - _OURS - KAFKA_TEMPORARIES if not is_staged_name(name))
        if new:
            raise _changed(target.path, f"holds {', '.join(new[:8])}, which came after it was looked at")

    def give(self, descriptor: int) -> None:
        """Give an open file or directory to the owner that was asked for."""
        owner = self._owner
        if owner is None:
            return
        found = os.fstat(descriptor)
        if (owner.uid not in (-1, found.st_uid)) or (owner.gid not in (-1, found.st_gid)):
            self._files.chown(descriptor, owner.uid, owner.gid)

    def give_folders(self, directory: str) -> None:
        """Give a log directory away, with what was made below and above it."""
        path = Path(directory)
        inside = [folder for folder in self._open if path in Path(folder).parents]
        above = [str(folder) for folder in path.parents if str(folder) in self._created]
        for folder in (*inside, str(path), *above):
            self.at = folder
            self.give(self._open[folder])

    def withdraw(self) -> None:
        """Remove the directories that were made, as far as they are empty."""
        for path in reversed(self._created):
            with contextlib.suppress(OSError):
                self._files.rmdir(path, at=self._open[str(Path(path).parent)])

    def close(self) -> None:
        """Close every directory."""
        while self._open:
            os.close(self._open.popitem()[1])


def identity(path: str, at: int) -> tuple[int, int] | None:
    """Return device and inode of a name in an open directory, links not followed; None if it is missing."""
    try:
        found = os.stat(Path(path).name, dir_fd=at, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _is_there(path: str, at: int) -> bool:
    """Return True if the name is taken; by anything but a directory is an error that names it."""
    name = Path(path).name
    try:
        found = os.stat(name, dir_fd=at, follow_symlinks=False)
    except FileNotFoundError:
        return False
    if stat.S_ISLNK(found.st_mode):
        raise _changed(path, "is a symbolic link: nothing is written through a link")
    return True


def _changed(path: str, what: str) -> RefusedError:
    return RefusedError(f"{path} {what}", id="changed-meanwhile")
