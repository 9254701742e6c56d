"""Proofs that an object is left over: without one it is kept, because a deleted object cannot be restored."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kafkactl.core.kafka_names import REMOTE_LOG_METADATA
from kafkactl.core.values import Uuid
from kafkactl.protocol.log.frame import encode_record
from kafkactl.protocol.record_batch import encode_batch
from kafkactl.protocol.schema.definitions import message
from kafkactl.tiered.api.verbs import Leftovers, Request, audit, left_over, load, save
from tests.tiered.api.test_answers import GONE, TOPIC, cluster, ids, listed, objects, three
from tests.tiered.logs import (
    BEGIN_MS,
    FINISHED,
    HOUR_MS,
    SIZE,
    TIERED,
    LogOf,
    Topic,
    metadata_log,
    observed,
    partition_seen,
    save_broker,
    save_observation,
)

RLM = Uuid(b"r" * 16)
OTHER = Topic("other", 90)


def source(folder: Path, log: LogOf, *, topic_id: Uuid | None = RLM) -> str:
    """Return a broker's copied metadata partition; without a `topic_id` its partition.metadata was not copied."""
    place = log.save(folder)
    if topic_id is not None:
        (place / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}\n")
    return str(folder)


def left(request: Request, *, orphans: bool = False) -> Leftovers:
    return left_over(load(request), older_than_ms=0, include_orphans=orphans)


def reasons(found: Leftovers) -> dict[str, int]:
    return dict(found.by_reason)


def request(tmp_path: Path, log: LogOf, topics: list[Topic], bucket: str, **more: object) -> Request:
    named = [(REMOTE_LOG_METADATA, RLM), *((topic.name, topic.id) for topic in topics)]
    place = metadata_log(tmp_path / "__cluster_metadata-0", named, end_ms=more.pop("end_ms", BEGIN_MS + HOUR_MS))  # type: ignore[arg-type]
    given = source(tmp_path / "copy", log, topic_id=more.pop("topic_id", RLM))  # type: ignore[arg-type]
    return Request(sources=(given,), metadata=str(place), bucket=bucket, now_ms=BEGIN_MS + 24 * HOUR_MS)


def test_topics_are_kept_where_nothing_proves_that_the_log_is_of_their_cluster(tmp_path: Path) -> None:
    # The log of another cluster, and a copy without partition.metadata: every topic seems to be gone.
    bucket = listed(tmp_path, *(objects(TOPIC, 0, name, at) for name, at in (("a", 0), ("b", 10), ("c", 20))))
    asked = request(tmp_path, three(), [OTHER], bucket, topic_id=None)
    assert ids(audit(load(asked))) == ["metadata-topic-expires"]
    found = left(asked)
    assert (found.outcome, found.objects) == ("done", ())
    assert any("not proved to be of this cluster" in words for words in load(asked).assumptions)


@pytest.mark.parametrize("proof", ["partition.metadata", "meta.properties", "topic in common"])
def test_topic_of_a_proved_cluster_is_gone(tmp_path: Path, proof: str) -> None:
    bucket = listed(tmp_path, objects(GONE, 0, "g", 0))
    log = LogOf(0).add(GONE.copied(0, "g", 0, 9))
    if proof == "topic in common":
        log.add(OTHER.copied(0, "o", 0, 9))
    asked = request(tmp_path, log, [OTHER], bucket, topic_id=RLM if proof == "partition.metadata" else None)
    if proof == "meta.properties":
        save_broker(tmp_path / "copy", 1)
        save_broker(tmp_path, 2)
    assert reasons(left(asked)) == {"leftover-of-deleted-topic": 5}


def test_log_without_its_head_makes_no_topic_gone(tmp_path: Path) -> None:
    # One later segment of the metadata log, without the snapshot before it, has few topics.
    topic = {"Name": REMOTE_LOG_METADATA, "TopicId": RLM}
    replicas = {"Replicas": [1], "Isr": [1], "Leader": 1, "LeaderEpoch": 0, "PartitionEpoch": 0}
    values = [
        encode_record(message("TopicRecord"), 0, topic),
        encode_record(message("PartitionRecord"), 0, {"PartitionId": 0, "TopicId": RLM, **replicas}),
    ]
    place = tmp_path / "__cluster_metadata-0" / f"{1000:020}.log"
    place.parent.mkdir()
    batch = encode_batch([(None, value) for value in values], base_offset=1000, timestamp_ms=BEGIN_MS + HOUR_MS)
    place.write_bytes(batch)
    asked = Request(
        sources=(source(tmp_path / "copy", three()),),
        metadata=str(place),
        bucket=listed(tmp_path, objects(TOPIC, 0, "a", 0), objects(TOPIC, 0, "b", 10), objects(TOPIC, 0, "c", 20)),
    )
    assert "metadata-log-gap" in ids(audit(load(asked)))
    assert left(asked).objects == ()


def test_saved_observation_remembers_where_its_topics_end(tmp_path: Path) -> None:
    # The topic was created after the copy of the metadata log: unknown, not gone, also in what is saved of it.
    bucket = listed(tmp_path, objects(TOPIC, 0, "a", 0))
    asked = request(tmp_path, three(), [OTHER], bucket, end_ms=BEGIN_MS - HOUR_MS)
    direct = left(asked)
    save(load(asked), str(tmp_path / "saved"))
    saved = left(Request(observation=str(tmp_path / "saved"), bucket=bucket, now_ms=asked.now_ms))
    assert direct.objects == saved.objects == ()
    assert [partition.exists for partition in audit(load(Request(observation=str(tmp_path / "saved")))).partitions] == [
        None
    ]


def test_saved_observation_remembers_removed_topics(tmp_path: Path) -> None:
    bucket = listed(tmp_path, objects(GONE, 0, "g", 0))
    place = metadata_log(
        tmp_path / "__cluster_metadata-0",
        [(REMOTE_LOG_METADATA, RLM), (OTHER.name, OTHER.id)],
        removed=[(GONE.name, GONE.id)],
        end_ms=BEGIN_MS,
    )
    log = LogOf(0).add(GONE.copied(0, "g", 0, 9))
    asked = Request(sources=(source(tmp_path / "copy", log),), metadata=str(place), bucket=bucket)
    save(load(asked), str(tmp_path / "saved"))
    assert reasons(left(Request(observation=str(tmp_path / "saved")))) == {"leftover-of-deleted-topic": 5}


def test_saved_listing_keeps_its_time_and_archive_classes(tmp_path: Path) -> None:
    (tmp_path / "seen").mkdir()
    save_observation(tmp_path / "seen", cluster(time_ms=BEGIN_MS + HOUR_MS), three())
    key = objects(TOPIC, 0, "a", 0).split(" ")[0]
    document = (
        '{"sourceBucket": "b", "fileFormat": "CSV", "fileSchema": "Bucket, Key, Size, StorageClass", '
        f'"creationTimestamp": "{BEGIN_MS - HOUR_MS}", "files": [{{"key": "data.csv"}}]}}'
    )
    (tmp_path / "manifest.json").write_text(document)
    (tmp_path / "data.csv").write_text(f'"b","{key}","{SIZE}","GLACIER"\n')
    loaded = load(Request(observation=str(tmp_path / "seen"), bucket=str(tmp_path / "manifest.json")))
    save(loaded, str(tmp_path / "saved"))
    again = load(Request(observation=str(tmp_path / "saved"))).case.bucket
    assert again is not None
    assert (again.time_ms, [found.is_archived for found in again.listing.objects]) == (BEGIN_MS - HOUR_MS, [True])
    # Segments that were copied after the listing was made are not missing from it.
    assert "missing-object" not in ids(audit(load(Request(observation=str(tmp_path / "saved")))))


@pytest.mark.parametrize("known", [False, True])
def test_list_is_refused_while_the_number_of_metadata_partitions_is_unknown(tmp_path: Path, *, known: bool) -> None:
    document = cluster()
    document["metadata_topic"] |= {"partitions": None, "configured_partitions": None}
    folder = str(save_observation(tmp_path / "seen", document, three()))
    bucket = listed(tmp_path, objects(TOPIC, 0, "s", 50))
    found = left(Request(observation=folder, bucket=bucket, metadata_partitions=1 if known else None))
    assert found.refused is not known
    assert known or [finding.id for finding in found.findings] == ["metadata-view-incomplete"]


def test_topic_whose_records_were_given_is_not_missing(tmp_path: Path) -> None:
    document = cluster(metadata_topic=None)
    folder = str(save_observation(tmp_path / "seen", document, three()))
    assert "metadata-topic-missing" not in ids(audit(load(Request(observation=folder))))


def unknown(
    tmp_path: Path, document: dict[str, object], *logs: LogOf, topic: Topic = TOPIC, partition: int = 0, at: int = 0
) -> Leftovers:
    """Return the leftovers of a listing with a segment that no record names."""
    folder = str(save_observation(tmp_path / "seen", document, *logs))
    stranger = objects(topic, partition, "s", 50).replace(str(BEGIN_MS), str(BEGIN_MS + at))
    bucket = listed(tmp_path, objects(TOPIC, 0, "a", 0), stranger)
    return left(Request(observation=folder, bucket=bucket, now_ms=BEGIN_MS + 48 * HOUR_MS))


def whole() -> dict[str, object]:
    """Return a cluster whose metadata topic was read to its known end."""
    document = cluster()
    document["metadata_topic"]["logs"] = [{"partition": 0, "end_offset": 6}]
    return document


def test_object_without_a_record_is_left_over_where_the_log_was_read_whole(tmp_path: Path) -> None:
    found = unknown(tmp_path, whole(), three(), at=1000)
    assert (reasons(found), found.unproven) == ({"unknown-object": 5}, 0)


def test_object_of_a_topic_without_any_record_may_be_of_another_cluster(tmp_path: Path) -> None:
    # Brokers write the base record before the first byte: two clusters share the bucket.
    found = unknown(tmp_path, whole(), three(), topic=OTHER, at=1000)
    assert (found.objects, found.unproven) == ((), 5)
    assert [finding.id for finding in found.findings] == ["object-may-have-a-record"]


def test_object_of_a_moved_partition_needs_all_metadata_partitions(tmp_path: Path) -> None:
    # The number was two, and the copy of the earlier home ends before the object was written.
    at = next(at for at in range(20) if TOPIC.home(at, 2) != TOPIC.home(at, 3))
    before, after = TOPIC.home(at, 2), TOPIC.home(at, 3)
    logs = [LogOf(number) for number in range(3)]
    logs[before].add(TOPIC.copied(at, "a", 0, 9))
    logs[after].clock_ms += 10 * HOUR_MS
    logs[after].add(TOPIC.copied(at, "b", 10, 19, at=10 * HOUR_MS))
    document = cluster(partition_seen(at, latest=50), time_ms=BEGIN_MS + 12 * HOUR_MS)
    document["metadata_topic"] |= {"partitions": 3, "configured_partitions": 3}
    document["metadata_topic"]["logs"] = [
        {"partition": log.partition, "end_offset": 0} for log in logs if log.partition not in (before, after)
    ]
    found = unknown(tmp_path, document, *logs, partition=at, at=2 * HOUR_MS)
    assert (found.refused, found.objects, found.unproven) == (False, (), 5)


def test_copy_of_a_moved_partition_may_have_ended(tmp_path: Path) -> None:
    # FINISHED is in another metadata partition, with a clock behind: by their times it comes before the base record.
    first, second = LogOf(0), LogOf(1)
    second.add(TOPIC.update(0, "a", FINISHED, broker=3))
    first.clock_ms += 5_000
    first.add(TOPIC.started(0, "a", 0, 9, broker=3))
    document = cluster(partition_seen(leader=1, latest=50))
    document["metadata_topic"] |= {"partitions": 2, "configured_partitions": 2}
    document["metadata_topic"]["logs"] = [{"partition": 0, "end_offset": 1}, {"partition": 1, "end_offset": 1}]
    folder = str(save_observation(tmp_path / "seen", document, first, second))
    asked = Request(observation=folder, bucket=listed(tmp_path, objects(TOPIC, 0, "a", 0)))
    found = left(asked, orphans=True)
    assert (found.objects, found.unproven) == ((), 5)


def test_metadata_partition_that_the_topic_does_not_have_is_not_missing(tmp_path: Path) -> None:
    # Brokers are configured with more than the topic has: the others do not exist, and no record can be in them.
    document = cluster(partition_seen(earliest=0, local=25, latest=50, bases=(25, 30, 40)))
    document["metadata_topic"] |= {"partitions": 1, "configured_partitions": 3}
    folder = str(save_observation(tmp_path / "seen", document, three()))
    found = ids(audit(load(Request(observation=folder))))
    assert "metadata-partition-count-differs" in found
    assert "metadata-view-incomplete" not in found


@pytest.mark.parametrize(("written_ms", "count"), [(BEGIN_MS + 50_000, 5), (BEGIN_MS + 200_000, 0)])
def test_undated_object_is_left_over_only_if_it_was_listed_before_the_view(
    tmp_path: Path, written_ms: int, count: int
) -> None:
    # A segment that was copied between the observation and the listing has its record after the observation.
    folder = str(save_observation(tmp_path / "seen", whole(), three()))
    lines = (objects(TOPIC, 0, "a", 0) + objects(TOPIC, 0, "s", 50)).replace(f" {BEGIN_MS}", "")
    bucket = listed(tmp_path, lines)
    os.utime(bucket, ns=(written_ms * 1_000_000, written_ms * 1_000_000))
    found = left(Request(observation=folder, bucket=bucket))
    assert (len(found.objects), found.unproven) == (count, 5 - count)
    assert ("object-age-unknown" in [finding.id for finding in found.findings]) is bool(count)


def test_source_newer_than_its_observation_makes_no_topic_gone(tmp_path: Path) -> None:
    # The topic was created after the observation.
    folder = str(save_observation(tmp_path / "seen", whole(), three()))
    log = three()
    log.clock_ms += HOUR_MS
    log.add(OTHER.copied(0, "o", 0, 9, at=HOUR_MS), GONE.copied(0, "g", 0, 9))
    newer = source(tmp_path / "copy", log)
    bucket = listed(tmp_path, objects(OTHER, 0, "o", 0), objects(GONE, 0, "g", 0))
    asked = Request(observation=folder, sources=(newer,), bucket=bucket, now_ms=BEGIN_MS + 48 * HOUR_MS)
    assert {found.topic: found.exists for found in audit(load(asked)).partitions} == {
        TOPIC.name: True, OTHER.name: None, GONE.name: False,
    }  # fmt: skip
    assert reasons(left(asked)) == {"leftover-of-deleted-topic": 5}


def test_end_of_an_earlier_observation_proves_nothing_of_a_newer_source(tmp_path: Path) -> None:
    # The object was written after the source was copied.
    folder = str(save_observation(tmp_path / "seen", whole(), three()))
    newer = source(tmp_path / "copy", three())
    late = objects(TOPIC, 0, "s", 50).replace(str(BEGIN_MS), str(BEGIN_MS + 5 * HOUR_MS))
    bucket = listed(tmp_path, objects(TOPIC, 0, "a", 0), late)
    asked = Request(observation=folder, sources=(newer,), bucket=bucket, now_ms=BEGIN_MS + 48 * HOUR_MS)
    found = left(asked)
    assert (found.objects, found.unproven) == ((), 5)


def test_later_observation_counts_before_an_earlier_metadata_log(tmp_path: Path) -> None:
    # Since the copy of the log another broker became the leader, copies a segment, and a topic was created.
    log = three().add(TOPIC.started(0, "d", 30, 39, broker=2, at=HOUR_MS), OTHER.copied(0, "o", 0, 9, at=-2 * HOUR_MS))
    seen = [partition_seen(leader=2, latest=50)]
    document = observed([(TOPIC, TIERED, seen), (OTHER, TIERED, [partition_seen()])], time_ms=BEGIN_MS + HOUR_MS)
    document["metadata_topic"]["logs"] = [{"partition": 0, "end_offset": log.next_offset}]
    folder = str(save_observation(tmp_path / "seen", document, log))
    earlier = metadata_log(
        tmp_path / "__cluster_metadata-0",
        [(REMOTE_LOG_METADATA, RLM), (TOPIC.name, TOPIC.id)],
        end_ms=BEGIN_MS,
    )
    bucket = listed(tmp_path, objects(TOPIC, 0, "d", 30), objects(OTHER, 0, "o", 0))
    asked = Request(observation=folder, metadata=str(earlier), bucket=bucket, now_ms=BEGIN_MS + HOUR_MS)
    assert left(asked, orphans=True).objects == ()
    assert {found.topic: (found.exists, found.leader) for found in audit(load(asked)).partitions} == {
        TOPIC.name: (True, 2), OTHER.name: (True, 1),
    }  # fmt: skip


def test_later_metadata_log_counts_before_an_earlier_observation(tmp_path: Path) -> None:
    document = observed([(TOPIC, TIERED, [partition_seen()]), (GONE, TIERED, [partition_seen()])])
    document["metadata_topic"]["topic_id"] = str(RLM)
    log = three().add(GONE.copied(0, "g", 0, 9))
    folder = str(save_observation(tmp_path / "seen", document, log))
    named = [(REMOTE_LOG_METADATA, RLM), (TOPIC.name, TOPIC.id)]
    later = metadata_log(tmp_path / "__cluster_metadata-0", named, end_ms=BEGIN_MS + HOUR_MS)
    asked = Request(observation=folder, metadata=str(later), bucket=listed(tmp_path, objects(GONE, 0, "g", 0)))
    assert reasons(left(asked)) == {"leftover-of-deleted-topic": 5}
