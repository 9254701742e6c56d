"""`tiered` from folders to answers: each finding from the least that causes it, and a healthy cluster without any."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafkactl.core.errors import InputError
from kafkactl.tiered.api.verbs import (
    Audit,
    Filters,
    Forecast,
    Request,
    audit,
    foresee,
    history,
    left_over,
    load,
    segments,
)
from kafkactl.tiered.audit.coverage import Hole
from kafkactl.tiered.audit.run import Orphans
from tests.tiered.logs import (
    BEGIN_MS,
    DELETED,
    DELETING,
    FINISHED,
    SIZE,
    TIERED,
    LogOf,
    Topic,
    observed,
    partition_seen,
    save_broker,
    save_observation,
    save_replica,
    segment_uuid,
)

TOPIC = Topic("orders", 1)
GONE = Topic("gone", 2)


def audited(folder: Path, document: dict[str, Any], *logs: LogOf, **request: Any) -> Audit:
    save_observation(folder, document, *logs)
    return audit(load(Request(observation=str(folder), **request)))


def ids(answer: Audit | Forecast, *severities: str) -> list[str]:
    return [found.id for found in answer.findings if not severities or found.severity in severities]


def only(answer: Audit, wanted: str) -> dict[str, Any]:
    (found,) = [found for found in answer.findings if found.id == wanted]
    return found.to_dict()


def cluster(*partitions: dict[str, Any], **more: Any) -> dict[str, Any]:
    return observed([(TOPIC, TIERED, partitions or [partition_seen(latest=50)])], **more)


def three(log: LogOf | None = None) -> LogOf:
    """Return segments 0-9, 10-19, 20-29."""
    return (log or LogOf(0)).add(TOPIC.copied(0, "a", 0, 9), TOPIC.copied(0, "b", 10, 19), TOPIC.copied(0, "c", 20, 29))


def test_healthy_cluster_has_no_finding(tmp_path: Path):
    document = cluster(partition_seen(earliest=0, local=25, latest=50, bases=(25, 30, 40)))
    answer = audited(tmp_path, document, three())
    assert not answer.findings
    (partition,) = answer.partitions
    assert partition.by_state == {"COPY_SEGMENT_FINISHED": 3}
    assert (partition.remote_start_offset, partition.remote_end_offset) == (0, 29)
    assert (partition.highest_offset, partition.next_upload_offset, partition.holes) == (29, 30, ())
    assert answer.totals.bytes == 3 * SIZE


def test_gaps_in_the_middle_and_at_the_front_are_reported(tmp_path: Path):
    log = LogOf(0).add(
        TOPIC.copied(0, "b", 10, 19), TOPIC.copied(0, "c", 20, 29), TOPIC.copied(0, "d", 30, 39), TOPIC.deleted(0, "c")
    )
    document = cluster(partition_seen(earliest=0, local=25, latest=50, bases=(25, 40)))
    evidence = only(audited(tmp_path, document, log), "gap")["evidence"]
    assert [(part["from_offset"], part["to_offset"], part["local"]) for part in evidence["ranges"]] == [
        (0, 9, False),
        (20, 24, False),
        (25, 29, True),
    ]
    assert (evidence["from_offset"], evidence["to_offset"], evidence["local"]) == (0, 9, False)


def test_hole_below_the_highest_offset_is_reported(tmp_path: Path):
    log = three().add(TOPIC.deleted(0, "c"), TOPIC.deleted(0, "b"))
    document = cluster(partition_seen(earliest=0, local=10, latest=50, bases=(10, 20, 30, 40)))
    answer = audited(tmp_path, document, log)
    assert ids(answer) == ["hole-below-highest"]
    evidence = only(answer, "hole-below-highest")["evidence"]
    assert (evidence["from_offset"], evidence["to_offset"], evidence["local"]) == (10, 29, True)
    assert answer.partitions[0].holes == (Hole(10, 29, True),)


def test_next_segment_that_begins_below_the_highest_offset_leaves_no_hole(tmp_path: Path):
    # After an unclean election at 25: the highest offset is 24, and the next segment is the local one from 20 on.
    seen = partition_seen(epochs=((0, 0), (2, 25)), earliest=0, local=20, latest=60, bases=(20, 40))
    log = LogOf(0).add(TOPIC.copied(0, "a", 0, 19), TOPIC.copied(0, "old", 20, 39, broker=2))
    answer = audited(tmp_path, cluster(seen), log)
    assert answer.partitions[0].highest_offset == 24
    assert ids(answer) == ["out-of-lineage"]


def test_log_start_runs_away_while_deletes_are_refused(tmp_path: Path):
    log = three().add(TOPIC.update(0, "a", DELETING), TOPIC.update(0, "a", DELETING))
    document = cluster(partition_seen(earliest=25, local=25, latest=50, bases=(25, 40)))
    answer = audited(tmp_path, document, log)
    assert ids(answer, "blocker") == ["log-start-runs-away"]
    assert only(answer, "log-start-runs-away")["evidence"]["segments_total"] == 2
    assert only(answer, "dangling-delete")["evidence"]["pending"] == "due"
    assert ids(answer, "info") == ["below-log-start"]


def test_log_start_does_not_run_away_if_a_new_leader_continues_a_pass(tmp_path: Path):
    # The first leader exited within a retention pass; each leader began the delete once.
    log = three().add(TOPIC.update(0, "a", DELETING), TOPIC.update(0, "a", DELETING, broker=2))
    document = cluster(partition_seen(earliest=25, local=25, latest=50, bases=(25, 40), leader=2))
    assert ids(audited(tmp_path, document, log)) == ["dangling-delete", "below-log-start"]


def test_delete_is_as_old_as_its_first_record(tmp_path: Path):
    log = three().add(TOPIC.update(0, "a", DELETING, at=30_000), TOPIC.update(0, "a", DELETING, at=99_000))
    document = cluster(partition_seen(earliest=10, local=30, latest=50, epochs=((0, 10),)))
    assert only(audited(tmp_path, document, log), "dangling-delete")["severity"] == "warning"
    young = three().add(TOPIC.update(0, "a", DELETING, at=50_000))
    assert only(audited(tmp_path, document, young), "dangling-delete")["severity"] == "info"


@pytest.mark.parametrize(
    "name, has_tag, times, pending",
    [("a", True, 1, "due"), ("b", True, 1, "parked"), ("a", False, 1, "parked"), ("a", False, 2, "due")],
)
def test_dangling_delete_before_the_first_kept_segment_is_reported(
    tmp_path: Path, name: str, has_tag: bool, times: int, pending: str
):
    # 4.x, which writes whether there is a transaction index, tries it again; a second record proves that it did.
    log = LogOf(0)
    for segment, start in (("a", 0), ("b", 10), ("c", 20)):
        log.add(TOPIC.started(0, segment, start, start + 9, has_tag=has_tag), TOPIC.update(0, segment, FINISHED))
    log.add(*[TOPIC.update(0, name, DELETING)] * times)
    document = cluster(partition_seen(earliest=0, local=30, latest=50))
    assert only(audited(tmp_path, document, log), "dangling-delete")["evidence"]["pending"] == pending


def test_dangling_delete_of_the_start_of_a_kept_segment_is_reported(tmp_path: Path):
    # A pass comes to the segment of the epoch index first, keeps it and ends; what was refused before is over.
    log = LogOf(0).add(TOPIC.started(0, "x", 0, 9), *[TOPIC.update(0, "x", DELETING)] * 3)
    document = cluster(partition_seen(earliest=0, local=0, latest=50))
    answer = audited(tmp_path, document, log)
    assert ids(answer) == ["deletes-refused", "dangling-delete"]
    assert only(answer, "dangling-delete")["evidence"]["pending"] == "due"
    document = cluster(partition_seen(earliest=0, local=30, latest=50))
    answer = audited(tmp_path, document, three(log))
    assert ids(answer) == ["dangling-delete"]
    assert only(answer, "dangling-delete")["evidence"]["pending"] == "parked"


def test_refused_deletes_before_the_log_start_moves(tmp_path: Path):
    log = three().add(TOPIC.update(0, "a", DELETING), TOPIC.update(0, "a", DELETING))
    document = cluster(partition_seen(earliest=10, local=30, latest=50, epochs=((0, 10),)))
    assert ids(audited(tmp_path, document, log)) == ["deletes-refused", "dangling-delete"]


def test_orphans_are_certain_by_each_proof(tmp_path: Path):
    def answered(document: dict[str, Any], *records: bytes, **request: Any) -> Audit:
        return audited(tmp_path, document, three().add(*records), **request)

    again = answered(cluster(), TOPIC.started(0, "x", 30, 39), TOPIC.started(0, "y", 30, 39))
    assert ids(again) == ["orphan-copy", "copy-in-progress"]
    assert again.partitions[0].orphans == Orphans(segments=1, bytes=SIZE)
    down = cluster(brokers=[{"id": 1, "alive": True}, {"id": 2, "alive": False}])
    for document, broker, why in ((down, 2, "copier-down"), (cluster(), 3, "copier-not-leader")):
        found = answered(document, TOPIC.started(0, "x", 30, 39, broker=broker))
        assert only(found, "orphan-copy")["evidence"]["segments"][0]["why"] == why
    assert ids(answered(cluster(), TOPIC.started(0, "x", 50, 59))) == ["orphan-copy"]
    late = {"now_ms": BEGIN_MS + 3_600_001}
    assert ids(answered(cluster(), TOPIC.started(0, "x", 30, 39), **late)) == ["orphan-copy"]
    assert ids(answered(cluster(), TOPIC.started(0, "x", 30, 39))) == ["copy-in-progress"]


def test_leftovers_of_a_deleted_topic_are_reported_once(tmp_path: Path):
    log = three().add(GONE.copied(0, "x", 0, 9), GONE.started(0, "y", 10, 19), GONE.update(0, "z", FINISHED))
    answer = audited(tmp_path, cluster(), log)
    assert ids(answer) == ["leftover-of-deleted-topic"]
    assert only(answer, "leftover-of-deleted-topic")["evidence"]["segments_total"] == 2
    assert [partition.exists for partition in answer.partitions] == [False, True]


def test_missing_source_leaves_the_answer_unknown(tmp_path: Path):
    place = three().add(GONE.copied(0, "x", 5, 9), GONE.copied(0, "y", 10, 19)).save(tmp_path)
    answer = audit(load(Request(sources=(str(place),))))
    assert not answer.findings
    assert {partition.exists for partition in answer.partitions} == {None}
    assert {partition.highest_offset for partition in answer.partitions} == {None}


def test_broker_directory_has_the_lineage(tmp_path: Path):
    folder = save_broker(tmp_path / "b1", 1)
    three().save(folder)
    save_replica(folder, TOPIC, 0, epochs=((0, 5), (3, 25)), bases=(20, 40))
    (partition,) = audit(load(Request(sources=(str(folder),)))).partitions
    assert (partition.log_start_offset, partition.local_log_start_offset) == (5, 20)
    assert (partition.highest_offset, partition.log_end_offset) == (24, None)


def test_log_start_inside_the_first_local_segment_is_read(tmp_path: Path):
    # DeleteRecords moved it there: the local log starts with it, as the leader answers.
    save_broker(tmp_path, 1)
    three().save(tmp_path)
    save_replica(tmp_path, TOPIC, 0, epochs=((0, 35),), bases=(30, 40))
    (partition,) = audit(load(Request(sources=(str(tmp_path),)))).partitions
    assert (partition.log_start_offset, partition.local_log_start_offset) == (35, 35)


def test_severity_of_poison_follows_its_readers(tmp_path: Path):
    log = three().add(b"garbage")
    answer = audited(tmp_path, cluster(), log)
    evidence = only(answer, "poison-record")["evidence"]
    assert (evidence["offset"], evidence["why"], evidence["brokers"]) == (6, "undecodable", [1, 2, 3])
    none_reads = cluster()
    none_reads["topics"][0]["configs"] = {}
    assert ids(audited(tmp_path, none_reads, log)) == ["poison-record"]
    assert only(audited(tmp_path, none_reads, log), "poison-record")["severity"] == "info"


def test_partition_delete_record_for_a_living_partition_is_reported(tmp_path: Path):
    log = three().add(TOPIC.partition_delete(0))
    answer = audited(tmp_path, cluster(partition_seen(earliest=0, latest=50)), log)
    evidence = only(answer, "partition-delete-record")["evidence"]
    assert (evidence["brokers"], evidence["segments_total"]) == ([1, 2, 3], 3)
    assert answer.partitions[0].highest_offset == -1
    assert answer.partitions[0].segments == 0


def test_head_of_a_metadata_partition_is_gone(tmp_path: Path):
    document = cluster(partition_seen(earliest=0, local=30, latest=50))
    document["metadata_topic"]["logs"] = [{"partition": 0, "log_start_offset": 2, "end_offset": 6}]
    answer = audited(tmp_path, document, three())
    assert ids(answer, "blocker") == ["metadata-log-start-moved", "lost-with-metadata"]
    assert only(answer, "lost-with-metadata")["evidence"]["segments_total"] == 1
    forecast = foresee(load(Request(observation=str(tmp_path)))).to_dict()
    assert [found["id"] for found in forecast["findings"]] == ["log-start-would-jump"]
    (candidate, *_) = forecast["partitions"][0]["candidates"]
    assert (candidate["log_start_offset"], candidate["highest_offset"]) == (10, 29)
    assert candidate["unreachable"] == {"from_offset": 0, "to_offset": 9, "segments": 1, "bytes": SIZE}


def test_changed_number_of_metadata_partitions_is_reported(tmp_path: Path):
    home = TOPIC.home(0, 5)
    moved = next(count for count in range(6, 20) if TOPIC.home(0, count) != home)
    document = cluster(partition_seen(earliest=0, local=30, latest=50, bases=(30,)))
    document["metadata_topic"] = {"name": "__remote_log_metadata", "partitions": moved, "configured_partitions": moved}
    others = [LogOf(at) for at in range(moved) if at != home]
    answer = audited(tmp_path, document, three(LogOf(home)), *others)
    evidence = only(answer, "wrong-metadata-partition")["evidence"]
    assert (evidence["expected"], evidence["records_in"]) == (TOPIC.home(0, moved), [home])
    forecast = foresee(load(Request(observation=str(tmp_path)))).to_dict()
    candidate = forecast["partitions"][0]["candidates"][0]
    assert candidate["reads_metadata_partitions"] == [TOPIC.home(0, moved)]
    assert (candidate["knows_segments"], candidate["log_start_offset"], candidate["highest_offset"]) == (False, 30, -1)
    old = foresee(load(Request(observation=str(tmp_path), metadata_partitions=5))).to_dict()
    assert [(found["id"], found["severity"]) for found in old["findings"]] == [("uploads-would-stop", "blocker")]
    assert f"with 5 metadata partitions where the topic has {moved} does not tier" in old["findings"][0]["message"]
    candidate = old["partitions"][0]["candidates"][0]
    names = ("consumer", "stopped_by", "uploads", "log_start_offset", "highest_offset", "unreachable")
    assert [candidate[name] for name in names] == ["stops-at-restart", None, "stopped", 0, -1, None]
    larger = foresee(load(Request(observation=str(tmp_path), metadata_partitions=moved + 1))).to_dict()
    assert any("taken to be given that many" in words for words in larger["assumptions"])


@pytest.mark.parametrize("is_ended", [False, True])
def test_segments_before_a_change_of_the_number_are_named_after_a_partition_delete(tmp_path: Path, is_ended: bool):
    home = TOPIC.home(0, 5)
    number = next(count for count in range(6, 20) if TOPIC.home(0, count) != home)
    document = cluster(partition_seen(earliest=0, local=30, latest=50, bases=(30,)))
    topic = {"name": "__remote_log_metadata", "partitions": number, "configured_partitions": number}
    document["metadata_topic"] = topic
    earlier = three(LogOf(home))
    if is_ended:
        earlier.add(TOPIC.partition_delete(0))
    answer = audited(tmp_path, document, earlier, *(LogOf(at) for at in range(number) if at != home))
    found = only(answer, "wrong-metadata-partition")
    assert (found["severity"], found["evidence"]["segments_total"]) == ("blocker", 3)
    # The earlier number leads brokers to the record that ends their metadata consumers.
    assert ("Keep the present number" in found["next_step"]) is is_ended
    assert ids(answer, "info") == ["partition-delete-record"] * is_ended


def test_view_that_ends_early_accuses_nothing(tmp_path: Path):
    document = cluster(partition_seen(earliest=0, local=30, latest=50))
    document["metadata_topic"]["logs"] = [{"partition": 0, "log_start_offset": 0, "end_offset": 9}]
    log = LogOf(0).add(TOPIC.copied(0, "b", 10, 19), TOPIC.started(0, "c", 20, 29, broker=3))
    answer = audited(tmp_path, document, log)
    assert ids(answer) == ["metadata-view-incomplete"]
    forecast = foresee(load(Request(observation=str(tmp_path)))).to_dict()
    assert [found["id"] for found in forecast["findings"]] == ["metadata-view-incomplete"]
    assert {candidate["log_start_offset"] for candidate in forecast["partitions"][0]["candidates"]} == {None}
    assert not answer.source.metadata_partitions[0].complete
    missing = cluster()
    missing["metadata_topic"]["partitions"] = 2
    assert "metadata-view-incomplete" in ids(audited(tmp_path, missing, three()))


def test_replicas_are_compared_and_the_longest_counts(tmp_path: Path):
    long, short, other = three(), LogOf(0).add(TOPIC.copied(0, "a", 0, 9)), LogOf(0).add(TOPIC.copied(0, "z", 0, 9))
    paths = [str(log.save(tmp_path / name)) for name, log in (("1", short), ("2", long), ("3", other))]
    answer = audit(load(Request(sources=tuple(paths))))
    assert ids(answer) == ["diverged-metadata-replicas", "stale-metadata-replica", "stale-metadata-replica"]
    assert answer.totals.segments == 3


SUFFIXES = ("log", "index", "timeindex", "snapshot", "leader_epoch_checkpoint")


def objects(topic: Topic, partition: int, segment: str, start: int, *, suffixes: tuple[str, ...] = SUFFIXES) -> str:
    folder = f"kafka-tiered-storage/{topic.name}-{partition}-{topic.id}"
    lines = [f"{folder}/{start:020}-{segment_uuid(segment)}.{suffix} {SIZE} {BEGIN_MS}" for suffix in suffixes]
    return "\n".join(lines) + "\n"


def listed(tmp_path: Path, *parts: str) -> str:
    path = tmp_path / "listing.txt"
    path.write_text("".join(parts))
    return str(path)


def test_objects_of_each_kind_are_classified(tmp_path: Path):
    log = three().add(TOPIC.copied(0, "e", 30, 39), TOPIC.deleted(0, "e"), TOPIC.copied(0, "d", 30, 39))
    log.add(GONE.copied(0, "g", 0, 9))
    bucket = listed(
        tmp_path,
        objects(TOPIC, 0, "a", 0),
        objects(TOPIC, 0, "b", 10, suffixes=SUFFIXES[1:]),
        objects(TOPIC, 0, "c", 20, suffixes=SUFFIXES[:2]),
        objects(TOPIC, 0, "d", 30).replace(f".log {SIZE}", ".log 7"),
        objects(TOPIC, 0, "e", 30),
        objects(TOPIC, 0, "stranger", 50),
        objects(GONE, 0, "g", 0),
        "README 5\n",
    )
    answer = audited(tmp_path, cluster(), log, bucket=bucket)
    assert ids(answer) == [
        "missing-object",
        "object-size-mismatch",
        "missing-index-object",
        "leftover-of-deleted-topic",
        "object-after-delete-finished",
        "unknown-object",
    ]
    assert only(answer, "unknown-object")["evidence"]["objects_total"] == 6
    assert answer.source.bucket is not None and answer.source.bucket.layout == "local"
    found = left_over(load(Request(observation=str(tmp_path), bucket=bucket)), older_than_ms=0, include_orphans=False)
    assert not found.refused
    reasons = {(str(leftover.segment_id, "latin-1")[0], leftover.reason) for leftover in found.objects}
    assert reasons == {
        ("e", "object-after-delete-finished"),
        ("s", "unknown-object"),
        ("g", "leftover-of-deleted-topic"),
    }


def test_young_objects_and_orphans_are_left_out_unless_asked_for(tmp_path: Path):
    log = three().add(TOPIC.started(0, "x", 30, 39, broker=3))
    bucket = listed(tmp_path, objects(TOPIC, 0, "a", 0), objects(TOPIC, 0, "s", 50), objects(TOPIC, 0, "x", 30))
    document = cluster()
    document["metadata_topic"]["logs"] = [{"partition": 0, "end_offset": 7}]
    loaded = load(Request(observation=str(save_observation(tmp_path, document, log)), bucket=bucket))
    week = left_over(loaded, older_than_ms=7 * 86_400_000, include_orphans=True)
    assert (week.objects, week.skipped) == ((), 10)
    now = left_over(loaded, older_than_ms=0, include_orphans=True)
    assert sorted({leftover.reason for leftover in now.objects}) == ["orphan-copy", "unknown-object"]


@pytest.mark.parametrize("harm", ["end", "start", "garbage", "missing", "topics"])
def test_leftovers_are_refused_where_records_may_be_missing(tmp_path: Path, harm: str):
    document, log = cluster(), three()
    if harm == "end":
        document["metadata_topic"]["logs"] = [{"partition": 0, "end_offset": 7}]
    elif harm == "start":
        document["metadata_topic"]["logs"] = [{"partition": 0, "log_start_offset": 1}]
    elif harm == "garbage":
        log.add(b"garbage")
    elif harm == "missing":
        document["metadata_topic"]["partitions"] = 2
    else:
        document["topics"] = None
    bucket = listed(tmp_path, objects(TOPIC, 0, "a", 0), objects(TOPIC, 0, "s", 50))
    loaded = load(Request(observation=str(save_observation(tmp_path, document, log)), bucket=bucket))
    found = left_over(loaded, older_than_ms=0, include_orphans=False)
    assert (found.refused, found.objects) == (True, ())
    assert found.findings


def test_listing_of_another_store_is_not_judged(tmp_path: Path):
    bucket = listed(tmp_path, objects(Topic("other", 9), 0, "s", 50))
    answer = audited(tmp_path, cluster(), three(), bucket=bucket)
    assert ids(answer) == ["listing-of-another-store"]
    found = left_over(load(Request(observation=str(tmp_path), bucket=bucket)), older_than_ms=0, include_orphans=False)
    assert found.refused


def test_segments_are_filtered(tmp_path: Path):
    place = str(three().add(TOPIC.deleted(0, "a"), GONE.copied(1, "x", 0, 9)).save(tmp_path))
    found = segments(load(Request(sources=(place,))))
    assert [(part.topic, part.start_offset) for part in found] == [("gone", 0), ("orders", 10), ("orders", 20)]
    every = segments(load(Request(sources=(place,)), keep_deleted=True), Filters(topics=("orders",)))
    assert [part.state for part in every] == ["DELETE_SEGMENT_FINISHED"] + ["COPY_SEGMENT_FINISHED"] * 2
    by_id = segments(
        load(Request(sources=(place,))), Filters(topics=(str(TOPIC.id),), segments=(str(segment_uuid("b")),))
    )
    assert [part.first_offset for part in by_id] == [2]


def test_history_says_why_a_record_is_ignored(tmp_path: Path):
    log = three().add(TOPIC.update(0, "a", DELETED), TOPIC.update(0, "q", FINISHED), b"garbage")
    place = str(log.save(tmp_path))
    lines = list(history(load(Request(sources=(place,)))))
    assert [line["why"] for line in lines[6:]] == ["illegal-transition", "update-without-base", "poison-record"]
    assert lines[0]["data"]["remoteLogSegmentId"]["topicIdPartition"]["name"] == "orders"
    assert lines[-1]["kind"] == "undecodable"
    wanted = Filters(segments=(str(segment_uuid("b")),))
    assert [line["offset"] for line in history(load(Request(sources=(place,))), wanted)] == [2, 3]


def test_sources_without_a_log_are_refused(tmp_path: Path):
    (tmp_path / "empty").mkdir()
    for path in ("empty", "absent"):
        with pytest.raises(InputError):
            load(Request(sources=(str(tmp_path / path),)))
    LogOf(0).save(tmp_path / "hollow")
    loaded = load(Request(sources=(str(tmp_path / "hollow"),)))
    assert loaded.is_empty
    assert ids(audit(loaded)) == ["no-remote-log-metadata-records"]
