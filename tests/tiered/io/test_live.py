"""A live cluster that answers badly or by halves: a finding or a typed error each, never a wrong figure."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkactl.commands.demo.broker import CLOSE, Action, Asked, Reply
from kafkactl.core.errors import KafkactlError, UnreachableError
from kafkactl.core.findings import Severity
from kafkactl.tiered.api.verbs import Audit, Request, audit, left_over, load, save, segments
from kafkactl.tiered.audit.run import PartitionStatus
from kafkactl.tiered.io.live import LiveObservation, observe_cluster
from tests.conftest import Run
from tests.fakes.tiered_cluster import METADATA, NOT_AUTHORIZED, NOT_LEADER, TieredBrokers
from tests.tiered.logs import LogOf, Topic


def observed(cluster: TieredBrokers) -> LiveObservation:
    with cluster, cluster.client() as client:
        return observe_cluster(client, now_ms=1_800_000_000_000)


def audited(live: LiveObservation) -> Audit:
    return audit(load(Request(live=live)))


def ids(answer: Audit) -> list[str]:
    return [finding.id for finding in answer.findings]


def status(answer: Audit) -> PartitionStatus:
    (found,) = answer.partitions
    return found


def test_everything_answers() -> None:
    answer = audited(observed(TieredBrokers()))
    assert ids(answer) == []
    assert [getattr(status(answer), name) for name in ("highest_offset", "log_start_offset", "log_end_offset")] == [
        99,
        0,
        120,
    ]


def test_leader_epochs_of_offsets_are_saved(tmp_path: Path) -> None:
    # -1 is that of an offset without one.
    cluster = TieredBrokers()
    cluster.offset_epochs = {-1: 3, -2: 0, -4: 2, -5: -1, -6: 3}
    save(load(Request(live=observed(cluster))), str(tmp_path / "saved"))
    document = json.loads((tmp_path / "saved" / "observation.json").read_text())
    offsets = document["topics"][0]["partitions"][0]["offsets"]
    assert {name: entry["leader_epoch"] for name, entry in offsets.items()} == {
        "earliest": 0, "latest": 3, "earliest_local": 2, "latest_tiered": None, "earliest_pending_upload": 3,
    }  # fmt: skip
    save(load(Request(observation=str(tmp_path / "saved"))), str(tmp_path / "again"))
    assert json.loads((tmp_path / "again" / "observation.json").read_text())["topics"] == document["topics"]


@pytest.mark.parametrize(
    "newest, known", [(11, {-4, -5, -6}), (10, {-4, -5}), (9, {-4, -5}), (8, {-4})], ids=["4.3", "4.0", "3.9", "3.6"]
)
def test_release_that_takes_a_special_offset_for_a_time(newest: int, known: set[int]) -> None:
    # Brokers up to 3.8 answer 0 when they are asked for latest-tiered: the first record since 1970.
    cluster = TieredBrokers(versions={2: (1, newest)})
    cluster.offsets |= {special: 0 for special in (-4, -5, -6) if special not in known}
    live = observed(cluster)
    (topic,) = (live.view.topics or {}).values()
    offsets = topic.partitions[0].offsets
    assert offsets is not None
    found = {-4: offsets.earliest_local, -5: offsets.latest_tiered, -6: offsets.earliest_pending_upload}
    assert found == {special: cluster.offsets[special] if special in known else None for special in (-4, -5, -6)}
    assert ids(audited(live)) == []


def test_leader_of_a_metadata_partition_moves_while_it_is_fetched() -> None:
    cluster = TieredBrokers()

    def moves(broker: int, asked: Asked) -> Action | None:
        if asked.name == "Fetch" and broker == 1:
            cluster.leaders[METADATA, 0] = 2
        return None

    cluster.override = moves
    answer = audited(observed(cluster))
    assert ids(answer) == []
    assert status(answer).segments == 1
    assert cluster.asked(2, "Fetch")


def test_metadata_partition_whose_leader_never_settles_is_an_error() -> None:
    cluster = TieredBrokers()
    refused = {"PartitionIndex": 0, "ErrorCode": NOT_LEADER, "Records": None}
    answer = Reply(body={"Responses": [{"Topic": METADATA, "Partitions": [refused]}]})
    cluster.override = lambda broker, asked: answer if asked.name == "Fetch" else None
    with pytest.raises(UnreachableError) as caught:
        observed(cluster)
    assert caught.value.id == "metadata-partition-not-given"
    assert "NOT_LEADER_OR_FOLLOWER" in caught.value.message


def test_leader_of_a_user_partition_moves_meanwhile() -> None:
    # What the old leader answered is not taken for the new one's.
    cluster = TieredBrokers()

    def moves(_: int, asked: Asked) -> Action | None:
        if asked.name == "Fetch":
            cluster.leaders["orders", 0], cluster.epochs["orders", 0] = 2, 1
        return None

    cluster.override = moves
    live = observed(cluster)
    answer = audited(live)
    assert ids(answer) == ["partitions-not-answered"]
    (finding,) = answer.findings
    assert finding.severity is Severity.WARNING
    assert finding.evidence["partitions"] == [{"topic": "orders", "partition": 0, "why": "leader-moved"}]
    assert [getattr(status(answer), name) for name in ("leader", "highest_offset", "log_start_offset")] == [
        2,
        None,
        None,
    ]


def test_partitions_without_a_leader_are_reported() -> None:
    cluster = TieredBrokers()
    cluster.leaders |= {("orders", 0): -1, (METADATA, 1): -1}
    answer = audited(observed(cluster))
    assert ids(answer) == ["metadata-view-incomplete", "partitions-not-answered"]
    assert answer.findings[0].evidence["metadata_partition"] == 1
    assert answer.findings[1].evidence["partitions"][0]["why"] == "no-leader"
    assert status(answer).leader == -1


@pytest.mark.parametrize("lost", [CLOSE, Reply(body={"Topics": []})], ids=["hangs up", "leaves partitions out"])
def test_one_broker_gives_no_answers(lost: Action) -> None:
    # It leads the user partition and one metadata partition; each question costs one attempt, not one each.
    cluster = TieredBrokers()
    asked_for = {"ListOffsets", "OffsetForLeaderEpoch", "Fetch"}
    cluster.override = lambda broker, asked: lost if broker == 1 and asked.name in asked_for else None
    answer = audited(observed(cluster))
    assert ids(answer) == ["metadata-view-incomplete", "partitions-not-answered"]
    assert answer.findings[1].evidence["partitions"] == [{"topic": "orders", "partition": 0, "why": "not-answered"}]
    assert [getattr(status(answer), name) for name in ("segments", "log_start_offset")] == [0, None]


def test_fetch_that_gives_nothing_is_an_error() -> None:
    cluster = TieredBrokers()
    empty = {"PartitionIndex": 0, "ErrorCode": 0, "Records": b""}
    answer = Reply(body={"Responses": [{"Topic": METADATA, "Partitions": [empty]}]})
    cluster.override = lambda broker, asked: answer if asked.name == "Fetch" else None
    with pytest.raises(UnreachableError, match="no records"):
        observed(cluster)


def test_topic_that_may_not_be_described_is_not_deleted(tmp_path: Path) -> None:
    # Else its objects would be listed as leftovers, to be deleted.
    secret, gone = Topic("secret", 2), Topic("gone", 3)
    log = LogOf(0).add(secret.copied(0, "s", 0, 99), gone.copied(0, "g", 0, 99))
    log.add(Topic("orders", 1).copied(0, "a", 0, 99))
    cluster = TieredBrokers({0: log, 1: LogOf(1)})
    cluster.hidden[secret.id.raw] = NOT_AUTHORIZED
    live = observed(cluster)
    loaded = load(Request(live=live))
    answer = audit(loaded)
    assert ids(answer) == ["topics-not-described", "leftover-of-deleted-topic"]
    assert answer.findings[0].evidence["topics"] == [{"topic": "secret", "topic_id": str(secret.id)}]
    assert answer.findings[1].evidence["topic"] == "gone"
    assert {each.topic: each.exists for each in answer.partitions} == {
        "gone": False, "orders": True, "secret": True,
    }  # fmt: skip
    listing = [
        {"key": f"{topic.name}-0-{topic.id}/{0:020}-{name}.log", "size": 1000, "mtime_ms": 1_600_000_000_000}
        for topic, name in ((secret, _segment_id(loaded, "secret")), (gone, _segment_id(loaded, "gone")))
    ]
    (tmp_path / "listing").write_text("\n".join(map(json.dumps, listing)))
    found = left_over(load(Request(live=live, bucket=str(tmp_path / "listing"))), older_than_ms=0, include_orphans=True)
    assert [leftover.found.key.partition("-")[0] for leftover in found.objects] == ["gone"]


def test_topic_that_was_created_during_the_observation_is_not_deleted() -> None:
    # It is in no answer about all topics; asked for by its id, it is not unknown.
    young = Topic("young", 2)
    log = LogOf(0).add(Topic("orders", 1).copied(0, "a", 0, 99), young.copied(0, "y", 0, 99))
    cluster = TieredBrokers({0: log, 1: LogOf(1)})
    cluster.hidden[young.id.raw] = 0
    answer = audit(load(Request(live=observed(cluster))))
    assert {each.topic: each.exists for each in answer.partitions} == {"orders": True, "young": True}
    assert not {"leftover-of-deleted-topic", "topics-not-described"} & set(ids(answer))


def _segment_id(loaded: Any, topic: str) -> str:
    (found,) = [segment.segment_id for segment in segments(loaded) if segment.topic == topic]
    return str(found)


def test_denied_settings_are_unknown() -> None:
    # Whether the topic is tiered is not known; its records show that it was.
    cluster = TieredBrokers()
    refused = {
        "Results": [
            {"ErrorCode": NOT_AUTHORIZED, "ResourceType": 2, "ResourceName": name, "Configs": []}
            for name in ("orders", METADATA)
        ]
    }
    cluster.override = lambda broker, asked: Reply(body=refused) if asked.name == "DescribeConfigs" else None
    answer = audited(observed(cluster))
    assert ids(answer) == []
    assert [getattr(status(answer), name) for name in ("segments", "highest_offset", "log_start_offset")] == [1, 99, 0]


@pytest.mark.parametrize("own, start", [("remote.storage.enable", 0), ("cleanup.policy", None)])
def test_topics_with_remote_storage_are_queried(own: str, start: int | None) -> None:
    # Where tiering was switched off, segments may be left; a topic that never had it is left alone.
    cluster = TieredBrokers()
    setting = {"Name": own, "Value": "false", "ConfigSource": 1, "IsSensitive": False}
    results = [
        {"ErrorCode": 0, "ResourceType": 2, "ResourceName": name, "Configs": [setting]} for name in ("orders", METADATA)
    ]
    cluster.override = lambda broker, asked: (
        Reply(body={"Results": results}) if asked.name == "DescribeConfigs" else None
    )
    assert status(audited(observed(cluster))).log_start_offset == start


@pytest.mark.parametrize("how", ["not shown", "not authorized"])
def test_without_the_metadata_topic_there_is_no_answer(how: str) -> None:
    cluster = TieredBrokers()
    if how == "not authorized":
        cluster.errors[METADATA] = NOT_AUTHORIZED
    else:
        cluster.override = lambda broker, asked: (
            Reply(body={"Brokers": [], "ClusterId": None, "ControllerId": 1, "Topics": []})
            if asked.name == "Metadata"
            else None
        )
    with pytest.raises(KafkactlError) as caught:
        observed(cluster)
    expected = "not-authorised" if how == "not authorized" else "no-remote-log-metadata-topic"
    assert caught.value.id == expected
    grant = "--operation Describe --operation Read --topic __remote_log_metadata"
    assert (grant in caught.value.advice) == (how == "not authorized")


def test_missing_metadata_topic_is_observed_where_topics_are_tiered() -> None:
    cluster = TieredBrokers()
    cluster.has_metadata_topic = False
    found = observed(cluster)
    assert (found.view.metadata_topic, found.logs) == (None, ())
    assert [topic.name for topic in (found.view.topics or {}).values() if topic.is_tiered] == ["orders"]


def test_missing_metadata_topic_without_a_tiered_topic_is_an_error() -> None:
    cluster = TieredBrokers()
    cluster.has_metadata_topic, cluster.topics = False, {}
    with pytest.raises(UnreachableError, match="no topic with remote"):
        observed(cluster)


def test_metadata_topic_is_refused_without_a_right() -> None:
    cluster = TieredBrokers()
    refused = {"PartitionIndex": 0, "ErrorCode": NOT_AUTHORIZED, "Records": None}
    answer = Reply(body={"Responses": [{"Topic": METADATA, "Partitions": [refused]}]})
    cluster.override = lambda broker, asked: answer if asked.name == "Fetch" else None
    with pytest.raises(UnreachableError, match="TOPIC_AUTHORIZATION_FAILED"):
        observed(cluster)


@pytest.mark.parametrize(
    "how, fail_on, code",
    [("healthy", "warning", 0), ("no leader", "blocker", 0), ("no leader", "warning", 7), ("no right", "blocker", 4)],
)
def test_exit_code_depends_on_fail_on(kafkactl: Callable[..., Run], how: str, fail_on: str, code: int) -> None:
    cluster = TieredBrokers()
    if how == "no leader":
        cluster.leaders["orders", 0] = -1
    elif how == "no right":
        cluster.errors[METADATA] = NOT_AUTHORIZED
    with cluster:
        words = ["--bootstrap-server", str(cluster.brokers[1].address), "--fail-on", fail_on, "-o", "json"]
        result = kafkactl("tiered", "audit", "--from-cluster", *words)
    assert result.code == code, result.stderr
    if code == 4:
        assert "not-authorised" in result.stderr
        return
    expected = [] if how == "healthy" else ["partitions-not-answered"]
    assert [finding["id"] for finding in json.loads(result.stdout)["findings"]] == expected
