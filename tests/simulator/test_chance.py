"""Chance, the network, and shrinking: the same on every Python, and as small as it gets."""

from __future__ import annotations

import pickle

import pytest

from kafkactl.simulator.chance import Chance
from kafkactl.simulator.network import Network
from kafkactl.simulator.shrink import fewest


def test_a_stream_is_the_same_everywhere():
    """Written down from Python 3.11: `random()` keeps its sequence."""
    chance = Chance(7, "faults")
    assert [chance.below(1_000_000) for _ in range(4)] == [548694, 750540, 747306, 865045]


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 6, 7, 8, 100, 128])
def test_many_numbers_at_once_are_those_of_one_by_one(bound):
    """Whatever Python makes of `getrandbits`: campaigns have the seeds of runs that drew numbers one by one."""
    together, alone = Chance(7, "timers"), Chance(7, "timers")
    for count in (1, 31, 32, 5_000, 0, 999):
        assert list(together.many_below(count, bound)) == [alone.below(bound) for _ in range(count)]
        assert together.fraction() == alone.fraction()


def test_a_copy_goes_on_in_one_stream():
    """The world before a request is copied so (`simulator/study.py`)."""
    chance = Chance(7, "timers")
    copied = pickle.loads(pickle.dumps(chance))
    assert copied.many_below(40, 3) == chance.many_below(40, 3)
    assert copied.fraction() == chance.fraction()


def test_purposes_do_not_share_a_stream():
    assert Chance(7, "faults").below(10**9) != Chance(7, "network").below(10**9)
    assert Chance(7, "timers").below(10**9) != Chance(8, "faults").below(10**9)


def test_a_link_has_one_delay_and_each_direction_its_own():
    network = Network(Chance(1, "network"), (1, 2, 3))
    assert {network.fates(1, 2) for _ in range(20)} == {network.fates(1, 2)}
    delays = {network.fates(sender, to) for sender in (1, 2, 3) for to in (1, 2, 3) if sender != to}
    assert len(delays) == 6
    assert all(1_000 <= delay <= 2_000 for (delay,) in delays)


def test_messages_overtake_each_other_are_lost_and_come_twice():
    network = Network(Chance(1, "network"), (1, 2))
    network.set_delay(1_000, 50_000)
    times = [network.fates(1, 2)[0] for _ in range(200)]
    assert min(times) < 5_000 and max(times) > 45_000
    network.set_share("loss", 300)
    network.set_share("duplicates", 300)
    copies = [len(network.fates(1, 2)) for _ in range(2_000)]
    assert 500 < copies.count(0) < 700
    assert 350 < copies.count(2) < 500


def test_a_cut_may_be_of_one_direction():
    network = Network(Chance(1, "network"), (1, 2))
    network.cut([(1, 2)])
    assert not network.fates(1, 2)
    assert network.fates(2, 1)
    network.heal([(1, 2)])
    assert network.fates(1, 2)


def test_the_fewest_items_are_found():
    items = list(range(100))
    assert fewest(items, lambda part: {13, 57, 91} <= set(part)) == [13, 57, 91]
    assert len(fewest(items, lambda part: len(part) >= 7)) == 7
    assert fewest(items, lambda part: True) == []


def test_shrinking_gives_up_in_time():
    tries = []

    def fails(part):
        tries.append(1)
        return len(part) >= 60

    found = fewest(range(100), fails, most_tries=20)
    assert len(tries) <= 20
    assert len(found) >= 60
