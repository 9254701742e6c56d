"""The fast walk finds what the careful one finds, however the bytes arrive, and goes on behind damage."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from kafkactl.protocol.batch_scan import Damage, scan_batches
from kafkactl.protocol.log import batch_runs
from kafkactl.protocol.log.batch_runs import sound_run, walk_runs
from kafkactl.protocol.record_batch import encode_batch


def log_of(rng: random.Random, batches: int, offset: int = 0) -> bytes:
    out = []
    for _ in range(batches):
        values = [(None, rng.randbytes(rng.randrange(1, 90))) for _ in range(rng.randrange(1, 5))]
        out.append(encode_batch(values, base_offset=offset, timestamp_ms=5))
        offset += len(values)
    return b"".join(out)


def in_pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


def places(data: bytes, size: int) -> tuple[list[int], list[tuple[int, int]]]:
    """Return where the batches begin, and the damage, merged if it touches."""
    batches: list[int] = []
    damage: list[tuple[int, int]] = []
    for found in walk_runs(in_pieces(data, size)):
        if isinstance(found, Damage):
            if damage and damage[-1][1] == found.position:
                damage[-1] = damage[-1][0], found.end
            else:
                damage.append((found.position, found.end))
        else:
            batches += [found.base + position for position in found.positions]
    return batches, damage


def expected(data: bytes) -> tuple[list[int], list[tuple[int, int]]]:
    found = list(scan_batches(data))
    return (
        [found_run.position for found_run in found if not isinstance(found_run, Damage)],
        [(found_run.position, found_run.end) for found_run in found if isinstance(found_run, Damage)],
    )


@pytest.mark.parametrize("size", [1, 7, 60, 200, 1000, 10**6])
def test_sound_log_is_walked_without_findings(size: int):
    data = log_of(random.Random(1), 40)
    assert places(data, size) == expected(data)
    assert places(data, size)[1] == []


@pytest.mark.parametrize("seed", range(40))
def test_damage_in_the_middle_and_at_the_end_is_found(seed: int):
    rng = random.Random(seed)
    data = bytearray(log_of(rng, 30))
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(data))
        match rng.randrange(4):
            case 0:
                data[at] ^= 1 << rng.randrange(8)
            case 1:
                data[at : at + 40] = bytes(40)
            case 2:
                del data[at : at + rng.randrange(1, 300)]
            case _:
                del data[rng.randrange(len(data) - 200, len(data)) :]
    raw = bytes(data)
    assert places(raw, rng.choice((61, 500, 10**6))) == expected(raw)


def test_empty_log_has_no_run():
    assert places(b"", 10) == ([], [])
    assert list(walk_runs(iter(()))) == []


def test_older_batch_behind_damage_is_none():
    # What lies behind damage in a file that was used before must not be taken for the log.
    good = log_of(random.Random(2), 3, offset=50)
    raw = good + bytes(20) + log_of(random.Random(3), 2, offset=0)
    assert places(raw, 70) == places(raw, 10**6) == expected(raw)
    assert len(places(raw, 70)[0]) == 3


def test_long_damage_takes_no_memory(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(batch_runs, "_SEARCHED_BYTES", 1000)
    good = log_of(random.Random(2), 3)
    raw = good + bytes(50_000) + log_of(random.Random(3), 2, offset=100)
    found = list(walk_runs(in_pieces(raw, 600)))
    assert max(len(run.data) for run in found if not isinstance(run, Damage)) < 5000
    batches, damage = places(raw, 600)
    assert damage == [(len(good), len(good) + 50_000)]
    assert len(batches) == 5


@pytest.mark.parametrize("size", range(150, 400, 10))
def test_batch_that_begins_behind_long_damage_is_found_wherever_the_pieces_end(
    monkeypatch: pytest.MonkeyPatch, size: int
):
    monkeypatch.setattr(batch_runs, "_SEARCHED_BYTES", 1000)
    good = log_of(random.Random(2), 3)
    raw = good + bytes(3_000) + log_of(random.Random(3), 3, offset=100)
    batches, damage = places(raw, size)
    assert (len(batches), damage) == (6, [(len(good), len(good) + 3_000)])


def test_whole_and_sound_batches_are_taken_without_the_careful_search():
    data = log_of(random.Random(4), 5)
    run, end = sound_run(data, 100)
    assert (run.positions, run.base, end) == (expected(data)[0], 100, len(data))
    cut, end = sound_run(data[:-1], 0)
    assert (cut.positions, end) == (expected(data)[0][:-1], expected(data)[0][-1])
