"""Size of a record in a batch, computed without writing the record."""

from __future__ import annotations


def record_size(offset_delta: int, key: bytes | None, value: bytes | None) -> int:
    """Return the size of a record without headers in a batch, including its length field."""
    content = 3 + _base128_size(offset_delta << 1) + _nullable_size(key) + _nullable_size(value)
    return _base128_size(content << 1) + content


def value_record_size(offset_delta: int, value_bytes: int) -> int:
    """Return the size of a record without a key whose value takes so many bytes."""
    content = 4 + _base128_size(offset_delta << 1) + _base128_size(value_bytes << 1) + value_bytes
    return _base128_size(content << 1) + content


def _base128_size(value: int) -> int:
    return 1 if value < 0x80 else (value.bit_length() + 6) // 7


def _nullable_size(content: bytes | None) -> int:
    return 1 if content is None else _base128_size(len(content) << 1) + len(content)
