"""Nodes with both roles: what the loss of brokers does to the quorum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from kafkactl.dryrun.brokers.combined import with_quorum
from kafkactl.dryrun.by_name import run
from kafkactl.dryrun.prediction import Prediction, Verdict
from kafkactl.dryrun.scenario import ScenarioContext
from kafkactl.dryrun.scenarios.broker_loss import LossMode, broker_loss
from tests.dryrun.clusters import cluster
from tests.dryrun.scenarios.test_growth import loaded as a_loaded

TEXT = "brokers 1 2 3 4\ntopic a\n  4 | 4 1 2 | 4 1 2"


def lost(brokers: Sequence[int], voters: Sequence[int]) -> Prediction:
    return with_quorum(broker_loss(*cluster(TEXT), brokers), voters, [brokers])


@pytest.mark.parametrize(
    "brokers, voters, verdict, ids",
    [
        ([3], [1], Verdict.OK, set()),
        ([3], [], Verdict.OK, set()),
        ([3], [1, 2, 3], Verdict.DEGRADED, {"fault-tolerance-reduced"}),
        ([3], [3], Verdict.UNAVAILABLE, {"quorum-loses-majority"}),
        ([3], [1, 3], Verdict.UNAVAILABLE, {"quorum-loses-majority"}),
    ],
)
def test_loss_of_controllers_is_included(
    brokers: list[int], voters: list[int], verdict: Verdict, ids: set[str]
) -> None:
    found = lost(brokers, voters)
    assert (found.verdict, {finding.id for finding in found.findings}) == (verdict, ids)


def test_quorum_is_unavailable_after_the_loss_of_two_of_three_voters() -> None:
    found = lost([1, 2], [1, 2, 3])
    assert found.verdict is Verdict.UNAVAILABLE
    assert found.findings[0].id == "quorum-loses-majority"
    assert any("majority of the controllers is back" in assumption for assumption in found.assumptions)


def test_brokers_lost_in_turn_are_judged_alone() -> None:
    plain = broker_loss(*cluster(TEXT), [3])
    assert with_quorum(plain, [1, 2, 3], [(1,), (2,), (3,)]) is plain
    assert len(with_quorum(plain, [3], [(1,), (2,), (3,)]).findings) == 1


def test_worst_set_includes_the_quorum() -> None:
    # Three brokers vote; by their partitions 4 is the worst to lose, for the quorum any two of the three: worse.
    image, facts = cluster("brokers 1 2 3 4\ntopic a\n  4 | 4 | 4\n  2 | 2 1 | 2 1")
    loaded = replace(a_loaded()[0], image=image, voters=(1, 2, 3))
    for size, ids in ((1, {"partition-loses-leader"}), (2, {"leader-out-of-reach", "quorum-loses-majority"})):
        found = run("broker-loss", ScenarioContext(loaded=loaded, facts=facts), {"worst": size})
        assert {finding.id for finding in found.findings} == ids
        assert any("majority of the controllers" in text for text in found.assumptions) is (size == 2)
    worst = [(loss.brokers, loss.loses_majority, loss.harm.offline) for loss in found.effects["worst"] or ()]
    assert worst[:4] == [((1, 2), True, 1), ((2, 3), True, 1), ((1, 3), True, 0), ((2, 4), False, 1)]


COMBINED = """brokers 1 2 3
topic a
  1 | 1 2 3 | 1 2 3
  2 | 2 1 3 | 2 1 3
  3 | 3 1 2 | 3 1 2
  - | 1 | 1
"""


@pytest.mark.parametrize(
    "mode, in_order, leaders, appended",
    [
        (LossMode.CRASH, False, {0: -1, 1: -1}, 0),
        (LossMode.CRASH, True, {0: -1, 1: -1, 2: 3}, 4),
        (LossMode.CONTROLLED, False, {0: 3, 1: 3, 2: 3}, 12),
    ],
)
def test_leaders_that_are_lost_with_the_majority_are_out_of_reach(
    mode: LossMode, in_order: bool, leaders: dict[int, int], appended: int
) -> None:
    # 1 and 2 of three combined nodes; measured on 4.3.1: the log keeps the leaders, and nothing is written.
    image, facts = cluster(COMBINED)
    found = broker_loss(image, facts, [1, 2], mode=mode, in_order=in_order, voters=(1, 2, 3))
    after = {change.partition: change.leader_after for change in found.changes}
    assert after == leaders
    assert found.counts is not None
    assert found.counts.offline == 1 + sum(leader < 0 for leader in leaders.values())
    assert found.appended is not None
    assert found.appended.count == appended
    ids = {finding.id for finding in found.findings}
    assert ("leader-out-of-reach" in ids) is (-1 in leaders.values())
    assert ("isr-cannot-shrink" in ids) is (-1 in leaders.values())
