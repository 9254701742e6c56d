"""A segment read by columns comes to what it comes to batch by batch: sound logs, odd ones, and any other bytes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.log_generator import LogGenerator, Shape
from kafkactl.metadata.io import metadata_log
from kafkactl.metadata.io.metadata_log import scan_log_folder, scan_segment_file
from kafkactl.metadata.log.scan import Contents, walk_batches
from kafkactl.metadata.replay.columns import frame as columns_frame
from kafkactl.metadata.verify.folder import MetadataLogFacts
from kafkactl.protocol.record_batch import encode_batch
from tests.dryrun import odd_logs
from tests.dryrun.odd_logs import CASES, LEVEL, change, encoded, partition, topic
from tests.metadata.goldens import BATCH_FILES, golden
from tests.metadata.image.goldens import log
from tests.metadata.random_logs import random_log
from tests.metadata.replay.reference_logs import log_of, value_of
from tests.sampling import one_in

SEEDS = st.integers(0, 1 << 32)
PLACES = st.integers(0, 1 << 30)
BASE = f"{0:020}.log"
NEVER = 1 << 60  # bytes, more than any piece has


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("log")


@pytest.fixture(scope="module", autouse=True)
def many_batches_at_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(columns_frame, "_steps", lambda counts: int(counts[1]) if len(counts) > 1 else 0)
        yield


def read(path: Path, piece: int, *, by_columns: bool = True) -> MetadataLogFacts:
    with pytest.MonkeyPatch.context() as patched:
        if not by_columns:
            patched.setattr(metadata_log, "walk_stretches", walk_batches)
        patched.setattr(metadata_log, "PIECE_BYTES", piece)
        return scan_segment_file(str(path)) if path.is_file() else scan_log_folder(str(path))


def assert_same(folder: Path, data: bytes, piece: int = 1 << 24, name: str = BASE) -> MetadataLogFacts:
    file = folder / name
    file.write_bytes(data)
    expected = read(file, 1 << 24, by_columns=False)
    found = read(file, piece)
    assert found.segments == expected.segments
    assert found == expected
    assert read(folder, piece) == read(folder, 1 << 24, by_columns=False)  # not every record decoded
    return expected


def generated(seed: int, records: int = 1_500, **shape: int) -> bytes:
    return b"".join(LogGenerator(Shape(records=records, partitions=records // 5, seed=seed, **shape)).batches())


@pytest.mark.parametrize("shape", [{}, {"is_diverse": 1, "brokers": 60}, {"replicas": 6, "brokers": 200}, {"elr": 0}])
@pytest.mark.parametrize("piece", one_in(2, [7_000, 1 << 20]))
def test_generated_logs_give_the_facts_of_the_reference(folder, shape, piece):
    facts = assert_same(folder, generated(5, 3_000, no_op_permille=25, **shape), piece)
    assert facts.contents.undecodable is None and facts.segments[0].stop is None


def test_few_records_are_read_one_by_one(folder, monkeypatch):
    data, alone = generated(5, 3_000, no_op_permille=25), []
    (folder / BASE).write_bytes(data)
    original = Contents._add_data
    monkeypatch.setattr(
        Contents, "_add_data", lambda self, record, file: (alone.append(record), original(self, record, file))[1]
    )
    facts = read(folder / BASE, 1 << 24)
    about_partitions = sum(facts.contents.kinds[key, version] for key in (3, 5, 20) for version in range(3))
    others = facts.contents.records - about_partitions
    assert others <= len(alone) <= others + 9  # the first of each kind


@pytest.mark.slow
@given(seed=SEEDS, piece=st.integers(100, 20_000))
def test_random_logs_give_the_facts_of_the_reference(folder, seed, piece):
    rng = random.Random(seed)
    assert_same(folder, log_of(map(value_of, random_log(rng, 60)), rng), piece)


@pytest.mark.slow
@given(seed=SEEDS, changed=st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), min_size=1, max_size=12))
def test_values_with_wrong_bytes_give_the_image_of_the_reference(folder, seed, changed):
    # The CRC is right, as if a broken controller had written them.
    rng = random.Random(seed)
    values = [bytearray(value_of(item)) for item in random_log(rng, 60)]
    for place, byte in changed:
        value = values[place % len(values)]
        value[rng.randrange(min(len(value), 64))] = byte
    assert_same(folder, log_of(map(bytes, values), rng))


@pytest.mark.slow
@given(
    seed=st.integers(0, 20),
    changes=st.lists(st.tuples(PLACES, st.integers(1, 255)), max_size=3),
    cut=PLACES | st.none(),
)
def test_flipped_bytes_and_logs_that_are_cut(folder, seed, changes, cut):
    data = bytearray(generated(seed, 300))
    for place, mask in changes:
        data[place % len(data)] ^= mask
    assert_same(folder, bytes(data if cut is None else data[: cut % len(data)]), piece=9_000)


@pytest.mark.slow
@given(seed=st.integers(0, 20), order=st.randoms(use_true_random=False), dropped=st.integers(0, 5))
def test_batches_that_are_missing_or_stand_elsewhere(folder, seed, order, dropped):
    batches = list(LogGenerator(Shape(records=200, partitions=40, seed=seed)).batches())
    for _ in range(dropped):
        batches.pop(order.randrange(len(batches)))
    at = order.randrange(len(batches) - 1)
    batches[at], batches[at + 1] = batches[at + 1], batches[at]
    facts = assert_same(folder, b"".join(batches), name=BASE if order.random() < 0.5 else f"{7:020}.log")
    assert facts.mixed_offsets


@pytest.mark.parametrize("case", CASES)
def test_odd_logs_give_the_facts_of_the_reference(folder, case):
    assert_same(folder, encoded(CASES[case]))


@pytest.mark.parametrize(("_what", "data"), one_in(4, [pytest.param(*item, id=item[0]) for item in odd_logs.damaged()]))
def test_damaged_logs_give_the_facts_of_the_reference(folder, _what, data):
    assert_same(folder, data)


@pytest.mark.parametrize("name", BATCH_FILES)
def test_golden_log_is_read_equally_by_columns(folder, name):
    assert_same(folder, golden(name))


@pytest.mark.parametrize("release", ["3.3.2", "3.9.2", "4.4.0"])
def test_logs_of_releases_give_the_facts_of_the_reference(folder, release):
    assert_same(folder, log(release))


@pytest.mark.parametrize("offset", [-5, 2**31, 2**62 + 7, 2**63 - 3])
def test_impossible_offsets_are_read_alike(folder, offset):
    values = [(None, value) for value in (topic(1), partition(1), change(1, Leader=2))]
    batches = [encode_batch(values, base_offset=offset, timestamp_ms=0) for _ in range(3)]
    assert_same(folder, encoded([[LEVEL]]) + b"".join(batches))
