"""The one reader of bundles: an archive of a stranger's, opened with a bound on everything that it says of itself.

Invariant: before a member is read its directory is judged whole (`members.check_entries`), and while it is read its
bytes are counted and their SHA-256 is compared with the manifest. Nothing of an archive becomes a path of this machine
but by `extract`, into a folder of this user's own.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Final

from kafkactl.bundle.manifest import Manifest, Member, SavedLog, parse_manifest
from kafkactl.bundle.members import (
    MANIFEST,
    MOST_BYTES,
    MOST_MEMBERS,
    Entry,
    check_entries,
    hostile,
    packed_names,
)
from kafkactl.core.errors import FailedError, InputError
from kafkactl.core.frozen import changed
from kafkactl.core.json_input import JsonInputError, parse_json
from kafkactl.files.input_files import InputKind, check_parts, open_regular, unreadable_input
from kafkactl.files.packers import HEAD_BYTES, packer_of, zip_method
from kafkactl.metadata.io.source import CHECKPOINT, SEGMENT, LogFile, LogSource
from kafkactl.metadata.verify.folder import parse_snapshot_name

# The end of the directory, without a comment and on one disk: signature, disks, entries, size and offset of the
# directory, length of the comment (APPNOTE.TXT 4.3.16). A bundle always ends with it.
_END: Final = struct.Struct("<4s4H2LH")
_END_SIGNATURE: Final = b"PK\5\6"
_END64_SIGNATURE: Final = b"PK\6\7"
_END64_BYTES: Final = 20
_MOST_DIRECTORY_BYTES: Final = 4 * 1024 * 1024
_AS_ZIP: Final = f"Pack it as ZIP: `zip -r bundle.zip .` in the unpacked folder that has {MANIFEST}."
_PACKED_ENDS: Final = (".zip", ".tar", ".tgz", ".tar.gz", ".7z", ".tar.zst", ".tar.xz", ".tar.bz2")
_PIECE_BYTES: Final = 1024 * 1024
_ENCRYPTED: Final = 0x1 | 0x40 | 0x2000
# What the library raises for a damaged header; a name that is not UTF-8 is a ValueError.
_FLAWS: Final = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, struct.error)


@contextmanager
def open_bundle(path: str) -> Iterator[OpenBundle]:
    """Open a bundle while the context lasts.

    Raises InputError: `input-file-unreadable`; `not-a-bundle` for another file or one that is cut, `hostile-bundle`,
    `invalid-bundle`, `bundle-too-new`, `damaged-bundle`.
    """
    if Path(path).is_dir():
        raise _no_bundle(path, "it is a folder", _AS_ZIP)
    try:
        descriptor = open_regular(path)
    except OSError as error:
        raise unreadable_input(Path(path), "the bundle", error.strerror or str(error)) from error
    with os.fdopen(descriptor, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        _check_packer(file, path)
        _check_end(file, size, path)
        try:
            archive = zipfile.ZipFile(file)
        except (*_FLAWS, OSError) as error:
            raise _no_bundle(path, "its directory cannot be read") from error
        with archive:
            _check_compression(archive, path)
            yield _opened(archive, size, path)


def _opened(archive: zipfile.ZipFile, size: int, path: str) -> OpenBundle:
    names = packed_names(entry.orig_filename for entry in archive.filelist)
    kept = [entry for entry in archive.filelist if entry.orig_filename in names]
    check_entries([changed(_entry(entry), name=names[entry.orig_filename]) for entry in kept], size, file=path)
    entries = {names[entry.orig_filename]: entry for entry in kept}
    if MANIFEST not in entries:
        inner = next((name for name in entries if name.lower().endswith(_PACKED_ENDS)), None)
        if inner is not None:
            step = f"Unpack the outer archive (`unzip`), and name {inner} itself."
            raise _no_bundle(path, f"the archive has no {MANIFEST}, and has the archive {inner}", step)
        raise _no_bundle(path, f"the archive has no {MANIFEST}")
    data = b"".join(_checked_pieces(archive, entries[MANIFEST], path, InputKind.DOCUMENT.most_bytes))
    _check_values(data, MANIFEST, path)
    manifest = parse_manifest(data, file=path)
    known = {member.path: member for member in manifest.members}
    strange = sorted((set(entries) ^ set(known)) - {MANIFEST})
    if strange or MANIFEST in known:
        raise _damaged(path, f"its members are not those of its manifest: {', '.join(strange[:3]) or MANIFEST}")
    return OpenBundle(path, archive, manifest, known, entries)


def _entry(entry: zipfile.ZipInfo) -> Entry:
    kind = stat.S_IFMT(entry.external_attr >> 16)
    is_plain = (
        kind in (0, stat.S_IFREG)
        and not entry.orig_filename.endswith("/")
        and not entry.flag_bits & _ENCRYPTED
        and entry.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    )
    # `orig_filename` is the name in the archive; the library's `filename` ends at the first zero byte.
    return Entry(
        name=entry.orig_filename,
        size=entry.file_size,
        compressed_size=entry.compress_size,
        offset=entry.header_offset,
        is_plain=is_plain,
    )


def _check_packer(file: BinaryIO, path: str) -> None:
    """Refuse what another packer than ZIP made of a bundle, with the way to a bundle."""
    packer = packer_of(file.read(HEAD_BYTES))
    if packer not in (None, "ZIP"):
        raise _no_bundle(path, f"it was packed again, as {packer} in place of ZIP", _AS_ZIP)


def _check_compression(archive: zipfile.ZipFile, path: str) -> None:
    """Refuse an archive whose members a packer compressed in a newer way, with the way to a bundle."""
    for entry in archive.filelist:
        if (method := zip_method(entry.compress_type)) is not None and not entry.flag_bits & _ENCRYPTED:
            raise _no_bundle(path, f"it was packed again, and its members are compressed by {method}", _AS_ZIP)


def _check_end(file: BinaryIO, size: int, path: str) -> None:
    """Check the end of the archive before the library makes an object of every entry that it names."""
    file.seek(max(0, size - _END.size - _END64_BYTES))
    tail = file.read(_END.size + _END64_BYTES)
    if len(tail) < _END.size or not tail[-_END.size :].startswith(_END_SIGNATURE):
        raise _no_bundle(path, "the file is not a ZIP archive as kafkactl writes it, or its end is missing")
    _, _, _, _, entries, directory_bytes, _, comment_bytes = _END.unpack(tail[-_END.size :])
    if comment_bytes or tail[: -_END.size].startswith(_END64_SIGNATURE):
        raise _no_bundle(path, "the file is not a ZIP archive as kafkactl writes it")
    if entries > MOST_MEMBERS or directory_bytes > _MOST_DIRECTORY_BYTES:
        raise hostile(path, f"its central directory has {entries} members in {directory_bytes} bytes")


class OpenBundle:
    """A bundle that is open. `path` is how the operator named it."""

    def __init__(
        self,
        path: str,
        archive: zipfile.ZipFile,
        manifest: Manifest,
        members: dict[str, Member],
        entries: Mapping[str, zipfile.ZipInfo],
    ) -> None:
        self.path = path
        self._entries = entries
        self.manifest = manifest
        self._archive = archive
        self._members = members

    def document(self, name: str) -> dict[str, Any] | None:
        """Return the answer in a member; None if there is no such member.

        Raises InputError `damaged-bundle`, `invalid-bundle`.
        """
        member = self._members.get(name)
        if member is None:
            return None
        most_bytes = InputKind.DOCUMENT.most_bytes
        if member.size > most_bytes:
            raise hostile(self.path, f"{name} has {member.size} bytes, and the limit is {most_bytes}")
        data = b"".join(self.pieces(name))
        _check_values(data, name, self.path)
        try:
            found = parse_json(data)
        except JsonInputError as error:
            raise InputError(f"{name} in the bundle {self.path} is not JSON: {error}", id="invalid-bundle") from None
        if not isinstance(found, dict):
            raise InputError(f"{name} in the bundle {self.path} is not a JSON object", id="invalid-bundle")
        return found

    def names(self, folder: str) -> list[str]:
        """Return the members below a folder, sorted."""
        return sorted(name for name in self._members if name.startswith(f"{folder}/"))

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield the bytes of a member.

        Raises InputError `damaged-bundle`, at the end for bytes that are not its own.
        """
        member = self._members[name]
        digest, size = hashlib.sha256(), 0
        for piece in _checked_pieces(self._archive, self._entries[name], self.path, MOST_BYTES):
            digest.update(piece)
            size += len(piece)
            yield piece
        if (size, digest.hexdigest()) != (member.size, member.sha256):
            raise _damaged(self.path, f"{name} is not what the manifest says: its SHA-256 is another")

    def log_source(self, log: SavedLog) -> LogSource:
        """Return a metadata log in the bundle, read from the archive piece by piece."""
        segments, checkpoints = [], []
        for name in self.names(log.folder):
            file = PurePosixPath(name).name
            snapshot = parse_snapshot_name(file)
            if file.endswith(".log") and file[:-4].isdigit():
                segments.append(self._file(name, SEGMENT, int(file[:-4]), None))
            elif snapshot is not None:
                checkpoints.append(self._file(name, CHECKPOINT, *snapshot))
        return LogSource(
            name=f"{self.path}:{log.folder}",
            segments=tuple(segments),
            checkpoints=tuple(checkpoints),
            is_folder=True,
            cluster_id=log.cluster_id,
        )

    def _file(self, name: str, kind: str, offset: int, epoch: int | None) -> LogFile:
        return LogFile(
            name=f"{self.path}:{name}", kind=kind, base_offset=offset, epoch=epoch, pieces=lambda: self.pieces(name)
        )

    def extract(self, folder: str, to: Path) -> Path:
        """Write the files of a bundle's folder to `to`, which is this user's own, and return the path of the folder.

        Raises InputError `damaged-bundle`, FailedError `bundle-not-unpacked`.
        """
        names = self.names(folder)
        try:
            for name in names:
                place = to.joinpath(*name.split("/"))
                place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                    file.writelines(self.pieces(name))
        except OSError as error:
            raise FailedError(
                f"{to}: the bundle {self.path} cannot be unpacked there: {error.strerror or error}",
                id="bundle-not-unpacked",
            ) from error
        return to.joinpath(*folder.split("/"))


def _checked_pieces(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, path: str, most_bytes: int) -> Iterator[bytes]:
    """Yield the bytes of an entry.

    The library limits them to the size in the archive's directory and checks their CRC.
    """
    if entry.file_size > most_bytes:
        raise hostile(path, f"{entry.filename} has {entry.file_size} bytes, and the limit is {most_bytes}")
    try:
        with archive.open(entry) as member:
            while piece := member.read(_PIECE_BYTES):
                yield piece
    except _FLAWS as error:
        raise _damaged(path, f"{entry.filename} cannot be unpacked") from error
    except OSError as error:
        raise unreadable_input(Path(path), "the bundle", error.strerror or str(error)) from error


def _check_values(data: bytes, name: str, path: str) -> None:
    """Check the number of values: each takes a hundred times the memory of its text."""
    try:
        check_parts(data, InputKind.DOCUMENT, path)
    except OSError as error:
        raise hostile(path, f"{name}: {error.strerror}") from error


def _no_bundle(path: str, why: str, next_step: str | None = None) -> InputError:
    return InputError(f"{path} is not a bundle: {why}", id="not-a-bundle", next_step=next_step)


def _damaged(path: str, why: str) -> InputError:
    return InputError(f"the bundle {path} is damaged: {why}", id="damaged-bundle")
