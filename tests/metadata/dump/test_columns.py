"""Lines that are made by columns are those that are made record by record: same bytes and same problems in order."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.log_generator import LogGenerator, Shape
from kafkactl.metadata.dump import columns as dump_columns
from kafkactl.metadata.dump import words as dump_words
from kafkactl.metadata.dump.lines import LineMaker, RecordFilter
from kafkactl.metadata.replay.columns import frame as columns_frame
from kafkactl.protocol.record_batch import encode_batch
from tests.dryrun import odd_logs
from tests.dryrun.odd_logs import CASES, change, encoded, partition, topic
from tests.hypothesis_profiles import examples
from tests.metadata.dump.test_lines import values
from tests.metadata.goldens import BATCH_FILES, golden
from tests.metadata.image.goldens import log, snapshots
from tests.metadata.random_logs import random_log
from tests.metadata.replay.reference_logs import log_of, value_of
from tests.protocol.batches import batch, gzipped, record
from tests.sampling import one_in

SEEDS = st.integers(min_value=0, max_value=2**32)
NO_OP = b"\1\x14\0\0"


@pytest.fixture(scope="module", autouse=True)
def small_parts() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(dump_columns, "_ROWS_AT_ONCE", 70)
        patched.setattr(dump_columns, "_LOW_DIGITS", 2)
        patched.setattr(dump_words, "_NUMBERS", 12)  # brokers, partitions and epochs beyond are of no table
        patched.setattr(dump_words, "_MOST_WORDS", 500)  # the words are dropped again and again
        patched.setattr(columns_frame, "_steps", lambda counts: int(counts[1]) if len(counts) > 1 else 0)
        yield


def dumped(data: bytes, wanted: RecordFilter | None, *, by_columns: bool, **more: object) -> tuple[object, ...]:
    options = {"hide": True, "piece": 1 << 30, "file": "a folder/é.log", **more}
    maker = LineMaker(wanted or RecordFilter(), hide=bool(options["hide"]))
    if not by_columns:
        maker._columns = None
    size = options["piece"]
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    text = "".join(maker.lines(pieces, file=options["file"]))
    problems = [(problem.id, problem.offset, problem.path, problem.reason) for problem in maker.problems]
    return text, problems, maker.problem_count, maker.count, maker.next_offset, str(maker.tail)


def assert_same(data: bytes, wanted: RecordFilter | None = None, **more: object) -> str:
    found, expected = (dumped(data, wanted, by_columns=which, **more) for which in (True, False))
    lines = zip(str(found[0]).splitlines(), str(expected[0]).splitlines(), strict=False)
    assert next(((ours, plain) for ours, plain in lines if ours != plain), None) is None
    is_same = found == expected  # in full the difference would be megabytes
    assert is_same, (found[1:], expected[1:])
    return str(found[0])


def generated(seed: int, records: int = 2_000, **shape: int) -> bytes:
    return b"".join(LogGenerator(Shape(records=records, partitions=records // 5, seed=seed, **shape)).batches())


@settings(max_examples=examples(20))
@given(seed=SEEDS, hide=st.booleans(), piece=st.integers(2_000, 60_000))
def test_random_logs_give_the_lines_of_the_reference(seed, hide, piece):
    rng = random.Random(seed)
    assert_same(log_of(map(value_of, random_log(rng, 150)), rng), hide=hide, piece=piece)


@pytest.mark.slow
@settings(max_examples=examples(20))
@given(seed=SEEDS, hide=st.booleans())
def test_any_records_give_the_lines_of_the_reference(seed, hide):
    batches = [
        encode_batch(
            [(None, value) for value in values(seed + at, 40)],
            base_offset=40 * at + seed,
            timestamp_ms=at - 2,
            partition_leader_epoch=at,
        )
        for at in range(3)
    ]
    assert_same(b"".join(batches), hide=hide)


@settings(max_examples=examples(20))
@given(seed=SEEDS, changed=st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), min_size=1, max_size=12))
def test_values_with_wrong_bytes_give_the_lines_of_the_reference(seed, changed):
    rng = random.Random(seed)
    records = [bytearray(value_of(item)) for item in random_log(rng, 60)]
    for place, byte in changed:
        value = records[place % len(records)]
        value[rng.randrange(min(len(value), 64))] = byte
    assert_same(log_of(map(bytes, records), rng), hide=False)


@pytest.mark.slow
@settings(max_examples=examples(20))
@given(seed=st.integers(0, 20), changes=st.lists(st.tuples(SEEDS, st.integers(1, 255)), min_size=1, max_size=4))
def test_flipped_bytes_give_the_lines_of_the_reference(seed, changes):
    data = bytearray(generated(seed, 400))
    for place, mask in changes:
        data[place % len(data)] ^= mask
    assert_same(bytes(data), piece=9_000)


@settings(max_examples=examples(20))
@given(seed=st.integers(0, 20), order=st.randoms(use_true_random=False), dropped=st.integers(0, 3))
def test_batches_that_are_missing_or_stand_elsewhere(seed, order, dropped):
    batches = list(LogGenerator(Shape(records=400, partitions=80, seed=seed)).batches())
    for _ in range(dropped):
        batches.pop(order.randrange(len(batches)))
    at = order.randrange(len(batches) - 1)
    batches[at], batches[at + 1] = batches[at + 1], batches[at]
    assert_same(b"".join(batches))


@pytest.mark.parametrize("case", CASES)
def test_odd_logs_give_the_lines_of_the_reference(case):
    assert_same(encoded(CASES[case]))


@pytest.mark.parametrize(("_what", "data"), one_in(4, [pytest.param(*item, id=item[0]) for item in odd_logs.damaged()]))
def test_damaged_logs_give_the_lines_of_the_reference(_what, data):
    assert_same(data)


@pytest.mark.parametrize("name", BATCH_FILES)
def test_golden_log_is_dumped_equally_by_columns(name):
    assert_same(golden(name), hide=False)


@pytest.mark.parametrize("release", ["3.3.2", "3.9.2", "4.4.0"])
def test_logs_and_snapshots_of_releases_give_the_lines_of_the_reference(release):
    assert_same(log(release))
    for snapshot in snapshots(release):
        assert_same(snapshot.data)


SHAPES = [
    {},
    {"is_diverse": 1, "brokers": 60},
    {"elr": 0, "replicas": 1, "batch_records": 2},
    {"brokers": 150, "replicas": 127, "records": 600},
    {"first_offset": 2**62 - 500, "records": 800},
]


@pytest.mark.parametrize("shape", one_in(2, SHAPES), ids=str)
@pytest.mark.parametrize(
    "types",
    one_in(3, [None, {"TopicRecord"}, {"PartitionRecord", "NoOpRecord"}, {"PartitionChangeRecord", "LeaderChange"}]),
)
def test_generated_logs_give_the_lines_of_the_reference(shape, types):
    assert_same(generated(7, **shape), RecordFilter(types=types and frozenset(types)))


@pytest.mark.parametrize(("first", "last"), [(0, 0), (700, None), (None, 650), (333, 1_444), (5_000, None), (9, 3)])
def test_range_of_offsets_gives_the_lines_of_the_reference(first, last):
    assert_same(generated(4), RecordFilter(from_offset=first, to_offset=last), piece=20_000)


def test_unusual_batches_between_others_are_dumped():
    plain = [(None, value) for value in (topic(1), partition(1), change(1, Leader=2), NO_OP, change(1, Isr=[]))]
    body = record(None, NO_OP, delta=0, time_delta=3) + record(None, NO_OP, delta=1)
    odd = [{}, {"attributes": 1}, {"attributes": 8}, {"attributes": 16}, {"attributes": 0x4000}]
    data, offset = b"", 0
    for more in odd:
        data += encode_batch(plain, base_offset=offset, timestamp_ms=5, partition_leader_epoch=3)
        offset += len(plain)
        packed = gzipped(body) if more.get("attributes") == 1 else body
        data += batch(packed, count=2, base_offset=offset, **more)
        offset += 2
    text = assert_same(data)
    assert text.count("\n") == len(odd) * (len(plain) + 2)


@pytest.mark.slow
def test_most_of_a_usual_log_is_printed_by_columns(monkeypatch):
    plain = []
    careful = LineMaker._batch
    monkeypatch.setattr(LineMaker, "_batch", lambda self, *what: plain.append(what) or careful(self, *what))
    data = generated(3, 6_000)
    assert_same(data)
    by_both = len(plain)
    plain.clear()
    dumped(data, None, by_columns=True)
    assert by_both > 200 and len(plain) == 4  # the LeaderChange of each epoch
