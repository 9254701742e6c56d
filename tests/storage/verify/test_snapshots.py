"""What verify says of snapshots of a cluster that was in use: the newest one covers everything before it."""

from __future__ import annotations

import pytest

from kafkactl.metadata.log.checkpoint import encode_first_checkpoint
from kafkactl.metadata.log.frame import MetadataRecord
from kafkactl.protocol.record_batch import encode_batch
from tests.lab.storage.verify_damage import added, cut, cut_in_batch, flipped, holds, removed
from tests.storage.verify.nodes import SEGMENT, blocker_ids

FOLDER = "d1/__cluster_metadata-0"
NEWEST, OLDER = (f"{FOLDER}/{offset:020}-0000000001.checkpoint" for offset in (4, 2))


def level(name, value):
    return MetadataRecord(type="FeatureLevelRecord", api_key=12, version=0, data={"Name": name, "FeatureLevel": value})


@pytest.fixture
def lived(node):
    """A node of a version with a log of six records and two snapshots."""

    def make(version, metadata_version=7):
        made = node(version).format(static=True).started_once(batches=6)
        for name in (OLDER, NEWEST):
            records = [level("metadata.version", metadata_version)] if metadata_version else []
            made.path(name).write_bytes(encode_first_checkpoint(now_ms=1, records=records))
        return made

    return make


def test_whole(lived):
    answer = lived("4.3.1").verify()
    assert (answer.will_start, answer.would_lose) == (True, ())


def test_the_older_ones_do_not_matter(lived):
    made = lived("4.3.1")
    flipped(OLDER, 1, 70)(made.root)
    assert made.verify().will_start is True


BROKEN = [
    (flipped(NEWEST, 1, 70), "Record is corrupt (stored crc = "),
    (flipped(NEWEST, -1, 66), "Record is corrupt (stored crc = "),
    (holds(NEWEST, ""), "java.util.NoSuchElementException: No value present"),
    (cut(NEWEST, 40), "java.util.NoSuchElementException: No value present"),
    (cut(NEWEST, 8), 'Cannot invoke "java.lang.Integer.intValue()"'),
]


@pytest.mark.parametrize(("damage", "words"), BROKEN)
@pytest.mark.parametrize("version", ["3.6.2", "4.4.0"])
def test_damage_that_ends_the_node(lived, version, damage, words):
    made = lived(version)
    damage(made.root)
    answer = made.verify()
    assert (answer.will_start, words in answer.expected_failure.message) == (False, True), answer.expected_failure
    assert "broken-checkpoint" in blocker_ids(answer)


def test_damage_that_does_not_matter_before_36(lived):
    made = lived("3.3.2")
    flipped(NEWEST, 1, 70)(made.root)
    assert made.verify().will_start is True


@pytest.mark.parametrize("damage", [cut_in_batch(NEWEST, 1, 0), cut_in_batch(NEWEST, 1, 30)])
def test_a_snapshot_cut_before_its_levels_founds_the_cluster_again(lived, damage):
    made = lived("4.3.1")
    damage(made.root)
    answer = made.verify()
    assert answer.will_start is True
    assert [loss.what for loss in answer.would_lose] == (["metadata-log"] if answer.would_lose else [])
    assert ("checkpoint-truncated" in blocker_ids(answer)) == bool(answer.would_lose)


def test_a_missing_footer_is_only_reported(lived):
    made = lived("4.3.1")
    cut_in_batch(NEWEST, -1, 30)(made.root)
    answer = made.verify()
    assert (answer.will_start, answer.would_lose) == (True, ())
    assert "checkpoint-truncated" in {finding.id for finding in answer.findings}


def test_what_is_cut_behind_the_footer_is_only_reported(lived):
    made = lived("4.3.1", metadata_version=None)
    more = encode_batch([(None, b"x" * 50)], base_offset=9, timestamp_ms=1)
    added(NEWEST, more[:-3])(made.root)
    answer = made.verify()
    assert (answer.will_start, answer.would_lose) == (True, ())
    assert "checkpoint-truncated" in {finding.id for finding in answer.findings}


def test_before_36_a_snapshot_is_read_only_where_the_log_begins_behind_it(lived):
    assert lived("3.3.2", metadata_version=33).verify().will_start is True


def test_levels_in_the_snapshot_count(lived):
    answer = lived("4.3.1", metadata_version=33).verify()
    assert (answer.will_start, answer.expected_failure.phase.word) == (False, "metadata-replay")


def test_levels_in_the_log_before_it_do_not(lived):
    made = lived("4.3.1", metadata_version=29)
    assert made.verify("4.2.1").will_start is True  # the log had level 30 before the snapshot


def test_a_log_that_begins_behind_all_snapshots(lived):
    made = lived("4.3.1")
    made.path(f"d1/{SEGMENT}").rename(made.path(f"{FOLDER}/{9:020}.log"))
    holds(f"{FOLDER}/{9:020}.log", "")(made.root)
    answer = made.verify()
    assert "Inconsistent snapshot state" in answer.expected_failure.message
    assert blocker_ids(answer) == ["metadata-log-without-snapshot"]


def test_without_segments_the_snapshot_is_enough(lived):
    made = lived("4.3.1")
    removed(f"d1/{SEGMENT}")(made.root)
    answer = made.verify()
    assert answer.will_start is True
    assert "metadata-log-missing" not in {finding.id for finding in answer.findings}
