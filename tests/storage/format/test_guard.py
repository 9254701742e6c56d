"""The blank-disk guard: what is data, what is not, and which option of the operator overrides it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kafkactl.core.file_read import FileRead
from kafkactl.core.findings import Finding, Severity
from kafkactl.core.kafka_names import FIRST_CHECKPOINT, METADATA_LOG
from kafkactl.storage.format.guard import check_blank, foreign_directories, is_topic_partition
from kafkactl.storage.leftovers import data_entries
from kafkactl.storage.model import (
    BOOTSTRAP_CHECKPOINT,
    KAFKACTL_LOCK,
    DirectoryEntry,
    DirectoryState,
    GuardOverrides,
    ObservedDirectory,
    staged_name,
)
from tests.storage.nodes import CLUSTER_ID


def entry(name: str, kind: str = "file", mtime_ms: int = 1_000) -> DirectoryEntry:
    return DirectoryEntry(name=name, kind=kind, size_bytes=1, mtime_ms=mtime_ms)


def directory(path: str = "/data/d1", *entries: DirectoryEntry, **changes: Any) -> ObservedDirectory:
    seen = ObservedDirectory(path=path, real_path=path, state=DirectoryState.DIRECTORY, entries=entries)
    return replace(seen, **changes)


def check(
    *empty: ObservedDirectory,
    formatted: tuple[ObservedDirectory, ...] = (),
    metadata: str = "/data/d1",
    controller: bool = True,
    broker: bool = True,
    **overrides: Any,
) -> dict[str, Finding]:
    findings = check_blank(
        empty,
        formatted=formatted,
        metadata_directory=metadata,
        is_controller=controller,
        is_broker=broker,
        overrides=GuardOverrides(**overrides),
        node_id=1,
        cluster_id=CLUSTER_ID,
    )
    return {finding.id: finding for finding in findings}


FORMATTED = directory("/data/d2", meta_properties=FileRead(path="/data/d2/meta.properties", content=b"x"))


def test_blank_or_missing_directory_has_no_finding() -> None:
    assert check(directory()) == {}
    assert check(directory(state=DirectoryState.MISSING)) == {}


@pytest.mark.parametrize(
    "left",
    [
        (entry(BOOTSTRAP_CHECKPOINT),),
        (entry("meta.properties.tmp"), entry("bootstrap.checkpoint.tmp")),
        (entry(staged_name("meta.properties")), entry(staged_name(BOOTSTRAP_CHECKPOINT)), entry(KAFKACTL_LOCK)),
    ],
)
def test_leftovers_of_an_interrupted_format_are_not_data(left: tuple[DirectoryEntry, ...]) -> None:
    assert check(directory("/data/d1", *left)) == {}


@pytest.mark.parametrize(
    "name",
    [FIRST_CHECKPOINT, staged_name(FIRST_CHECKPOINT), "00000000000000000000-0000000000-8791237.checkpoint.part"],
)
def test_first_checkpoint_alone_is_not_data(name: str) -> None:
    seen = directory("/data/d1", entry(METADATA_LOG, "directory"), metadata_log=(entry(name),))
    assert check(seen) == {}


@pytest.mark.parametrize(
    "left",
    [
        "topic-0", ".lock", ".kafka_cleanshutdown", "recovery-point-offset-checkpoint", "notes", "meta.properties.bak",
    ],
)  # fmt: skip
def test_anything_else_is_refused_with_what_an_operator_needs_to_recognise_the_disk(left: str) -> None:
    kind = "directory" if left == "topic-0" else "file"
    seen = directory("/data/d1", entry("bootstrap.checkpoint", mtime_ms=9), entry(left, kind, mtime_ms=7), device=42)
    finding = check(seen)["directory-not-blank"]
    assert finding.severity is Severity.BLOCKER
    assert left in finding.message
    assert finding.evidence == {
        "path": "/data/d1",
        "real_path": "/data/d1",
        "device": 42,
        "mount_point": "/",
        "newest_mtime_ms": 7,
        "count": 1,
        "entries": [left],
    }
    assert ("--allow-not-blank /data/d1" in finding.advice) is (kind == "file")
    assert check(seen, allow_not_blank=frozenset({"/data/d1"}))["directory-not-blank"].severity is Severity.WARNING
    assert check(seen, allow_not_blank=frozenset({"/data/d2"}))["directory-not-blank"].severity is Severity.BLOCKER


def test_used_metadata_log_is_data() -> None:
    log = (entry("00000000000000000000.log"), entry(FIRST_CHECKPOINT))
    seen = directory("/data/d1", entry(METADATA_LOG, "directory"), metadata_log=log)
    assert "directory-not-blank" in check(seen)


def test_metadata_log_that_cannot_be_listed_is_data() -> None:
    hidden = directory("/data/d1", entry(METADATA_LOG, "directory"), metadata_log=())
    assert "directory-not-blank" not in check(hidden)
    assert "directory-not-blank" in check(replace(hidden, metadata_log_error="Permission denied"))


def test_later_checkpoint_is_data() -> None:
    log = (entry("00000000000000004711-0000000002.checkpoint"),)
    seen = directory("/data/d1", entry(METADATA_LOG, "directory"), metadata_log=log)
    assert "directory-not-blank" in check(seen)


def test_many_names_are_not_all_reported() -> None:
    seen = directory("/data/d1", *(entry(f"t-{number}", "directory") for number in range(1000)))
    finding = check(seen)["directory-not-blank"]
    assert finding.message.endswith("and 992 more")
    assert finding.evidence["count"] == 1000


def test_directory_in_use_names_the_process() -> None:
    finding = check(directory("/data/d1", entry(".lock"), locked_by_process=True, lock_holder_pid=4711))[
        "directory-in-use"
    ]
    assert finding.severity is Severity.BLOCKER
    assert "process 4711 holds its .lock" in finding.message


def test_lost_and_found_is_the_start_failure_that_it_is_and_no_refusal() -> None:
    found = check(directory("/data/d1", entry("lost+found", "directory")))
    assert set(found) == {"foreign-directory-stops-start"}
    finding = found["foreign-directory-stops-start"]
    assert finding.severity is Severity.WARNING
    assert "lost+found" in finding.message
    assert "not in the form of topic-partition" in finding.message
    assert "/data/d1/kafka" in finding.advice


def test_controller_without_broker_role_does_not_mind_lost_and_found() -> None:
    assert check(directory("/data/d1", entry("lost+found", "directory")), broker=False) == {}


def test_allowed_foreign_folder_is_still_a_start_failure() -> None:
    seen = directory("/data/d1", entry("backup", "directory"))
    assert set(check(seen)) == {"directory-not-blank"}
    found = check(seen, allow_not_blank=frozenset({"/data/d1"}))
    assert set(found) == {"directory-not-blank", "foreign-directory-stops-start"}


@pytest.mark.parametrize("name", ["topic-0", "my.topic_1-12", "a-b-3", "t-0.0123456789abcdef0123456789abcdef-delete"])
def test_partitions_are_known_by_their_names(name: str) -> None:
    assert is_topic_partition(name)


@pytest.mark.parametrize("name", ["lost+found", "topic", "topic-", "-1", "topic-x", "t-0-delete", ".snapshot"])
def test_other_folders_are_foreign(name: str) -> None:
    assert foreign_directories(directory("/data/d1", entry(name, "directory"))) == [name]


def test_directory_next_to_mounts_must_be_one() -> None:
    mounted = directory("/data/d2", mount_point="/data/d2", device=2)
    finding = check(directory("/data/d1"), mounted)["sibling-is-a-mount"]
    assert finding.severity is Severity.BLOCKER
    assert finding.subject == "directory /data/d1"
    assert "--not-a-mount /data/d1" in finding.advice
    assert check(directory("/data/d1"), mounted, not_a_mount=frozenset({"/data/d1"})) == {}


def test_sibling_may_be_mounted_above_its_directory() -> None:
    mounted = directory("/disk2/kafka", mount_point="/disk2")
    assert "sibling-is-a-mount" in check(directory("/disk1/kafka"), mounted)
    assert "sibling-is-a-mount" in check(directory("/disk1/kafka"), formatted=(mounted,), metadata="/disk2/kafka")


def test_directories_of_one_disk_are_alike() -> None:
    both = [directory(path, mount_point="/data") for path in ("/data/d1", "/data/d2")]
    assert check(*both) == {}
    mounted = [directory(path, mount_point=path) for path in ("/data/d1", "/data/d2")]
    assert check(*mounted) == {}


def test_expected_mount_must_be_there() -> None:
    expected = frozenset({"/data"})
    finding = check(directory("/data/d1"), expected_mounts=expected)["not-a-mount"]
    assert finding.severity is Severity.BLOCKER
    assert "/data should be a mount" in finding.message
    assert check(directory("/data/d1", mount_point="/data"), expected_mounts=expected) == {}
    assert "not-a-mount" in check(directory("/data/d1", mount_point="/data"), expected_mounts=frozenset({"/data/d1"}))
    assert check(directory("/data/d1"), expected_mounts=frozenset({"/other"})) == {}


def test_expected_mount_may_be_reached_over_a_link() -> None:
    seen = directory("/kafka", real_path="/disks/7/kafka", mount_point="/disks/7/kafka")
    assert check(seen, expected_mounts=frozenset({"/kafka"}), metadata="/kafka") == {}


def test_read_only_file_system_is_refused_once() -> None:
    seen = directory(
        read_only_filesystem=True, writable=False, write_error="Read-only file system", mount_point="/data"
    )
    found = check(seen)
    assert set(found) == {"read-only-filesystem"}
    assert "/data" in found["read-only-filesystem"].message


def test_directory_of_another_user_is_refused() -> None:
    finding = check(directory(writable=False, write_error="Permission denied"))["write-not-permitted"]
    assert finding.severity is Severity.BLOCKER
    assert "Permission denied" in finding.message


def test_temporary_places_are_a_warning() -> None:
    finding = check(directory("/data/d1", real_path="/tmp/kafka-logs"))["directory-under-tmp"]
    assert finding.severity is Severity.WARNING


def test_blank_metadata_directory_next_to_formatted_ones_is_a_lost_disk() -> None:
    finding = check(directory(), formatted=(FORMATTED,))["metadata-disk-lost"]
    assert finding.severity is Severity.BLOCKER
    assert "/data/d2" in finding.message
    assert "--replace-lost-metadata-disk --verified-quorum" in finding.advice


def test_controller_needs_both_words() -> None:
    unverified = check(directory(), formatted=(FORMATTED,), replace_lost_metadata_disk=True)
    assert unverified["metadata-disk-lost"].severity is Severity.BLOCKER
    both = check(directory(), formatted=(FORMATTED,), replace_lost_metadata_disk=True, verified_quorum=True)
    assert both["metadata-disk-lost"].severity is Severity.WARNING


def test_broker_needs_no_quorum() -> None:
    found = check(directory(), formatted=(FORMATTED,), replace_lost_metadata_disk=True, controller=False)
    assert found["metadata-disk-lost"].severity is Severity.WARNING


def test_blank_data_directory_is_a_new_disk() -> None:
    assert check(directory(), formatted=(FORMATTED,), metadata="/data/d2") == {}


def test_half_done_format_is_distinguished_from_a_lost_disk_by_its_traces() -> None:
    half = directory("/data/d1", entry(staged_name("meta.properties")))
    assert check(half, formatted=(FORMATTED,)) == {}
    only_locked = directory("/data/d1", entry(KAFKACTL_LOCK))
    assert "metadata-disk-lost" in check(only_locked, formatted=(FORMATTED,))


def test_every_problem_of_every_directory_is_reported() -> None:
    unwritable = directory("/data/d1", entry("topic-0", "directory"), writable=False, write_error="no")
    locked = directory("/data/d2", entry("x"), locked_by_process=True)
    findings = check_blank(
        [unwritable, locked],
        formatted=(),
        metadata_directory="/data/d1",
        is_controller=True,
        is_broker=True,
        overrides=GuardOverrides(),
        node_id=1,
        cluster_id=CLUSTER_ID,
    )
    assert [(finding.subject, finding.id) for finding in findings] == [
        ("directory /data/d1", "directory-not-blank"),
        ("directory /data/d1", "write-not-permitted"),
        ("directory /data/d2", "directory-in-use"),
        ("directory /data/d2", "directory-not-blank"),
    ]


@pytest.mark.parametrize("name", [BOOTSTRAP_CHECKPOINT, KAFKACTL_LOCK, staged_name(BOOTSTRAP_CHECKPOINT)])
def test_folder_with_the_name_of_a_leftover_is_data(name: str) -> None:
    assert data_entries(directory("/data/d1", entry(name))) == []
    folder = entry(name, kind="directory")
    assert data_entries(directory("/data/d1", folder)) == [folder]
