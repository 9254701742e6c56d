"""The epoch index against a second, slow one that is written as the rules read."""

from __future__ import annotations

from dataclasses import dataclass, field
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.core.values import Uuid
from kafkactl.tiered.ledger import Ledger
from tests.tiered.logs import DELETED, DELETING, FINISHED, STARTED, LogOf, Topic, folded, segment_uuid

TOPIC = Topic("orders", 1)
KEY = TOPIC.key(0)


def index_of(ledger: Ledger) -> dict[int, tuple[dict[int, str], set[str], int | None]]:
    """Return for each epoch the map, the unreferenced ids and the highest offset, as texts."""
    return {
        epoch: (
            {start: str(Uuid(segment.segment_id)) for start, segment in state.in_order()},
            {str(Uuid(segment_id)) for segment_id in state.unreferenced},
            state.highest,
        )
        for epoch, state in ledger.partitions[KEY].epochs.items()
    }


@dataclass
class SlowEpoch:
    map: dict[int, str] = field(default_factory=dict)
    unreferenced: set[str] = field(default_factory=set)
    highest: int | None = None


@dataclass
class SlowStore:
    """Maps of ids, sorted each time; a segment is (state, start, end, epochs)."""

    table: dict[str, list] = field(default_factory=dict)
    epochs: dict[int, SlowEpoch] = field(default_factory=dict)

    def base(self, name: str, start: int, end: int, epochs: dict[int, int]) -> None:
        if name in self.table and self.table[name][0] != STARTED:
            return
        self.table[name] = [STARTED, start, end, epochs]
        for epoch in epochs:
            self.epochs.setdefault(epoch, SlowEpoch()).unreferenced.add(name)

    def update(self, name: str, state: int) -> None:
        known = self.table.get(name)
        legal = {STARTED: {0, 1, 2}, FINISHED: {1, 2}, DELETING: {2, 3}}
        if known is None or state not in legal[known[0]]:
            return
        known[0] = state
        _, _, end, epochs = known
        for epoch, start in epochs.items():
            later = [offset for other, offset in epochs.items() if other > epoch]
            self._change(
                self.epochs.setdefault(epoch, SlowEpoch()), name, state, start, min(later) - 1 if later else end
            )
        if state == DELETED:
            del self.table[name]

    def _change(self, epoch: SlowEpoch, name: str, state: int, start: int, end: int) -> None:
        if state == FINISHED:
            while epoch.map and max(epoch.map) >= start and (epoch.highest is None or epoch.highest <= end):
                epoch.unreferenced.add(epoch.map.pop(max(epoch.map)))
            epoch.map[start] = name
            epoch.unreferenced.discard(name)
            epoch.highest = end if epoch.highest is None else max(epoch.highest, end)
        elif state == DELETING:
            if epoch.map.get(start) == name:
                del epoch.map[start]
            epoch.unreferenced.add(name)
        elif state == DELETED:
            epoch.unreferenced.discard(name)


NAMES = st.sampled_from("abcdef")
BASES = st.tuples(
    NAMES,
    st.integers(0, 12),
    st.integers(0, 6),
    st.dictionaries(st.integers(0, 3), st.integers(0, 6), min_size=1, max_size=3),
).map(lambda drawn: ("base", drawn[0], drawn[1] * 10, drawn[1] * 10 + drawn[2] * 10 + 9, drawn[3]))
UPDATES = st.tuples(st.just("update"), NAMES, st.sampled_from([FINISHED, FINISHED, DELETING, DELETED]))


@pytest.mark.parametrize("worth_compacting", [64, 0])
@given(st.lists(st.one_of(BASES, UPDATES), max_size=60))
def test_random_logs_lead_to_the_same_index(worth_compacting: int, deeds: list[tuple]):
    with mock.patch("kafkactl.tiered.epoch_index._WORTH_COMPACTING", worth_compacting):
        compare_with_slow_index(deeds)


def compare_with_slow_index(deeds: list[tuple]) -> None:
    log, slow = LogOf(0), SlowStore()
    for deed in deeds:
        if deed[0] == "base":
            _, name, start, end, given_epochs = deed
            # Epochs ascend with their offsets, and the first begins with the segment.
            epochs = {epoch: start + 3 * at for at, epoch in enumerate(sorted(given_epochs))}
            log.add(TOPIC.started(0, name, start, end, epochs=epochs))
            slow.base(str(segment_uuid(name)), start, end, epochs)
        else:
            log.add(TOPIC.update(0, deed[1], deed[2]))
            slow.update(str(segment_uuid(deed[1])), deed[2])
    if not deeds:
        return
    ledger = folded(log)
    expected = {number: (epoch.map, epoch.unreferenced, epoch.highest) for number, epoch in slow.epochs.items()}
    assert index_of(ledger) == expected
    states = {str(Uuid(raw)): int(segment.state) for raw, segment in ledger.partitions[KEY].table.items()}
    assert states == {name: known[0] for name, known in slow.table.items()}
    for raw, segment in ledger.partitions[KEY].table.items():
        name = str(Uuid(raw))
        mapped = any(name in epoch.map.values() for epoch in slow.epochs.values())
        listed = any(name in epoch.unreferenced for epoch in slow.epochs.values())
        assert segment.epoch_index == ("referenced" if mapped else "unreferenced" if listed else "none")


def test_new_leader_takes_over_what_it_copied_again():
    log = LogOf(0).add(TOPIC.copied(0, "a", 0, 9), TOPIC.copied(0, "b", 10, 19), TOPIC.copied(0, "c", 10, 29))
    segments = folded(log).partitions[KEY].table
    found = {name: segments[segment_uuid(name).raw].epoch_index for name in "abc"}
    assert found == {"a": "referenced", "b": "unreferenced", "c": "referenced"}


def test_shorter_copy_drops_the_longer_one_from_the_index():
    # Seen after an unclean election: 36-53 is copied where 36-107 was.
    log = LogOf(0).add(TOPIC.copied(0, "old", 36, 107), TOPIC.copied(0, "new", 36, 53))
    ledger = folded(log)
    segments = ledger.partitions[KEY].table
    assert segments[segment_uuid("old").raw].epoch_index == "none"
    assert segments[segment_uuid("new").raw].epoch_index == "referenced"
    assert ledger.partitions[KEY].epochs[0].highest == 107


def test_highest_survives_every_delete():
    log = LogOf(0).add(TOPIC.copied(0, "a", 0, 99), TOPIC.deleted(0, "a"))
    ledger = folded(log)
    assert ledger.partitions[KEY].epochs[0].highest == 99
    assert not ledger.partitions[KEY].table


def test_many_segments_and_deletes_in_order_stay_fast():
    log = LogOf(0)
    for number in range(300):
        log.add(TOPIC.copied(0, f"s{number}", number * 10, number * 10 + 9))
        if number >= 20:
            log.add(TOPIC.deleted(0, f"s{number - 20}"))
    state = folded(log).partitions[KEY].epochs[0]
    assert [start for start, _ in state.in_order()] == [number * 10 for number in range(280, 300)]
    assert len(state._mapped) < 150


def test_segments_leave_a_long_map_from_any_place():
    log, names = LogOf(0), [f"s{number}" for number in range(200)]
    for number, name in enumerate(names):
        log.add(TOPIC.copied(0, name, number * 10, number * 10 + 9))
    for number in (0, 1, 100, 2, 199, 198, 3):
        log.add(TOPIC.deleted(0, names[number]))
    # Overlaps those from 1900 on and ends where the last of them ends: they leave the map, and are known without it.
    log.add(TOPIC.copied(0, "wide", 1900, 1999))
    log.add(TOPIC.copied(0, "low", 1000, 1009))
    left = [name for number, name in enumerate(names[:190]) if number not in {0, 1, 2, 3, 100}]
    partition = folded(log).partitions[KEY]
    expected = {int(name[1:]) * 10: str(segment_uuid(name)) for name in left}
    expected |= {1900: str(segment_uuid("wide")), 1000: str(segment_uuid("low"))}
    assert [start for start, _ in partition.epochs[0].in_order()] == sorted(expected)
    assert {start: str(Uuid(found.segment_id)) for start, found in partition.epochs[0].in_order()} == expected
    assert set(partition.epochs[0].unreferenced) == {segment_uuid(name).raw for name in names[190:198]}
