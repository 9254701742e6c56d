"""What a batch's records are wrapped in. Kafka never compresses its metadata log; topics may be compressed.

gzip comes with Python and is undone. snappy, lz4 and zstd are not: a batch in one of them is an error that says so,
never a guess. The output is bounded, by itself and by the input: a few bytes can otherwise stand for gigabytes.
"""

from __future__ import annotations

import zlib

from kafkactl.errors import DecodeError
from kafkactl.protocol.batch_bounds import (
    ALWAYS_DECOMPRESSED_BYTES,
    MOST_DECOMPRESSED_BYTES,
    MOST_TIMES_DECOMPRESSED,
)

# clients/.../record/CompressionType.java
COMPRESSION_NAMES = {0: "none", 1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
_NOT_KAFKAS = "Kafka never compresses its metadata log: check that this file is part of one."
_GZIP_WINDOW = 16 + zlib.MAX_WBITS  # a gzip header is expected


def decompressed(data: bytes, compression: int, *, file: str | None, position: int) -> bytes:
    """The records of a compressed batch; `position` is where `data` begins in `file`.

    Raises DecodeError `unsupported-compression`, `unknown-compression`, `corrupt-compression` or
    `decompressed-too-large` (above 8 MiB, or above 64 KiB and 16 times as large as `data`).
    """

    def refuse(message: str, error_id: str, next_step: str | None = None) -> DecodeError:
        return DecodeError(message, id=error_id, offset=position, path="RecordBatch", file=file, next_step=next_step)

    if compression not in COMPRESSION_NAMES:
        raise refuse(f"the compression {compression} is not known", "unknown-compression")
    name = COMPRESSION_NAMES[compression]
    if name != "gzip":
        message = f"the batch is compressed with {name}, and only gzip can be undone here"
        raise refuse(message, "unsupported-compression", _NOT_KAFKAS)
    most = min(MOST_DECOMPRESSED_BYTES, max(ALWAYS_DECOMPRESSED_BYTES, MOST_TIMES_DECOMPRESSED * len(data)))
    unzip = zlib.decompressobj(_GZIP_WINDOW)
    try:
        content = unzip.decompress(data, most + 1)
    except zlib.error as error:
        raise refuse(f"not gzip: {error}", "corrupt-compression") from error
    if len(content) > most:
        message = f"the batch has {len(data)} bytes and more than {most} when decompressed, which is the limit"
        raise refuse(message, "decompressed-too-large", _NOT_KAFKAS)
    if not unzip.eof or unzip.unused_data:
        raise refuse("the gzip stream is cut, or bytes follow it", "corrupt-compression")
    return content
