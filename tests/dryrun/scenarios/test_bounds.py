"""Requests that write more than one request may; 9,999 to 12,000 partitions were measured on 3.9.2 and 4.3.1."""

from __future__ import annotations

import pytest

from kafkactl.dryrun.controller.election import Election
from kafkactl.dryrun.controller.facts import Facts
from kafkactl.dryrun.prediction import Prediction, Verdict
from kafkactl.dryrun.scenarios.elect_leaders import elect_leaders
from kafkactl.dryrun.scenarios.unregister_broker import unregister_broker
from kafkactl.metadata.image.model import Image
from tests.dryrun.clusters import cluster


def wide(partitions: int, kafka: str = "4.3") -> tuple[Image, Facts]:
    return cluster(f"kafka {kafka}\nbrokers 1 2\ntopic wide\n" + "  2 | 1 2 | 1 2\n" * partitions)


def said(found: Prediction) -> tuple[Verdict, list[str], int | None, int]:
    error = found.effects.get("server_error")
    ids = [finding.id for finding in found.findings if finding.severity == "blocker"]
    return found.verdict, ids, error.code if error else None, len(found.changes)


@pytest.mark.parametrize(
    "partitions, expected",
    [
        (9_998, (Verdict.DEGRADED, [], None, 9_998)),
        (9_999, (Verdict.UNKNOWN, ["request-fills-batch"], -1, 0)),
        (10_000, (Verdict.REFUSED, ["unregistration-too-large"], 44, 0)),
    ],
)
def test_unregistration_of_a_broker_in_many_isrs_is_refused_above_the_bound(partitions: int, expected: object) -> None:
    # The record of the registration counts, too.
    found = unregister_broker(*wide(partitions), 1)
    assert said(found) == expected


def test_unregistration_has_no_bound_before_3_5() -> None:
    assert said(unregister_broker(*wide(10_000, "3.4"), 1))[0] is Verdict.DEGRADED


def test_unregistration_of_a_fenced_broker_is_small() -> None:
    found = unregister_broker(*cluster("brokers 1 2\nbroker 1 fenced\ntopic w\n" + "  2 | 1 2 | 2\n" * 12_000), 1)
    assert found.appended is not None
    assert (found.verdict, found.appended.count) == (Verdict.OK, 1)


@pytest.mark.parametrize(
    "partitions, expected",
    [
        (10_000, (Verdict.UNKNOWN, ["request-fills-batch"], -1, 0)),
        (10_001, (Verdict.REFUSED, ["election-too-large"], 44, 0)),
    ],
)
def test_elections_of_many_partitions_are_refused_above_the_bound(partitions: int, expected: object) -> None:
    assert said(elect_leaders(*wide(partitions), Election.PREFERRED)) == expected
