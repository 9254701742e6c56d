"""Pictures of a report: places of offsets, ages of orphans, and the chosen partitions."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from kafkactl.core.findings import blocker, note
from kafkactl.tiered.api.pages import TieredReport, report
from kafkactl.tiered.api.verbs import Request, load
from kafkactl.tiered.pictures import MOST_PARTITIONS, MOST_QUIET, MOST_TOPICS, Lane, LocalLog, few, worth_drawing
from tests.tiered.logs import (
    BEGIN_MS,
    DELETING,
    SIZE,
    TIERED,
    LogOf,
    Topic,
    observed,
    partition_seen,
    save_observation,
    save_replica,
)
from tests.tiered.page.answers import status

TOPIC = Topic("orders", 1)
HOUR_MS = 3_600_000


def reported(folder: Path, document: dict[str, Any], *logs: LogOf, **request: Any) -> TieredReport:
    return report(load(Request(observation=str(save_observation(folder, document, *logs)), **request)))


def test_offsets_are_remote_local_both_or_in_a_hole(tmp_path: Path):
    log = LogOf(0).add(
        TOPIC.copied(0, "a", 0, 9), TOPIC.copied(0, "b", 10, 19), TOPIC.copied(0, "c", 20, 29), TOPIC.deleted(0, "b")
    )
    seen = partition_seen(earliest=0, local=25, latest=60, bases=(25, 40))
    (picture,) = reported(tmp_path, observed([(TOPIC, TIERED, [seen])]), log).pictures
    assert picture.remote == Lane(
        offsets=20,
        ranges_total=2,
        ranges=(
            (0, 9),
            (20, 29),
        ),
    )
    assert picture.local == LocalLog(from_offset=25, to_offset=59, offsets=35)
    assert picture.both == Lane(offsets=5, ranges_total=1, ranges=((25, 29),))
    assert picture.holes == Lane(offsets=10, ranges_total=1, ranges=((10, 19),))
    assert (picture.from_offset, picture.to_offset, picture.others) == (0, 59, ())
    assert (picture.log_start_offset, picture.highest_offset, picture.next_upload_offset) == (0, 29, 30)


def test_segments_that_serve_no_reader_are_drawn_by_the_id_of_their_finding(tmp_path: Path):
    log = LogOf(0).add(
        TOPIC.copied(0, "below", 0, 9),
        TOPIC.copied(0, "b", 10, 19),
        TOPIC.copied(0, "early", 20, 24, broker=2),
        TOPIC.copied(0, "again", 20, 29),
        TOPIC.copied(0, "away", 30, 99, epochs={7: 30}),
        TOPIC.update(0, "b", DELETING),
        TOPIC.started(0, "lost", 30, 39, broker=3),
        TOPIC.started(0, "runs", 30, 39, broker=1),
    )
    seen = partition_seen(earliest=10, local=30, latest=60, bases=(30,), epochs=((0, 10),))
    found = reported(tmp_path, observed([(TOPIC, TIERED, [seen])]), log)
    others = {other.what: (other.segments, other.lane.ranges) for other in found.pictures[0].others}
    assert others == {
        "below-log-start": (1, ((0, 9),)),
        "dangling-delete": (1, ((10, 19),)),
        "superseded": (1, ((20, 24),)),
        "out-of-lineage": (1, ((30, 99),)),
        "orphan-copy": (1, ((30, 39),)),
        "copy-in-progress": (1, ((30, 39),)),
    }
    ids = {finding.id for finding in found.findings}
    assert set(others) <= ids


def test_disk_does_not_show_where_the_local_log_ends(tmp_path: Path):
    folder = tmp_path / "b1"
    LogOf(0).add(TOPIC.copied(0, "a", 0, 29)).save(folder)
    save_replica(folder, TOPIC, 0, epochs=((0, 0),), bases=(20, 40))
    (picture,) = report(load(Request(sources=(str(folder),)))).pictures
    assert picture.local == LocalLog(from_offset=20, to_offset=None, offsets=None)
    assert picture.in_both.ranges == ((20, 29),)
    (alone,) = report(load(Request(sources=(str(folder / "__remote_log_metadata-0"),)))).pictures
    assert (alone.local, alone.both) == (None, None)


def test_orphans_are_grouped_by_age(tmp_path: Path):
    starts = {"now": 0, "hour": -2 * HOUR_MS, "month": -40 * 24 * HOUR_MS}
    log = LogOf(0).add(
        *(
            TOPIC.started(0, name, 10 * at, 10 * at + 9, broker=3, at=age)
            for at, (name, age) in enumerate(starts.items())
        )
    )
    seen = partition_seen(earliest=0, latest=60)
    found = reported(tmp_path, observed([(TOPIC, TIERED, [seen])]), log, now_ms=BEGIN_MS)
    (ages,) = found.orphan_ages
    assert (ages.topic, ages.segments, ages.bytes) == ("orders", 3, 3 * SIZE)
    assert ages.oldest_ms == 40 * 24 * HOUR_MS
    assert [part.segments for part in ages.by_age] == [1, 0, 1, 0, 0, 1]
    assert [part.from_ms for part in ages.by_age][1:] == [part.below_ms for part in ages.by_age][:-1]


def test_near_ranges_are_joined_and_far_ones_kept():
    ranges = [(at * 10, at * 10 + 1) for at in range(1000)] + [(10**6, 10**6)]
    found = few(ranges, most=50)
    assert len(found) == 50
    assert (found[0][0], found[-1]) == (0, (10**6, 10**6))
    assert all(before[1] < after[0] for before, after in itertools.pairwise(found))
    assert few(ranges, most=2000) == ranges


def test_worst_partitions_are_drawn_then_the_largest():
    statuses = [
        status(f"t{topic}", partition, topic_id=f"id{topic}", bytes=topic * 100 + partition)
        for topic in range(MOST_TOPICS + 10)
        for partition in range(MOST_PARTITIONS + 10)
    ]
    findings = [
        blocker("gap", "partition", "words", topic_id="id3", partition=4),
        note("superseded", "partition", "words", topic_id="id1", partition=0),
        blocker("poison-record", "metadata partition 1", "words", metadata_partition=1),
    ]
    chosen = [(found.topic, found.partition) for found in worth_drawing(statuses, findings)]
    assert len(chosen) == MOST_TOPICS * MOST_QUIET
    assert chosen[:2] == [("t3", 4), ("t3", MOST_PARTITIONS + 9)]
    every = [blocker("gap", "partition", "words", topic_id="id3", partition=number) for number in range(9)]
    of_topic = [found.partition for found in worth_drawing(statuses, every) if found.topic == "t3"]
    assert of_topic == list(range(MOST_PARTITIONS))
    assert list(dict.fromkeys(topic for topic, _ in chosen))[:3] == ["t3", "t1", f"t{MOST_TOPICS + 9}"]


def test_without_replicas_there_is_no_forecast_and_that_is_said(tmp_path: Path):
    place = LogOf(0).add(TOPIC.copied(0, "a", 0, 9)).save(tmp_path)
    found = report(load(Request(sources=(str(place),))))
    assert found.forecast is None
    assert any("no forecast" in text for text in found.assumptions)
    seen = reported(tmp_path / "seen", observed([(TOPIC, TIERED, [partition_seen(latest=60)])]), LogOf(0))
    assert seen.forecast is not None


def test_findings_of_the_forecast_are_among_those_of_the_report(tmp_path: Path):
    document = observed([(TOPIC, TIERED, [partition_seen(earliest=0, local=30, latest=50)])])
    document["metadata_topic"]["logs"] = [{"partition": 0, "log_start_offset": 2, "end_offset": 4}]
    log = LogOf(0).add(TOPIC.copied(0, "a", 0, 9), TOPIC.copied(0, "b", 10, 29))
    found = reported(tmp_path, document, log)
    ids = [finding.id for finding in found.findings]
    assert ids[:3] == ["metadata-log-start-moved", "lost-with-metadata", "log-start-would-jump"]
    assert len(ids) == len(set(ids))
    assert [other.what for other in found.pictures[0].others] == ["lost-with-metadata"]
