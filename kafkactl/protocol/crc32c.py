"""CRC-32C (Castagnoli), the checksum of record batches v2.

The compiled library does gigabytes a second. A table does the same sum at a few megabytes a second: for the first
kilobytes of a process, which is all that a format writes, and for everything if the extension could not be built.
A test holds the two equal.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable

_REVERSED_POLYNOMIAL = 0x82F63B78  # RFC 3720, appendix B.4
_WORTH_LOADING_BYTES = 16 * 1024  # loading the library takes as long as summing so many by the table


def crc32c(data: bytes) -> int:
    """Return the CRC-32C of `data` as an unsigned 32-bit number."""
    return _SUM(data)


def crc32c_by_table(data: bytes) -> int:
    """Return the checksum without a compiled extension; slow."""
    table = _table()
    crc = 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


@functools.cache
def _table() -> tuple[int, ...]:
    table, crc, bit = [0] * 256, 1, 128
    while bit:
        crc = _shifted(crc)
        for byte in range(0, 256, 2 * bit):
            table[byte + bit] = crc ^ table[byte]
        bit >>= 1
    return tuple(table)


def _shifted(crc: int) -> int:
    return (crc >> 1) ^ (_REVERSED_POLYNOMIAL if crc & 1 else 0)


@functools.cache
def _implementation() -> Callable[[bytes], int]:
    """Return the compiled function if it loads. The library warns on stderr when it does not, which is ours to say."""
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


class _Sum:
    """The table until it has summed enough for one process, then the library."""

    def __init__(self) -> None:
        self.left = _WORTH_LOADING_BYTES

    def __call__(self, data: bytes) -> int:
        if self.left > 0:
            self.left -= len(data)
            if self.left > 0:
                return crc32c_by_table(data)
        return _implementation()(data)


_SUM = _Sum()
