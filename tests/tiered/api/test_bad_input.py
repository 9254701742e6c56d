"""`tiered` on what is cut, of another cluster, being written or damaged: it is said clearly, and nothing is accused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kafkactl.core.errors import InputError
from kafkactl.tiered.api.pages import report
from kafkactl.tiered.api.verbs import Audit, Filters, Request, audit, foresee, history, left_over, load, segments
from kafkactl.tiered.io import sources
from kafkactl.tiered.io.sources import open_sources
from tests.tiered.api.test_answers import GONE, TOPIC, cluster, ids, listed, objects, only, three
from tests.tiered.logs import (
    BEGIN_MS,
    FINISHED,
    HOUR_MS,
    LogOf,
    Topic,
    partition_seen,
    save_broker,
    save_observation,
    save_replica,
)

SEEN = partition_seen(earliest=0, local=25, latest=50, bases=(25, 30, 40))
WHOLE = "".join(objects(TOPIC, 0, name, start) for name, start in (("a", 0), ("b", 10), ("c", 20)))


def audited(folder: Path, log: LogOf, *, logs: list[dict[str, Any]] | None = None, **request: Any) -> Audit:
    document = cluster(SEEN)
    document["metadata_topic"]["logs"] = logs or []
    return audit(load(Request(observation=str(save_observation(folder, document, log)), **request)))


def refuses(folder: Path, bucket: str) -> bool:
    loaded = load(Request(observation=str(folder), bucket=bucket))
    return left_over(loaded, older_than_ms=0, include_orphans=False).refused


@pytest.mark.parametrize("text", ["", "backup/one 10\nbackup/two 20\n"])
def test_listing_without_a_segment_is_not_judged(tmp_path: Path, text: str):
    bucket = listed(tmp_path, text)
    assert ids(audited(tmp_path / "seen", three(), bucket=bucket)) == ["listing-of-another-store"]
    assert refuses(tmp_path / "seen", bucket)


def test_empty_store_of_a_cluster_without_segments_is_sound(tmp_path: Path):
    log = LogOf(0).add(TOPIC.copied(0, "a", 0, 9), TOPIC.deleted(0, "a"))
    document = cluster(partition_seen(earliest=10, local=10, latest=50, epochs=((0, 10),)))
    place = str(save_observation(tmp_path / "seen", document, log))
    assert ids(audit(load(Request(observation=place, bucket=listed(tmp_path, ""))))) == []


@pytest.mark.parametrize("left_out", [10, 20, 40, 65, 90])
def test_line_that_is_cut_is_refused(tmp_path: Path, left_out: int):
    # In the time, the size, the id, the offset, the folder: `log 1000` is a key and a size, too.
    save_observation(tmp_path / "seen", cluster(SEEN), three())
    with pytest.raises(InputError) as caught:
        load(Request(observation=str(tmp_path / "seen"), bucket=listed(tmp_path, WHOLE[:-left_out])))
    assert caught.value.id == "truncated-listing"


def test_listing_that_is_cut_between_lines_is_suspected(tmp_path: Path):
    lines = WHOLE.splitlines(keepends=True)
    for kept in (5, 7, 12):
        answer = audited(tmp_path / "seen", three(), bucket=listed(tmp_path, *lines[:kept]))
        assert "listing-may-be-truncated" in ids(answer, "warning")
        assert ids(answer, "blocker")
    in_the_middle = audited(tmp_path / "seen", three(), bucket=listed(tmp_path, *lines[:4], *lines[6:]))
    assert ids(in_the_middle) == ["missing-object", "missing-index-object"]
    assert ids(audited(tmp_path / "seen", three(), bucket=listed(tmp_path, WHOLE.rstrip()))) == []


def test_last_line_without_an_end_is_suspected_where_something_is_missing(tmp_path: Path):
    reverse = "".join(f"{line}\n" for line in reversed(WHOLE.splitlines()[5:])).rstrip()
    answer = audited(tmp_path / "seen", three(), bucket=listed(tmp_path, reverse))
    assert ids(answer) == ["missing-object", "listing-may-be-truncated"]


def many(folder: Path, listing: str) -> Audit:
    log, names = LogOf(0), "abcdefghijkl"
    for at, name in enumerate(names):
        log.add(TOPIC.copied(0, name, 10 * at, 10 * at + 9))
    document = cluster(partition_seen(earliest=0, local=120, latest=130, bases=(120,)))
    lines = {name: objects(TOPIC, 0, name, 10 * at) for at, name in enumerate(names)}
    bucket = listed(folder, *(lines[name] for name in listing))
    return audit(load(Request(observation=str(save_observation(folder / "seen", document, log)), bucket=bucket)))


def test_listing_of_a_part_is_suspected(tmp_path: Path):
    # In no order, and most segments are not in it.
    answer = many(tmp_path, "lb")
    assert ids(answer) == ["missing-object", "listing-may-be-truncated"]
    assert "of 10 of 12 complete segments" in only(answer, "listing-may-be-truncated")["message"]
    found = only(answer, "missing-object")
    assert "if the listing is whole" in found["message"] and found["next_step"].startswith("Make the listing again")


def test_objects_possibly_deleted_by_retention_are_reported_separately(tmp_path: Path):
    found = only(many(tmp_path, "lkjihgfedc"), "missing-object")
    assert "unless retention deleted what is missing after the metadata" in found["message"]
    for listing in ("lkjihgfedb", "lkjihgfeda"):
        assert only(many(tmp_path, listing), "missing-object")["message"].endswith("the offsets cannot be read")


def test_segment_below_the_log_start_may_be_missing(tmp_path: Path):
    document = cluster(partition_seen(earliest=15, local=25, latest=50, bases=(25, 30, 40)))
    place = str(save_observation(tmp_path / "seen", document, three()))
    bucket = listed(tmp_path, objects(TOPIC, 0, "c", 20))
    found = only(audit(load(Request(observation=place, bucket=bucket))), "missing-object")
    assert [segment["start_offset"] for segment in found["evidence"]["segments"]] == [10]


def dated(text: str, time: str) -> str:
    """Return objects with another time, or with none."""
    return "".join(f"{line.rpartition(' ')[0]} {time}".strip() + "\n" for line in text.splitlines())


@pytest.mark.parametrize(
    ("copied", "end", "time", "count"),
    [
        (3, None, BEGIN_MS, 5),
        (3, None, BEGIN_MS + 90_000, 0),
        (3, None, "", 0),
        (3, 6, BEGIN_MS + 90_000, 5),
        (3, 6, "", 0),
        (1, None, BEGIN_MS + 90_000, 0),
        (1, None, "", 0),
    ],
)
def test_objects_are_left_over_only_where_their_records_would_have_been_read(
    tmp_path: Path, copied: int, end: int | None, time: object, count: int
):
    # By a short log whose end is not known, objects in use would seem to be left over.
    log = LogOf(0)
    for start, name in ((0, "a"), (10, "b"), (20, "c"))[:copied]:
        log.add(TOPIC.copied(0, name, start, start + 9))
    document = cluster(SEEN)
    document["metadata_topic"]["logs"] = [] if end is None else [{"partition": 0, "end_offset": end}]
    place = str(save_observation(tmp_path / "seen", document, log))
    bucket = listed(tmp_path, dated(WHOLE + objects(TOPIC, 0, "s", 50), str(time)))
    found = left_over(load(Request(observation=place, bucket=bucket)), older_than_ms=0, include_orphans=False)
    assert not found.refused
    assert (len(found.objects), found.unproven) == (count, 20 - 5 * copied - count)
    assert ("object-may-have-a-record" in [finding.id for finding in found.findings]) is bool(found.unproven)


def test_copy_is_a_certain_orphan_only_where_records_reach_past_its_time(tmp_path: Path):
    copying = TOPIC.started(0, "x", 30, 39, broker=3)
    bucket = listed(tmp_path, WHOLE, objects(TOPIC, 0, "x", 30))
    place = str(save_observation(tmp_path / "seen", cluster(SEEN), three().add(copying)))
    for timeout_ms, count in ((HOUR_MS, 0), (1000, 5)):
        loaded = load(Request(observation=place, bucket=bucket, copy_timeout_ms=timeout_ms))
        found = left_over(loaded, older_than_ms=0, include_orphans=True)
        assert (len(found.objects), found.unproven) == (count, 5 - count)


def test_records_that_were_not_read_make_no_object_unreachable(tmp_path: Path):
    # The base record lies in damaged bytes: brokers have it.
    log = three().add(TOPIC.copied(0, "d", 30, 39))
    at = len(three().data) + 70
    log.data = log.data[:at] + bytes(20) + log.data[at + 20 :]
    answer = audited(tmp_path / "seen", log, bucket=listed(tmp_path, WHOLE, objects(TOPIC, 0, "d", 30)))
    assert "damaged-metadata-log" in ids(answer) and "unreachable-object" not in ids(answer)


def test_empty_metadata_partition_of_unknown_end_accuses_nothing(tmp_path: Path):
    for data in (b"", b"no batch" * 40):
        log = LogOf(0)
        log.data = data
        answer = audited(tmp_path, log)
        assert ids(answer, "blocker") == []
        assert "no record of partition orders-0" in only(answer, "metadata-view-incomplete")["message"]
        assert answer.partitions[0].holes == ()
        assert "log-start-would-jump" not in ids(foresee(load(Request(observation=str(tmp_path)))))


def test_empty_metadata_partition_that_is_known_to_be_empty_is_a_loss(tmp_path: Path):
    answer = audited(tmp_path, LogOf(0), logs=[{"partition": 0, "log_start_offset": 0, "end_offset": 0}])
    assert ids(answer) == ["gap"]


def test_metadata_topic_of_another_cluster_is_not_judged(tmp_path: Path):
    other = LogOf(0).add(Topic("other", 7).copied(0, "z", 0, 9))
    answer = audited(tmp_path, other)
    assert ids(answer) == ["metadata-of-another-cluster"]
    found = only(answer, "metadata-of-another-cluster")
    assert (found["evidence"]["topics"], found["evidence"]["partitions"]) == (["other"], ["orders-0"])
    bucket = listed(tmp_path, objects(Topic("other", 7), 0, "z", 0))
    assert refuses(tmp_path, bucket)


def test_offsets_of_a_cut_batch_are_not_a_gap(tmp_path: Path):
    log = three()
    log.data = log.data[:-7]
    answer = audited(tmp_path, log)
    assert ids(answer) == ["copy-in-progress", "metadata-log-cut-at-end"]
    assert answer.partitions[0].holes == ()
    log = three()
    log.data += bytes(4096)  # reserved space holds no batch
    assert ids(audited(tmp_path, log)) == []
    log = LogOf(0).add(TOPIC.copied(0, "b", 10, 19), TOPIC.copied(0, "c", 20, 29))
    log.data = log.data[:-7]
    evidence = only(audited(tmp_path, log), "gap")["evidence"]
    assert [(part["from_offset"], part["to_offset"]) for part in evidence["ranges"]] == [(0, 9)]


def test_gap_below_a_lost_head_says_that_the_present_leader_may_know_more(tmp_path: Path):
    log = LogOf(0, 50).add(TOPIC.update(0, "a", FINISHED), TOPIC.copied(0, "b", 10, 19), TOPIC.copied(0, "c", 20, 29))
    answer = audited(tmp_path, log)
    assert ids(answer, "blocker") == ["gap", "metadata-log-start-moved"]
    assert "the present leader may" in only(answer, "gap")["message"]


def test_objects_that_no_record_names_are_kept_where_records_were_lost(tmp_path: Path):
    log = LogOf(0, 50).add(TOPIC.copied(0, "b", 10, 19), TOPIC.copied(0, "c", 20, 29))
    answer = audited(tmp_path / "seen", log, bucket=listed(tmp_path, WHOLE))
    found = only(answer, "unknown-object")
    assert found["evidence"]["objects_total"] == 5
    assert "present leaders may still read them" in found["message"] and found["next_step"].startswith("Keep them")
    assert refuses(tmp_path / "seen", listed(tmp_path, WHOLE))


def test_records_of_unknown_versions_are_reported(tmp_path: Path):
    good = TOPIC.started(0, "x", 30, 39)
    for value in (b"\x02" + good[1:], good[:1] + b"\x09" + good[2:], good[:2] + b"\x07" + good[3:]):
        found = only(audited(tmp_path, three().add(value)), "poison-record")
        assert (found["severity"], found["evidence"]["why"]) == ("blocker", "undecodable")
        assert "a release that kafkactl does not know yet may read it" in found["message"]
    found = only(audited(tmp_path, three().add(good + b"\0")), "poison-record")
    assert "does not know yet" not in found["message"]


def test_partition_that_is_deleted_while_it_is_read_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # A broker renames its folder first; one that is there and cannot be read is an error.
    broker = save_broker(tmp_path / "data", 1)
    three().save(broker)
    save_replica(broker, TOPIC, 0, epochs=((0, 0),), bases=(0,))
    save_replica(broker, GONE, 0, epochs=((0, 0),), bases=(0,))
    listed_segments = sources._segments

    def segments_of(folder: Path) -> Any:
        if folder.name == "gone-0" and folder.exists():
            folder.rename(broker / "gone-0.deleted-delete")
        return listed_segments(folder)

    monkeypatch.setattr(sources, "_segments", segments_of)
    assert set(open_sources([str(broker)]).logs) == {TOPIC.key(0)}
    (broker / "orders-0" / "partition.metadata").unlink()
    (broker / "orders-0" / "partition.metadata").mkdir()
    assert open_sources([str(broker)]).logs == {}


def test_empty_checkpoint_has_no_entries(tmp_path: Path):
    # So a broker creates it, and reads it.
    broker = save_broker(tmp_path / "data", 1)
    three().save(broker)
    save_replica(broker, TOPIC, 0, epochs=(), bases=(0,))
    for name in ("orders-0/leader-epoch-checkpoint", "log-start-offset-checkpoint"):
        (broker / name).write_bytes(b"")
    opened = open_sources([str(broker)])
    assert opened.notes == ()
    assert [log.leader_epochs for logs in opened.logs.values() for log in logs] == [()]


def test_topic_or_partition_that_nothing_knows_is_an_error(tmp_path: Path):
    place = str(save_observation(tmp_path, cluster(), three()))
    loaded = load(Request(observation=place))
    for filters in (
        Filters(topics=("oders",)),
        Filters(topics=("orders", "oders")),
        Filters(partitions=(7,)),
        Filters(topics=("orders",), partitions=(7,)),
    ):
        for verb in (audit, foresee, segments, lambda *asked: list(history(*asked)), report):
            with pytest.raises(InputError) as caught:
                verb(loaded, filters)
            assert caught.value.id == "not-in-metadata-topic"
    assert segments(loaded, Filters(states=("DELETE_SEGMENT_STARTED",))) == []


def test_segments_that_are_listed_twice_are_reported(tmp_path: Path):
    # A copy of the store is in the listing: an object that is cut in the one may be whole in the other.
    copy = "".join(f"backup/{line}\n" for line in WHOLE.splitlines())
    answer = audited(tmp_path / "seen", three(), bucket=listed(tmp_path, WHOLE, copy.replace(" 1000 ", " 500 ")))
    found = only(answer, "segments-listed-twice")
    assert (found["severity"], found["evidence"]["objects_total"]) == ("warning", 30)
    twice = audited(tmp_path / "seen", three(), bucket=listed(tmp_path, WHOLE, WHOLE))
    assert ids(twice) == ["segments-listed-twice"]
    assert "segments-listed-twice" not in ids(audited(tmp_path / "seen", three(), bucket=listed(tmp_path, WHOLE)))


def test_objects_of_unknown_size_are_not_cut(tmp_path: Path):
    # rclone lists -1 if a store does not give the size.
    entries = [{"Path": line.split(" ")[0], "Size": -1} for line in WHOLE.splitlines()]
    assert ids(audited(tmp_path / "seen", three(), bucket=listed(tmp_path, json.dumps(entries)))) == []


def test_csv_listing_that_is_cut_in_its_last_size_is_suspected(tmp_path: Path):
    rows = [",".join(line.split(" ")[:2]) + "\n" for line in reversed(WHOLE.splitlines())]
    whole = "key,size\n" + "".join(rows)
    assert ids(audited(tmp_path / "seen", three(), bucket=listed(tmp_path, whole))) == []
    answer = audited(tmp_path / "seen", three(), bucket=listed(tmp_path, whole[:-3]))
    assert ids(answer) == ["object-size-mismatch", "listing-may-be-truncated"]
    assert "Make the listing again" in only(answer, "object-size-mismatch")["next_step"]
