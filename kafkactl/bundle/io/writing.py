"""A bundle on its way to the disk: members are kept in a file without a name, then written as one archive.

Invariant: equal members give equal bytes (sorted, without times and owners); the archive is its owner's alone (0600),
and under its name whole or not at all. A part that fails half-way leaves nothing, for members count when they are kept.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

from kafkactl.bundle.manifest import Manifest, Member, render_manifest
from kafkactl.bundle.members import INDEX, MANIFEST, MOST_MEMBER_BYTES, MOST_MEMBERS, is_member_name, too_large
from kafkactl.core.errors import FailedError, RefusedError
from kafkactl.core.frozen import changed
from kafkactl.files.spool import discard
from kafkactl.files.whole_file import check_place, remove_leftovers, whole_file

_MODE: Final = 0o600
_PIECE_BYTES: Final = 1024 * 1024
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # the first time that an archive of this kind can name
_UNIX: Final = 3
_LEVEL: Final = 6


class StagedMembers:
    """Members in a file without a name, this user's alone, which goes with the process whatever ends it."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  # closed by `close`
        self._places: dict[str, tuple[int, Member]] = {}
        self._end = 0

    def close(self) -> None:
        """Close all files."""
        discard(self._file)

    @property
    def members(self) -> tuple[Member, ...]:
        """Return the kept members, by their paths."""
        return tuple(self._places[path][1] for path in sorted(self._places))

    def __len__(self) -> int:
        """Return the number of kept members."""
        return len(self._places)

    def newest(self, count: int) -> list[str]:
        """Return the paths of the members that were kept last, sorted."""
        return sorted(islice(reversed(self._places), count))

    def add(self, path: str, pieces: Iterable[bytes]) -> Member:
        """Take a member; it counts from now on. Raises FailedError `bundle-not-staged`, and what `pieces` raises."""
        assert is_member_name(path) and path not in self._places, path
        digest, size = hashlib.sha256(), 0
        for piece in pieces:
            self._write(piece, self._end + size)
            digest.update(piece)
            size += len(piece)
        member = Member(path=path, size=size, sha256=digest.hexdigest())
        self._places[path] = self._end, member
        self._end += size
        return member

    def drop(self, paths: Iterable[str]) -> None:
        """Forget members: the part that they belong to was not gathered."""
        for path in paths:
            self._places.pop(path, None)

    def pieces(self, path: str) -> Iterator[bytes]:
        """Yield the bytes of a member."""
        at, member = self._places[path]
        left = member.size
        while left:
            self._file.seek(at)
            piece = self._file.read(min(_PIECE_BYTES, left))
            at, left = at + len(piece), left - len(piece)
            yield piece

    def _write(self, piece: bytes, at: int) -> None:
        try:
            self._file.seek(at)
            self._file.write(piece)
            self._file.flush()
        except OSError as error:
            raise FailedError(
                f"{tempfile.gettempdir()}: the parts of the bundle cannot be kept there: {error.strerror or error}",
                id="bundle-not-staged",
            ) from error


def check_bundle_target(path: Path, *, force: bool) -> None:
    """Raise the errors of `write_bundle` about its target, before the work is done.

    RefusedError `bundle-file-exists`; FailedError `bundle-not-written`.
    """
    try:
        check_place(path)
        kind = path.lstat().st_mode
    except FileNotFoundError as error:
        if not path.parent.is_dir():
            raise _not_written(path, error.strerror or str(error)) from None
        return
    except (OSError, ValueError) as error:
        raise _not_written(path, getattr(error, "strerror", None) or str(error)) from error
    if not stat.S_ISREG(kind):
        raise RefusedError(
            f"{path} exists and is not a regular file",
            id="bundle-file-exists",
            next_step="Name another file: not even --force replaces a folder, a link or a device.",
        )
    if not force:
        remove_leftovers(path, mode=_MODE)
        raise RefusedError(f"{path} exists already", id="bundle-file-exists")


def write_bundle(path: Path, staged: StagedMembers, manifest: Manifest, *, force: bool = False) -> tuple[int, str]:
    """Write the archive to `path`, and return its size in bytes and its SHA-256.

    Raises RefusedError `bundle-file-exists`, FailedError `bundle-not-written`, `bundle-too-large`.
    """
    check_bundle_target(path, force=force)
    whole = changed(manifest, members=staged.members)
    longest = max((member.size for member in whole.members), default=0)
    if longest > MOST_MEMBER_BYTES:
        raise _too_large(path, f"a member has {longest} bytes, and the limit is {MOST_MEMBER_BYTES}")
    try:
        with whole_file(path, mode=_MODE, exclusive=not force) as file:
            _write_archive(file, staged, whole, path)
            size = os.fstat(file.fileno()).st_size
            sha256 = _sha256(file)
    except FileExistsError as error:
        raise RefusedError(f"{path} exists already", id="bundle-file-exists") from error
    except zipfile.LargeZipFile as error:
        raise _too_large(path, "the archive, or a member of it, would be larger than 2 GiB") from error
    except OSError as error:
        raise _not_written(path, error.strerror or str(error)) from error
    return size, sha256


def _sha256(file: BinaryIO) -> str:
    digest = hashlib.sha256()
    file.seek(0)
    while piece := file.read(_PIECE_BYTES):
        digest.update(piece)
    return digest.hexdigest()


def _write_archive(file: BinaryIO, staged: StagedMembers, manifest: Manifest, path: Path) -> None:
    # The manifest and the page for people come first; the rest is in the order of its paths.
    paths = sorted((member.path for member in manifest.members), key=lambda name: (name != INDEX, name))
    with zipfile.ZipFile(file, "w", allowZip64=False) as archive:
        _write_member(archive, MANIFEST, (render_manifest(manifest),))
        for name in paths:
            _write_member(archive, name, staged.pieces(name))
    sizes = [entry.file_size for entry in archive.filelist]
    archive_bytes = file.tell()
    why = too_large(sizes, archive_bytes)
    if len(sizes) > MOST_MEMBERS:
        why = f"the archive has {len(sizes)} members, and the limit is {MOST_MEMBERS}"
    if why is not None:
        raise _too_large(path, why)


def _write_member(archive: zipfile.ZipFile, name: str, pieces: Iterable[bytes]) -> None:
    entry = zipfile.ZipInfo(name, date_time=_EPOCH)
    entry.create_system = _UNIX
    entry.external_attr = (stat.S_IFREG | _MODE) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry._compresslevel = _LEVEL  # type: ignore[attr-defined]
    with archive.open(entry, "w") as member:
        for piece in pieces:
            member.write(piece)


def _too_large(path: Path, why: str) -> FailedError:
    return FailedError(f"the bundle {path} was not written: {why}", id="bundle-too-large")


def _not_written(path: Path, why: str) -> FailedError:
    return FailedError(f"the bundle cannot be written to {path}: {why}", id="bundle-not-written")
