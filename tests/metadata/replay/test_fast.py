"""The replay by columns says what the plain one says, of sound logs, odd ones and any other bytes."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.log_generator import LogGenerator, Shape
from bench.log_state import expected_of
from kafkactl.metadata.image.digest import image_sha256
from kafkactl.metadata.image.model import EMPTY, Image
from kafkactl.metadata.log.batch_runs import walk_runs
from kafkactl.metadata.replay import fast as replay_fast
from kafkactl.metadata.replay.batches import BatchReplaying, replay_runs, replay_with
from kafkactl.metadata.replay.columns import frame as columns_frame
from kafkactl.metadata.replay.columns import lists as columns_lists
from kafkactl.metadata.replay.columns import table as columns_table
from kafkactl.metadata.replay.columns.bytes import BEYOND, IdNumbers, Window
from kafkactl.metadata.replay.columns.lists import DIRECTORIES, IDS, Lists, Tuples
from kafkactl.metadata.replay.fast import FastReplaying
from kafkactl.metadata.replay.reference import Replay
from kafkactl.protocol.control_records import ControlType, encode_control_record
from kafkactl.protocol.record_batch import encode_batch
from tests.dryrun import odd_logs
from tests.dryrun.odd_logs import CASES, LEVEL, change, encoded, partition, topic
from tests.metadata.goldens import BATCH_FILES, golden
from tests.metadata.image.goldens import log, snapshots
from tests.metadata.random_logs import random_log
from tests.metadata.replay.test_batches import log_of, value_of
from tests.protocol.batches import batch, record
from tests.sampling import one_in

SEEDS = st.integers(min_value=0, max_value=2**32)
PLACES = st.integers(min_value=0, max_value=1 << 30)


@pytest.fixture(scope="module", autouse=True)
def by_columns_at_any_size() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(replay_fast, "_FEW_RECORDS", 0)
        patched.setattr(replay_fast, "_MOST_RECORDS", 300)  # stretches end within pieces, and within transactions
        patched.setattr(replay_fast, "_MANY", 1 << 30)
        patched.setattr(columns_frame, "_steps", lambda counts: int(counts[1]) if len(counts) > 1 else 0)
        patched.setattr(columns_table, "_FLUSHED_AT_ONCE", 7)
        patched.setattr(columns_table, "_LEAST_WORDS", 1)  # replaced lists are left behind again and again
        patched.setattr(columns_lists, "_RECENT_BITS", 2)  # most lists have the hash of another one
        patched.setattr(columns_lists, "_FIRST_ROOM", columns_lists._PINNED + 50)
        yield


def in_pieces(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def plainly(data: bytes, start: Image = EMPTY, **options: object) -> Replay:
    return replay_runs(walk_runs([data]), start, **options)


def fast(data: bytes, start: Image = EMPTY, *, piece: int = 1 << 30, **options: object) -> Replay:
    return replay_fast.replay_fast(walk_runs(in_pieces(data, piece)), start, worth_bytes=0, **options)


def assert_same(data: bytes, start: Image = EMPTY, *, piece: int = 1 << 30, **options: object) -> Replay:
    found, expected = fast(data, start, piece=piece, **options), plainly(data, start, **options)
    assert found.image == expected.image
    assert found == expected
    return found


def generated(seed: int, records: int = 3_000, **shape: int) -> bytes:
    return b"".join(LogGenerator(Shape(records=records, partitions=records // 5, seed=seed, **shape)).batches())


@pytest.mark.slow
@given(seed=SEEDS, piece=st.integers(200, 20_000))
def test_random_logs(seed, piece):
    rng = random.Random(seed)
    assert_same(log_of(map(value_of, random_log(rng, 150)), rng), piece=piece)


@pytest.mark.slow
@given(seed=SEEDS, first=st.integers(0, 130), length=st.integers(0, 130))
def test_a_window_of_a_log(seed, first, length):
    rng = random.Random(seed)
    data = log_of(map(value_of, random_log(rng, 120)), rng)
    start = plainly(data, end_offset=first).image
    assert_same(data, start, first_offset=first, end_offset=first + length)


@pytest.mark.slow
@given(seed=SEEDS, kept=st.integers(1, 5), piece=st.integers(300, 20_000))
def test_aborts_that_end_a_transaction_all_the_same(seed, kept, piece):
    shape = Shape(records=400, partitions=80, seed=seed, transaction_percent=90)
    data = b"".join(LogGenerator(shape).batches())
    aborts = range(0, 1_000, kept)  # an abort at one of these offsets is kept
    ways = (BatchReplaying(kept_aborts=set(aborts)), FastReplaying(kept_aborts=set(aborts), worth_bytes=0))
    expected, found = (replay_with(way, walk_runs(in_pieces(data, piece))) for way in ways)
    assert found == expected


@pytest.mark.slow
@given(seed=SEEDS, changed=st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), min_size=1, max_size=12))
def test_values_with_wrong_bytes_in_them(seed, changed):
    """The CRC is right, as if a broken controller had written them."""
    rng = random.Random(seed)
    values = [bytearray(value_of(item)) for item in random_log(rng, 60)]
    for place, byte in changed:
        value = values[place % len(values)]
        value[rng.randrange(min(len(value), 64))] = byte
    assert_same(log_of(map(bytes, values), rng))


@pytest.mark.slow
@given(seed=st.integers(0, 50), changes=st.lists(st.tuples(PLACES, st.integers(1, 255)), min_size=1, max_size=4))
def test_flipped_bytes(seed, changes):
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
def test_odd_logs(case, piece):
    assert_same(encoded(CASES[case]), piece=piece)


@pytest.mark.parametrize(("_what", "data"), one_in(4, [pytest.param(*item, id=item[0]) for item in odd_logs.damaged()]))
def test_damaged_logs(_what, data):
    assert_same(data)


@pytest.mark.parametrize("name", BATCH_FILES)
def test_what_kafka_wrote(name):
    assert_same(golden(name))


@pytest.mark.parametrize("release", ["3.3.2", "3.9.2", "4.4.0"])
def test_logs_and_snapshots_of_releases(release):
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
def test_a_generated_log_ends_where_its_generator_says(shape):
    generator = LogGenerator(Shape(**{"records": 20_000, "partitions": 2_000, **shape}))
    data = b"".join(generator.batches())
    found, expected = assert_same(data, piece=300_000), generator.expected()
    assert expected_of(found.image) == expected.state
    assert image_sha256(found.image) == image_sha256(plainly(data).image)


# --- what is taken by columns, and what is not ----------------------------------------------------------------------


def passes(monkeypatch: pytest.MonkeyPatch, data: bytes, **options: object) -> tuple[int, int]:
    """How many batches the plain way took in, and how often columns were put back before the end."""
    taken, settled = [], []
    plain, settle = BatchReplaying.take_run, FastReplaying._settle

    def take_run(self, data, positions, base=0):
        taken.extend(positions)
        plain(self, data, positions, base)

    def settling(self):
        settled.append(self._columns is not None)
        settle(self)

    monkeypatch.setattr(BatchReplaying, "take_run", take_run)
    monkeypatch.setattr(FastReplaying, "_settle", settling)
    fast(data, **options)
    return len(taken), sum(settled)


@pytest.mark.slow
def test_a_usual_log_is_taken_by_columns(monkeypatch):
    """All but the LeaderChange of each epoch."""
    data = generated(3, 20_000)
    assert passes(monkeypatch, data) == (4, 0)


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
def test_what_takes_effect_in_order_needs_no_plain_way(case, monkeypatch):
    data = encoded([[LEVEL], *case])
    assert_same(data)
    assert passes(monkeypatch, data) == (0, 0)


@pytest.mark.parametrize("last", [odd_logs.END, odd_logs.ABORT])
@pytest.mark.parametrize("kept", [frozenset(), frozenset(range(20))])
def test_a_transaction_that_ends_in_another_piece_needs_no_plain_way(last, kept, monkeypatch):
    """The records before it in its batch, those that it withheld, and those behind its end in the same batch."""
    batches = [
        [LEVEL, topic(1), partition(1)],
        [change(1, Leader=2), odd_logs.BEGIN, topic(2), partition(2), change(1, Isr=[2])],
        [change(2, Leader=3), odd_logs.NO_OP],
        [change(2, Isr=[3]), last, change(1, Isr=[1, 2])],
    ]
    data = encoded(batches)
    for piece in (len(data), 400, 200, 1):
        found = fast(data, piece=piece, kept_aborts=kept)
        expected = replay_with(BatchReplaying(kept_aborts=kept), walk_runs([data]))
        assert found == expected
        assert [topic.name for topic in found.image.topics.values()] == (
            ["t1", "t2"] if last == odd_logs.END or kept else ["t1"]
        )
        assert passes(monkeypatch, data, piece=piece, kept_aborts=kept) == (0, 0)


def test_a_transaction_that_ends_in_another_piece_and_is_odd_goes_the_plain_way(monkeypatch):
    """It changes a partition that is not there."""
    data = encoded([[LEVEL, topic(1), partition(1), odd_logs.BEGIN, change(1, 7, Leader=2)], [odd_logs.END]])
    assert assert_same(data, piece=200).findings
    assert passes(monkeypatch, data, piece=200)[1] == 1


def test_a_log_that_is_odd_throughout_is_not_read_twice_throughout(monkeypatch):
    """Every batch changes a partition that is not there; stretches are cut by missing batches."""
    batches = [
        encode_batch([(None, change(9, at))], base_offset=3 * at + 50, timestamp_ms=0, partition_leader_epoch=1)
        for at in range(300)
    ]
    first = encoded([[LEVEL, topic(1), partition(1)]])
    read = []
    original = replay_fast.FastReplaying._read
    monkeypatch.setattr(
        FastReplaying, "_read", lambda self, *what: (read.append(self._plain_left), original(self, *what))[1]
    )
    fast(first + b"".join(batches))
    assert len(read) == 301
    assert sum(left == 0 for left in read) < 20


def test_small_pieces_and_a_machine_without_numpy_take_the_plain_way(monkeypatch):
    data = generated(1)
    replaying = FastReplaying()
    for run in walk_runs([data]):
        replaying.take_run(run.data, run.positions, run.base)
    assert replaying._window is None
    monkeypatch.setattr(replay_fast, "has_numpy", lambda: False)
    assert FastReplaying(worth_bytes=0)._worth_bytes is None
    assert fast(data) == plainly(data)


@pytest.mark.parametrize(("odd", "is_cut_up"), [(0, False), (7, False), (8, True), (60, True)])
def test_a_log_without_long_stretches_takes_the_plain_way(monkeypatch, odd, is_cut_up):
    """Control batches between few records: the columns, and numpy, are not looked at."""
    monkeypatch.setattr(replay_fast, "_MANY", 8)
    usual = [encode_batch([(None, b"\x01\x14\x00\x00")], base_offset=at, timestamp_ms=0) for at in range(400)]
    control = [encode_control_record(ControlType.LEADER_CHANGE, {"LeaderId": 1, "Voters": [], "GrantingVoters": []})]
    for at in range(odd):
        usual[6 * at] = encode_batch(control, base_offset=6 * at, timestamp_ms=0, is_control=True)
    replaying = FastReplaying(worth_bytes=0)
    for run in walk_runs([b"".join(usual)]):
        replaying.take_run(run.data, run.positions, run.base)
    assert (replaying._window is None) == is_cut_up


def test_an_image_in_the_middle_is_not_changed_by_what_follows():
    data, replaying = generated(2, 6_000), FastReplaying(worth_bytes=0)
    runs = list(walk_runs(in_pieces(data, len(data) // 2 + 1)))
    replaying.take_run(runs[0].data, runs[0].positions, runs[0].base)
    middle = replaying.image()
    before = image_sha256(middle)
    replaying.take_run(runs[1].data, runs[1].positions, runs[1].base)
    assert replaying.image() == plainly(data).image
    assert image_sha256(middle) == before


@pytest.mark.parametrize("count", [2**31 - 1, 100_000])
def test_a_batch_that_claims_records_it_has_no_room_for(count: int):
    good = encoded([[LEVEL, topic(1)]])
    claims = [batch(record(None, LEVEL), count=count, base_offset=2 + at * count, epoch=9) for at in range(3)]
    data, window = b"".join([good, *claims]), Window()
    window.show(data)
    taken = columns_frame.heads(window, [0, *(len(good) + at * len(claims[0]) for at in range(3))])
    assert taken.is_usual.tolist() == [True, False, False, False]  # rows are made for the usual ones
    assert {finding.id for finding in assert_same(data).findings} == {"undecodable-record"}


# --- numbers for ids, and lists -------------------------------------------------------------------------------------


HALVES = st.integers(0, 3) | st.integers(0, 2**64 - 1)


@given(ids=st.lists(st.tuples(HALVES, HALVES), min_size=1))
def test_equal_ids_have_equal_numbers(ids):
    made: list[bytes] = []
    numbers = IdNumbers(made.extend)
    halves = np.array(ids, np.uint64)
    strings = [first.to_bytes(8, "little") + second.to_bytes(8, "little") for first, second in ids]
    for _ in range(2):
        found = numbers.numbers(halves[:, 0], halves[:, 1])
        assert [made[number] for number in found.tolist()] == strings
    assert [numbers.number(id) for id in strings] == found.tolist()
    assert len(made) == len(set(strings))


def test_many_ids_are_kept_apart():
    made: list[bytes] = []
    numbers = IdNumbers(made.extend)
    first = np.arange(5_000).astype(np.uint64)
    found = numbers.numbers(first, first % 7)
    assert found.tolist() == numbers.numbers(first, first % 7).tolist()
    assert len(made) == len(set(made)) == len(set(found.tolist())) == 5_000


def shown(values: list[bytes]) -> tuple[Window, np.ndarray]:
    window, sizes = Window(), [len(value) for value in values]
    window.show(b"".join(values))
    return window, np.cumsum(sizes) - sizes


def ids_as_in_records(ids: tuple[int, ...]) -> bytes:
    return bytes([len(ids) + 1]) + b"".join(id.to_bytes(4, "big", signed=True) for id in ids)


@given(held=st.lists(st.lists(st.integers(-3, 3), max_size=4).map(tuple), min_size=1), times=st.integers(1, 3))
def test_lists_that_are_looked_for_are_what_was_added(held, times):
    lists = Lists()
    window, at = shown([ids_as_in_records(ids) for ids in held])
    for _ in range(times):
        places = lists.add(window, at, IDS, is_likely=True)
        assert Tuples(lists.words).ids(places) == held


def test_equal_lists_are_one_as_long_as_most_are(monkeypatch):
    monkeypatch.setattr(columns_lists, "_RECENT_BITS", 14)
    directories = [bytes([5]) + bytes([number]) * 64 for number in range(20)]
    window, at = shown(directories * 50)
    lists, other = Lists(), Lists()
    places = lists.add(window, at, DIRECTORIES, is_likely=True)
    assert len(set(places.tolist())) == len(directories)
    assert len(set(lists.moved(other, places, DIRECTORIES).tolist())) == len(directories)
    assert other.used == lists.used

    many = [ids_as_in_records((number, number)) for number in range(5_000)]
    window, at = shown(many)
    lists.add(window, at, IDS, is_likely=True)
    again = lists.add(window, at, IDS, is_likely=True)  # they were all different: nothing is looked for any more
    used = lists.used
    lists.add(window, at, IDS, is_likely=True)
    assert lists.used == used + 3 * len(many)
    assert Tuples(lists.words).ids(again) == [(number, number) for number in range(5_000)]


@pytest.mark.parametrize(("bytes_behind", "is_copied"), [(BEYOND, False), (BEYOND - 1, True)])
def test_a_window_reads_the_piece_itself_where_enough_follows(bytes_behind, is_copied):
    data = bytes(range(100)) + bytes(bytes_behind)
    window = Window()
    window.show(data, 100)
    assert np.shares_memory(window.u1, np.frombuffer(data, np.uint8)) is not is_copied
    assert int(window.u8[99]) == 99
    assert int(window.i4[92]) == int.from_bytes(data[92:96], "big")
    window.leave()
    assert window.data == b""
    assert not np.shares_memory(window.u1, np.frombuffer(data, np.uint8))


@given(
    held=st.lists(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=140).map(tuple), min_size=1),
    counts=st.lists(st.integers(0, 140), min_size=1),
    kept=st.sets(st.integers(0, 50)),
)
def test_lists_are_what_was_put(held, counts, kept):
    joined = [bytes(16 * count) if count % 2 else b"directory of 16 " * count for count in counts]
    lists = Lists()
    ids, directories = lists.put(held), lists.put_directories(joined)
    rows = np.array([at % len(held) for at in kept], np.int64)
    other = Lists()
    moved = lists.moved(other, ids[rows], IDS)
    moved_directories = lists.moved(other, directories, DIRECTORIES)

    assert Tuples(lists.words).ids(ids) == held
    assert Tuples(lists.words).directories(directories) == joined
    assert Tuples(other.words).ids(moved) == [held[row] for row in rows.tolist()]
    assert Tuples(other.words).directories(moved_directories) == joined
    assert other.used <= lists.used or len(kept) > len(held)
    assert Tuples(Lists.of(lists.content()).words).ids(ids) == held
