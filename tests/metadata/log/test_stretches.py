"""Runs of a segment's batches up to damage, and the course of its offsets."""

from __future__ import annotations

import random

import pytest

from kafkactl.metadata.log.scan import FoundBatch, Stop
from kafkactl.metadata.log.stretches import Course, walk_stretches
from kafkactl.protocol.log.batch_runs import BatchRun
from tests.protocol.log.test_batch_runs import expected, in_pieces, log_of

BASE = 1_000
FAR = BASE + 2**31  # the first offset that an index of the segment cannot hold


def course_of(*batches: tuple[int, int]) -> Course:
    course = Course(base_offset=BASE, expected=BASE)
    for offset, last in batches:
        course.add(offset, last)
    return course


def seen(data: bytes, piece: int) -> tuple[list[int], int, int, Stop | None]:
    """Return where batches begin, how many of them came in runs, how many alone, and the stop."""
    runs, alone, stop = [], [], None
    for found in walk_stretches(in_pieces(data, piece), len(data), file="f"):
        match found:
            case BatchRun():
                runs += [found.base + position for position in found.positions]
            case FoundBatch():
                alone.append(found.header.position)
            case Stop():
                stop = found
    return [*runs, *alone], len(runs), len(alone), stop


@pytest.mark.parametrize("piece", [300, 1_000, 10**6])
def test_every_sound_batch_comes_once_in_runs(piece: int):
    data = log_of(random.Random(1), 30)
    assert seen(data, piece) == (expected(data)[0], 30, 0, None)


def test_behind_damage_nothing_comes_in_runs_and_the_stop_says_where():
    data = bytearray(log_of(random.Random(1), 30))
    third = expected(bytes(data))[0][2]
    data[third + 30] ^= 1
    positions, in_runs, _, stop = seen(bytes(data), 10**6)
    assert (positions, in_runs) == (expected(bytes(data))[0][:2], 2)
    assert stop is not None and stop.position == third


@pytest.mark.parametrize(
    ("batches", "first", "ascends", "gaps"),
    [
        ([(BASE, BASE + 4), (BASE + 5, BASE + 5)], BASE, True, []),
        ([(BASE, BASE + 4), (BASE + 7, BASE + 8)], BASE, True, [(BASE + 5, BASE + 7)]),
        ([(BASE, BASE + 4), (BASE + 3, BASE + 8)], BASE, False, []),
        ([(BASE + 2, BASE + 1)], BASE + 2, False, [(BASE, BASE + 2)]),
        ([], None, True, []),
    ],
)
def test_course_of_offsets_is_recognised(batches, first, ascends, gaps):
    course = course_of(*batches)
    assert (course.first, course.ascends, course.gaps, course.out_of_range) == (first, ascends, gaps, None)


def test_only_the_first_ten_gaps_are_kept():
    course = course_of(*((BASE + 2 * number + 1, BASE + 2 * number + 1) for number in range(14)))
    assert course.gaps == [(BASE + 2 * number, BASE + 2 * number + 1) for number in range(10)]


@pytest.mark.parametrize(
    ("offset", "last", "taken", "out_of_range"),
    [
        (BASE, FAR - 1, True, None),
        (BASE, FAR, False, FAR),
        (BASE - 1, BASE, False, None),
        (FAR, FAR + 1, False, FAR + 1),
    ],
)
def test_batches_are_added_at_once_only_within_an_index(offset: int, last: int, taken: bool, out_of_range: int | None):
    course = course_of()
    assert course.add_next(offset, last) is taken
    assert (course.first is None) is not taken
    assert course_of((offset, last)).out_of_range == out_of_range
