"""Batches of more records than their offset deltas have two bytes for, as snapshots have them."""

from __future__ import annotations

import random
import struct
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkactl.metadata.replay.columns import frame
from kafkactl.metadata.replay.columns.bytes import Window
from kafkactl.metadata.replay.log_replay import LogReplay
from kafkactl.protocol.crc32c import crc32c
from kafkactl.protocol.plain_records import plain_spans
from kafkactl.protocol.record_batch import HEADER_BYTES, encode_batch
from tests.dryrun.odd_logs import LEVEL, change, encoded, partition, topic
from tests.hypothesis_profiles import examples
from tests.metadata.random_logs import random_log
from tests.metadata.replay.reference_logs import log_of, value_of
from tests.metadata.replay.test_log_replay import assert_same, replayed

NO_OP = bytes([1, 20, 0, 0])
THREE_BYTES = 8192  # offset deltas from this on take three bytes
_CRC_AT, _CRC_FROM = 17, 21


def large(tail: list[bytes], first: int = THREE_BYTES) -> bytes:
    """Return a batch whose record `first` is the first of the tail."""
    head = [LEVEL, topic(1), *(partition(1, number) for number in range(5))]
    return in_one_batch([*head, *[NO_OP] * (first - len(head)), *tail])


def in_one_batch(values: list[bytes]) -> bytes:
    return encode_batch([(None, value) for value in values], base_offset=0, timestamp_ms=7, partition_leader_epoch=1)


def with_bytes(data: bytes, changed: list[tuple[int, int]]) -> bytes:
    """Return bytes in the place of others behind the header, under a CRC that is right."""
    found = bytearray(data)
    for place, byte in changed:
        found[HEADER_BYTES + place % (len(data) - HEADER_BYTES)] = byte
    struct.pack_into(">I", found, _CRC_AT, crc32c(bytes(found[_CRC_FROM:])))
    return bytes(found)


def tail(seed: int, count: int) -> list[bytes]:
    rng = random.Random(seed)
    kinds = (lambda: NO_OP, lambda: partition(1, 5 + rng.randrange(900)), lambda: change(1, rng.randrange(5), Leader=2))
    return [rng.choice(kinds)() for _ in range(count)]


@cache
def sound(seed: int) -> bytes:
    return large(tail(seed, 120))


@pytest.mark.parametrize("count", [1, 2, 3, 500, pytest.param(20_000, marks=pytest.mark.many)])
@pytest.mark.parametrize("first", [THREE_BYTES - 1, THREE_BYTES])
def test_records_are_found_where_a_walk_finds_them(count: int, first: int) -> None:
    data = large(tail(count, count), first)
    records = first + count
    _, starts, ends = zip(*plain_spans(data, HEADER_BYTES, len(data), records), strict=True)
    window = Window()
    window.show(data)
    found, bad = frame.records(window, frame.heads(window, [0]))
    assert (found.start.tolist(), found.end.tolist(), bad.tolist()) == (list(starts), list(ends), [False])
    assert_same(data)


@pytest.mark.slow
@settings(max_examples=examples(15))
@given(
    seed=st.integers(0, 9),
    changed=st.lists(st.tuples(st.integers(-4_000, -1), st.integers(0, 255)), max_size=4),
)
def test_wrong_bytes_in_a_large_batch_give_the_image_of_the_reference(
    seed: int, changed: list[tuple[int, int]]
) -> None:
    assert_same(with_bytes(sound(seed), changed))


@pytest.mark.parametrize(
    "value",
    [
        b"".join(struct.pack("<H6B", 0, 0x80 | (number & 0x7F), 0xC0, 0x01, 1, 8, 0) for number in range(200)),
        bytes([0, 0, 0x82, 0x80, 0x01, 1, 8, *NO_OP, 0]) * 20,
    ],
)
def test_values_that_look_like_records_are_replayed_as_by_the_reference(value: bytes) -> None:
    # Heads within a value, also of records that are there: the walk decides.
    data = large([change(1, 0, Leader=2), value, *tail(1, 50), value])
    assert_same(data)


def test_record_within_a_value_does_not_stand_in_for_one_that_is_not_recognised() -> None:
    # The first record behind the two bytes has attributes, which Kafka ignores; the next value holds its double.
    leader = change(1, 0, Leader=4)
    double = bytes([2 * (len(leader) + 8), 0, 0, 0x80, 0x80, 0x01, 1, 2 * len(leader), *leader, 0])
    data = large([NO_OP, double, NO_OP])
    at = data.index(bytes([0, 0, 0x80, 0x80, 0x01, 1]))
    assert (data[at - 1], data.count(double)) == (2 * (len(NO_OP) + 8), 1)
    found = assert_same(with_bytes(data, [(at - HEADER_BYTES, 1)]))
    assert "PartitionChangeRecord" not in found.counts


@pytest.mark.slow
def test_length_over_the_end_is_replayed_as_by_the_reference() -> None:
    data = large(tail(2, 30))
    for cut in (1, 2, 7):
        assert_same(with_bytes(data, [(-cut, 0xFF), (-cut - 1, 0xFF)]))


def test_rest_of_the_first_batch_of_a_snapshot_goes_by_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    data = in_one_batch([LEVEL, topic(1), *(partition(1, number) for number in range(9)), change(1, 3, Leader=2)])
    taken: list[int] = []
    original = LogReplay._commit
    monkeypatch.setattr(
        LogReplay,
        "_commit",
        lambda self, window, stretch, *rest: (taken.append(stretch.partitions), original(self, window, stretch, *rest)),
    )
    assert replayed(data).image.topics
    assert taken == [9]
    assert_same(data)


@settings(max_examples=examples(30))
@given(seed=st.integers(0, 2**32), batches=st.integers(1, 5), level=st.integers(0, 40))
def test_level_is_applied_wherever_it_is_in_few_batches(seed: int, batches: int, level: int) -> None:
    rng = random.Random(seed)
    values = [value_of(item) for item in random_log(rng, 60)]
    values.insert(level, LEVEL)
    size = -(-len(values) // batches)
    groups = [values[at : at + size] for at in range(0, len(values), size)]
    assert_same(encoded(groups))
    assert_same(log_of(values, rng))
