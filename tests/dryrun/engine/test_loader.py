"""The quick way to what a starting node believes gives what the way record by record gives, whatever the log."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.log_generator import LogGenerator, Shape
from kafkactl.dryrun.engine import deltas, loader
from kafkactl.dryrun.engine.loader import Started, by_the_record, started
from kafkactl.dryrun.engine.local import start_of
from tests.dryrun import odd_logs
from tests.dryrun.engine.test_local import File
from tests.dryrun.odd_logs import ABORT, BEGIN, CASES, END, LEVEL, change, encoded, partition, remove, topic
from tests.sampling import one_in

_STEPS = st.sampled_from(
    [[BEGIN], [END], [ABORT], [topic(1)], [topic(2)], [remove(1)], [remove(2)], [partition(1)], [partition(2)],
     [change(1, Leader=2)], [change(2, Leader=3)],
     *([odd_logs.record("ConfigRecord", ResourceType=2, ResourceName=f"t{number}", Name="x", Value=value)]
       for number in (1, 2) for value in ("1", None))]
)  # fmt: skip


def assert_same(segments: Sequence[File], *, keeps_configs: bool = True) -> Started:
    found = started(segments, [], keeps_configs=keeps_configs)
    begin = start_of(segments, [], None)
    expected = by_the_record(segments, begin, keeps_configs=keeps_configs)
    assert found.image == expected.image
    assert found == expected
    return found


@given(
    batches=st.lists(
        st.lists(_STEPS, min_size=1, max_size=6).map(lambda steps: list(chain.from_iterable(steps))), max_size=12
    ),
    read_bytes=st.integers(1, 1_500),
    cut=st.integers(0, 12),
    keeps_configs=st.booleans(),
)
def test_any_order_of_transactions_and_topics_is_loaded_as_by_the_reference(batches, read_bytes, cut, keeps_configs):
    first = [[LEVEL], *batches[:cut]]
    offset = sum(map(len, first))
    segments = [File(encoded(first)), File(encoded(batches[cut:], first=offset), base_offset=offset)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(deltas, "READ_BYTES", read_bytes)
        assert_same(segments, keeps_configs=keeps_configs)


@pytest.mark.parametrize("read_bytes", [1, 3_000, 40_000])
@pytest.mark.parametrize("seed", one_in(3, range(3)))
def test_generated_logs_are_loaded_as_by_the_reference(seed, read_bytes, monkeypatch):
    monkeypatch.setattr(deltas, "READ_BYTES", read_bytes)
    shape = Shape(records=3_000, partitions=300, brokers=4, seed=seed, transaction_percent=60)
    segment = File(b"".join(LogGenerator(shape).batches()), piece_bytes=9_000)
    found = assert_same([segment])
    assert found.phantoms or read_bytes == 1


@pytest.mark.parametrize("case", CASES)
def test_odd_logs_are_loaded_as_by_the_reference(case):
    assert_same([File(encoded(CASES[case]))])


@pytest.mark.parametrize(("_what", "data"), one_in(4, [pytest.param(*item, id=item[0]) for item in odd_logs.damaged()]))
def test_damaged_logs_are_loaded_as_by_the_reference(_what, data):
    assert_same([File(data)])


def test_usual_log_is_not_read_by_the_record(monkeypatch):
    def refused(*_arguments: object, **_options: object) -> Started:
        raise AssertionError

    monkeypatch.setattr(loader, "by_the_record", refused)
    shape = Shape(records=3_000, partitions=300, brokers=4, transaction_percent=60)
    assert started([File(b"".join(LogGenerator(shape).batches()))], []).phantoms
