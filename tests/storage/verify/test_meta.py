"""Verification of meta.properties: one row for each rule, with its id, phase and Kafka's message.

That the words are Kafka's is shown by tests/lab/storage/test_verify_starts.py, which starts real nodes on such disks.
"""

from __future__ import annotations

import pytest

from kafkactl.core.explanations import explanations
from tests.lab.storage.verify_damage import added, folder, holds, linked, removed, replaced, steps
from tests.storage.verify.nodes import blocker_ids, two

META1, META2 = "d1/meta.properties", "d2/meta.properties"

META = [
    (removed(META2), "unformatted-directory", "No `meta.properties` found in"),
    (steps(removed(META1), removed(META2)), "node-not-formatted", "No readable meta.properties files found."),
    (replaced(META2, "^node.id=1", "node.id=7"), "node-id-differs-from-configuration", "Stored node id 7 doesn't"),
    (replaced(META2, "^cluster.id=.*", "cluster.id=x"), "cluster-id-differs-between-directories", "Invalid cluster.id"),
    (replaced(META1, "^version=1", "version=2"), "unreadable-meta-properties", "Encountered I/O error in metadata"),
    (replaced(META1, "^node.id=1", "node.id=1 "), "unreadable-meta-properties", "Encountered I/O error in metadata"),
    (holds(META2, ""), "incomplete-meta-properties", "Error: node ID not found in"),
    (replaced(META2, "^directory.id=.*", "directory.id=AAAAAAAAAAAAAAAAAAAAAA"), "reserved-directory-id", "ID AAAA"),
    (steps(removed("d2"), linked("d2", "d1")), "duplicate-directory-id", "Duplicate directory ID Optional["),
]  # fmt: skip


@pytest.mark.parametrize(("damage", "id", "words"), META)
@pytest.mark.parametrize("version", ["3.7.2", "4.4.0"])
def test_damaged_meta_properties_prevent_the_start_from_37_on(node, version, damage, id, words):
    made = two(node, version)
    damage(made.root)
    answer = made.verify()
    assert answer.will_start is False
    assert answer.expected_failure.phase.word == "meta-properties"
    assert words in answer.expected_failure.message
    assert id in blocker_ids(answer)


@pytest.mark.parametrize("has_data", [True, False])
def test_directory_with_data_has_no_format_as_next_step(node, has_data):
    made = node("4.3.1").format(static=True)
    if has_data:
        made.started_once()
    removed(META1)(made.root)
    step = next(finding for finding in made.verify().findings if finding.id == "node-not-formatted").next_step
    assert ("do not format it" in step, "kafkactl storage format" in step) == (has_data, not has_data)


BEFORE_37 = [
    ("3.3.2", removed(META2), "No `meta.properties` found in"),
    ("3.6.2", removed(META2), "No `meta.properties` found in"),
    ("3.3.2", replaced(META2, "^version=1", "version=2"), "BrokerMetadata is not consistent across log.dirs"),
    ("3.6.2", replaced(META2, "^version=1", "version=2"), "Expected version 0 or 1, but got version 2"),
    ("3.6.2", replaced(META2, "^version=1", "version=abc"), "Failed to parse version property as an int"),
    ("3.6.2", replaced(META2, "^node.id=1\n", ""), "Failed to find required property node.id."),
    ("3.6.2", replaced(META2, "^cluster.id=.*\n", ""), "Failed to find required property cluster.id."),
    ("3.6.2", replaced(META2, "^node.id=1", "node.id=7"), "BrokerMetadata is not consistent across log.dirs"),
    ("3.6.2", added(META2, b"x=\\u12zz\n"), "Malformed \\uxxxx encoding."),
    ("3.6.2", steps(removed(META1), folder(META1)), "Cannot start server since `meta.properties` could not be loaded"),
    (
        "3.6.2",
        steps(replaced(META1, "^node.id=1", "node.id=7"), replaced(META2, "^node.id=1", "node.id=7")),
        "Configured node.id `1` doesn't match stored node.id `7'",
    ),
]


@pytest.mark.parametrize(("version", "damage", "words"), BEFORE_37)
def test_damaged_meta_properties_prevent_the_start_before_37(node, version, damage, words):
    made = two(node, version)
    damage(made.root)
    answer = made.verify()
    failure = answer.expected_failure
    assert (failure.phase.word, words in failure.message) == ("meta-properties", True), failure
    assert set(blocker_ids(answer)) <= set(explanations())


@pytest.mark.parametrize("damage", [replaced(META2, "^version=1", "version=2"), steps(removed(META2), folder(META2))])
def test_unreadable_data_directory_goes_offline(node, damage):
    made = two(node, "4.3.1")
    damage(made.root)
    answer = made.verify()
    assert answer.will_start is True
    assert [loss.what for loss in answer.would_lose] == ["replicas"]
    assert blocker_ids(answer) == ["directory-taken-offline"]
    states = {directory["path"].rpartition("/")[2]: directory["state"] for directory in answer.directories}
    assert states == {"d1": "good", "d2": "error"}


def test_version_0_is_read_and_a_directory_id_is_made(node):
    made = two(node, "4.3.1")
    steps(replaced(META2, "^version=1", "version=0"), replaced(META2, "^node.id", "broker.id"))(made.root)
    replaced(META1, "^directory.id=.*\n", "")(made.root)
    answer = made.verify()
    assert (answer.will_start, answer.would_lose) == (True, ())
    ids = {finding.id for finding in answer.findings}
    assert ids >= {"meta-properties-of-zookeeper-mode", "directory-id-will-be-made"}


def test_directory_id_in_another_form_is_reported(node):
    made = node("4.3.1").format(static=True)
    text = made.path(META1).read_text()
    old = next(line for line in text.splitlines() if line.startswith("directory.id="))
    made.path(META1).write_text(text.replace(old, old + "=="))
    answer = made.verify()
    assert answer.will_start is True
    assert "directory-id-not-canonical" in {finding.id for finding in answer.findings}
