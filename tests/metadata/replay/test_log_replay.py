"""A replay of batches ends where the reference ends: sound logs, odd ones and any other bytes."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.log_generator import LogGenerator, Shape
from bench.log_state import expected_of
from kafkactl.metadata.image.digest import image_sha256
from kafkactl.metadata.image.model import EMPTY, Image
from kafkactl.metadata.replay import log_replay
from kafkactl.metadata.replay.columns import frame as columns_frame
from kafkactl.metadata.replay.columns import lists as columns_lists
from kafkactl.metadata.replay.columns import table as columns_table
from kafkactl.metadata.replay.columns.bytes import Window
from kafkactl.metadata.replay.log_replay import LogReplay, replay_runs
from kafkactl.metadata.replay.reference import Replay, replay
from kafkactl.protocol.log.batch_runs import walk_runs
from kafkactl.protocol.log.frame import MetadataRecord, encode_record
from kafkactl.protocol.record_batch import encode_batch
from kafkactl.protocol.schema.definitions import message
from tests.dryrun import odd_logs
from tests.dryrun.odd_logs import CASES, LEVEL, change, encoded, partition, topic
from tests.metadata import records
from tests.metadata.goldens import BATCH_FILES, golden
from tests.metadata.image.goldens import log, snapshots
from tests.metadata.random_logs import random_log
from tests.metadata.records import TOPIC, VERSION, placed, record
from tests.metadata.replay.reference_logs import by_the_record, carefully, generated, in_pieces, log_of, value_of
from tests.protocol import batches as raw_batches
from tests.sampling import one_in

SEEDS = st.integers(min_value=0, max_value=2**32)
PLACES = st.integers(min_value=0, max_value=1 << 30)


@pytest.fixture(scope="module", autouse=True)
def short_stretches() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(log_replay, "_MOST_RECORDS", 300)  # stretches end within pieces, batches and transactions
        patched.setattr(columns_frame, "_steps", lambda counts: int(counts[1]) if len(counts) > 1 else 0)
        patched.setattr(columns_table, "_FLUSHED_AT_ONCE", 7)
        patched.setattr(columns_table, "_LEAST_WORDS", 1)  # replaced lists are left behind again and again
        patched.setattr(columns_lists, "_RECENT_BITS", 2)  # most lists have the hash of another one
        patched.setattr(columns_lists, "_FIRST_ROOM", columns_lists._PINNED + 50)
        yield


def replayed(data: bytes, start: Image = EMPTY, *, piece: int = 1 << 30, **options: object) -> Replay:
    return replay_runs(walk_runs(in_pieces(data, piece)), start, **options)


def assert_same(data: bytes, start: Image = EMPTY, *, piece: int = 1 << 30, **options: object) -> Replay:
    return same(data, start, piece=piece, **options)[0]


def same(data: bytes, start: Image = EMPTY, *, piece: int = 1 << 30, **options: object) -> tuple[Replay, Replay]:
    """Return the replay and that of the reference, which are equal."""
    found, expected = replayed(data, start, piece=piece, **options), by_the_record([data], start, **options)
    assert found.image == expected.image
    assert found == expected
    return found, expected


def assert_careful(found: Replay, expected: Replay) -> None:
    """Compare with the reference alone, which knows of no batches."""
    assert found.image == expected.image
    assert found.counts == expected.counts
    assert found.position == expected.position
    assert found.leader == expected.leader
    assert [(item.id, item.subject, item.evidence) for item in found.findings] == [
        (item.id, item.subject, item.evidence) for item in expected.findings
    ]


@pytest.mark.slow
@given(seed=SEEDS, piece=st.integers(200, 20_000))
def test_random_logs_give_the_image_of_the_reference(seed, piece):
    rng = random.Random(seed)
    data = log_of(map(value_of, random_log(rng, 150)), rng)
    assert_careful(assert_same(data, piece=piece), carefully(data))


@pytest.mark.slow
@given(seed=SEEDS, first=st.integers(0, 130), length=st.integers(0, 130))
def test_window_of_a_log_is_replayed_as_by_the_reference(seed, first, length):
    rng = random.Random(seed)
    data = log_of(map(value_of, random_log(rng, 120)), rng)
    start = carefully(data, end=first).image
    found = assert_same(data, start, first_offset=first, end_offset=first + length)
    assert_careful(found, carefully(data, start, first, first + length))


@pytest.mark.slow
@given(seed=SEEDS, kept=st.integers(1, 5), piece=st.integers(300, 20_000))
def test_aborts_that_end_a_transaction_all_the_same(seed, kept, piece):
    shape = Shape(records=400, partitions=80, seed=seed, transaction_percent=90)
    data = b"".join(LogGenerator(shape).batches())
    aborts = range(0, 1_000, kept)  # an abort at one of these offsets is kept
    assert_same(data, piece=piece, kept_aborts=frozenset(aborts))


@pytest.mark.slow
@given(seed=SEEDS, changed=st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), min_size=1, max_size=12))
def test_values_with_wrong_bytes_give_the_image_of_the_reference(seed, changed):
    # The CRC is right, as if a broken controller had written them.
    rng = random.Random(seed)
    values = [bytearray(value_of(item)) for item in random_log(rng, 60)]
    for place, byte in changed:
        value = values[place % len(values)]
        value[rng.randrange(min(len(value), 64))] = byte
    data = log_of(map(bytes, values), rng)
    assert_careful(assert_same(data), carefully(data))


@pytest.mark.slow
@given(seed=st.integers(0, 50), changes=st.lists(st.tuples(PLACES, st.integers(1, 255)), min_size=1, max_size=4))
def test_flipped_bytes_give_the_image_of_the_reference(seed, changes):
    data = bytearray(generated(seed, 800))
    for place, mask in changes:
        data[place % len(data)] ^= mask
    assert_same(bytes(data), piece=9_000)


@pytest.mark.slow
@given(seed=st.integers(0, 50), order=st.randoms(use_true_random=False), dropped=st.integers(0, 5))
def test_batches_that_are_missing_or_stand_elsewhere(seed, order, dropped):
    batches = list(LogGenerator(Shape(records=800, partitions=150, seed=seed)).batches())
    for _ in range(dropped):
        batches.pop(order.randrange(len(batches)))
    if order.random() < 0.5:
        at = order.randrange(len(batches) - 1)
        batches[at], batches[at + 1] = batches[at + 1], batches[at]
    assert_same(b"".join(batches), first_offset=order.choice([0, 7, 200]))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("piece", [1, 1 << 20])
def test_odd_logs_give_the_image_of_the_reference(case, piece):
    assert_same(encoded(CASES[case]), piece=piece)


@pytest.mark.parametrize(("_what", "data"), one_in(4, [pytest.param(*item, id=item[0]) for item in odd_logs.damaged()]))
def test_damaged_logs_give_the_image_of_the_reference(_what, data):
    assert_same(data)


@pytest.mark.parametrize("name", BATCH_FILES)
def test_golden_log_is_replayed_equally_by_columns(name):
    assert_careful(assert_same(golden(name)), carefully(golden(name)))


@pytest.mark.parametrize("release", ["3.3.2", "3.9.2", "4.4.0"])
def test_logs_and_snapshots_of_releases_give_the_image_of_the_reference(release):
    assert_same(log(release))
    for snapshot in snapshots(release):
        start = assert_same(snapshot.data, snapshot=True).image
        assert_same(log(release), start, first_offset=snapshot.end_offset)


MANY_REPLICAS = [
    {"records": 3_000, "partitions": 300, "brokers": 150, "replicas": replicas} for replicas in (8, 33, 126, 127, 140)
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape",
    [
        *({}, {"elr": 0}, {"replicas": 1}, {"partitions_of_topic": 300}, {"batch_records": 2}),
        {"is_diverse": 1, "brokers": 60},
        *MANY_REPLICAS,
    ],
)
def test_generated_log_ends_where_its_generator_says(shape):
    generator = LogGenerator(Shape(**{"records": 20_000, "partitions": 2_000, **shape}))
    data = b"".join(generator.batches())
    found, reference = same(data, piece=300_000)
    assert expected_of(found.image) == generator.expected().state
    assert image_sha256(found.image) == image_sha256(reference.image)
    assert {finding.id for finding in found.findings} <= {"aborted-transaction"}


@pytest.mark.parametrize("level", [7, 17, 30])
def test_records_of_older_versions_give_the_image_of_the_reference(level):
    # No directories, then directories, then eligible leader replicas.
    version = {7: 0, 17: 1, 30: 2}[level]
    names = {0: {"Directories": []}, 1: {}, 2: {"EligibleLeaderReplicas": [3]}}[version]
    held = [
        *(VERSION, TOPIC, records.partition(0, **names), records.partition(1, **names)),
        *(records.change(0, Leader=2), records.change(0, Isr=[2])),
    ]
    values = [
        encode_record(message(item.type), version if item.type.startswith("Partition") else 0, item.data)
        for item in held
    ]
    data = log_of(values, random.Random(1))
    found = assert_same(data)
    assert_careful(found, carefully(data))
    assert found.findings == ()


def test_damage_is_reported():
    data = generated(1, 2_000)
    at = len(data) // 2
    found = assert_same(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    assert "undecodable-record" in [finding.id for finding in found.findings]


def test_batches_below_the_window_are_not_decoded():
    data = encode_batch([(None, b"\x01\x63\x00")], base_offset=0, timestamp_ms=0)
    good = encode_batch([(None, value_of(VERSION))], base_offset=1, timestamp_ms=0)
    runs = list(walk_runs([data + good]))
    assert replay_runs(runs, first_offset=1).findings == ()
    assert [finding.id for finding in replay_runs(runs).findings] == ["undecodable-record"]


def test_transaction_is_withheld_and_resumed():
    values = [value_of(item) for item in (VERSION, record("BeginTransaction"), TOPIC, records.partition())]
    first = replayed(log_of(values, random.Random(1)))
    assert first.image == replay(placed(VERSION, record("BeginTransaction"), TOPIC, records.partition())).image
    end = encode_batch([(None, value_of(record("EndTransaction")))], base_offset=4, timestamp_ms=0)
    assert replayed(end, first.image).image == replay(placed(VERSION, TOPIC, records.partition())).image


def passes(monkeypatch: pytest.MonkeyPatch, data: bytes, **options: object) -> tuple[int, int]:
    """Return how many partition records the reference took, and how often columns were put back before the end."""
    taken, settled = [], []
    take, settle = log_replay.Replaying.take, LogReplay._settle

    def taking(self, offset, epoch, timestamp_ms, record):
        if isinstance(record, MetadataRecord) and record.type.startswith("Partition"):
            taken.append(offset)
        take(self, offset, epoch, timestamp_ms, record)

    def settling(self):
        settled.append(self._columns is not None)
        settle(self)

    with monkeypatch.context() as patched:
        patched.setattr(log_replay.Replaying, "take", taking)
        patched.setattr(LogReplay, "_settle", settling)
        replayed(data, **options)
    return len(taken), sum(settled)


@pytest.mark.slow
def test_usual_log_is_taken_by_columns(monkeypatch):
    assert passes(monkeypatch, generated(3, 20_000)) == (0, 0)


@pytest.mark.parametrize(
    "case",
    [
        *(
            CASES[name]
            for name in ("eligible leaders cleared", "a name that comes back", "ended", "a partition made twice")
        ),
        [[topic(1), partition(1)], [change(1, Directories=odd_logs.DIRECTORIES), change(1, Leader=2)]],
        [[topic(1), partition(1, version=0)], [change(1, Leader=2), change(1, Replicas=[1, 2])]],
    ],
)
def test_transactions_in_order_are_replayed_by_columns(case, monkeypatch):
    data = encoded([[LEVEL], *case])
    assert_same(data)
    assert passes(monkeypatch, data) == (0, 0)


@pytest.mark.parametrize("last", [odd_logs.END, odd_logs.ABORT])
@pytest.mark.parametrize("kept", [frozenset(), frozenset(range(20))])
def test_transaction_that_ends_in_another_piece_stays_columns(last, kept, monkeypatch):
    # The records before it in its batch, those that it withheld, and those behind its end in the same batch.
    batches = [
        [LEVEL, topic(1), partition(1)],
        [change(1, Leader=2), odd_logs.BEGIN, topic(2), partition(2), change(1, Isr=[2])],
        [change(2, Leader=3), odd_logs.NO_OP],
        [change(2, Isr=[3]), last, change(1, Isr=[1, 2])],
    ]
    data = encoded(batches)
    for piece in (len(data), 400, 200, 1):
        found = assert_same(data, piece=piece, kept_aborts=kept)
        assert [topic.name for topic in found.image.topics.values()] == (
            ["t1", "t2"] if last == odd_logs.END or kept else ["t1"]
        )
        assert passes(monkeypatch, data, piece=piece, kept_aborts=kept) == (0, 0)


def test_transaction_that_ends_in_another_piece_and_is_odd_is_replayed_by_the_reference(monkeypatch):
    # It changes a partition that is not there.
    data = encoded([[LEVEL, topic(1), partition(1), odd_logs.BEGIN, change(1, 7, Leader=2)], [odd_logs.END]])
    assert assert_same(data, piece=200).findings
    assert passes(monkeypatch, data, piece=200)[1] == 1


def test_log_that_is_odd_throughout_is_not_read_twice_throughout(monkeypatch):
    # Every batch changes a partition that is not there; stretches are cut by missing batches.
    batches = [
        encode_batch([(None, change(9, at))], base_offset=3 * at + 50, timestamp_ms=0, partition_leader_epoch=1)
        for at in range(300)
    ]
    first = encoded([[LEVEL, topic(1), partition(1)]])
    read = []
    original = LogReplay._read
    monkeypatch.setattr(LogReplay, "_read", lambda self, *what: (read.append(self._skipped), original(self, *what))[1])
    replayed(first + b"".join(batches))
    assert len(read) == 301
    assert sum(left == 0 for left in read) < 20


def test_image_in_the_middle_is_not_changed_by_what_follows():
    data, replaying = generated(2, 6_000), LogReplay()
    runs = list(walk_runs(in_pieces(data, len(data) // 2 + 1)))
    replaying.take_run(runs[0].data, runs[0].positions, runs[0].base)
    middle = replaying.image()
    before = image_sha256(middle)
    replaying.take_run(runs[1].data, runs[1].positions, runs[1].base)
    assert replaying.image() == by_the_record([data]).image
    assert image_sha256(middle) == before


@pytest.mark.parametrize("count", [2**31 - 1, 100_000])
def test_batch_that_claims_records_it_has_no_room_for(count: int):
    good = encoded([[LEVEL, topic(1)]])
    claims = [
        raw_batches.batch(raw_batches.record(None, LEVEL), count=count, base_offset=2 + at * count, epoch=9)
        for at in range(3)
    ]
    data, window = b"".join([good, *claims]), Window()
    window.show(data)
    taken = columns_frame.heads(window, [0, *(len(good) + at * len(claims[0]) for at in range(3))])
    assert taken.is_usual.tolist() == [True, False, False, False]  # rows are made for the usual ones
    assert {finding.id for finding in assert_same(data).findings} == {"undecodable-record"}
