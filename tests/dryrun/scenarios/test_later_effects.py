"""Automatic actions of the controller within minutes of a request, which are part of the answer to that request."""

from __future__ import annotations

import pytest

from kafkactl.core.frozen import changed
from kafkactl.dryrun.controller.appended_records import records_of
from kafkactl.dryrun.controller.election import Election
from kafkactl.dryrun.prediction import Verdict
from kafkactl.dryrun.scenarios.alter_config import alter_config, parse_entity
from kafkactl.dryrun.scenarios.broker_return import broker_return
from kafkactl.dryrun.scenarios.elect_leaders import elect_leaders
from tests.dryrun.clusters import cluster

UNCLEAN = "unclean.leader.election.enable"
LOST = """brokers 1 2 3
broker 1 fenced
topic lost
  - | 1 2 | 1
  2 | 2 1 | 2
topic kept unclean.leader.election.enable=false
  - | 1 2 | 1
topic gone
  - | 1 | 1
"""


def unclean(found: object) -> list[str]:
    (finding,) = (finding for finding in found.findings if finding.id == "unclean-leader")  # type: ignore[attr-defined]
    return finding.evidence["partitions"]


@pytest.mark.parametrize("kafka", ["3.9", "4.3"])
@pytest.mark.parametrize("entity", ["topic:lost", "cluster"])
def test_unclean_elections_that_a_setting_brings_are_predicted(kafka: str, entity: str) -> None:
    # Measured on 3.9.2 and 4.3.1: the next check of leaderless partitions elects 2, RECOVERING.
    found = alter_config(*cluster(f"kafka {kafka}\n{LOST}"), parse_entity(entity), {UNCLEAN: "true"})
    assert (found.verdict, unclean(found)) == (Verdict.DEGRADED, ["lost-0"])
    (change,) = found.changes
    assert (change.topic, change.leader_after, change.isr_after, change.recovering_after) == ("lost", 2, (2,), True)
    assert found.appended is not None
    assert found.appended.by_type == {"ConfigRecord": 1, "PartitionChangeRecord": 1}


def test_unclean_elections_by_a_setting_come_with_3_9() -> None:
    found = alter_config(*cluster(f"kafka 3.8\n{LOST}"), parse_entity("topic:lost"), {UNCLEAN: "true"})
    assert (found.verdict, found.changes) == (Verdict.OK, ())


def test_deleted_override_gives_way_to_the_cluster_default() -> None:
    # Report nothing about `lost`, whose elections come without this change.
    image, facts = cluster(f"cluster {UNCLEAN}=true\n{LOST}")
    found = alter_config(image, facts, parse_entity("topic:kept"), {}, [UNCLEAN])
    assert (found.verdict, unclean(found)) == (Verdict.DEGRADED, ["kept-0"])


@pytest.mark.parametrize("broker, expected", [(7, Verdict.DEGRADED), (2, Verdict.OK)])
def test_setting_of_a_broker_counts_where_it_is_the_active_controller(broker: int, expected: Verdict) -> None:
    image, facts = cluster(LOST)
    facts = changed(facts, leader_id=7)
    found = alter_config(image, facts, parse_entity(f"broker:{broker}"), {UNCLEAN: "true"})
    assert found.verdict is expected


def test_partition_that_loses_its_eligible_leaders_and_is_elected_uncleanly_is_one_change() -> None:
    image, facts = cluster(
        "levels eligible.leader.replicas.version=1\nbrokers 1 2\nbroker 1 fenced\ntopic t\n  - | 1 2 |  | 1 | 1"
    )
    found = alter_config(image, facts, parse_entity("topic:t"), {UNCLEAN: "true", "min.insync.replicas": "1"})
    (change,) = found.changes
    assert (change.leader_after, change.elected_uncleanly, found.effects["stranded"]) == (2, True, [])
    written = [record.type for record in records_of(found.operations or (), facts.rules)]
    assert written == ["ConfigRecord", "ConfigRecord", "ClearElrRecord", "PartitionChangeRecord"]


def test_leaders_that_the_next_rebalance_moves_again_are_named() -> None:
    image, facts = cluster("brokers 1 2\nbroker 1 fenced\ntopic t\n  2 | 1 2 | 2")
    back = broker_return(image, facts, [1])
    (finding,) = (finding for finding in back.findings if finding.id == "leaders-move-back")
    assert finding.evidence["partitions"] == ["t-0"]
    assert back.verdict is Verdict.OK
    quiet = changed(facts, static={"auto.leader.rebalance.enable": "false"}, static_known=True)
    assert "leaders-move-back" not in {finding.id for finding in broker_return(image, quiet, [1]).findings}


def test_election_of_preferred_leaders_leaves_nothing_to_rebalance() -> None:
    image, facts = cluster("brokers 1 2\ntopic t\n  2 | 1 2 | 1 2")
    found = elect_leaders(image, facts, Election.PREFERRED)
    assert not found.findings
