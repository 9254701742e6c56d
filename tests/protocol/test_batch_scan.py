"""The walk over a damaged file: all good batches, all damage, no gap between them, and an end to the search."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.protocol import record_batch
from kafkactl.protocol.batch_scan import Damage, scan_batches
from kafkactl.protocol.crc32c import crc32c
from kafkactl.protocol.record_batch import BatchHeader, encode_batch
from tests.protocol.random_messages import mutated


def log(count: int, first: int = 0) -> bytes:
    return b"".join(
        encode_batch([(None, b"record %d" % at)], base_offset=at, timestamp_ms=1000 + at)
        for at in range(first, first + count)
    )


def scanned(data: bytes, **named: object) -> list[object]:
    """Return offsets of good batches; (position, end, id) of damage."""
    return [
        piece.base_offset if isinstance(piece, BatchHeader) else (piece.position, piece.end, piece.error.id)
        for piece in scan_batches(data, **named)  # type: ignore[arg-type]
    ]


SIZE = len(log(1))


def test_sound_file_has_no_damage():
    assert scanned(log(4)) == [0, 1, 2, 3]
    assert scanned(b"") == []


def test_flipped_byte_costs_one_batch():
    data = bytearray(log(4))
    data[SIZE + 65] ^= 1
    assert scanned(bytes(data)) == [0, (SIZE, 2 * SIZE, "crc-mismatch"), 2, 3]
    assert scanned(bytes(data), check_crc=False) == [0, 1, 2, 3]


def test_unbelievable_length_does_not_hide_what_follows():
    data = bytearray(log(4))
    data[SIZE + 8 : SIZE + 12] = (2**30).to_bytes(4, "big")
    assert scanned(bytes(data)) == [0, (SIZE, 2 * SIZE, "truncated-batch"), 2, 3]


def test_truncated_tail_is_found():
    data = log(3)[:-5]
    assert scanned(data) == [0, 1, (2 * SIZE, len(data), "truncated-batch")]


@pytest.mark.parametrize(
    ("data", "harmless"),
    [
        (log(2) + bytes(500), True),
        (log(3)[:-5], True),
        (log(2) + b"\xff" * 500, False),
        (log(1) + bytes([*log(1)[:-1], 0xFF]), False),
    ],
    ids=["zeros", "cut", "other bytes", "a wrong checksum"],
)
def test_only_zeros_and_a_batch_that_is_not_whole_may_be_the_end_of_a_log(data: bytes, harmless: bool):
    (damage,) = [piece for piece in scan_batches(data) if isinstance(piece, Damage)]
    assert damage.may_be_tail is harmless


def test_tail_of_zeros_is_found():
    data = log(2) + bytes(100_000)
    assert scanned(data) == [0, 1, (2 * SIZE, len(data), "zero-tail")]
    data += log(1, first=2)
    assert scanned(data) == [0, 1, (2 * SIZE, len(data) - SIZE, "invalid-batch-length"), 2]


def test_garbage_in_the_middle_and_at_the_start_is_found():
    noise = random.Random(1).randbytes(777)
    data = noise + log(2) + noise + log(2, first=2)
    pieces = list(scan_batches(data))
    assert [piece.base_offset for piece in pieces if isinstance(piece, BatchHeader)] == [0, 1, 2, 3]
    assert [piece.end - piece.position for piece in pieces if isinstance(piece, Damage)] == [777, 777]


def test_old_batch_inside_damage_is_not_taken_for_a_new_one():
    data = log(2, first=10) + b"?" * 5 + log(1, first=3) + log(1, first=12)
    assert [entry for entry in scanned(data) if isinstance(entry, int)] == [10, 11, 12]


def test_positions_are_those_of_the_file():
    data = bytearray(log(2))
    data[65] ^= 1
    first, second = scan_batches(bytes(data), base=5000, file="f")
    assert isinstance(first, Damage) and isinstance(second, BatchHeader)
    assert (first.position, first.end, first.error.file) == (5000, 5000 + SIZE, "f")
    assert first.error.offset == 5017
    assert second.position == 5000 + SIZE


@given(st.integers(1, 8), st.randoms(use_true_random=False))
def test_file_is_covered_by_headers_and_damage(count: int, rng: random.Random):
    data = mutated(rng, log(count))
    position = 0
    for piece in scan_batches(data):
        assert piece.position == position
        assert piece.end > position
        position = piece.end
    assert position == len(data)


def test_search_gives_up_on_a_file_made_to_cost_time(monkeypatch: pytest.MonkeyPatch):
    # Plausible headers every few bytes, each claiming a batch to the end of the file.
    fake = bytearray(encode_batch([(None, b"")], base_offset=2**40, timestamp_ms=0)[:61])
    size, data, summed = 300_000, bytearray(), []
    while len(data) < size:
        fake[8:12] = (size - len(data)).to_bytes(4, "big")
        data += fake

    def counted(content: bytes) -> int:
        summed.append(len(content))
        return crc32c(content)

    monkeypatch.setattr(record_batch, "crc32c", counted)
    (piece,) = scan_batches(bytes(data))
    assert isinstance(piece, Damage)
    assert not piece.searched_all
    assert sum(summed) < 5 * size


@pytest.mark.parametrize("byte", [0, 1, 2, 0xFF])
def test_file_of_one_byte_value_is_damage(byte: int):
    data = bytes([byte]) * 20_000
    (piece,) = scan_batches(data)
    assert isinstance(piece, Damage)
    assert (piece.position, piece.end) == (0, len(data))
