"""Saved observations of tiered storage: what is written is read back, and a long listing is in memory once."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

from kafkactl.tiered.bucket import StoredObject
from kafkactl.tiered.io.listing import read_listing
from kafkactl.tiered.io.observation import BUCKET, write_observation

MOST_BYTES = 2_000_000
TIME_MS = 1_700_000_000_000


def test_long_listing_is_packed_without_a_copy_of_its_text(tmp_path: Path) -> None:
    objects = tuple(
        StoredObject(f"tiered/topic-{number % 9}/{number:060d}.log", number, TIME_MS + number)
        for number in range(50_000)
    )
    tracemalloc.start()
    try:
        write_observation(str(tmp_path / "seen"), {}, (), objects)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MOST_BYTES
    assert read_listing(str(tmp_path / "seen" / BUCKET)).objects == objects
