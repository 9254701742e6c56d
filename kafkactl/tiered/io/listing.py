"""Listings of an object store: a file, stdin, a folder, an S3 Inventory, or a store that pyarrow reaches."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from kafkactl.core.errors import InputError, UnreachableError
from kafkactl.core.extras import install_advice
from kafkactl.core.frozen import changed
from kafkactl.core.json_input import JsonInputError, parse_json
from kafkactl.files.input_files import InputKind, read_input
from kafkactl.tiered.bucket import Listing, StoredObject
from kafkactl.tiered.io.listing_text import ListingText, rows_of, too_large, unpacked_bytes_of
from kafkactl.tiered.listing import (
    check_form,
    csv_header,
    csv_rows,
    headed_rows,
    invalid,
    inventory_objects,
    is_json_line,
    parse_document,
    parse_json_lines,
    parse_lines,
)
from kafkactl.tiered.listing_fields import FIELDS, plain_name, time_of

STDIN: Final = "-"
_PARQUET_MAGIC: Final = b"PAR1"
_ORC_MAGIC: Final = b"ORC"
_WITHOUT_ORC: Final = (
    "Configure the inventory as CSV or Parquet; until it is made, list with `aws s3api list-objects-v2 --output json`."
)
_SCHEMES: Final = ("s3://", "gs://", "gcs://", "abfs://", "abfss://", "file:/")
_PARQUET_ROWS: Final = 4096
MOST_KEY_BYTES: Final = 8192  # twice the longest path of a file system; a key of S3 has 1,024 at most
_MANIFEST_PLACES: Final = ("", "data", "..", "../data")


def read_listing(path: str, *, columns: Sequence[str] = (), time_ms: int | None = None) -> Listing:
    """Read all objects of a listing. `columns` are those of a CSV file without a header, `time_ms` is its known
    time.

    Raises InputError `input-file-unreadable`, `invalid-listing`, `truncated-listing`, `missing-inventory-file`,
    `missing-extra`, `listing-too-large`; UnreachableError `store-unreachable`.
    """
    if path.startswith(_SCHEMES):
        return Listing(path=path, format="store", objects=tuple(_store(path)), time_ms=time_ms)
    if path != STDIN and Path(path).is_dir():
        return Listing(path=path, format="folder", objects=tuple(_folder(Path(path))), time_ms=time_ms)
    written_ms = None if path == STDIN else _written(path)
    return changed(_read_file(path, columns, time_ms), written_ms=written_ms)


def _written(path: str) -> int | None:
    try:
        return int(Path(path).stat().st_mtime * 1000)
    except OSError:  # reading the file reports the error
        return None


def _read_file(path: str, columns: Sequence[str], time_ms: int | None) -> Listing:
    data = _bytes(path)
    if data[:4] == _PARQUET_MAGIC:
        return Listing(path=path, format="parquet", objects=tuple(_parquet(data, path)))
    if data.startswith(_ORC_MAGIC):
        raise InputError(f"{path} is ORC, which is not read", id="invalid-listing", next_step=_WITHOUT_ORC)
    text = ListingText(data, path)
    if columns or csv_header(text.first):
        rows = csv_rows(text, columns, file=path) if columns else headed_rows(text, file=path)
        objects = tuple(inventory_objects(rows, encoded=bool(columns), file=path))
        return Listing(path=path, format="csv", objects=objects, ends_whole=text.ends_whole)
    check_form(text.first, file=path)
    if not text.first.lstrip().startswith(("{", "[")):
        objects = parse_lines(text, file=path)
        return Listing(path=path, format="lines", objects=objects, time_ms=time_ms, ends_whole=text.ends_whole)
    # A JSON document ends where it ends.
    if text.second and is_json_line(text.first):
        return Listing(path=path, format="json", objects=parse_json_lines(text, file=path), time_ms=time_ms)
    return _document(text.document(), path, time_ms)


def _document(text: str, path: str, time_ms: int | None) -> Listing:
    manifest = _manifest(text)
    if manifest is None:
        return Listing(path=path, format="json", objects=parse_document(text, file=path), time_ms=time_ms)
    objects = tuple(_inventory(manifest, Path(path)))
    made_ms = time_of(manifest.get("creationTimestamp"))
    return Listing(path=path, format="s3-inventory", objects=objects, time_ms=made_ms)


def _bytes(path: str) -> bytes:
    if path != STDIN:
        return read_input(Path(path), "the listing", InputKind.LISTING)
    most = InputKind.LISTING.most_bytes
    data = sys.stdin.buffer.read(most + 1)
    if len(data) > most:
        raise too_large("standard input", len(data), f"more than {most} bytes")
    return data


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
            rows = csv_rows(ListingText(data, str(file)), columns, file=str(file))
            yield from inventory_objects(rows, encoded=True, file=str(file))
        else:
            raise InputError(f"{path}, fileFormat: {form} is not read", id="invalid-listing", next_step=_WITHOUT_ORC)


def _data(file: Path, manifest: Path, md5: object) -> bytes:
    """Return the bytes of a data file, if it is the one that the manifest was written for."""
    raw = read_input(file, "the inventory's data", InputKind.LISTING)
    if isinstance(md5, str) and hashlib.md5(raw, usedforsecurity=False).hexdigest() != md5.lower():
        raise InputError(
            f"{file} has another MD5 checksum than {manifest} names: it is cut, or of another inventory",
            id="truncated-listing",
            next_step="Copy the inventory's data files again, whole, with their manifest.json.",
        )
    return raw


def _data_file(manifest: Path, key: str) -> Path:
    """Return the copy of a data file: in the manifest's folder, in `data/` below it, or next to that folder."""
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

    most, left, rows = rows_of(len(data)), unpacked_bytes_of(len(data)), 0
    try:
        opened = parquet.ParquetFile(pa.BufferReader(data), read_dictionary=_text_columns(pa, parquet, data))
        names = [name for name in opened.schema_arrow.names if plain_name(name) in FIELDS]
        for batch in opened.iter_batches(_PARQUET_ROWS, columns=names):
            rows += len(batch)
            if rows > most:
                raise too_large(path, len(data), f"more than {most} rows")
            for column in batch.columns:
                _check_dictionary(column, pa, path)
            for found in inventory_objects(batch.to_pylist(), encoded=False, file=path):
                left -= len(found.key)
                yield found
            if left < 0:
                raise too_large(path, len(data), f"more than {unpacked_bytes_of(len(data))} bytes of keys")
    except pa.ArrowInvalid as error:
        raise invalid(path, "Parquet", str(error)) from error


def _text_columns(pa: Any, parquet: Any, data: bytes) -> list[str]:
    """Return the columns that are read with each value once: a file may hold one long value for a million rows."""
    schema = parquet.read_schema(pa.BufferReader(data))
    return [field.name for field in schema if pa.types.is_string(field.type) or pa.types.is_binary(field.type)]


def _check_dictionary(column: Any, pa: Any, path: str) -> None:
    if pa.types.is_dictionary(column.type) and len(column.dictionary):
        import pyarrow.compute as pc

        longest = pc.max(pc.binary_length(column.dictionary)).as_py()
        if longest > MOST_KEY_BYTES:
            raise invalid(path, "Parquet", f"a value has {longest} bytes, and a key has {MOST_KEY_BYTES} at most")


def _store(url: str) -> Iterator[StoredObject]:
    """Yield the objects under a URL, by the file systems of pyarrow; credentials come from where its libraries look."""
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
            f"{what} needs pyarrow, which is not installed", id="missing-extra", next_step=install_advice("spark")
        ) from error
