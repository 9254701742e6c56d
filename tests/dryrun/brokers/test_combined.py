"""Nodes with both roles: what the loss of brokers does to the quorum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from kafkactl.dryrun.brokers.combined import with_quorum
from kafkactl.dryrun.by_name import run
from kafkactl.dryrun.prediction import Prediction, Verdict
from kafkactl.dryrun.scenario import ScenarioContext
from kafkactl.dryrun.scenarios.broker_loss import broker_loss
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
def test_the_quorum_counts(brokers: list[int], voters: list[int], verdict: Verdict, ids: set[str]) -> None:
    found = lost(brokers, voters)
    assert (found.verdict, {finding.id for finding in found.findings}) == (verdict, ids)


def test_two_of_three_voters_lost_together() -> None:
    found = lost([1, 2], [1, 2, 3])
    assert found.verdict is Verdict.UNAVAILABLE
    assert found.findings[0].id == "quorum-loses-majority"
    assert any("majority of the controllers is back" in assumption for assumption in found.assumptions)


def test_one_after_the_other_each_counts_alone() -> None:
    plain = broker_loss(*cluster(TEXT), [3])
    assert with_quorum(plain, [1, 2, 3], [(1,), (2,), (3,)]) is plain
    assert len(with_quorum(plain, [3], [(1,), (2,), (3,)]).findings) == 1


def test_the_worst_set_includes_the_quorum() -> None:
    """Three brokers vote; by their partitions 4 is the worst to lose, and for the quorum any two of the three are."""
    image, facts = cluster("brokers 1 2 3 4\ntopic a\n  4 | 4 | 4")
    loaded = replace(a_loaded()[0], image=image, voters=(1, 2, 3))
    for size, ids in ((1, {"partition-loses-leader"}), (2, {"partition-loses-leader", "quorum-loses-majority"})):
        found = run("broker-loss", ScenarioContext(loaded=loaded, facts=facts), {"worst": size})
        assert {finding.id for finding in found.findings} == ids
        assert not any("majority of the controllers" in assumption for assumption in found.assumptions)
