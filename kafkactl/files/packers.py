"""Formats of packed files, by their first bytes: for an error that names the format and the way out."""

from __future__ import annotations

from typing import Final

_TAR_AT: Final = 257
_TAR: Final = b"ustar"
HEAD_BYTES: Final = _TAR_AT + len(_TAR)
_BY_FIRST_BYTES: Final = {
    b"\x1f\x8b": "gzip",
    b"\xfd7zXZ": "xz",
    b"\x5d\x00\x00": "LZMA",
    b"BZh": "bzip2",
    b"\x28\xb5\x2f\xfd": "Zstandard",
    b"\x04\x22\x4d\x18": "LZ4",
    b"7z\xbc\xaf": "7z",
    b"Rar!": "RAR",
    b"PK\x03\x04": "ZIP",
    b"PK\x05\x06": "ZIP",
}
_ZIP_METHODS: Final = {9: "Deflate64", 12: "bzip2", 14: "LZMA", 93: "Zstandard", 95: "xz", 98: "PPMd", 99: "AES"}
STORED, DEFLATED = 0, 8


def packer_of(head: bytes) -> str | None:
    """Return the format of a file with these first bytes (`HEAD_BYTES`); None if it is not a known packed one.

    >>> packer_of(b"7z\\xbc\\xaf'\\x1c"), packer_of(b"orders/0.log 100")
    ('7z', None)
    """
    if head[_TAR_AT:HEAD_BYTES] == _TAR:
        return "tar"
    return next((name for start, name in _BY_FIRST_BYTES.items() if head.startswith(start)), None)


def zip_method(number: int) -> str | None:
    """Return the name of a compression of a ZIP member (APPNOTE.TXT 4.4.5); None for the two that every packer has."""
    return None if number in (STORED, DEFLATED) else _ZIP_METHODS.get(number, f"method {number}")
