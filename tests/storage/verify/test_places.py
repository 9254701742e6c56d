"""Verification of places: moved, named twice, foreign folders, offset checkpoints."""

from __future__ import annotations

import pytest

from tests.lab.storage.verify_damage import folder, holds, linked, steps
from tests.storage.verify.nodes import blocker_ids, two


def test_reordered_directories_prevent_the_start(node):
    made = two(node, "4.3.1").started_once()
    answer = made.configure(log_dirs=("d2", "d1"), static=True).verify()
    assert answer.expected_failure.phase.word == "metadata-location"
    assert "Found unexpected metadata location" in answer.expected_failure.message
    assert blocker_ids(answer)[0] == "unexpected-metadata-location"


def test_dropped_metadata_directory_is_reported_as_a_lost_log(node):
    made = node("4.3.1").format(static=True, metadata_log_dir="m").started_once("m")
    for name in ("recovery-point-offset-checkpoint", "log-start-offset-checkpoint"):
        holds(f"d1/{name}", "0\n0\n")(made.root)
    answer = made.configure(static=True).verify()
    assert answer.will_start is True
    assert [loss.what for loss in answer.would_lose] == ["metadata-log"]
    assert blocker_ids(answer) == ["metadata-log-missing"]


FOLDERS = [
    ("lost+found", "3.3.2", False),
    ("t-0", "3.3.2", True),
    ("t--1", "4.4.0", True),
    ("t-2147483648", "4.4.0", False),
    ("t-0.0123456789abcdef0123456789abcdef-delete", "4.4.0", True),
    ("t-0-delete", "4.4.0", False),
    ("t-0.x-future", "3.3.2", True),
    ("t-0.x-stray", "3.3.2", False),
    ("t-0.x-stray", "3.6.2", True),
    ("remote-log-index-cache", "3.3.2", False),
    ("remote-log-index-cache", "3.6.2", True),
    ("__cluster_metadata", "4.4.0", False),
    ("__cluster_metadata-1", "4.4.0", True),
    ("-0", "4.4.0", False),
]


@pytest.mark.parametrize(("name", "version", "passes"), FOLDERS)
def test_foreign_folder_in_a_log_directory_prevents_the_start(node, name, version, passes):
    made = node(version).format(static=True)
    folder(f"d1/{name}")(made.root)
    answer = made.verify()
    assert answer.will_start is passes
    if not passes:
        assert answer.expected_failure.phase.word == "broker-logs"
        assert f"'{name}' is not in the form of topic-partition" in answer.expected_failure.message
        assert blocker_ids(answer) == ["foreign-folder-in-log-directory"]


def test_controller_does_not_look_at_folders(node):
    made = node("4.4.0").format(roles="controller", static=True)
    folder("d1/lost+found")(made.root)
    assert made.verify().will_start is True


def test_link_to_a_folder_is_a_folder(node):
    made = node("4.4.0").format(static=True)
    steps(folder("elsewhere"), linked("d1/link", "elsewhere"))(made.root)
    assert made.verify().will_start is False


@pytest.mark.parametrize(("version", "starts"), [("3.6.2", False), ("4.4.0", True)])
def test_partition_in_two_directories_is_a_stray_if_its_topic_is_not_known(node, version, starts):
    made = two(node, version)
    steps(folder("d1/t-0"), folder("d2/t-0"))(made.root)
    answer = made.verify()
    assert answer.will_start is starts
    if not starts:
        assert "Duplicate log directories for t-0 are found in both" in answer.expected_failure.message
        assert blocker_ids(answer) == ["same-partition-twice"]


@pytest.mark.parametrize(("version", "starts"), [("4.1.2", False), ("4.2.1", True)])
def test_directory_named_twice_prevents_the_start_of_some_releases(node, version, starts):
    made = node(version).format(static=True)
    answer = made.configure(log_dirs=("d1", "d1"), static=True).verify()
    assert answer.will_start is starts
    if not starts:
        assert "Duplicate log directory found: " in answer.expected_failure.message
        assert blocker_ids(answer) == ["same-directory-twice"]


def test_invalid_offset_checkpoint_takes_its_directory_offline(node):
    made = two(node, "4.4.0").started_once()
    holds("d2/recovery-point-offset-checkpoint", "garbage")(made.root)
    answer = made.verify()
    assert (answer.will_start, [loss.what for loss in answer.would_lose]) == (True, ["replicas"])
    holds("d1/recovery-point-offset-checkpoint", "0\n5\nt 0 1\n")(made.root)
    answer = made.verify()
    assert (answer.will_start, answer.expected_failure.phase.word) == (False, "log-directories")
    assert "Shutdown broker because all log dirs in" in answer.expected_failure.message


def test_failed_metadata_directory_ends_a_broker_from_37_on(node):
    made = two(node, "3.6.2")
    holds("d1/log-start-offset-checkpoint", "garbage")(made.root)
    assert made.verify().will_start is True
    assert "because the metadata log dir" in made.verify("3.9.2").expected_failure.message
