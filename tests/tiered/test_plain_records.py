"""Plain records read fast are what the careful reader makes of them, and whatever is not plain is left to it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.tiered_generator import batch_of
from kafkactl.tiered.plain_records import PlainRecords
from kafkactl.tiered.reading import Unread, read_fast, read_records
from tests.hypothesis_profiles import examples
from tests.protocol.batches import with_crc
from tests.tiered.logs import BEGIN_MS, DELETED, DELETING, FINISHED, STARTED, LogOf, Topic

TOPICS = (Topic("orders", 1), Topic("a", 2), Topic("x" * 130, 3), Topic("Ünïcode-" * 6, 4))
NAMES = st.sampled_from(("a", "b", "c"))
OFFSETS = st.integers(min_value=-2, max_value=2**63 - 1)


@st.composite
def values(draw: Any) -> bytes | None:
    """Return values as brokers write them, and some that they do not."""
    topic, partition, name = draw(st.sampled_from(TOPICS)), draw(st.integers(0, 2)), draw(NAMES)
    state = draw(st.sampled_from((STARTED, FINISHED, DELETING, DELETED)))
    kind = draw(st.sampled_from("bbuuudn"))
    if kind == "n":
        return draw(st.sampled_from((None, b"", b"\1", b"\1\0\0", b"\1\1\0\x07orders")))
    if kind == "d":
        return topic.partition_delete(partition)
    if kind == "u":
        custom = draw(st.none() | st.binary(max_size=200))
        return topic.update(partition, name, state, custom=custom, at=draw(st.integers(0, 99)))
    epochs = draw(st.dictionaries(st.integers(0, 2**31 - 1), OFFSETS, max_size=3))
    start, end = draw(OFFSETS), draw(OFFSETS)
    return topic.started(partition, name, start, end, epochs=epochs or None, state=draw(st.sampled_from((0, 0, state))))


def _flat(found: object) -> list[tuple[Any, ...]]:
    if isinstance(found, PlainRecords):
        assert found.end_offset == found.first_offset + len(found.records)
        return [("record", at, record) for at, record in enumerate(found.records, found.first_offset)]
    if isinstance(found, Unread):
        return [("unread", found.file, found.position, found.first_offset, found.error.id, found.is_tail)]
    error, record = getattr(found, "error", None), getattr(found, "record", None)
    if record is not None:
        return [("record", found.offset, record)]  # type: ignore[attr-defined]
    return [(type(found).__name__, found[0], found[-1], None if error is None else (error.id, error.message))]  # type: ignore[index]


def _same(data: bytes) -> int:
    """Compare both readers; how many records were read fast."""
    careful = [each for found in read_records([data], file="m0") for each in _flat(found)]
    fast = list(read_fast([data], file="m0"))
    assert [each for found in fast for each in _flat(found)] == careful
    return sum(len(found.records) for found in fast if isinstance(found, PlainRecords))


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(st.lists(st.lists(values(), min_size=1, max_size=2), min_size=1, max_size=12))
def test_both_readers_give_the_same(batches: list[list[bytes | None]]) -> None:
    log = LogOf(0)
    for batch in batches:
        log.batch(batch)
    _same(log.data)


@settings(max_examples=examples(60))
@given(
    st.lists(values().filter(lambda value: value is not None), min_size=2, max_size=4),
    st.integers(21, 400),
    st.integers(0, 255),
)
def test_byte_that_is_wrong_is_left_to_the_careful_reader(values: list[bytes], at: int, byte: int) -> None:
    # The CRC is right: what is wrong is what the program wrote that made the record.
    data = b""
    for offset, value in enumerate([values[0], *values]):
        batch = bytearray(batch_of(value, offset, BEGIN_MS, offset))
        if offset > 1 and at < len(batch):
            batch[at] = byte
        data += with_crc(bytes(batch))
    _same(data)


def test_records_of_brokers_are_read_fast() -> None:
    topic, data = TOPICS[0], b""
    values = [topic.started(0, "a", 0, 9), *topic.copied(0, "b", 10, 19, epochs={3: 10, 4: 15}), *topic.deleted(0, "b")]
    values.append(topic.update(0, "a", FINISHED, custom=b"x" * 50))
    for offset, value in enumerate(values):
        data += batch_of(value, offset, BEGIN_MS + offset, offset)
    assert _same(data) == len(values) - 1  # the first of a partition shows what it is called
    (_, plain) = read_fast([data], file="m0")
    assert isinstance(plain, PlainRecords)
    assert plain.newest_ms == BEGIN_MS + 5


def test_gap_between_offsets_ends_what_is_read_together() -> None:
    values = [TOPICS[0].update(0, "a", FINISHED)] * 6
    data = b"".join(batch_of(value, at, BEGIN_MS, at) for value, at in zip(values, (0, 1, 2, 5, 6, 7), strict=True))
    found = list(read_fast([data], file="m0"))
    assert [(each.first_offset, each.end_offset) for each in found if isinstance(each, PlainRecords)] == [
        (1, 3),
        (6, 8),
    ]
    _same(data)
