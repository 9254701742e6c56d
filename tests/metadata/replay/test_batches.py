"""The fast way says what the careful way says, of sound logs and of any other bytes."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.log_generator import LogGenerator, Shape
from bench.log_state import expected_of
from kafkactl.core.errors import DecodeError
from kafkactl.metadata.image.model import EMPTY, Image, LogRecord
from kafkactl.metadata.log.batch_runs import BatchRun, walk_runs
from kafkactl.metadata.log.frame import MetadataRecord, decode_record, encode_record
from kafkactl.metadata.replay.batches import replay_runs
from kafkactl.metadata.replay.reference import Replay, replay
from kafkactl.protocol.batch_scan import Damage
from kafkactl.protocol.control_records import decode_control_record
from kafkactl.protocol.record_batch import decode_batches, decode_records, encode_batch
from kafkactl.protocol.schema.definitions import message
from tests.metadata.goldens import BATCH_FILES, golden
from tests.metadata.random_logs import random_log
from tests.metadata.records import TOPIC, VERSION, change, partition, placed, record
from tests.sampling import one_in

SEEDS = st.integers(min_value=0, max_value=2**32)


def value_of(record: MetadataRecord) -> bytes:
    return encode_record(message(record.type), record.version, record.data)


def log_of(values: Iterable[bytes], rng: random.Random) -> bytes:
    """Batches of 1 to 20 records."""
    rest, offset, batches = list(values), 0, []
    while rest:
        count = rng.randint(1, 20)
        part, rest = rest[:count], rest[count:]
        batches.append(encode_batch([(None, item) for item in part], base_offset=offset, timestamp_ms=offset))
        offset += len(part)
    return b"".join(batches)


def carefully(data: bytes, start: Image = EMPTY, first: int = -1, end: int = 1 << 62) -> Replay:
    """By the codecs, record by record."""

    def records():
        for batch in decode_batches(data):
            for framed in decode_records(data, batch.header):
                try:
                    decoded = (
                        decode_control_record(framed.key, framed.value)
                        if batch.header.is_control
                        else decode_record(framed.value)
                    )
                except DecodeError as error:
                    decoded = error
                if first <= framed.offset < end:
                    yield LogRecord(framed.offset, batch.header.partition_leader_epoch, framed.timestamp_ms, decoded)

    return replay(records(), start)


def fast(data: bytes, start: Image = EMPTY, **window: int) -> Replay:
    return replay_runs(walk_runs([data]), start, **window)


def assert_same(replay: Replay, other: Replay) -> None:
    assert replay.image == other.image
    assert replay.counts == other.counts
    assert replay.position == other.position
    assert replay.leader == other.leader
    assert [(found.id, found.subject, found.evidence) for found in replay.findings] == [
        (found.id, found.subject, found.evidence) for found in other.findings
    ]


@pytest.mark.slow
@given(seed=SEEDS)
def test_random_logs(seed):
    rng = random.Random(seed)
    data = log_of(map(value_of, random_log(rng, 150)), rng)
    assert_same(fast(data), carefully(data))


@pytest.mark.slow
@given(seed=SEEDS, first=st.integers(0, 130), length=st.integers(0, 130))
def test_a_window_of_a_log(seed, first, length):
    rng = random.Random(seed)
    data = log_of(map(value_of, random_log(rng, 120)), rng)
    start = carefully(data, end=first).image
    window = fast(data, start, first_offset=first, end_offset=first + length)
    assert_same(window, carefully(data, start, first, first + length))


@given(seed=SEEDS, changed=st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), min_size=1, max_size=12))
def test_values_with_wrong_bytes_in_them(seed, changed):
    """The CRC is right, as if a broken controller had written them."""
    rng = random.Random(seed)
    values = [bytearray(value_of(item)) for item in random_log(rng, 60)]
    for place, byte in changed:
        value = values[place % len(values)]
        value[rng.randrange(min(len(value), 64))] = byte
    data = log_of(map(bytes, values), rng)
    assert_same(fast(data), carefully(data))


@pytest.mark.parametrize("name", BATCH_FILES)
def test_what_kafka_wrote(name):
    assert_same(fast(golden(name)), carefully(golden(name)))


@pytest.mark.parametrize("level", [7, 17, 30])
def test_records_of_older_versions(level):
    """No directories, then directories, then eligible leader replicas."""
    version = {7: 0, 17: 1, 30: 2}[level]
    names = {0: {"Directories": []}, 1: {}, 2: {"EligibleLeaderReplicas": [3]}}[version]
    records = [VERSION, TOPIC, partition(0, **names), partition(1, **names), change(0, Leader=2), change(0, Isr=[2])]
    values = [
        encode_record(message(record.type), version if record.type.startswith("Partition") else 0, record.data)
        for record in records
    ]
    data = log_of(values, random.Random(1))
    assert_same(fast(data), carefully(data))
    assert fast(data).findings == ()


@pytest.mark.slow
@pytest.mark.parametrize("elr", one_in(2, [True, False]))
def test_a_generated_log_ends_where_its_generator_says(elr):
    generator = LogGenerator(Shape(records=20_000, partitions=2_000, elr=elr))
    data = b"".join(generator.batches())
    found, expected = fast(data), generator.expected()
    assert expected_of(found.image) == expected.state
    assert {finding.id for finding in found.findings} <= {"aborted-transaction"}
    assert_same(found, carefully(data))


def test_damage_is_reported():
    data = b"".join(LogGenerator(Shape(records=2_000, partitions=200)).batches())
    at = len(data) // 2
    found = fast(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    assert "undecodable-record" in [finding.id for finding in found.findings]


def test_batches_below_the_window_are_not_even_decoded():
    data = encode_batch([(None, b"\x01\x63\x00")], base_offset=0, timestamp_ms=0)
    good = encode_batch([(None, value_of(VERSION))], base_offset=1, timestamp_ms=0)
    runs: list[BatchRun | Damage] = list(walk_runs([data + good]))
    assert replay_runs(runs, first_offset=1).findings == ()
    assert [finding.id for finding in replay_runs(runs).findings] == ["undecodable-record"]


def test_a_transaction_is_withheld_and_resumed():
    values = [value_of(item) for item in (VERSION, record("BeginTransaction"), TOPIC, partition())]
    first = fast(log_of(values, random.Random(1)))
    assert first.image == replay(placed(VERSION, record("BeginTransaction"), TOPIC, partition())).image
    end = encode_batch([(None, value_of(record("EndTransaction")))], base_offset=4, timestamp_ms=0)
    assert fast(end, first.image).image == replay(placed(VERSION, TOPIC, partition())).image
