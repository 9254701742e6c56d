"""Listings of an object store: a file, stdin, a folder, an S3 Inventory, or a store that pyarrow reaches."""

from __future__ import annotations

import hashlib
import os
import sys
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from kafkactl.adapters.files.input_files import InputKind, read_input
from kafkactl.errors import InputError, UnreachableError
from kafkactl.extras import install_advice
from kafkactl.json_input import JsonInputError, parse_json
from kafkactl.tiered.bucket import Listing, StoredObject
from kafkactl.tiered.listing import csv_rows, invalid, inventory_object, parse_listing, time_of

STDIN: Final = "-"
_GZIP_MAGIC: Final = b"\x1f\x8b"
_PARQUET_MAGIC: Final = b"PAR1"
_SCHEMES: Final = ("s3://", "gs://", "gcs://", "abfs://", "abfss://", "file:/")
_GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS
_MANIFEST_PLACES: Final = ("", "data", "..", "../data")


def read_listing(path: str, *, columns: Sequence[str] = (), time_ms: int | None = None) -> Listing:
    """All objects that a listing names. `columns` are those of a CSV file without a header; `time_ms` is when it was
    made, where that is known from elsewhere.

    Raises InputError `input-file-unreadable`, `invalid-listing`, `truncated-listing`, `missing-inventory-file`,
    `missing-extra`; UnreachableError `store-unreachable`.
    """
    if path.startswith(_SCHEMES):
        return Listing(path=path, format="store", objects=tuple(_store(path)), time_ms=time_ms)
    if path != STDIN and Path(path).is_dir():
        return Listing(path=path, format="folder", objects=tuple(_folder(Path(path))), time_ms=time_ms)
    data = _bytes(path)
    if data[:4] == _PARQUET_MAGIC:
        return Listing(path=path, format="parquet", objects=tuple(_parquet(data, path)))
    text = _text(data, path)
    if columns:
        rows = csv_rows(text, columns, file=path)
        found = (inventory_object(row, encoded=True, file=path) for row in rows)
        return Listing(path=path, format="csv", objects=tuple(part for part in found if part is not None))
    manifest = _manifest(text)
    if manifest is not None:
        objects = tuple(_inventory(manifest, Path(path)))
        made_ms = time_of(manifest.get("creationTimestamp"))
        return Listing(path=path, format="s3-inventory", objects=objects, time_ms=made_ms)
    form = "json" if text.lstrip()[:1] in ("{", "[") else "lines"
    # A JSON document ends where it ends.
    ends_whole = form == "json" or not text or text.endswith(("\n", "\r"))
    objects = tuple(parse_listing(text, file=path))
    return Listing(path=path, format=form, objects=objects, time_ms=time_ms, ends_whole=ends_whole)


def _bytes(path: str) -> bytes:
    most = InputKind.LISTING.most_bytes
    data = sys.stdin.buffer.read(most) if path == STDIN else read_input(Path(path), "the listing", InputKind.LISTING)
    return _unzipped(data, path) if data[:2] == _GZIP_MAGIC else data


def _unzipped(data: bytes, path: str) -> bytes:
    unzip, parts, left = zlib.decompressobj(_GZIP_WINDOW), [], InputKind.LISTING.most_bytes
    try:
        while data and left > 0:
            part = unzip.decompress(data, left)
            parts.append(part)
            left -= len(part)
            if not unzip.eof:
                break
            data = unzip.unused_data
            unzip = zlib.decompressobj(_GZIP_WINDOW) if data else unzip
    except zlib.error as error:
        raise invalid(path, "the gzip stream", str(error)) from error
    if left <= 0:
        raise invalid(path, "the gzip stream", f"more than {InputKind.LISTING.most_bytes} bytes when decompressed")
    if not unzip.eof:
        raise InputError(
            f"{path} ends before its gzip stream does",
            id="truncated-listing",
            next_step="Make the listing again, and wait until it is written.",
        )
    return b"".join(parts)


def _text(data: bytes, path: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise invalid(path, f"byte {error.start}", "not UTF-8 text, nor a Parquet file") from error


def _folder(folder: Path) -> Iterator[StoredObject]:
    for root, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            file = Path(root) / name
            try:
                found = file.stat()
            except FileNotFoundError:  # deleted meanwhile
                continue
            yield StoredObject(str(file.relative_to(folder)), found.st_size, int(found.st_mtime * 1000))


# --- S3 Inventory ---------------------------------------------------------------------------------------------------


def _manifest(text: str) -> dict[str, Any] | None:
    if not text.lstrip().startswith("{") or '"fileSchema"' not in text:
        return None
    try:
        document = parse_json(text)
    except JsonInputError:
        return None
    return document if isinstance(document, dict) and isinstance(document.get("files"), list) else None


def _inventory(manifest: dict[str, Any], path: Path) -> Iterator[StoredObject]:
    form = str(manifest.get("fileFormat", "CSV")).upper()
    columns = [name.strip() for name in str(manifest["fileSchema"]).split(",")]
    for entry in manifest["files"]:
        name = entry.get("key") if isinstance(entry, dict) else None
        if not isinstance(name, str):
            raise invalid(str(path), "files", "an entry without a key")
        file = _data_file(path, name)
        data = _data(file, path, entry.get("MD5checksum"))
        if form == "PARQUET":
            yield from _parquet(data, str(file))
        elif form == "CSV":
            rows = csv_rows(_text(data, str(file)), columns, file=str(file))
            found = (inventory_object(row, encoded=True, file=str(file)) for row in rows)
            yield from (part for part in found if part is not None)
        else:
            raise invalid(str(path), "fileFormat", f"{form} is not read: configure the inventory as CSV or Parquet")


def _data(file: Path, manifest: Path, md5: object) -> bytes:
    """A data file, decompressed, if it is the one that the manifest was written for."""
    raw = read_input(file, "the inventory's data", InputKind.LISTING)
    if isinstance(md5, str) and hashlib.md5(raw, usedforsecurity=False).hexdigest() != md5.lower():
        raise InputError(
            f"{file} has another MD5 checksum than {manifest} names: it is cut, or of another inventory",
            id="truncated-listing",
            next_step="Copy the inventory's data files again, whole, with their manifest.json.",
        )
    return _unzipped(raw, str(file)) if raw[:2] == _GZIP_MAGIC else raw


def _data_file(manifest: Path, key: str) -> Path:
    """The copy of a data file: in the manifest's folder, in `data/` below it, or next to that folder."""
    name = key.rpartition("/")[2]
    for place in _MANIFEST_PLACES:
        file = manifest.parent / place / name
        if file.is_file():
            return file
    raise InputError(
        f"{manifest} names {key}, and {name} is neither in the directory of the manifest nor in a data folder",
        id="missing-inventory-file",
        next_step="Copy the inventory's data files into the directory of its manifest.json.",
    )


def _parquet(data: bytes, path: str) -> Iterator[StoredObject]:
    parquet = _pyarrow("a Parquet listing", "pyarrow.parquet")
    import pyarrow as pa

    try:
        batches = parquet.ParquetFile(pa.BufferReader(data)).iter_batches()
        for batch in batches:
            for row in batch.to_pylist():
                found = inventory_object(row, encoded=False, file=path)
                if found is not None:
                    yield found
    except pa.ArrowInvalid as error:
        raise invalid(path, "Parquet", str(error)) from error


def _store(url: str) -> Iterator[StoredObject]:
    """The objects under a URL, by the file systems of pyarrow; credentials come from where its libraries look."""
    fs = _pyarrow(f"the listing of {url}", "pyarrow.fs")
    try:
        system, base = fs.FileSystem.from_uri(url)
        for found in system.get_file_info(fs.FileSelector(base, recursive=True)):
            if found.type == fs.FileType.File:
                time_ms = None if found.mtime is None else int(found.mtime.timestamp() * 1000)
                yield StoredObject(found.path.removeprefix(base).lstrip("/"), found.size, time_ms)
    except (OSError, ValueError) as error:
        raise UnreachableError(f"{url} cannot be listed: {error}", id="store-unreachable") from error


def _pyarrow(what: str, module: str) -> Any:
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(
            f"{what} needs pyarrow, which is not installed", id="missing-extra", next_step=install_advice("dryrun")
        ) from error
