"""Verification of whole disks, and of disks of one release under another.

That the words are Kafka's is shown by tests/lab/storage/test_verify_starts.py, which starts real nodes on such disks.
"""

from __future__ import annotations

import pytest

from kafkactl.core.findings import blocker, warning
from kafkactl.metadata.io.metadata_log import scan_metadata_log
from kafkactl.storage.io.directories import observe_node
from kafkactl.storage.verify.node import releases_that_start, verify_refused_config
from tests.storage.verify.nodes import VerifyNode, blocker_ids

META1, META2 = "d1/meta.properties", "d2/meta.properties"
EVERY = ("3.3.2", "3.4", "3.5", "3.6.2", "3.7.2", "3.8.1", "3.9.2", "4.0.2", "4.1.2", "4.2.1", "4.3.1", "4.4.0")


@pytest.mark.parametrize("version", EVERY)
def test_formatted_node_is_predicted_to_start(node, version):
    answer = node(version).format(static=True).verify()
    assert (answer.will_start, answer.expected_failure, answer.would_lose) == (True, None, ())
    assert blocker_ids(answer) == []


@pytest.mark.parametrize("version", ["3.9.2", "4.0.2", "4.3.1", "4.4.0"])
def test_standalone_node_starts_twice(node, version):
    made = node(version).format("--standalone")
    assert made.verify().will_start is True
    assert made.started_once().verify().will_start is True


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
def test_start_of_another_release_on_the_disks_is_predicted(node, made_for, flags, version, starts, what, words):
    answer = node(made_for).format(*flags, static=True).verify(version)
    assert answer.will_start is starts
    if starts:
        assert [loss.what for loss in answer.would_lose] == what
        assert words in " ".join(loss.message for loss in answer.would_lose)
    else:
        assert (answer.expected_failure.phase.word, words in answer.expected_failure.message) == (what, True), answer


def test_levels_in_the_log_are_checked_after_the_first_start(node):
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


def test_several_directories_under_an_old_level_are_reported(node):
    made = node("4.3.1").format("-r", "3.6", log_dirs=("d1", "d2"), static=True)
    answer = made.verify()
    assert answer.will_start is True
    assert "several-directories-not-supported" in {finding.id for finding in answer.findings}


def test_broker_in_zookeeper_mode_is_not_judged(node):
    made = node("3.9.2").format(static=True)
    made.file.write_text("broker.id=1\nzookeeper.connect=localhost:2181\nlog.dirs=/nowhere\n")
    answer = made.verify()
    assert (answer.will_start, answer.findings[-1].id) == (None, "zookeeper-mode-not-verified")


def starting(made: VerifyNode) -> list[str]:
    config = made.config()
    return releases_that_start(config, observe_node(config), scan_metadata_log(config.metadata_log_dir))


@pytest.mark.parametrize(
    ("version", "flags", "starts", "does_not"),
    [
        ("4.4.0", (), {"4.4"}, {"3.3", "4.2", "4.3"}),  # 4.3 and 3.3 would start, and lose the levels
        ("4.3.1", (), {"4.3", "4.4"}, {"3.9", "4.2"}),
        ("4.3.1", ("-r", "4.1"), {"4.1", "4.2", "4.3", "4.4"}, {"3.8", "4.0"}),
    ],
)
def test_releases_that_are_offered_start_and_lose_nothing(node, version, flags, starts, does_not):
    offered = {name[:3] for name in starting(node(version).format(*flags, static=True))}
    assert offered >= starts
    assert not offered & does_not


def test_refused_configuration_ends_the_start_at_once():
    answer = verify_refused_config([warning("w", "server.properties", "odd"), blocker("b", "log.dirs", "is empty")])
    assert answer.will_start is False
    assert answer.expected_failure.to_dict() == {"phase": "config", "message": "is empty"}
    assert not answer.expected_failure.waits
