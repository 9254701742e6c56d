"""The order of a rolling restart: the best of all that can be simulated, by harm first and then by moves of leaders."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.dryrun.brokers import orders
from kafkactl.dryrun.brokers.orders import best_order
from kafkactl.dryrun.controller.active_controller import ActiveController
from kafkactl.dryrun.controller.facts import Facts
from kafkactl.dryrun.prediction import Verdict
from kafkactl.dryrun.scenarios.rolling_restart import rolling_restart, safest_order
from kafkactl.metadata.image.model import Image
from tests.dryrun.clusters import cluster


def moves(image: Image, facts: Facts, order: tuple[int, ...]) -> int:
    steps = rolling_restart(image, facts, order).effects["steps"]
    return sum(step["partitions"].leader_changes for step in steps)


def rows(*lines: str) -> str:
    """Return partitions with whole ISRs: replicas, the first of which leads."""
    return "".join(f"  {line.split()[0]} | {line} | {line}\n" for line in lines)


# RF3 rotating and all led by 11, RF2, RF2 with min.insync.replicas 2, RF1: as in real rolls of 3.9.2 and 4.3.1.
TWENTY_TWO = (
    "brokers 11 12 13\ntopic a min.insync.replicas=2\n"
    + rows(*["11 12 13", "12 13 11", "13 11 12"] * 2, *["11 12 13"] * 4)
    + "topic b\n"
    + rows(*["11 12", "12 13", "13 11"] * 2)
    + "topic c min.insync.replicas=2\n"
    + rows("11 12", "12 13", "13 11")
    + "topic d\n"
    + rows("11", "12", "13")
)


def test_order_of_a_measured_cluster_moves_the_fewest_leaders() -> None:
    # Losses compared one by one gave the order with the most moves.
    image, facts = cluster(TWENTY_TWO)
    all_orders = {order: moves(image, facts, order) for order in permutations((11, 12, 13))}
    chosen = tuple(safest_order(image, facts))
    assert all_orders[chosen] == min(all_orders.values()) < max(all_orders.values())


def test_broker_with_a_replica_out_of_sync_goes_first() -> None:
    image, facts = cluster("brokers 3 5 7\ntopic a min.insync.replicas=2\n  3 | 3 5 7 | 3 5")
    assert safest_order(image, facts)[0] == 7
    found = rolling_restart(image, facts)
    assert [step["partitions"].under_min_isr for step in found.effects["steps"]] == [0, 0, 0]
    bad = rolling_restart(image, facts, [3, 5, 7])
    assert bad.effects["steps"][0]["partitions"].under_min_isr == 1


def test_partition_that_loses_its_leader_counts_more_than_any_number_of_moves() -> None:
    # 3 lags: before it is back, 1 must not be stopped.
    text = "brokers 1 2 3\ntopic a\n  1 | 1 3 | 1\ntopic b\n" + rows(*["3 1 2"] * 9)
    image, facts = cluster(text)
    order = safest_order(image, facts)
    assert order.index(3) < order.index(1)
    assert rolling_restart(image, facts).verdict is not Verdict.UNAVAILABLE


def test_brokers_that_are_down_come_first() -> None:
    image, facts = cluster("brokers 1 2 3\nbroker 2 fenced\ntopic a\n  1 | 1 2 3 | 1 3")
    assert safest_order(image, facts)[0] == 2


def test_partition_under_min_isr_is_made_whole_by_an_early_step() -> None:
    # 5 lags: every step before it or 7 is restarted leaves the partition below min.insync.replicas.
    image, facts = cluster(
        "brokers 1 2 5 7\ntopic a min.insync.replicas=2\n  7 | 5 7 | 7\ntopic b\n" + rows("1 2", "2 1")
    )
    order = safest_order(image, facts)
    assert order[0] == 5
    steps = rolling_restart(image, facts, order).effects["steps"]
    assert sum(step["partitions"].under_min_isr for step in steps) == 2
    late = rolling_restart(image, facts, [1, 2, 5, 7]).effects["steps"]
    assert sum(step["partitions"].under_min_isr for step in late) == 4


def test_return_of_one_replica_brings_every_live_one_back_into_sync() -> None:
    # Restarted first, 3 or 9 brings 5 into the ISR, as the prediction of each step has it.
    image, facts = cluster("brokers 3 5 9\ntopic a min.insync.replicas=2\n  3 | 5 3 9 | 3 9")
    found = {order: harm(image, facts, order) for order in permutations((3, 5, 9))}
    assert found[tuple(safest_order(image, facts))] == min(found.values())


def harm(image: Image, facts: Facts, order: tuple[int, ...]) -> tuple[int, int, int]:
    """Return the sums of a predicted roll by which orders are compared."""
    counts = [step["partitions"] for step in rolling_restart(image, facts, order).effects["steps"]]
    return sum(c.offline for c in counts), sum(c.under_min_isr for c in counts), sum(c.leader_changes for c in counts)


@st.composite
def lagging_clusters(draw: st.DrawFn) -> tuple[Image, Facts]:
    """Draw four living brokers, and partitions of two or three replicas of which some lag."""
    text = "brokers 1 2 3 4\ntopic a min.insync.replicas=2\n"
    for _ in range(draw(st.integers(1, 8))):
        replicas = draw(st.lists(st.sampled_from(range(1, 5)), min_size=2, max_size=3, unique=True))
        isr = draw(st.lists(st.sampled_from(replicas), min_size=1, unique=True))
        text += f"  {isr[0]} | {' '.join(map(str, replicas))} | {' '.join(map(str, sorted(isr)))}\n"
    return cluster(text)


@given(lagging_clusters())
def test_order_of_a_cluster_with_lagging_replicas_does_the_least_harm(world: tuple[Image, Facts]) -> None:
    image, facts = world
    found = {order: harm(image, facts, order) for order in permutations((1, 2, 3, 4))}
    assert found[tuple(safest_order(image, facts))] == min(found.values())


@st.composite
def whole_clusters(draw: st.DrawFn, brokers: int) -> tuple[Image, Facts]:
    ids = range(1, brokers + 1)
    lines = draw(st.lists(st.lists(st.sampled_from(ids), min_size=1, max_size=3, unique=True), min_size=1, max_size=12))
    text = rows(*(" ".join(map(str, line)) for line in lines))
    return cluster(f"brokers {' '.join(map(str, ids))}\ntopic a\n{text}")


@given(whole_clusters(4))
def test_order_is_the_best_of_all(world: tuple[Image, Facts]) -> None:
    image, facts = world
    least = min(moves(image, facts, order) for order in permutations(sorted(image.brokers)))
    assert moves(image, facts, tuple(safest_order(image, facts))) == least


@given(whole_clusters(5))
def test_search_among_many_brokers_costs_at_most_what_plain_orders_cost(world: tuple[Image, Facts]) -> None:
    image, facts = world
    ids = sorted(image.brokers)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(orders, "MOST_TRIED", 0)
        found = best_order(ActiveController(image, facts), (), ids)
    assert sorted(found) == ids
    assert moves(image, facts, tuple(found)) <= min(moves(image, facts, tuple(way)) for way in (ids, ids[::-1]))
