"""Verification of the records that found a cluster: bootstrap.checkpoint and the 0-0 checkpoint."""

from __future__ import annotations

import pytest

from tests.lab.storage.verify_damage import cut, cut_in_batch, flipped, folder, holds, removed, steps
from tests.storage.verify.nodes import CHECKPOINT, blocker_ids

BOOTSTRAP, FIRST = "d1/bootstrap.checkpoint", f"d1/{CHECKPOINT}"

BROKEN = [
    (holds(BOOTSTRAP, ""), "No FeatureLevelRecord for metadata.version was found"),
    (holds(BOOTSTRAP, bytes(300)), "Found record size 0 smaller than minimum record overhead (14)"),
    (cut_in_batch(BOOTSTRAP, 1, 40), "No FeatureLevelRecord for metadata.version was found"),
    (flipped(BOOTSTRAP, 0, 68), "Unable to read control record at offset 0"),
    (flipped(BOOTSTRAP, 1, 68), "unable to deserialize record at offset 1"),
    (flipped(BOOTSTRAP, 1, 11), "Exiting Kafka due to fatal exception"),
    (flipped(BOOTSTRAP, 1, 22), "Exiting Kafka due to fatal exception"),
    (steps(removed(BOOTSTRAP), folder(BOOTSTRAP)), "Is a directory"),
]


@pytest.mark.parametrize(("damage", "words"), BROKEN)
@pytest.mark.parametrize("once", [False, True])
def test_broken_bootstrap_checkpoint_ends_every_start(node, damage, words, once):
    made = node("4.3.1").format(static=True)
    if once:
        made.started_once()
    damage(made.root)
    answer = made.verify()
    assert (answer.will_start, answer.expected_failure.phase.word) == (False, "bootstrap-checkpoint")
    assert words in answer.expected_failure.message
    advice = [found.advice for found in answer.findings if found.id == "broken-bootstrap-checkpoint"]
    assert all(step.startswith("Remove the file: the metadata log") is once for step in advice)


def test_crc_of_the_bootstrap_checkpoint_is_not_checked(node):
    made = node("4.3.1").format(static=True)
    flipped(BOOTSTRAP, 1, 17)(made.root)
    answer = made.verify()
    assert (answer.will_start, answer.would_lose) == (True, ())
    assert blocker_ids(answer) == ["bootstrap-checkpoint-crc-mismatch"]
    assert blocker_ids(made.started_once().verify()) == []  # it is of no use any more


def test_magic_of_the_bootstrap_checkpoint_is_not_checked(node):
    made = node("4.3.1").format(static=True)
    flipped(BOOTSTRAP, 1, 16)(made.root)
    assert made.verify().will_start is True


def test_without_it_a_new_cluster_gets_defaults(node):
    made = node("4.3.1").format(static=True)
    removed(BOOTSTRAP)(made.root)
    answer = made.verify()
    assert answer.will_start is True
    assert [loss.what for loss in answer.would_lose] == ["release", "features", "scram"]
    assert "4.3-IV0 (30)" in answer.would_lose[0].message
    assert made.started_once().verify().would_lose == ()


def test_broker_needs_no_founding_records(node):
    made = node("4.3.1").format(roles="broker", static=True)
    removed(BOOTSTRAP)(made.root)
    answer = made.verify()
    assert (answer.will_start, answer.would_lose) == (True, ())
    assert "needs-other-nodes" in {finding.id for finding in answer.findings}


def test_inter_broker_protocol_is_the_default_of_3x(node):
    made = node("3.9.2").format(static=True, inter_broker_protocol_version="3.7")
    removed(BOOTSTRAP)(made.root)
    assert "3.7-IV4 (19)" in made.verify().would_lose[0].message


def test_features_that_an_older_release_would_not_set_are_named(node):
    made = node("4.4.0").format(static=True)
    losses = {loss.what: loss.message for loss in made.verify("4.3.1").would_lose}
    assert "group.version=1" in losses["features"]


def test_scram_users_of_a_newer_layout_are_lost_too(node):
    made = node("4.4.0").format("-S", "SCRAM-SHA-256=[name=alice,password=alice-secret]", static=True)
    losses = {loss.what: loss.message for loss in made.verify("4.3.1").would_lose}
    assert "alice" in losses["scram"]
    assert "alice-secret" not in repr(made.verify("4.3.1"))


FIRST_CHECKPOINT = [
    (cut(FIRST, 16), "4.4.0", "metadata-log", 'Cannot invoke "java.lang.Integer.intValue()"'),
    (flipped(FIRST, 0, 70), "4.4.0", "metadata-log", "Record is corrupt (stored crc = "),
    (flipped(FIRST, 0, 16), "4.3.1", "metadata-log", "Invalid magic found in record: 3"),
    (holds(FIRST, bytes(300)), "4.3.1", "metadata-log", "Record size 0 is less than the minimum record overhead"),
    (cut(FIRST, 17), "4.4.0", "waiting-for-quorum", "Starting voters are VoterSet(voters={})"),
    (holds(FIRST, ""), "3.9.2", "waiting-for-quorum", "Starting voters are VoterSet(voters={})"),
    (removed(FIRST), "4.3.1", "waiting-for-quorum", "Starting voters are VoterSet(voters={})"),
]


@pytest.mark.parametrize(("damage", "version", "phase", "words"), FIRST_CHECKPOINT)
def test_damaged_first_checkpoint_of_a_dynamic_quorum_prevents_the_start(node, damage, version, phase, words):
    made = node(version).format("--standalone")
    damage(made.root)
    answer = made.verify()
    assert (answer.will_start, answer.expected_failure.phase.word) == (False, phase)
    assert words in answer.expected_failure.message
    assert answer.expected_failure.waits is (phase == "waiting-for-quorum")


def test_cut_behind_the_voters_it_is_good_enough(node):
    made = node("4.3.1").format("--standalone")
    cut_in_batch(FIRST, 1, 20)(made.root)
    answer = made.verify()
    assert (answer.will_start, answer.would_lose) == (True, ())
    assert "checkpoint-truncated" in {finding.id for finding in answer.findings}


def test_empty_it_kills_up_to_42_once_there_is_a_leader(node):
    made = node("4.2.1").format(static=True)
    holds(FIRST, "")(made.root)
    answer = made.verify()
    assert (answer.will_start, answer.expected_failure.phase.word) == (False, "metadata-replay")
    assert "NoSuchElementException: No value present" in answer.expected_failure.message
    assert made.verify("4.3.1").will_start is True


def test_voters_in_it_are_too_much_for_38(node):
    made = node("3.9.2").format("--standalone", "-r", "3.7").configure(static=True)
    answer = made.verify("3.8.1")
    assert answer.expected_failure.phase.word == "metadata-log"
    assert "Next offset -1 must be greater than or equal to 0" in answer.expected_failure.message


@pytest.mark.parametrize("version", ["3.6.2", "3.7.2"])
def test_voters_in_the_first_checkpoint_stop_a_release_that_does_not_know_them(node, version):
    made = node("4.4.0").format("--standalone", "-r", "3.6").configure(static=True)
    answer = made.verify(version)
    assert (answer.will_start, answer.expected_failure.phase.word) == (False, "metadata-replay")
    assert "Unknown control record type" in answer.expected_failure.message


def test_first_checkpoint_without_voters_is_read_by_a_release_before_39(node):
    made = node("4.4.0").format("-r", "3.6", static=True)
    assert made.verify("3.7.2").will_start is True
