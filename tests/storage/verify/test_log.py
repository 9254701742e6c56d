"""Verification of the metadata log, and its remarks."""

from __future__ import annotations

import pytest

from kafkactl.protocol.log.frame import encode_record
from kafkactl.protocol.record_batch import encode_batch
from kafkactl.protocol.schema.definitions import metadata_record
from tests.lab.storage.verify_damage import added, changed, cut_in_batch, flipped, holds, removed, renamed, steps
from tests.quorum.recover import worlds
from tests.storage.nodes import NOW_MS
from tests.storage.verify.nodes import SEGMENT, blocker_ids, two

BOOTSTRAP, FOLDER, LOG = "d1/bootstrap.checkpoint", "d1/__cluster_metadata-0", f"d1/{SEGMENT}"


def test_damage_of_one_bit_is_reported_as_a_lost_cluster(node):
    made = node("4.4.0").format(static=True).started_once()
    flipped(LOG, 1, 80)(made.root)
    answer = made.verify()
    assert answer.will_start is True
    assert [loss.what for loss in answer.would_lose] == ["metadata-log"]
    finding = next(finding for finding in answer.findings if finding.id == "metadata-log-damaged")
    assert finding.evidence["end_offset"] == 1


def test_further_behind_it_loses_what_follows(node):
    made = node("4.4.0").format(static=True).started_once(batches=8)
    flipped(LOG, 4, 61)(made.root)
    assert [loss.what for loss in made.verify().would_lose] == ["metadata-records"]


def test_with_other_voters_it_is_fetched_again(node):
    made = node("4.4.0").format(static=True).started_once()
    flipped(LOG, 1, 80)(made.root)
    made.file.write_text(made.file.read_text().replace("1@localhost:9093", "1@localhost:9093,2@other:9093"))
    answer = made.verify()
    assert (answer.will_start, answer.would_lose) == (True, ())
    assert "metadata-log-damaged" in {finding.id for finding in answer.findings}


def found_in(answer, id):
    return next(finding for finding in answer.findings if finding.id == id)


@pytest.mark.parametrize(
    "damage",
    [cut_in_batch(LOG, 3, 0), cut_in_batch(LOG, 3, 30), steps(cut_in_batch(LOG, 3, 0), added(LOG, bytes(4096)))],
    ids=["between batches", "in a batch", "zeros"],
)
def test_records_in_a_snapshot_are_not_reported_as_lost(node, damage):
    # As measured: the only voter's log ended before its newest snapshot, and it continued from that (4.3.1).
    made = node("4.4.0").format(static=True).started_once(batches=5)
    damage(made.root)
    worlds.snapshot(made.path("d1"), worlds.image(), 9, 1)
    answer = made.verify()
    assert (answer.will_start, answer.would_lose, blocker_ids(answer)) == (True, (), [])
    beyond = found_in(answer, "snapshot-beyond-log")
    assert (beyond.evidence["end_offset"] < 9, beyond.evidence["snapshot_offset"]) == (True, 9)


def test_behind_a_snapshot_only_what_comes_after_it_can_be_lost(node):
    made = node("4.4.0").format(static=True).started_once(batches=5)
    flipped(LOG, 3, 61)(made.root)
    worlds.snapshot(made.path("d1"), worlds.image(), 9, 1)
    (loss,) = made.verify().would_lose
    assert (loss.what, "from offset 9 on" in loss.message) == ("metadata-records", True)


def test_broken_snapshot_holds_nothing(node):
    made = node("4.4.0").format(static=True).started_once(batches=5)
    cut_in_batch(LOG, 3, 30)(made.root)
    snapshot = worlds.snapshot(made.path("d1"), worlds.image(), 9, 1)
    snapshot.write_bytes(snapshot.read_bytes()[:-1])
    assert "snapshot-beyond-log" not in {finding.id for finding in made.verify().findings}


@pytest.mark.parametrize(("others", "severity"), [("", "warning"), (",2@other:9093", "info")])
def test_zeros_may_stand_for_records_of_the_only_voter(node, others, severity):
    made = node("4.4.0").format(static=True).started_once()
    added(LOG, bytes(500))(made.root)
    made.file.write_text(made.file.read_text().replace("1@localhost:9093", f"1@localhost:9093{others}"))
    zeros = found_in(made.verify(), "metadata-log-zero-tail")
    assert (zeros.severity.value, "quorum recover" in zeros.next_step) == (severity, not others)


def with_magic(data: bytes, magic: int) -> bytes:
    return data[:16] + bytes([magic]) + data[17:]


@pytest.mark.parametrize("others", ["", ",2@other:9093"])
def test_only_voter_with_an_unknown_magic_is_led_to_the_copies_of_brokers(node, others):
    made = node("4.3.1").format(static=True).started_once()
    changed(LOG, lambda data: with_magic(data, 3))(made.root)
    made.file.write_text(made.file.read_text().replace("1@localhost:9093", f"1@localhost:9093{others}"))
    stop = found_in(made.verify(), "metadata-log-unreadable-batch")
    assert ("quorum recover" in stop.next_step) == (not others)


LOGS = [
    (added(LOG, bytes(500)), True, "metadata-log-zero-tail", ""),
    (removed(LOG), True, "metadata-log-missing", ""),
    (removed(FOLDER), True, "metadata-log-missing", ""),
    (holds(LOG, ""), True, "metadata-log-missing", ""),
    (changed(LOG, lambda data: with_magic(data, 3)), False, "metadata-log-unreadable-batch", "Invalid magic found"),
    (changed(LOG, lambda data: with_magic(data, 1)), True, "metadata-log-damaged", ""),
    (
        renamed(LOG, f"{FOLDER}/00000000000000000100.log"),
        False,
        "segment-not-named-by-its-offset",
        "Split operation is only permitted for segments with overflow",
    ),
    (holds(f"{FOLDER}/abc.log", "x"), False, "file-not-named-by-offset", 'For input string: "abc"'),
    (holds(f"{FOLDER}/partition.metadata", "x\n"), False, "broken-partition-metadata", "Malformed line in"),
    (
        holds(f"{FOLDER}/partition.metadata", "version: 0\ntopic_id: qqqqqqqqqqqqqqqqqqqqqg"),
        False,
        "broken-partition-metadata",
        "log already contained topic ID qqqqqqqqqqqqqqqqqqqqqg",
    ),
    (
        holds(f"{FOLDER}/leader-epoch-checkpoint", "x\n"),
        False,
        "broken-leader-epoch-checkpoint",
        "Malformed line in checkpoint file",
    ),
    (
        steps(removed(FOLDER), holds(FOLDER, "x")),
        False,
        "metadata-log-not-a-directory",
        "java.nio.file.FileAlreadyExistsException",
    ),
]


@pytest.mark.parametrize(("damage", "starts", "id", "words"), LOGS)
def test_damaged_folder_of_the_metadata_log_is_reported(node, damage, starts, id, words):
    made = node("4.3.1").format(static=True).started_once()
    damage(made.root)
    answer = made.verify()
    assert answer.will_start is starts
    assert id in {finding.id for finding in answer.findings}
    assert starts or words in answer.expected_failure.message


def segment(api_key: int, version: int) -> bytes:
    """Return a batch with one record of that type and version, content invented."""
    value = encode_record(metadata_record(20), 0, {})
    record = bytes([value[0], api_key, version]) + value[3:]
    return encode_batch([(None, record)], base_offset=4, timestamp_ms=NOW_MS)


RECORDS = [
    (0, 4, "4.3.1", True, ""),
    (0, 4, "4.2.1", False, "Failed to deserialize record with type 0"),
    (28, 0, "4.0.2", True, ""),
    (28, 0, "3.9.2", False, "Unknown metadata id 28"),
]


@pytest.mark.parametrize(("api_key", "version", "release", "starts", "words"), RECORDS)
def test_records_of_a_newer_release_stop_the_start(node, api_key, version, release, starts, words):
    made = node(release).format(static=True).started_once()
    added(LOG, segment(api_key, version))(made.root)
    answer = made.verify()
    assert answer.will_start is starts
    if not starts:
        assert (answer.expected_failure.phase.word, blocker_ids(answer)[0]) == (
            "metadata-log",
            "record-of-newer-release",
        )
        assert words in answer.expected_failure.message


CONTROL = [
    # type, value, release, the line with which the node ends, what is wrong
    (9, b"\0\0", "4.3.1", "Got exception while starting SharedServer", "the type 9 is not known"),
    (9, b"\0\0", "3.3.2", "Exiting Kafka due to fatal exception", "the type 9 is not known"),
    (2, b"\0\0", "4.3.1", "Got exception while starting SharedServer", ""),
    (2, b"\0\0", "3.3.2", "Exiting Kafka due to fatal exception", ""),
]


@pytest.mark.parametrize(("type", "value", "release", "words", "problem"), CONTROL)
def test_undecodable_control_record_stops_the_start(node, type, value, release, words, problem):
    made = node(release).format(static=True).started_once()
    batch = encode_batch([(bytes([0, 0, 0, type]), value)], base_offset=4, timestamp_ms=NOW_MS, is_control=True)
    added(LOG, batch)(made.root)
    answer = made.verify()
    assert answer.will_start is False
    assert (answer.expected_failure.phase.word, answer.expected_failure.message) == ("metadata-log", words)
    (finding,) = [finding for finding in answer.findings if finding.id == "metadata-log-undecodable"]
    assert problem in finding.evidence["problem"]
    assert finding.evidence["problem"] in finding.message


def test_start_with_offsets_that_do_not_ascend_cannot_be_predicted(node):
    made = node("4.3.1").format(static=True).started_once()
    flipped(LOG, -1, 7)(made.root)
    answer = made.verify()
    assert answer.will_start in (None, True)
    if answer.will_start is None:
        assert "metadata-log-offsets-mixed" in {finding.id for finding in answer.findings}


def test_leftovers_and_readable_secrets_are_reported(node):
    made = node("4.3.1").format("-S", "SCRAM-SHA-256=[name=alice,password=alice-secret]", static=True)
    made.path(BOOTSTRAP).chmod(0o644)
    holds("d1/meta.properties.tmp", "x")(made.root)
    answer = made.verify()
    assert answer.will_start is True
    assert {finding.id for finding in answer.findings} >= {"leftover-files", "readable-scram-credentials"}
    assert "alice-secret" not in repr(answer)


def test_files_marked_for_deletion_are_not_an_interruption(node):
    made = node("4.3.1").format(static=True)
    for number in range(7):
        holds(f"d1/__cluster_metadata-0/{number:020}.log.deleted", "")(made.root)
    (taken_out,) = [finding for finding in made.verify().findings if finding.id == "leftover-files"]
    assert taken_out.message.startswith("A node took these out of its log and has not deleted them yet: 0000")
    assert "interrupted" not in taken_out.message and taken_out.message.endswith(" and 2 more.")


def test_copies_of_the_founding_records_that_differ(node):
    made = two(node, "4.3.1")
    cut_in_batch("d2/bootstrap.checkpoint", 1, 0)(made.root)
    answer = made.verify()
    assert answer.will_start is True
    assert "bootstrap-checkpoints-differ" in {finding.id for finding in answer.findings}


def test_nothing_is_written(node):
    made = node("4.4.0").format(static=True).started_once()
    before = {file: file.read_bytes() for file in made.root.rglob("*") if file.is_file()}
    made.verify()
    assert {file: file.read_bytes() for file in made.root.rglob("*") if file.is_file()} == before


def test_only_this_check_notices_a_missing_segment(node):
    made = node("4.3.1").format(static=True).started_once()
    data = made.path(LOG).read_bytes()
    later = encode_batch([(None, encode_record(metadata_record(20), 0, {}))], base_offset=20, timestamp_ms=NOW_MS)
    made.path(f"{FOLDER}/00000000000000000020.log").write_bytes(later)
    answer = made.verify()
    assert (answer.will_start, [loss.what for loss in answer.would_lose]) == (True, ["metadata-records"])
    assert blocker_ids(answer) == ["metadata-log-gap"]
    assert made.path(LOG).read_bytes() == data


def test_copies_of_the_founding_records_with_another_checksum_are_equal(node):
    made = two(node, "4.3.1")
    flipped("d2/bootstrap.checkpoint", 1, 17)(made.root)
    assert "bootstrap-checkpoints-differ" not in {finding.id for finding in made.verify().findings}
