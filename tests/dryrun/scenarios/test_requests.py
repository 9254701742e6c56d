"""Requests that an operator sends: elections, configuration, reassignments."""

from __future__ import annotations

import json

import pytest

from kafkactl.core.errors import InputError
from kafkactl.core.frozen import changed
from kafkactl.dryrun.chain import after
from kafkactl.dryrun.controller.appended_records import records_of
from kafkactl.dryrun.controller.election import Election
from kafkactl.dryrun.controller.facts import Facts
from kafkactl.dryrun.prediction import Prediction, Verdict
from kafkactl.dryrun.scenarios.alter_config import alter_config, parse_entity
from kafkactl.dryrun.scenarios.broker_loss import broker_loss
from kafkactl.dryrun.scenarios.broker_return import broker_return
from kafkactl.dryrun.scenarios.elect_leaders import elect_leaders
from kafkactl.dryrun.scenarios.reassignment import Move, parse_plan, reassignment
from kafkactl.metadata.image.model import Image, Partitions, state_of
from tests.dryrun.clusters import cluster, uuid

HOSTILE_LINES = {
    "dryrun elect-leaders": ("{log} --type preferred", "{log} --topic {text}"),
    "dryrun alter-config": ("{log} --entity broker:1 --set my.pwd={text} --records", "{log} --entity {text} --set a=b"),
    "dryrun reassignment": ("{log} --plan {config}",),
    "dryrun features": ("{log} --release-version 4.0 --config {config}", "{log} --upgrade {text}=1"),
}

HOSTILE_PATHS = {
    "dryrun reassignment": [
        ("--plan", "{log} --plan {}"),
    ],
}

INPUTS = {
    "alter-config": [
        {"entity": "topic:spread", "set": {"min.insync.replicas": "2"}},
        {"entity": "topic:nobody", "set": {"x": "1"}},
    ],
    "elect-leaders": [{}],
    "features": [
        {"operation": "upgrade", "levels": {"metadata.version": 25}},
        {"operation": "upgrade", "levels": {"group.version": 1}},
    ],
    "reassignment": [{"moves": [{"topic": "spread", "partition": 0, "replicas": [1, 2]}]}],
}

ELR = "levels eligible.leader.replicas.version=1\n"


def codes(found: Prediction) -> list[int]:
    return [result["error_code"] for result in found.effects["results"]]


def types(found: Prediction) -> list[str]:
    return [record.type for record in records_of(found.operations or (), found.facts.rules)]


MOVED = """\
brokers 1 2 3
broker 3 fenced
topic a
  2 | 1 2 | 2 1
  1 | 1 2 | 1 2
  2 | 3 2 | 2
  - | 3 | 3
  - | 3 2 | 3"""


def test_preferred_elections_report_an_error_for_each_partition() -> None:
    found = elect_leaders(*cluster(MOVED), Election.PREFERRED, [("a", number) for number in range(4)])
    assert codes(found) == [0, 84, 80, 80]
    assert [(change.partition, change.leader_after) for change in found.changes] == [(0, 1)]
    assert found.verdict is Verdict.DEGRADED
    (refused,) = (finding for finding in found.findings if finding.id == "election-refused")
    assert refused.evidence["partitions"] == ["a-2", "a-3"]


@pytest.mark.parametrize(
    "kind, numbers, verdict",
    [
        (Election.PREFERRED, [1], Verdict.OK),  # nothing is needed
        (Election.PREFERRED, [0, 1], Verdict.OK),
        (Election.PREFERRED, [1, 2], Verdict.REFUSED),
        (Election.PREFERRED, [0, 2], Verdict.DEGRADED),
        (Election.UNCLEAN, [0, 1], Verdict.OK),
        (Election.UNCLEAN, [0, 3], Verdict.REFUSED),
        (Election.UNCLEAN, [3, 4], Verdict.DEGRADED),
    ],
)
def test_verdict_is_about_what_is_needed(kind: Election, numbers: list[int], verdict: Verdict) -> None:
    # ELECTION_NOT_NEEDED is not a refusal, and does not outweigh one.
    found = elect_leaders(*cluster(MOVED), kind, [("a", number) for number in numbers])
    assert found.verdict is verdict


def test_of_all_partitions_none_is_elected() -> None:
    found = elect_leaders(
        *cluster("brokers 1 2\nbroker 1 fenced\ntopic a\n  2 | 1 2 | 2\n  2 | 2 1 | 2"), Election.PREFERRED
    )
    assert (codes(found), found.verdict) == ([80], Verdict.REFUSED)


def test_all_partitions_leave_out_what_needs_nothing() -> None:
    found = elect_leaders(*cluster(MOVED), Election.PREFERRED)
    assert codes(found) == [0, 80, 80, 80]


def test_unclean_election_is_predicted() -> None:
    found = elect_leaders(*cluster(MOVED), Election.UNCLEAN, [("a", None)])
    assert codes(found) == [84, 84, 84, 83, 0]
    change = found.changes[0]
    assert (change.partition, change.leader_after, change.isr_after, change.recovering_after) == (4, 2, (2,), True)


def test_every_partition_errs_is_refused() -> None:
    found = elect_leaders(*cluster(MOVED), Election.PREFERRED, [("a", 2), ("b", None), ("a", 9)])
    assert (codes(found), found.verdict) == ([80, 3, 3], Verdict.REFUSED)


def test_min_isr_forgets_who_may_lead() -> None:
    # Measured on 4.3.1: the sole replica's broker returns, and the partition stays without a leader.
    image, facts = cluster(ELR + "brokers 1 2\ntopic t1\n  1 | 1 | 1\n  2 | 2 | 2")
    image, facts = after(image, broker_loss(image, facts, [1]))
    found = alter_config(image, facts, parse_entity("topic:t1"), {"min.insync.replicas": "1"})
    assert types(found) == ["ConfigRecord", "ClearElrRecord"]
    assert found.effects["stranded"] == [{"topic": "t1", "partition": 0}]
    assert found.verdict is Verdict.DEGRADED
    image, facts = after(image, found)
    back = broker_return(image, facts, [1])
    assert "partition-stays-leaderless" in {finding.id for finding in back.findings}


def test_without_elr_it_is_harmless() -> None:
    image, facts = cluster("brokers 1 2\nbroker 1 fenced\ntopic t1\n  - | 1 | 1")
    found = alter_config(image, facts, parse_entity("cluster"), {"min.insync.replicas": "2"})
    assert (types(found), found.verdict) == (["ConfigRecord"], Verdict.OK)


def test_value_that_a_topic_has_already_writes_nothing() -> None:
    image, facts = cluster(ELR + "brokers 1\ntopic t min.insync.replicas=1\n  1 | 1 | 1")
    assert types(alter_config(image, facts, parse_entity("topic:t"), {"min.insync.replicas": "1"})) == []
    image, facts = cluster(ELR + "cluster min.insync.replicas=1\nbrokers 1\ntopic t\n  1 | 1 | 1")
    found = alter_config(image, facts, parse_entity("cluster"), {"min.insync.replicas": "1"})
    assert types(found) == ["ConfigRecord", "ClearElrRecord"]


def test_higher_min_isr_stops_writes() -> None:
    found = alter_config(
        *cluster("brokers 1 2 3\ntopic a\n  1 | 1 2 3 | 1"), parse_entity("topic:a"), {"min.insync.replicas": "2"}
    )
    assert ([finding.id for finding in found.findings], found.verdict) == (
        ["partition-under-min-isr"],
        Verdict.DEGRADED,
    )


@pytest.mark.parametrize(
    "entity, settings, deleted, code",
    [
        ("broker:1", {"min.insync.replicas": "2"}, [], 40),
        ("cluster", {}, ["min.insync.replicas"], 40),
        ("topic:nobody", {"retention.ms": "1"}, [], 3),
        ("topic:nobody", {"x": "1"}, [], 40),  # the value is judged first
    ],
)
def test_change_of_settings_is_refused_with_the_code_of_kafka(
    entity: str, settings: dict[str, str], deleted: list[str], code: int
) -> None:
    found = alter_config(*cluster(ELR + "brokers 1"), parse_entity(entity), settings, deleted)
    assert (found.verdict, found.effects["server_error"].code) == (Verdict.REFUSED, code)


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
def test_invalid_values_are_refused_with_the_text_of_the_controller(name: str, value: str, message: str) -> None:
    # Texts of 4.3.1, but for a value of another type, which may be a password on the wrong line.
    image, facts = cluster(ELR + "brokers 1\ntopic t\n  1 | 1 | 1")
    found = alter_config(image, facts, parse_entity("topic:t"), {name: value})
    assert found.verdict is Verdict.REFUSED
    error = found.effects["server_error"]
    shown = "[hidden]" if value == "maybe" else value
    assert (error.code, error.message) == (40, f"Invalid value {shown} for configuration {name}: {message}")


@pytest.mark.parametrize("name, value", [("min.insync.replicas", " +2 "), ("unclean.leader.election.enable", "TRUE")])
def test_valid_values_are_accepted_as_they_are(name: str, value: str) -> None:
    image, facts = cluster("brokers 1 2\ntopic t\n  1 | 1 2 | 1")
    found = alter_config(image, facts, parse_entity("topic:t"), {name: value})
    assert found.verdict is (Verdict.DEGRADED if "min" in name else Verdict.OK)


@pytest.mark.parametrize(
    "kafka, levels, entity, present, value, message",
    [
        ("4.3", "metadata.version=29", "broker:1", None, "", "requires metadata.version >= 4.3-IV0"),
        ("4.3", "metadata.version=29", "broker:1", None, None, "requires metadata.version >= 4.3-IV0"),
        ("4.3", "metadata.version=29", "cluster", None, "*", "requires metadata.version >= 4.3-IV0"),
        ("4.3", "metadata.version=30", "broker:1", None, "/d1", "a subset of the current configuration value."),
        ("4.3", "metadata.version=30", "broker:1", "/d1", "/d1,/d2", "a subset of the current configuration value."),
        ("4.3", "metadata.version=30", "broker:1", "/d1 , /d2", " /d2", None),
        ("4.3", "metadata.version=30", "broker:1", "/d1", " ", None),
        ("4.3", "metadata.version=30", "broker:1", "/d1", None, None),
        ("4.2", "metadata.version=29", "broker:1", None, "/d1", None),  # a key like any other
    ],
)
def test_cordoned_directories_are_checked(
    kafka: str, levels: str, entity: str, present: str | None, value: str | None, message: str | None
) -> None:
    # As Kafka's own testCordonedLogDirsFeature and testIsCordonedLogDirsInvalid have it, texts of 4.3.1.
    image, facts = cluster(f"kafka {kafka}\nlevels {levels}\nbrokers 1\ntopic t\n  1 | 1 | 1")
    asked = parse_entity(entity)
    if present is not None:
        image = changed(image, configs={asked.key: {"cordoned.log.dirs": present}})
    settings, deleted = ({}, ["cordoned.log.dirs"]) if value is None else ({"cordoned.log.dirs": value}, [])
    found = alter_config(image, facts, asked, settings, deleted)
    if message is None:
        assert (found.verdict, types(found)) == (Verdict.OK, ["ConfigRecord"])
        return
    assert (found.verdict, found.effects["server_error"].code) == (Verdict.REFUSED, 40)
    assert found.effects["server_error"].message.endswith(message)
    forwarded = alter_config(image, facts, asked, settings, deleted, through_broker=True)
    assert (forwarded.verdict is Verdict.OK) is ("subset" in message)


@pytest.mark.parametrize("text", ["topic:", "broker:x", "cluster:1", "group:g", ""])
def test_unknown_entity_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_entity(text)
    assert caught.value.id == "unknown-entity"


FOUR = "brokers 1 2 3 4\nbroker 4 fenced\ntopic a\n  1 | 1 2 | 1 2\n  2 | 2 1 | 2"


def test_move_ends() -> None:
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
    message = " ".join(reassignment(image, facts, [Move("a", 0, (3, 2)), Move("a", 1, (2, 3))]).assumptions)
    assert "2 on broker 3" in message
    assert "directories" not in " ".join(reassignment(image, facts, [Move("a", 0, (2, 1))]).assumptions)


def test_broker_that_is_down_is_accepted_and_never_ends() -> None:
    image, facts = cluster(FOUR)
    found = reassignment(image, facts, [Move("a", 0, (4, 2))])
    assert (found.verdict, found.effects["completes"], codes(found)) == (Verdict.DEGRADED, False, [0])
    assert [finding.id for finding in found.findings] == ["reassignment-never-completes"]
    image, facts = after(image, found)
    back = reassignment(image, facts, [Move("a", 0, None)])
    change = back.changes[0]
    assert (change.replicas_after, change.isr_after) == ((2, 1), (1, 2))
    assert change.leader_epoch_after == 4  # the same leader is named, which raises its epoch


def test_reordering_ends_at_once() -> None:
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


CANCELLED = "brokers 1 2 3 4\nbroker 3 fenced\ntopic a\n  1 | 1 2 3 4 | 1 2 4"


@pytest.mark.parametrize("kafka, ends", [("3.3", True), ("3.7", True), ("3.8", False), ("4.2", False), ("4.3", False)])
def test_releases_differ_in_whether_a_replica_set_shrinks_while_one_is_down(kafka: str, ends: bool) -> None:
    # Kafka's own testCancelReassignPartitions, which asks for this of 3.7 and no more from 3.8 on.
    image, facts = cluster(f"kafka {kafka}\n{CANCELLED}")
    found = reassignment(image, facts, [Move("a", 0, (1, 2, 3))])
    change = found.changes[0]
    if ends:
        assert (change.replicas_after, change.isr_after, change.leader_after) == ((1, 2, 3), (1, 2), 1)
        assert found.effects["steps"][0]["removing_after"] == []
    else:
        assert found.effects["steps"][0]["removing_after"] == [4]
    assert found.effects["completes"] is ends


@pytest.mark.parametrize(
    "kafka, ends", [("3.7", False), ("3.8", True), ("3.9", True), ("4.0", True), ("4.2", True), ("4.3", False)]
)
def test_reassignment_to_its_original_replicas_is_reverted_or_waits(kafka: str, ends: bool) -> None:
    # The replica being added is then removed, too: 3.8 to 4.2 go back at once, the others wait for it forever.
    image, facts = cluster(f"kafka {kafka}\nbrokers 1 2 3 4\nbroker 4 fenced\ntopic a\n  1 | 1 2 3 | 1 2 3")
    image, facts = after(image, reassignment(image, facts, [Move("a", 0, (1, 2, 3, 4))]))
    found = reassignment(image, facts, [Move("a", 0, (1, 2, 3))])
    (step,) = found.effects["steps"]
    assert (step["completes"], step["adding_after"] == [], step["removing_after"] == []) == (ends, ends, ends)
    assert (found.verdict is Verdict.OK) is ends
    if not ends:
        (finding,) = (finding for finding in found.findings if finding.id == "reassignment-never-completes")
        assert "Cancel" in finding.next_step
    cancel = reassignment(image, facts, [Move("a", 0, None)])
    assert (cancel.verdict, cancel.changes[0].replicas_after) == (Verdict.OK, (1, 2, 3))


def many(kafka: str, lines: str) -> tuple[Image, Facts]:
    return cluster(f"kafka {kafka}\nbrokers 1 2\ntopic a\n" + lines * 10_003)


@pytest.mark.slow
def test_request_with_too_many_elections_is_refused() -> None:
    # KAFKA-14996: 10,000 records a request; the controller throws what it worked out away.
    found = elect_leaders(*many("4.3", "  2 | 1 2 | 2 1\n"), Election.PREFERRED)
    assert (found.verdict, found.effects["server_error"].name) == (Verdict.REFUSED, "POLICY_VIOLATION")
    assert (found.operations, found.changes) == ((), ())
    old = elect_leaders(*many("3.4", "  2 | 1 2 | 2 1\n"), Election.PREFERRED)
    assert (old.verdict, len(old.changes)) == (Verdict.OK, 10_003)


@pytest.mark.slow
def test_more_moves_than_a_request_may_have() -> None:
    # From 3.5 on the first 10,000 are taken, and each of the others is refused; before, nothing is done.
    moves = [Move("a", number, (2, 1)) for number in range(10_003)]
    found = reassignment(*many("4.3", "  1 | 1 2 | 1 2\n"), moves)
    assert (found.verdict, codes(found)[9_999:]) == (Verdict.DEGRADED, [0, -1, -1, -1])
    assert (found.effects["records_at_once"], len(found.changes)) == (10_000, 10_000)
    old = reassignment(*many("3.4", "  1 | 1 2 | 1 2\n"), moves)
    assert old.verdict is Verdict.REFUSED


def test_reassignment_plan_is_parsed() -> None:
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
def test_invalid_reassignment_plans_are_refused(text: str, error: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_plan(text, file="plan.json")
    assert caught.value.id == error


@pytest.mark.parametrize(
    "text, message",
    [
        ("[]", 'there is no list "partitions" in it'),
        ('{"partitions": {}}', 'there is no list "partitions" in it'),
        ('{"partitions": [3]}', "a partition has topic, partition and replicas, and not 3"),
        ('{"partitions": [{"topic": "a", "partition": "0", "replicas": [1]}]}', "no partition is named in"),
        ('{"partitions": [{"topic": "a", "partition": 0, "replicas": "1"}]}', "replicas are a list of broker ids"),
        ("{", "the text ends at line 1, column 2: expected a key in double quotes"),
    ],
)
def test_invalid_plan_of_moves_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=r"plan\.json is not a reassignment plan") as caught:
        parse_plan(text, file="plan.json")
    assert message in caught.value.message


def test_refused_move_does_not_complete() -> None:
    moves = [Move("a", 0, (2, 1)), Move("a", 1, (9,))]
    found = reassignment(*cluster(FOUR), moves)
    assert (found.effects["completes"], found.verdict) == (False, Verdict.DEGRADED)
    assert reassignment(*cluster(FOUR), moves[:1]).effects["completes"] is True


def test_second_plan_needs_the_tools_switch_for_it() -> None:
    world = cluster(FOUR)
    assert "reassignment-under-way" not in {
        finding.id for finding in reassignment(*world, [Move("a", 0, (2, 1))]).findings
    }
    image, facts = world
    (topic,) = (topic for topic in image.topics.values() if topic.name == "a")
    moving = state_of(topic.partitions[0]._replace(adding_replicas=(2,)))
    topics = {**image.topics, topic.id: changed(topic, partitions=Partitions({**topic.partitions.states, 0: moving}))}
    image = changed(image, topics=topics)
    for replicas, expected in (((2, 1), True), (None, False)):
        found = reassignment(image, facts, [Move("a", 0, replicas)])
        assert ("reassignment-under-way" in {finding.id for finding in found.findings}) is expected
