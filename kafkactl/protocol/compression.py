"""What a batch's records are wrapped in. Kafka never compresses its metadata log; topics may be compressed.

gzip comes with Python and is undone. snappy, lz4 and zstd are not: a batch in one of them is an error that says so,
never a guess. The output is bounded: a few bytes can otherwise stand for gigabytes.
"""

from __future__ import annotations

import zlib

from kafkactl.errors import DecodeError

# clients/.../record/CompressionType.java
COMPRESSION_NAMES = {0: "none", 1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
MAX_DECOMPRESSED_BYTES = 64 * 1024 * 1024
_GZIP_WINDOW = 16 + zlib.MAX_WBITS  # a gzip header is expected


def decompressed(data: bytes, compression: int, *, file: str | None, position: int) -> bytes:
    """The records of a compressed batch; `position` is where `data` begins in `file`.

    Raises DecodeError `unsupported-compression`, `unknown-compression`, `corrupt-compression` or
    `decompressed-too-large` (above 64 MiB).
    """

    def refuse(message: str, error_id: str, next_step: str | None = None) -> DecodeError:
        return DecodeError(message, id=error_id, offset=position, path="RecordBatch", file=file, next_step=next_step)

    if compression not in COMPRESSION_NAMES:
        raise refuse(f"the compression {compression} is not known", "unknown-compression")
    name = COMPRESSION_NAMES[compression]
    if name != "gzip":
        message = f"the batch is compressed with {name}, and only gzip can be undone here"
        hint = "Kafka never compresses its metadata log: check that this file is part of one."
        raise refuse(message, "unsupported-compression", hint)
    unzip = zlib.decompressobj(_GZIP_WINDOW)
    try:
        content = unzip.decompress(data, MAX_DECOMPRESSED_BYTES + 1)
    except zlib.error as error:
        raise refuse(f"not gzip: {error}", "corrupt-compression") from error
    if len(content) > MAX_DECOMPRESSED_BYTES:
        raise refuse(f"more than {MAX_DECOMPRESSED_BYTES} bytes when decompressed", "decompressed-too-large")
    if not unzip.eof or unzip.unused_data:
        raise refuse("the gzip stream is cut, or bytes follow it", "corrupt-compression")
    return content
