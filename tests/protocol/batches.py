"""Record batches in forms that `encode_batch` does not write: headers, deltas, compression, other attributes."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

from kafkactl.protocol.crc32c import crc32c
from kafkactl.protocol.primitives import base128, zigzag_encoded


def varint(value: int) -> bytes:
    return base128(zigzag_encoded(value))


def sized(content: bytes | None) -> bytes:
    return varint(-1) if content is None else varint(len(content)) + content


def record(
    key: bytes | None = None,
    value: bytes | None = b"v",
    *,
    delta: int = 0,
    time_delta: int = 0,
    headers: Sequence[tuple[bytes, bytes | None]] = (),
    attributes: int = 0,
) -> bytes:
    """Return one record, its length in front."""
    content = (
        bytes([attributes]) + varint(time_delta) + varint(delta) + sized(key) + sized(value) + varint(len(headers))
    )
    content += b"".join(sized(name) + sized(held) for name, held in headers)
    return varint(len(content)) + content


def batch(
    body: bytes,
    *,
    count: int = 1,
    base_offset: int = 0,
    attributes: int = 0,
    epoch: int = 0,
    magic: int = 2,
    base_time: int = 1000,
    max_time: int = 1000,
    last_delta: int | None = None,
) -> bytes:
    """Return a batch around a body, its CRC right."""
    checked = (
        struct.pack(
            ">hiqqqhii",
            attributes,
            count - 1 if last_delta is None else last_delta,
            base_time,
            max_time,
            -1,
            -1,
            -1,
            count,
        )
        + body
    )
    return struct.pack(">qiibI", base_offset, 9 + len(checked), epoch, magic, crc32c(checked)) + checked


def with_crc(data: bytes) -> bytes:
    """Return the same batch, its CRC made right again."""
    return data[:17] + crc32c(data[21:]).to_bytes(4, "big") + data[21:]


def gzipped(body: bytes) -> bytes:
    compress = zlib.compressobj(wbits=31)
    return compress.compress(body) + compress.flush()
