"""The text of a listing: decompressed while it is read, line by line, and bounded by the size of its file.

A kilobyte of gzip holds a million lines, and each line becomes an object of 300 bytes. So not only the bytes are
bounded but also the lines, by a count and by a ratio to the packed size: the most regular keys take more than a byte
each when packed, real ones about ten.
"""

from __future__ import annotations

import io
import itertools
import zlib
from collections.abc import Iterator
from typing import Final

from kafkactl.core.errors import InputError
from kafkactl.files.input_files import InputKind
from kafkactl.files.packers import HEAD_BYTES, packer_of
from kafkactl.tiered.listing import invalid

GZIP_MAGIC: Final = b"\x1f\x8b"
_UTF_16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")
MOST_LINES: Final = 20_000_000
MOST_LINE_BYTES: Final = 1024 * 1024
ALWAYS_LINES: Final = 200_000
ALWAYS_UNPACKED_BYTES: Final = 64 * 1024 * 1024
TIMES_UNPACKED: Final = 200
# Commas and opening brackets of one JSON document. An object has 5 to 10, and takes 10 bytes or more when packed.
MOST_JSON_PARTS: Final = 200_000_000
ALWAYS_JSON_PARTS: Final = 2_000_000
JSON_PARTS_A_BYTE: Final = 4
_JSON_PARTS: Final = (b",", b"[", b"{")
_GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS
_CHUNK_BYTES: Final = 256 * 1024


class ListingText:
    """Lines of a listing in UTF-8, with their line ends.

    `first` and `second` are the first two lines that are not blank, without reading further. Every member raises
    InputError `invalid-listing`, `listing-too-large`, and `truncated-listing` for a cut gzip stream.
    """

    def __init__(self, data: bytes, path: str) -> None:
        self.ends_whole = True  # False after the last line, if no line end follows it
        self._path = path
        self._packed = len(data)
        if data.startswith(_UTF_16_MARKS):
            data = _from_utf_16(data, path)
        _check_packer(data, path)
        raw = _Unpacked(data, path) if data.startswith(GZIP_MAGIC) else io.BytesIO(data)
        self._bytes = io.BufferedReader(raw, _CHUNK_BYTES) if isinstance(raw, io.RawIOBase) else raw
        if isinstance(self._bytes, io.BufferedReader):
            _check_packer(self._bytes.peek(HEAD_BYTES), path, "in gzip ")
        self._most_lines = rows_of(self._packed)
        self._held: list[bytes] = []
        self.first = self._peeked()
        self.second = self._peeked()

    def __iter__(self) -> Iterator[str]:
        """Yield every line once, from the first one."""
        at = 0
        for number, line in enumerate(itertools.chain(self._held, iter(self._read, b"")), 1):
            if number > self._most_lines:
                raise self._too_large(f"more than {self._most_lines} lines")
            self.ends_whole = line.endswith(b"\n")
            if not self.ends_whole and len(line) >= MOST_LINE_BYTES:
                raise invalid(self._path, f"line {number}", f"longer than {MOST_LINE_BYTES} bytes")
            yield self._decoded(line, at)
            at += len(line)

    def document(self) -> str:
        """Return the whole text, which is one JSON document."""
        data = b"".join([*self._held, self._bytes.read()])
        most = min(MOST_JSON_PARTS, max(ALWAYS_JSON_PARTS, JSON_PARTS_A_BYTE * self._packed))
        if sum(data.count(part) for part in _JSON_PARTS) > most:
            raise self._too_large(f"more than {most} commas and opening brackets")
        return self._decoded(data, 0)

    def _peeked(self) -> str:
        """Return the next line that is not blank; an empty text at the end."""
        while line := self._read():
            self._held.append(line)
            if len(self._held) > self._most_lines:
                raise self._too_large(f"more than {self._most_lines} lines")
            if line.strip(b"\xef\xbb\xbf \t\r\n"):
                return line.decode("utf-8", "replace").removeprefix("\ufeff")
        return ""

    def _read(self) -> bytes:
        return self._bytes.readline(MOST_LINE_BYTES)

    def _decoded(self, data: bytes, at: int) -> str:
        try:
            return data.decode("utf-8").removeprefix("" if at else "\ufeff")
        except UnicodeDecodeError as error:
            raise invalid(self._path, f"byte {at + error.start}", "not UTF-8 text, nor a Parquet file") from error

    def _too_large(self, what: str) -> InputError:
        return too_large(self._path, self._packed, what)


def _check_packer(data: bytes, path: str, where: str = "") -> None:
    """Raise InputError for an archive, and for a compression other than one layer of gzip."""
    packer = packer_of(data[:HEAD_BYTES])
    if packer is None or (packer == "gzip" and not where):
        return
    raise InputError(
        f"{path} is {where}{packer}: a listing is read as text, in gzip or not, or as Parquet",
        id="invalid-listing",
        next_step="Unpack it, and give the listing itself; compress a large one with `gzip`.",
    )


def _from_utf_16(data: bytes, path: str) -> bytes:
    """Return UTF-8 for the output that PowerShell redirected to a file."""
    try:
        return data.decode("utf-16").encode()
    except UnicodeError as error:
        raise invalid(path, "the text", "not UTF-16, although it begins like it") from error


class _Unpacked(io.RawIOBase):
    """The bytes of a gzip file of one or more members."""

    def __init__(self, data: bytes, path: str) -> None:
        super().__init__()
        self._data = data
        self._path = path
        self._most = unpacked_bytes_of(len(data))
        self._left = self._most
        self._room = _CHUNK_BYTES
        self._chunks = self._unpacked()

    def readable(self) -> bool:
        """Return True: the stream can be read."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Fill the buffer as far as one chunk goes; 0 at the end. Raise InputError."""
        self._room = len(buffer)
        chunk = next(self._chunks, b"")
        self._left -= len(chunk)
        if self._left < 0:
            raise too_large(self._path, len(self._data), f"more than {self._most} bytes when decompressed")
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def _unpacked(self) -> Iterator[bytes]:
        at, data = 0, self._data
        while at < len(data):
            member, fed = zlib.decompressobj(_GZIP_WINDOW), b""
            while not member.eof:
                if not fed:
                    fed = data[at : at + _CHUNK_BYTES]
                    at += len(fed)
                is_last = not fed
                try:
                    chunk = member.decompress(fed, self._room)
                except zlib.error as error:
                    raise invalid(self._path, "the gzip stream", str(error)) from error
                fed = member.unconsumed_tail
                if chunk:
                    yield chunk
                elif is_last and not member.eof:
                    raise InputError(
                        f"{self._path} ends before its gzip stream does",
                        id="truncated-listing",
                        next_step="Make the listing again, and wait until it is written.",
                    )
            at -= len(member.unused_data)


def rows_of(size: int) -> int:
    """Return the greatest number of objects that is read of a listing of `size` bytes."""
    return min(MOST_LINES, max(ALWAYS_LINES, size))


def unpacked_bytes_of(size: int) -> int:
    """Return the greatest number of bytes that is read of a listing of `size` compressed bytes."""
    return min(InputKind.LISTING.most_bytes, max(ALWAYS_UNPACKED_BYTES, TIMES_UNPACKED * size))


def too_large(path: str, size: int, what: str) -> InputError:
    """Return the error for a listing that comes to more than a file of its size may."""
    return InputError(
        f"{path} has {size} bytes and holds {what}, which is the limit for a listing of this size",
        id="listing-too-large",
    )
