"""What verify says of whole disks, and of disks of one release under another.

That the words are Kafka's is shown by tests/lab/storage/test_verify_starts.py, which starts real nodes on such disks.
"""

from __future__ import annotations

import pytest

from tests.storage.verify.nodes import blocker_ids

META1, META2 = "d1/meta.properties", "d2/meta.properties"
EVERY = ("3.3.2", "3.4", "3.5", "3.6.2", "3.7.2", "3.8.1", "3.9.2", "4.0.2", "4.1.2", "4.2.1", "4.3.1", "4.4.0")


@pytest.mark.parametrize("version", EVERY)
def test_what_we_format_starts(node, version):
    answer = node(version).format(static=True).verify()
    assert (answer.will_start, answer.expected_failure, answer.would_lose) == (True, None, ())
    assert blocker_ids(answer) == []


@pytest.mark.parametrize("version", ["3.9.2", "4.0.2", "4.3.1", "4.4.0"])
def test_a_standalone_node_starts_twice(node, version):
    made = node(version).format("--standalone")
    assert made.verify().will_start is True
    assert made.started_once().verify().will_start is True


# --- other releases

MOVED = [
    # formatted for, flags, started with, will_start, phase or losses, words
    ("4.4.0", (), "4.3.1", True, ["release", "features"], "metadata.version becomes 4.3-IV0 (30)"),
    ("4.4.0", (), "3.3.2", True, ["release", "features"], "metadata.version becomes 3.3-IV3 (7)"),
    ("4.4.0", (), "4.2.1", False, "metadata-replay", "No MetadataVersion with feature level 33"),
    ("4.4.0", (), "4.1.2", False, "metadata-replay", "No MetadataVersion with feature level 33"),
    ("4.4.0", (), "3.7.2", False, "metadata-replay", "No MetadataVersion with metadata version 33"),
    ("4.4.0", ("-r", "4.1"), "4.2.1", True, [], ""),
    ("4.3.1", (), "4.4.0", True, [], ""),
    ("4.3.1", (), "4.2.1", False, "controller-activation", "only supports versions 7-29"),
    ("4.3.1", (), "4.0.2", False, "controller-activation", "No MetadataVersion with feature level 30"),
    ("4.3.1", (), "3.9.2", False, "bootstrap-checkpoint", "No MetadataVersion with feature level 30"),
    ("3.9.2", (), "3.6.2", False, "bootstrap-checkpoint", "No MetadataVersion with metadata version 21"),
    ("3.3.2", (), "4.4.0", True, [], ""),
    ("3.6.2", ("-r", "3.3-IV2"), "4.0.2", False, "controller-activation", "No MetadataVersion with feature level 6"),
]


@pytest.mark.parametrize(("made_for", "flags", "version", "starts", "what", "words"), MOVED)
def test_disks_of_one_release_under_another(node, made_for, flags, version, starts, what, words):
    answer = node(made_for).format(*flags, static=True).verify(version)
    assert answer.will_start is starts
    if starts:
        assert [loss.what for loss in answer.would_lose] == what
        assert words in " ".join(loss.message for loss in answer.would_lose)
    else:
        assert (answer.expected_failure.phase.word, words in answer.expected_failure.message) == (what, True), answer


def test_levels_in_the_log_count_after_the_first_start(node):
    made = node("4.4.0").format(static=True).started_once()
    assert made.verify().will_start is True
    answer = made.verify("4.3.1")
    assert (answer.will_start, answer.expected_failure.phase.word) == (False, "metadata-replay")
    assert blocker_ids(answer) == ["unsupported-feature-level"]


def test_scram_users_of_a_newer_layout_are_lost_too(node):
    made = node("4.4.0").format("-S", "SCRAM-SHA-256=[name=alice,password=alice-secret]", static=True)
    losses = {loss.what: loss.message for loss in made.verify("4.3.1").would_lose}
    assert "alice" in losses["scram"]
    assert "alice-secret" not in repr(made.verify("4.3.1"))


def test_several_directories_under_an_old_level(node):
    made = node("4.3.1").format("-r", "3.6", log_dirs=("d1", "d2"), static=True)
    answer = made.verify()
    assert answer.will_start is True
    assert "several-directories-not-supported" in {finding.id for finding in answer.findings}


def test_a_broker_in_zookeeper_mode_is_not_judged(node):
    made = node("3.9.2").format(static=True)
    made.file.write_text("broker.id=1\nzookeeper.connect=localhost:2181\nlog.dirs=/nowhere\n")
    answer = made.verify()
    assert (answer.will_start, answer.findings[-1].id) == (None, "zookeeper-mode-not-verified")
