"""Numbers for ids, and lists side by side."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.metadata.replay.columns import lists as columns_lists
from kafkactl.metadata.replay.columns.bytes import BEYOND, IdNumbers, Window
from kafkactl.metadata.replay.columns.lists import DIRECTORIES, IDS, Lists, Tuples

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


def test_window_can_be_read_beyond_the_end_of_its_piece():
    data, window = bytes(range(100)), Window()
    window.show(data)
    assert int(window.u8[99]) == 99
    assert int(window.i4[92]) == int.from_bytes(data[92:96], "big")
    assert int(window.u1[99 + BEYOND]) == 0
    window.show(b"\xff" * 10)
    assert int(window.u8[9]) == 0xFF
    window.leave()
    assert window.data == b""


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
