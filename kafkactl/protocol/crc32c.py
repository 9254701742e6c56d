"""CRC-32C (Castagnoli), the checksum of record batches v2.

The compiled library does gigabytes a second; where its extension could not be built, a table does the same sum at a
few megabytes a second, and a test holds the two equal.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable

_REVERSED_POLYNOMIAL = 0x82F63B78  # RFC 3720, appendix B.4


def crc32c(data: bytes) -> int:
    """The CRC-32C of `data` as an unsigned 32-bit number."""
    return _implementation()(data)


def crc32c_by_table(data: bytes) -> int:
    """The same number without a compiled extension; slow."""
    table = _table()
    crc = 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


@functools.cache
def _table() -> tuple[int, ...]:
    return tuple(functools.reduce(lambda crc, _: _shifted(crc), range(8), byte) for byte in range(256))


def _shifted(crc: int) -> int:
    return (crc >> 1) ^ (_REVERSED_POLYNOMIAL if crc & 1 else 0)


@functools.cache
def _implementation() -> Callable[[bytes], int]:
    """The compiled function if it loads. The library warns on stderr when it does not, which is ours to say."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import google_crc32c
    except ImportError:
        return crc32c_by_table
    if google_crc32c.implementation != "c":
        return crc32c_by_table
    value: Callable[[bytes], int] = google_crc32c.value
    return value
