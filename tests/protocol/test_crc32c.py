"""The checksum against published vectors; the compiled and the table one agree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.protocol import crc32c as module
from kafkactl.protocol.crc32c import crc32c, crc32c_by_table


@pytest.mark.parametrize(
    ("data", "crc"),
    [
        (b"", 0),
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),  # RFC 3720, B.4
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
    ],
)
def test_checksum_equals_published_vectors(data: bytes, crc: int):
    assert crc32c(data) == crc
    assert crc32c_by_table(data) == crc


@given(st.binary(max_size=300))
def test_table_gives_the_same(data: bytes):
    assert crc32c_by_table(data) == crc32c(data)


def test_slow_table_sums_only_the_first_kilobytes(monkeypatch: pytest.MonkeyPatch):
    # A log of gigabytes would take hours.
    lengths: list[int] = []
    monkeypatch.setattr(module, "crc32c_by_table", lambda data: lengths.append(len(data)) or crc32c_by_table(data))
    monkeypatch.setattr(module, "_implementation", lambda: crc32c_by_table)
    checksum = module._Sum()
    assert {checksum(b"123456789" * 100) for _ in range(60)} == {crc32c_by_table(b"123456789" * 100)}
    assert 0 < sum(lengths) <= 16 * 1024
