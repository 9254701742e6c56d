"""Requests that an operator sends: elections, configuration, reassignments."""

from __future__ import annotations

import json

import pytest

from kafkactl.dryrun.alter_config import alter_config, parse_entity
from kafkactl.dryrun.appended import records_of
from kafkactl.dryrun.broker_loss import broker_loss
from kafkactl.dryrun.broker_return import broker_return
from kafkactl.dryrun.chain import after
from kafkactl.dryrun.elect_leaders import elect_leaders
from kafkactl.dryrun.election import Election
from kafkactl.dryrun.prediction import Prediction, Verdict
from kafkactl.dryrun.reassignment import Move, parse_plan, reassignment
from kafkactl.errors import InputError
from kafkactl.frozen import changed
from tests.dryrun.clusters import cluster, uuid

ELR = "levels eligible.leader.replicas.version=1\n"


def codes(found: Prediction) -> list[int]:
    return [one["error_code"] for one in found.effects["results"]]


def types(found: Prediction) -> list[str]:
    return [one.type for one in records_of(found.operations or (), found.facts.rules)]


# --- elections ----------------------------------------------------------------------------------------------------

MOVED = """\
brokers 1 2 3
broker 3 fenced
topic a
  2 | 1 2 | 2 1
  1 | 1 2 | 1 2
  2 | 3 2 | 2
  - | 3 | 3
  - | 3 2 | 3"""


def test_preferred_and_its_errors() -> None:
    found = elect_leaders(*cluster(MOVED), Election.PREFERRED, [("a", one) for one in range(4)])
    assert codes(found) == [0, 84, 80, 80]
    assert [(one.partition, one.leader_after) for one in found.changes] == [(0, 1)]
    assert found.verdict is Verdict.OK


def test_all_partitions_leave_out_what_needs_nothing() -> None:
    found = elect_leaders(*cluster(MOVED), Election.PREFERRED)
    assert codes(found) == [0, 80, 80, 80]


def test_unclean() -> None:
    found = elect_leaders(*cluster(MOVED), Election.UNCLEAN, [("a", None)])
    assert codes(found) == [84, 84, 84, 83, 0]
    change = found.changes[0]
    assert (change.partition, change.leader_after, change.isr_after, change.recovering_after) == (4, 2, (2,), True)


def test_every_partition_errs_is_refused() -> None:
    found = elect_leaders(*cluster(MOVED), Election.PREFERRED, [("a", 2), ("b", None), ("a", 9)])
    assert (codes(found), found.verdict) == ([80, 3, 3], Verdict.REFUSED)


# --- configuration ------------------------------------------------------------------------------------------------


def test_min_isr_forgets_who_may_lead() -> None:
    """Measured on 4.3.1: the sole replica's broker returns, and the partition stays without a leader."""
    image, facts = cluster(ELR + "brokers 1 2\ntopic t1\n  1 | 1 | 1\n  2 | 2 | 2")
    image, facts = after(image, broker_loss(image, facts, [1]))
    found = alter_config(image, facts, parse_entity("topic:t1"), {"min.insync.replicas": "1"})
    assert types(found) == ["ConfigRecord", "ClearElrRecord"]
    assert found.effects["stranded"] == [{"topic": "t1", "partition": 0}]
    assert found.verdict is Verdict.DEGRADED
    image, facts = after(image, found)
    back = broker_return(image, facts, [1])
    assert "partition-stays-leaderless" in {one.id for one in back.findings}


def test_without_elr_it_is_harmless() -> None:
    image, facts = cluster("brokers 1 2\nbroker 1 fenced\ntopic t1\n  - | 1 | 1")
    found = alter_config(image, facts, parse_entity("cluster"), {"min.insync.replicas": "2"})
    assert (types(found), found.verdict) == (["ConfigRecord"], Verdict.OK)


def test_a_value_that_a_topic_has_already_writes_nothing() -> None:
    image, facts = cluster(ELR + "brokers 1\ntopic t min.insync.replicas=1\n  1 | 1 | 1")
    assert types(alter_config(image, facts, parse_entity("topic:t"), {"min.insync.replicas": "1"})) == []
    image, facts = cluster(ELR + "cluster min.insync.replicas=1\nbrokers 1\ntopic t\n  1 | 1 | 1")
    found = alter_config(image, facts, parse_entity("cluster"), {"min.insync.replicas": "1"})
    assert types(found) == ["ConfigRecord", "ClearElrRecord"]


def test_a_higher_min_isr_stops_writes() -> None:
    found = alter_config(
        *cluster("brokers 1 2 3\ntopic a\n  1 | 1 2 3 | 1"), parse_entity("topic:a"), {"min.insync.replicas": "2"}
    )
    assert ([one.id for one in found.findings], found.verdict) == (["partition-under-min-isr"], Verdict.DEGRADED)


@pytest.mark.parametrize(
    "entity, settings, deleted, code",
    [
        ("broker:1", {"min.insync.replicas": "2"}, [], 40),
        ("cluster", {}, ["min.insync.replicas"], 40),
        ("topic:nobody", {"x": "1"}, [], 3),
    ],
)
def test_refusals(entity: str, settings: dict[str, str], deleted: list[str], code: int) -> None:
    found = alter_config(*cluster(ELR + "brokers 1"), parse_entity(entity), settings, deleted)
    assert (found.verdict, found.effects["server_error"]["code"]) == (Verdict.REFUSED, code)


@pytest.mark.parametrize(
    "name, value, message",
    [
        ("min.insync.replicas", "abc", "Not a number of type INT"),
        ("min.insync.replicas", "", "Not a number of type INT"),
        ("min.insync.replicas", "99999999999", "Not a number of type INT"),
        ("min.insync.replicas", "0", "Value must be at least 1"),
        ("min.insync.replicas", "-3", "Value must be at least 1"),
        ("unclean.leader.election.enable", "maybe", "Expected value to be either true or false"),
    ],
)
def test_values_that_the_controller_refuses(name: str, value: str, message: str) -> None:
    """Texts of 4.3.1."""
    image, facts = cluster(ELR + "brokers 1\ntopic t\n  1 | 1 | 1")
    found = alter_config(image, facts, parse_entity("topic:t"), {name: value})
    assert found.verdict is Verdict.REFUSED
    error = found.effects["server_error"]
    assert (error["code"], error["message"]) == (40, f"Invalid value {value} for configuration {name}: {message}")


@pytest.mark.parametrize("name, value", [("min.insync.replicas", " +2 "), ("unclean.leader.election.enable", "TRUE")])
def test_values_that_it_takes_as_they_are(name: str, value: str) -> None:
    image, facts = cluster("brokers 1 2\ntopic t\n  1 | 1 2 | 1")
    found = alter_config(image, facts, parse_entity("topic:t"), {name: value})
    assert found.verdict is (Verdict.DEGRADED if "min" in name else Verdict.OK)


@pytest.mark.parametrize("text", ["topic:", "broker:x", "cluster:1", "group:g", ""])
def test_entities(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_entity(text)
    assert caught.value.id == "unknown-entity"


# --- reassignment -------------------------------------------------------------------------------------------------

FOUR = "brokers 1 2 3 4\nbroker 4 fenced\ntopic a\n  1 | 1 2 | 1 2\n  2 | 2 1 | 2"


def test_a_move_ends() -> None:
    found = reassignment(*cluster(FOUR), [Move("a", 0, (3, 2))])
    assert types(found) == ["PartitionChangeRecord"] * 2
    change = found.changes[0]
    assert (change.replicas_after, change.isr_after, change.leader_after) == ((3, 2), (2, 3), 3)
    assert (found.verdict, found.effects["completes"]) == (Verdict.OK, True)


def test_brokers_with_several_directories_report_which_one_they_took() -> None:
    image, facts = cluster(FOUR)
    assert "directories" not in " ".join(reassignment(image, facts, [Move("a", 0, (3, 2))]).assumptions)
    three = changed(image.brokers[3], directories=(uuid(503), uuid(603)))
    image = changed(image, brokers={**image.brokers, 3: three})
    told = " ".join(reassignment(image, facts, [Move("a", 0, (3, 2)), Move("a", 1, (2, 3))]).assumptions)
    assert "2 on broker 3" in told
    assert "directories" not in " ".join(reassignment(image, facts, [Move("a", 0, (2, 1))]).assumptions)


def test_a_broker_that_is_down_is_accepted_and_never_ends() -> None:
    image, facts = cluster(FOUR)
    found = reassignment(image, facts, [Move("a", 0, (4, 2))])
    assert (found.verdict, found.effects["completes"], codes(found)) == (Verdict.DEGRADED, False, [0])
    assert [one.id for one in found.findings] == ["reassignment-never-completes"]
    image, facts = after(image, found)
    back = reassignment(image, facts, [Move("a", 0, None)])
    change = back.changes[0]
    assert (change.replicas_after, change.isr_after) == ((2, 1), (1, 2))
    assert change.leader_epoch_after == 4  # the same leader is named, which raises its epoch


def test_a_reordering_ends_at_once() -> None:
    found = reassignment(*cluster(FOUR), [Move("a", 0, (2, 1))])
    assert (types(found), found.effects["completes"]) == (["PartitionChangeRecord"], True)


@pytest.mark.parametrize(
    "move, code, words",
    [
        (Move("a", 0, (77,)), 39, "includes broker 77, but no such broker is registered."),
        (Move("a", 0, (1, 1)), 39, "the broker 1 more than once."),
        (Move("a", 0, ()), 39, "an empty replica list."),
        (Move("a", 9, (1,)), 3, "Unable to find partition a:9."),
        (Move("b", 0, (1,)), 3, "Unable to find a topic named b."),
        (Move("a", 0, None), 85, ""),
    ],
)
def test_moves_that_kafka_refuses(move: Move, code: int, words: str) -> None:
    found = reassignment(*cluster(FOUR), [move])
    assert (found.verdict, codes(found)) == (Verdict.REFUSED, [code])
    assert (found.effects["results"][0]["message"] or "").endswith(words)


def test_plans() -> None:
    text = json.dumps({"version": 1, "partitions": [{"topic": "a", "partition": 1, "replicas": [1, 2]}]})
    assert parse_plan(text, file="plan.json") == (Move("a", 1, (1, 2)),)


@pytest.mark.parametrize(
    "text, error",
    [
        ("{", "invalid-reassignment-plan"),
        ("{}", "invalid-reassignment-plan"),
        ('{"partitions": [{"topic": "a", "partition": "0", "replicas": [1]}]}', "invalid-reassignment-plan"),
        ('{"partitions": [{"topic": "a", "partition": 0, "replicas": ["1"]}]}', "invalid-reassignment-plan"),
        ('{"partitions": []}', "no-partitions-named"),
        ('{"partitions": [{"topic":"a","partition":0,"replicas":[1]},{"topic":"a","partition":0,"replicas":[2]}]}',
         "partition-named-twice"),
    ],
)  # fmt: skip
def test_plans_that_cannot_be_read(text: str, error: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_plan(text, file="plan.json")
    assert caught.value.id == error


@pytest.mark.parametrize(
    "text, told",
    [
        ("[]", 'there is no list "partitions" in it'),
        ('{"partitions": {}}', 'there is no list "partitions" in it'),
        ('{"partitions": [3]}', "a partition has topic, partition and replicas, and not 3"),
        ('{"partitions": [{"topic": "a", "partition": "0", "replicas": [1]}]}', "no partition is named in"),
        ('{"partitions": [{"topic": "a", "partition": 0, "replicas": "1"}]}', "replicas are a list of broker ids"),
        ("{", "Expecting property name"),
    ],
)
def test_what_is_wrong_with_a_plan(text: str, told: str) -> None:
    with pytest.raises(InputError, match=r"plan\.json is no reassignment plan") as caught:
        parse_plan(text, file="plan.json")
    assert told in caught.value.message


def test_what_is_refused_does_not_complete() -> None:
    moves = [Move("a", 0, (2, 1)), Move("a", 1, (9,))]
    assert reassignment(*cluster(FOUR), moves).effects["completes"] is False
    assert reassignment(*cluster(FOUR), moves[:1]).effects["completes"] is True
