"""Chance, the network, and shrinking: the same on every Python, and as small as it gets."""

from __future__ import annotations

import pickle
import random

import pytest

from kafkactl.simulator.chance import Chance, Choices
from kafkactl.simulator.network import Network
from kafkactl.simulator.shrink import fewest

FIRST_CHOICES = [0, 0, 2, 2, 2, 2, 0, 2, 2, 2, 0, 2, 2, 2, 2, 2, 1, 2, 0, 1]


def _many(choices: Choices, count: int) -> list[int]:
    return [choices.one() for _ in range(count)]


def test_stream_is_the_same_everywhere():
    # Written down from Python 3.11: `random()` keeps its sequence.
    chance = Chance(7, "faults")
    assert [chance.below(1_000_000) for _ in range(4)] == [548694, 750540, 747306, 865045]


def test_choices_of_a_host_are_the_same_everywhere():
    # Written down from Python 3.11.
    assert _many(Choices(7, 1, 3), 20) == FIRST_CHOICES


def test_choices_are_made_of_the_words_of_random():
    # Whatever Python makes of `getrandbits`: `random()` is made of the highest bits of two words of 32.
    words, numbers = random.Random(7), random.Random(7)
    drawn = words.getrandbits(64 * 100).to_bytes(800, "little")
    for place in range(0, 800, 8):
        first, second = (int.from_bytes(drawn[at : at + 4], "little") for at in (place, place + 4))
        assert numbers.random() == (first >> 5 << 26 | second >> 6) / (1 << 53)


@pytest.mark.parametrize("servers", [2, 3, 5, 7])
def test_each_server_is_as_likely(servers):
    chosen = _many(Choices(1, 1, servers), 20_000)
    assert all(abs(chosen.count(server) * servers / 20_000 - 1) < 0.04 for server in range(servers))


@pytest.mark.parametrize("servers", [0, 257])
def test_host_chooses_among_what_a_byte_can_name(servers):
    with pytest.raises(ValueError, match=f"among {servers} servers"):
        Choices(1, 1, servers)


def test_copy_goes_on_in_one_stream():
    # The world before a request is copied so (`simulator/study.py`).
    chance, choices = Chance(7, "timers"), Choices(7, 1, 3)
    assert choices.one() == FIRST_CHOICES[0]
    copied, chosen = pickle.loads(pickle.dumps((chance, choices)))
    assert copied.fraction() == chance.fraction()
    assert _many(chosen, 400) == _many(choices, 400)


def test_hosts_and_seeds_do_not_share_a_stream():
    assert len({tuple(_many(Choices(seed, host, 256), 8)) for seed in range(3) for host in range(3)}) == 9


def test_purposes_do_not_share_a_stream():
    assert Chance(7, "faults").below(10**9) != Chance(7, "network").below(10**9)
    assert Chance(7, "timers").below(10**9) != Chance(8, "faults").below(10**9)


def test_link_has_one_delay_and_each_direction_its_own():
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


def test_cut_may_be_of_one_direction():
    network = Network(Chance(1, "network"), (1, 2))
    network.cut([(1, 2)])
    assert not network.fates(1, 2)
    assert network.fates(2, 1)
    network.heal([(1, 2)])
    assert network.fates(1, 2)


def test_fewest_items_are_found():
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
