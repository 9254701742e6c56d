"""Verification of snapshots of a used cluster: the newest one covers everything before it."""

from __future__ import annotations

import pytest

from kafkactl.metadata.log.checkpoint import encode_first_checkpoint
from kafkactl.protocol.log.frame import MetadataRecord, encode_record
from kafkactl.protocol.record_batch import encode_batch
from kafkactl.protocol.schema.definitions import metadata_record
from tests.lab.storage.verify_damage import added, changed, cut, cut_in_batch, flipped, holds, removed
from tests.storage.verify.nodes import DIRECTORY_IDS, SEGMENT, blocker_ids, voters_batch

FOLDER = "d1/__cluster_metadata-0"
NEWEST, OLDER = (f"{FOLDER}/{offset:020}-0000000001.checkpoint" for offset in (4, 2))

FIRST = f"{FOLDER}/{0:020}-{0:010}.checkpoint"


def level(name, value):
    return MetadataRecord(type="FeatureLevelRecord", api_key=12, version=0, data={"Name": name, "FeatureLevel": value})


def noop():
    return encode_record(metadata_record(20), 0, {})


@pytest.fixture
def lived(node):
    """Return a node of a version with a log of six records and two snapshots."""

    def make(version, metadata_version=7):
        made = node(version).format(static=True).started_once(batches=6)
        for name in (OLDER, NEWEST):
            records = [level("metadata.version", metadata_version)] if metadata_version else []
            made.path(name).write_bytes(encode_first_checkpoint(now_ms=1, records=records))
        return made

    return make


def test_whole_node_is_verified_without_losses(lived):
    answer = lived("4.3.1").verify()
    assert (answer.will_start, answer.would_lose) == (True, ())


def test_older_ones_do_not_matter(lived):
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
def test_damaged_snapshot_prevents_the_start(lived, version, damage, words):
    made = lived(version)
    damage(made.root)
    answer = made.verify()
    assert (answer.will_start, words in answer.expected_failure.message) == (False, True), answer.expected_failure
    assert "broken-checkpoint" in blocker_ids(answer)


def test_damaged_snapshot_is_ignored_before_36(lived):
    made = lived("3.3.2")
    flipped(NEWEST, 1, 70)(made.root)
    assert made.verify().will_start is True


@pytest.mark.parametrize("damage", [cut_in_batch(NEWEST, 1, 0), cut_in_batch(NEWEST, 1, 30)])
def test_controller_ends_at_records_behind_a_snapshot_cut_before_its_levels(lived, damage):
    made = lived("4.3.1")
    damage(made.root)
    answer = made.verify()
    assert (answer.will_start, blocker_ids(answer)) == (False, ["checkpoint-truncated"])
    assert answer.expected_failure.message == "Unknown metadata version for FeaturesImage"


def test_missing_footer_is_only_reported(lived):
    made = lived("4.3.1")
    cut_in_batch(NEWEST, -1, 30)(made.root)
    answer = made.verify()
    assert (answer.will_start, answer.would_lose) == (True, ())
    assert "checkpoint-truncated" in {finding.id for finding in answer.findings}


def test_cut_after_the_footer_is_reported_and_does_not_stop_a_start(lived):
    made = lived("4.3.1", metadata_version=None)
    more = encode_batch([(None, b"x" * 50)], base_offset=9, timestamp_ms=1)
    added(NEWEST, more[:-3])(made.root)
    answer = made.verify()
    assert (answer.will_start, answer.would_lose) == (True, ())
    assert "checkpoint-truncated" in {finding.id for finding in answer.findings}


def test_snapshot_is_read_before_3_6_only_if_the_log_begins_after_it(lived):
    assert lived("3.3.2", metadata_version=33).verify().will_start is True


def test_levels_in_the_snapshot_are_checked(lived):
    answer = lived("4.3.1", metadata_version=33).verify()
    assert (answer.will_start, answer.expected_failure.phase.word) == (False, "metadata-replay")


def test_levels_before_the_snapshot_are_ignored(lived):
    made = lived("4.3.1", metadata_version=29)
    assert made.verify("4.2.1").will_start is True  # the log had level 30 before the snapshot


def test_log_after_all_snapshots_stops_the_start(lived):
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


ASIDE = "Move the damaged file aside"


def step_of(answer, id):
    return next(finding.next_step for finding in answer.findings if finding.id == id)


@pytest.mark.parametrize(
    ("damage", "id"),
    [
        (flipped(NEWEST, 1, 70), "broken-checkpoint"),
        (holds(NEWEST, ""), "broken-checkpoint"),
        (cut_in_batch(NEWEST, 1, 30), "checkpoint-truncated"),
    ],
)
def test_damaged_snapshot_is_moved_aside_if_the_log_reaches_back_to_an_older_one(lived, damage, id):
    made = lived("4.3.1")
    damage(made.root)
    answer = made.verify()
    assert ASIDE in step_of(answer, id) and "snapshot at offset 2 on, up to offset 5" in step_of(answer, id)
    made.path(NEWEST).rename(made.path(f"{NEWEST}.damaged"))
    assert (made.verify().will_start, made.verify().would_lose) == (True, ())


def test_sound_snapshots_that_a_release_cannot_read_are_not_moved_aside(node):
    made = node("4.3.1").format("--standalone", "-r", "3.6").configure(static=True).started_once(batches=6)
    for name in (OLDER, NEWEST):
        (made.path(name)).write_bytes(made.path(FIRST).read_bytes())
    for version in ("4.3.1", "3.7.2"):
        assert not any(ASIDE in finding.next_step for finding in made.verify(version).findings)
    assert made.verify("3.7.2").will_start is False


def test_damaged_snapshots_are_moved_aside_together_if_the_log_reaches_back_to_its_begin(lived):
    made = lived("4.3.1")
    for name in (NEWEST, OLDER):
        flipped(name, 1, 70)(made.root)
    step = step_of(made.verify(), "broken-checkpoint")
    assert ASIDE in step and step.count("mv ") == 2 and "from offset 0 on" in step


def test_damaged_snapshot_is_not_moved_aside_if_records_are_only_in_it(lived):
    made = lived("4.3.1")
    flipped(NEWEST, 1, 70)(made.root)
    batch = encode_batch([(None, noop())], base_offset=3, timestamp_ms=1, partition_leader_epoch=1)
    removed(f"d1/{SEGMENT}")(made.root)
    made.path(f"{FOLDER}/{3:020}.log").write_bytes(batch * 1)
    step = step_of(made.verify(), "broken-checkpoint")
    assert ASIDE not in step and "offset 2 to 2" in step and "quorum recover" in step


def test_one_of_several_voters_fetches_from_the_leader_if_its_own_log_does_not_reach_back(lived):
    made = lived("4.3.1")
    flipped(NEWEST, 1, 70)(made.root)
    removed(f"d1/{SEGMENT}")(made.root)
    text = made.file.read_text()
    made.file.write_text(text.replace("voters=1@localhost:9093", "voters=1@localhost:9093,2@localhost:9094"))
    step = step_of(made.verify(), "broken-checkpoint")
    assert ASIDE not in step and "majority of the voters, this one not counted" in step


@pytest.mark.parametrize("damage", BROKEN)
def test_damaged_snapshot_with_a_whole_log_is_not_a_missing_log(lived, damage):
    made = lived("4.3.1")
    damage[0](made.root)
    answer = made.verify()
    assert blocker_ids(answer) == ["broken-checkpoint"] and answer.would_lose == ()


def test_no_leader_is_predicted_if_the_voters_were_in_a_snapshot_without_a_whole_batch(node):
    made = node("4.3.1").format("--standalone").started_once(batches=6)
    log = made.path(f"d1/{SEGMENT}")
    log.write_bytes(log.read_bytes() + voters_batch([(1, DIRECTORY_IDS["d1"])], 6))
    made.path(f"{FOLDER}/{8:020}-0000000001.checkpoint").write_bytes(b"")
    answer = made.verify()
    assert (answer.will_start, answer.expected_failure.waits) == (False, True)
    assert blocker_ids(answer) == ["broken-checkpoint"]


def test_controller_before_40_continues_behind_a_cut_snapshot(lived):
    made = lived("3.9.2")
    cut_in_batch(NEWEST, 1, 0)(made.root)
    answer = made.verify()
    assert (answer.will_start, [loss.what for loss in answer.would_lose]) == (True, ["metadata-records"])


def test_segment_of_zeros_alone_has_lost_what_is_behind_the_snapshot(lived):
    made = lived("4.3.1")
    changed(f"d1/{SEGMENT}", lambda data: bytes(len(data)))(made.root)
    answer = made.verify()
    assert blocker_ids(answer) == ["metadata-log-damaged"]
    assert [loss.message for loss in answer.would_lose] == [
        "Metadata changes from offset 4 on, as far as there were any."
    ]


def test_missing_last_segment_is_known_by_its_index(lived):
    made = lived("4.3.1")
    removed(f"d1/{SEGMENT}")(made.root)
    holds(f"d1/{SEGMENT.removesuffix('.log')}.index", "")(made.root)
    answer = made.verify()
    assert blocker_ids(answer) == ["metadata-log-damaged"]
    assert "is missing, and its index is there" in answer.findings[0].message


@pytest.mark.parametrize("damage", [removed(f"d1/{SEGMENT}"), holds(f"d1/{SEGMENT}", "")], ids=["gone", "emptied"])
@pytest.mark.parametrize("epochs", ["0\n0\n", "0\n1\n1 0\n"], ids=["none", "some"])
def test_log_without_a_batch_has_lost_records_if_epochs_of_batches_are_on_file(lived, damage, epochs):
    made = lived("4.3.1")
    damage(made.root)
    holds(f"{FOLDER}/leader-epoch-checkpoint", epochs)(made.root)
    answer = made.verify()
    assert blocker_ids(answer) == (["metadata-log-damaged"] if "1 0" in epochs else [])
    assert [loss.message for loss in answer.would_lose] == (
        ["Metadata changes from offset 4 on, as far as there were any."] if "1 0" in epochs else []
    )


@pytest.mark.parametrize(
    ("name", "starts"),
    [
        (NEWEST, False),
        ("d1/meta.properties", False),
        # As 3.9.2 and 4.3.1 do with a link to nothing in these two places.
        (f"{FOLDER}/quorum-state", True),
        ("d1/bootstrap.checkpoint", True),
    ],
)
@pytest.mark.parametrize("release", ["3.9.2", "4.3.1"])
def test_file_that_is_a_link_to_nothing_leads_to_the_link_and_not_to_its_owner(lived, release, name, starts):
    made = lived(release)
    made.path(name).unlink(missing_ok=True)
    made.path(name).symlink_to("/mnt/gone/file")
    answer = made.verify()
    (finding,) = (found for found in answer.findings if "/mnt/gone/file" in found.message)
    assert (answer.will_start, finding.id == "dangling-link") == (starts, starts)
    assert finding.next_step.startswith("Keep the node stopped, and bring back the file that the link leads to")
