"""Exit codes of scenarios: never 0 if a blocker is among the findings."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from kafkactl.core.findings import Severity
from kafkactl.dryrun.controller.election import Election
from kafkactl.dryrun.controller.facts import Facts
from kafkactl.dryrun.prediction import Prediction
from kafkactl.dryrun.scenarios.alter_config import alter_config, parse_entity
from kafkactl.dryrun.scenarios.broker_loss import LossMode, broker_loss
from kafkactl.dryrun.scenarios.broker_return import broker_return
from kafkactl.dryrun.scenarios.elect_leaders import elect_leaders
from kafkactl.dryrun.scenarios.reassignment import Move, reassignment
from kafkactl.dryrun.scenarios.rolling_restart import rolling_restart
from kafkactl.dryrun.scenarios.unregister_broker import unregister_broker
from kafkactl.metadata.image.lint import lint
from kafkactl.metadata.image.model import Image
from tests.dryrun.clusters import cluster, clusters


def agrees(found: Prediction) -> None:
    blockers = [finding.id for finding in found.findings if finding.severity is Severity.BLOCKER]
    assert not blockers or found.verdict.exit_code, (found.scenario, dict(found.input), blockers)


def asked(image: Image, facts: Facts) -> list[Any]:
    ids = sorted(image.brokers)
    topics = sorted(topic.name for topic in image.topics.values())
    moves = [Move(name, 0, (ids[-1], ids[0])) for name in topics] + [Move(topics[0], 99, (1,))]
    return [
        elect_leaders(image, facts, Election.PREFERRED),
        elect_leaders(image, facts, Election.UNCLEAN),
        elect_leaders(image, facts, Election.PREFERRED, [(topics[0], None), ("nobody", 1)]),
        reassignment(image, facts, moves),
        reassignment(image, facts, [Move(name, 0, None) for name in topics]),
        broker_loss(image, facts, ids[:2]),
        broker_loss(image, facts, ids[:2], mode=LossMode.CONTROLLED),
        broker_return(image, facts, ids),
        broker_return(image, facts, ids, empty_disks=True),
        rolling_restart(image, facts),
        unregister_broker(image, facts, ids[0]),
        *(
            alter_config(image, facts, parse_entity(entity), {key: value})
            for entity in ("cluster", f"topic:{topics[0]}", f"broker:{ids[0]}")
            for key, value in (
                ("min.insync.replicas", "1"), ("unclean.leader.election.enable", "true"), ("x", "1"),
                ("log.retention.ms", "7d"), ("remote.storage.enable", "true"),
            )
        ),
    ]  # fmt: skip


@pytest.mark.slow
@given(clusters())
def test_blocker_and_exit_code_0_never_meet(world: tuple[Image, Facts]) -> None:
    for found in asked(*world):
        agrees(found)
    assert all(finding.severity is not Severity.BLOCKER for finding in lint(world[0]))


def test_part_of_a_request_that_is_refused_is_a_warning() -> None:
    image, facts = cluster("brokers 1 2\nbroker 2 fenced\ntopic a\n  1 | 1 2 | 1 2\n  1 | 2 1 | 1\n  1 | 2 1 | 1 2")
    some = elect_leaders(image, facts, Election.PREFERRED, [("a", 0), ("a", 1)])
    none = elect_leaders(image, facts, Election.PREFERRED, [("a", 1)])
    part = reassignment(image, facts, [Move("a", 0, (2, 1)), Move("a", 1, (9,))])
    agrees(part)
    assert {finding.severity for finding in none.findings if finding.id == "election-refused"} == {Severity.BLOCKER}
    assert {finding.severity for finding in part.findings if finding.id == "reassignment-refused"} == {Severity.WARNING}
    agrees(some)
