"""Decompression of a batch's records.

Kafka never compresses its metadata log; topics may be compressed.

gzip comes with Python; snappy, lz4 and zstd are pyarrow's, which the extra `spark` brings. Without it a batch in one
of them is an error that says so, never a guess. The output is bounded, absolutely and by the input: a few bytes can
otherwise stand for gigabytes.

lz4 and zstd are in their frame formats. snappy has none of its own: Kafka's Java client writes blocks after a header
of the xerial library, other clients one bare block (`clients/.../compress/SnappyCompression.java`).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any, Final

from kafkactl.core.errors import DecodeError
from kafkactl.core.extras import install_advice
from kafkactl.protocol.batch_bounds import (
    ALWAYS_DECOMPRESSED_BYTES,
    MOST_DECOMPRESSED_BYTES,
    MOST_TIMES_DECOMPRESSED,
)

# clients/.../record/CompressionType.java
COMPRESSION_NAMES = {0: "none", 1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
_NOT_KAFKAS = "Kafka never compresses its metadata log: check that this file is part of one."
_GZIP_WINDOW = 16 + zlib.MAX_WBITS  # a gzip header is expected
_XERIAL_MAGIC: Final = b"\x82SNAPPY\0"
_XERIAL_HEADER_BYTES: Final = 16  # the magic, a version and the least compatible one
_LENGTH_BYTES: Final = 4
_MOST_VARINT_BYTES: Final = 5


class _BrokenError(Exception):
    """The data is not of the format that it should have."""


class _TooLargeError(Exception):
    """The data decompresses to more bytes than allowed."""


def decompressed(
    data: bytes,
    compression: int,
    *,
    file: str | None,
    position: int,
    most_times: int = MOST_TIMES_DECOMPRESSED,
) -> bytes:
    """Return the records of a compressed batch; `position` is where `data` begins in `file`.

    Raises DecodeError `unsupported-compression` (snappy, lz4 and zstd without pyarrow), `unknown-compression`,
    `corrupt-compression` or `decompressed-too-large` (above 8 MiB, or above 64 KiB and `most_times` as large as
    `data`).
    """

    def refuse(message: str, error_id: str, next_step: str | None = None) -> DecodeError:
        return DecodeError(message, id=error_id, offset=position, path="RecordBatch", file=file, next_step=next_step)

    if compression not in COMPRESSION_NAMES:
        raise refuse(f"the compression {compression} is not known", "unknown-compression")
    name = COMPRESSION_NAMES[compression]
    most = min(MOST_DECOMPRESSED_BYTES, max(ALWAYS_DECOMPRESSED_BYTES, most_times * len(data)))
    try:
        return _CODECS[name](data, most)
    except ImportError:
        message = f"the batch is compressed with {name}, and without pyarrow only gzip can be decompressed"
        raise refuse(message, "unsupported-compression", install_advice("spark")) from None
    except _TooLargeError:
        message = f"the batch has {len(data)} bytes and more than {most} when decompressed, which is the limit"
        raise refuse(message, "decompressed-too-large", _NOT_KAFKAS) from None
    except (_BrokenError, zlib.error) as error:
        raise refuse(f"not {name}: {error}", "corrupt-compression") from error


def _gzip(data: bytes, most: int) -> bytes:
    unzip = zlib.decompressobj(_GZIP_WINDOW)
    content = unzip.decompress(data, most + 1)
    if len(content) > most:
        raise _TooLargeError
    if not unzip.eof or unzip.unused_data:
        raise _BrokenError("the stream is cut, or bytes follow it")
    return content


def _framed(name: str) -> Callable[[bytes, int], bytes]:
    """Return the function that decompresses lz4 or zstd."""

    def undone(data: bytes, most: int) -> bytes:
        pyarrow = _pyarrow()
        if not data:
            raise _BrokenError("there are no bytes")
        try:
            with pyarrow.CompressedInputStream(pyarrow.BufferReader(data), name) as stream:
                content: bytes = stream.read(most + 1)
        except OSError as error:
            raise _BrokenError(str(error)) from error
        if len(content) > most:
            raise _TooLargeError
        return content

    return undone


def _snappy(data: bytes, most: int) -> bytes:
    codec, parts, left = _pyarrow().Codec("snappy"), [], most
    for block in _xerial_blocks(data) if data.startswith(_XERIAL_MAGIC) else (data,):
        size = _snappy_size(block)
        if size > left:
            raise _TooLargeError
        left -= size
        try:
            parts.append(codec.decompress(block, decompressed_size=size, asbytes=True))
        except OSError as error:
            raise _BrokenError(str(error)) from error
    return b"".join(parts)


def _xerial_blocks(data: bytes) -> Iterator[bytes]:
    at = _XERIAL_HEADER_BYTES
    while at < len(data):
        start = at + _LENGTH_BYTES
        at = start + int.from_bytes(data[at:start], "big")
        if at > len(data) or at == start:
            raise _BrokenError("a block is cut or empty")
        yield data[start:at]


def _snappy_size(block: bytes) -> int:
    """Return the size that a block states for its content: an unsigned varint before its bytes."""
    size = 0
    for at, byte in enumerate(block[:_MOST_VARINT_BYTES]):
        size |= (byte & 0x7F) << (7 * at)
        if byte < 0x80:
            return size
    raise _BrokenError("the size of a block is cut or too long")


def _pyarrow() -> Any:
    import pyarrow

    return pyarrow


_CODECS: Final[dict[str, Callable[[bytes, int], bytes]]] = {
    "none": lambda data, _most: data,
    "gzip": _gzip,
    "snappy": _snappy,
    "lz4": _framed("lz4"),
    "zstd": _framed("zstd"),
}
