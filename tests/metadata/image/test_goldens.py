"""The image at an offset of a real log is the image of the snapshot that Kafka wrote there, on every release."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

from kafkactl.metadata.image.diff import diff
from kafkactl.metadata.image.digest import image_sha256
from kafkactl.metadata.image.lint import lint
from kafkactl.metadata.image.model import Image
from kafkactl.metadata.image.records import image_records, level_of, losses
from kafkactl.metadata.log.checkpoint import decode_checkpoint
from kafkactl.metadata.replay.log_replay import replay_runs
from kafkactl.metadata.replay.reference import replay
from kafkactl.protocol.json_form import to_json
from kafkactl.protocol.log.batch_runs import walk_runs
from kafkactl.protocol.log.frame import MetadataRecord
from kafkactl.protocol.schema.definitions import message
from tests.metadata.image.goldens import RELEASES, Snapshot, log, snapshots
from tests.metadata.records import records_of
from tests.metadata.snapshots import encode_snapshot

SNAPSHOTS = [snapshot for release in RELEASES for snapshot in snapshots(release)]
UNORDERED = ("EndPoints", "Features", "LogDirs", "CordonedLogDirs", "Entity")


def image_at(release: str, end_offset: int) -> Image:
    found = replay_runs(walk_runs([log(release)]), end_offset=end_offset)
    assert found.findings == ()
    return found.image


def test_there_is_a_log_of_every_release_and_three_snapshots_of_each():
    assert RELEASES == ["3.3.2", "3.6.2", "3.7.2", "3.8.1", "3.9.2", "4.0.2", "4.1.2", "4.2.1", "4.3.1", "4.4.0"]
    assert Counter(snapshot.release for snapshot in SNAPSHOTS) == dict.fromkeys(RELEASES, 3)


@pytest.mark.parametrize("snapshot", SNAPSHOTS, ids=str)
def test_image_at_an_offset_is_that_of_kafkas_snapshot(snapshot: Snapshot):
    ours = image_at(snapshot.release, snapshot.end_offset)
    kafkas = replay(records_of(snapshot.data), snapshot=True)
    assert kafkas.findings == ()
    assert diff(ours, kafkas.image) == ()
    assert image_sha256(ours) == image_sha256(kafkas.image)


@pytest.mark.parametrize("snapshot", SNAPSHOTS, ids=str)
def test_our_snapshot_has_the_records_of_kafkas(snapshot: Snapshot):
    # The same records in the same versions with the same content; within a part Kafka has the order of hash tables.
    image = image_at(snapshot.release, snapshot.end_offset)
    level = level_of(image, before_4_0=snapshot.before_4_0)
    assert level is not None
    assert losses(image, level) == ()
    theirs = [record for _, record in decode_checkpoint(snapshot.data).records]
    assert comparable(image_records(image, level)) == comparable(theirs)


@pytest.mark.parametrize("snapshot", SNAPSHOTS, ids=str)
def test_snapshot_goes_on_to_the_end_of_the_log(snapshot: Snapshot):
    start = replay(records_of(snapshot.data), snapshot=True).image
    rest = replay_runs(walk_runs([log(snapshot.release)]), start, first_offset=snapshot.end_offset)
    assert rest.findings == ()
    assert rest.image == image_at(snapshot.release, 1 << 62)


@pytest.mark.parametrize("release", RELEASES)
def test_story_left_what_it_should(release):
    # Broker 2 is unregistered at the end, and what only it had is without a leader.
    image = image_at(release, 1 << 62)
    assert list(image.brokers) == [1]
    assert {topic.name for topic in image.topics.values()} >= {"spread", "alone", "pair", "home", "late"}
    assert {finding.id for finding in lint(image)} == {"leaderless-partition", "replica-on-unregistered-broker"}
    assert bool(image.scram) == bool(image.delegation_tokens) == (release != "3.3.2")
    assert bool(image.acls) and bool(image.client_quotas) and image.next_producer_id == 1000


@pytest.mark.parametrize("release", RELEASES)
def test_snapshots_of_ours_are_whole(release):
    image = image_at(release, 1 << 62)
    data = encode_snapshot(image, epoch=1, last_contained_log_timestamp_ms=0, now_ms=0)
    assert decode_checkpoint(data).problems == ()
    assert replay(records_of(data), snapshot=True).image == image


def comparable(records: Iterable[MetadataRecord]) -> Counter[str]:
    return Counter(_text(record) for record in records)


def _text(record: MetadataRecord) -> str:
    data: dict[str, Any] = to_json(message(record.type), record.version, record.data)
    if record.type == "ProducerIdsRecord":  # 3.3 has the broker that asked for the last block, later releases do not
        data |= {"brokerId": -1, "brokerEpoch": -1}
    for name in UNORDERED:
        key = name[0].lower() + name[1:]
        if data.get(key):
            data[key] = sorted(data[key], key=json.dumps)
    return f"{record.type} {record.version} {json.dumps(data, sort_keys=True)}"
