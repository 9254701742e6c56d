"""Proof that a node was never started, and the files that unformat then removes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkactl.core.findings import Outcome
from kafkactl.core.kafka_names import FIRST_CHECKPOINT, METADATA_LOG
from kafkactl.storage.format.unformat import UnformatPlan, plan_unformat, signs_of_a_start
from kafkactl.storage.model import BOOTSTRAP_CHECKPOINT, KAFKACTL_LOCK, DirectoryEntry, ObservedDirectory, staged_name
from tests.storage.nodes import CLUSTER_ID, a_config, blank, formatted, seen, with_meta

CONFIG = a_config("4.3", log_dirs=("/data/d1", "/data/d2"), metadata_log_dir="/data/d2")


def entry(name: str, kind: str = "file") -> DirectoryEntry:
    return DirectoryEntry(name=name, kind=kind, size_bytes=1, mtime_ms=0)


def fresh(path: str, *more: DirectoryEntry, first: tuple[str, ...] = (), **changes: object) -> ObservedDirectory:
    """Return a directory as a format leaves it."""
    entries = [entry("meta.properties"), entry(BOOTSTRAP_CHECKPOINT), *more]
    log = None
    if first:
        entries.append(entry(METADATA_LOG, "directory"))
        log = tuple(entry(name) for name in first)
    position = path[-1]
    made = formatted(path, directory_id=position + 21 * "A")
    return replace(made, entries=tuple(entries), metadata_log=log, **changes)  # type: ignore[arg-type]


def plan(*directories: ObservedDirectory, only: tuple[str, ...] = ()) -> UnformatPlan:
    return plan_unformat(CONFIG, seen(*directories), only=only)


def stops(made: UnformatPlan) -> list[tuple[str, str]]:
    return [(finding.id, finding.subject) for finding in made.findings]


def test_removes_what_a_format_wrote_metadata_directory_first_and_meta_properties_first_of_all() -> None:
    made = plan(fresh("/data/d1"), fresh("/data/d2", first=(FIRST_CHECKPOINT,)))
    assert (made.outcome, made.cluster_id, made.node_id) == (Outcome.PLANNED, CLUSTER_ID, 1)
    assert [(directory.path, directory.role, directory.names) for directory in made.directories] == [
        (
            "/data/d2",
            "metadata",
            ("meta.properties", BOOTSTRAP_CHECKPOINT, f"{METADATA_LOG}/{FIRST_CHECKPOINT}", METADATA_LOG),
        ),
        ("/data/d1", "data", ("meta.properties", BOOTSTRAP_CHECKPOINT)),
    ]


def test_leaves_lost_and_found_and_takes_what_an_interrupted_format_left() -> None:
    left = (entry("lost+found", "directory"), entry(staged_name("meta.properties")), entry(KAFKACTL_LOCK))
    made = plan(fresh("/data/d1", *left), blank("/data/d2"))
    names = {directory.path: directory.names for directory in made.directories}
    assert names["/data/d1"] == ("meta.properties", BOOTSTRAP_CHECKPOINT, staged_name("meta.properties"))
    assert names["/data/d2"] == ()


def test_leftovers_alone_are_removed_without_an_id() -> None:
    made = plan(blank("/data/d1", entries=(entry(BOOTSTRAP_CHECKPOINT),)), blank("/data/d2"))
    assert (made.outcome, made.cluster_id) == (Outcome.PLANNED, None)


def test_unformat_of_blank_directories_has_nothing_to_do() -> None:
    assert plan(blank("/data/d1"), blank("/data/d2")).outcome is Outcome.NOTHING_TO_DO


@pytest.mark.parametrize(
    "sign", [".lock", "recovery-point-offset-checkpoint", ".kafka_cleanshutdown", "topic-0", "notes.txt"]
)
def test_anything_that_no_format_writes_means_that_a_node_may_have_started(sign: str) -> None:
    used = fresh("/data/d1", entry(sign, "directory" if sign == "topic-0" else "file"))
    assert signs_of_a_start(used) == [sign]
    made = plan(used, fresh("/data/d2"))
    assert made.outcome is Outcome.REFUSED
    assert made.outcome.exit_code == 3
    assert stops(made) == [("directory-was-used", "directory /data/d1")]
    assert sign in made.findings[0].message
    assert all(directory.names == () for directory in made.directories)


@pytest.mark.parametrize(
    "name", ["quorum-state", "00000000000000000000.log", "00000000000000000042-0000000001.checkpoint"]
)
def test_used_metadata_log_means_that_a_node_has_started(name: str) -> None:
    made = plan(fresh("/data/d1"), fresh("/data/d2", first=(FIRST_CHECKPOINT, name)))
    assert stops(made) == [("directory-was-used", "directory /data/d2")]
    assert f"{METADATA_LOG}/{name}" in made.findings[0].message


def test_held_lock_means_that_a_node_runs() -> None:
    made = plan(fresh("/data/d1", locked_by_process=True), fresh("/data/d2"))
    assert stops(made) == [("directory-was-used", "directory /data/d1")]


def test_only_limits_it_to_directories_that_are_proved() -> None:
    used, unused = fresh("/data/d2", entry(".lock")), fresh("/data/d1")
    assert plan(used, unused, only=("/data/d1",)).outcome is Outcome.PLANNED
    made = plan(used, unused, only=("/data/d9",))
    assert stops(made) == [("directory-not-in-config", "directory /data/d9")]


def test_unreadable_directory_proves_nothing() -> None:
    made = plan(with_meta("/data/d1", "version=2\n"), blank("/data/d2"))
    assert stops(made) == [("log-directory-unreadable", "directory /data/d1")]


def test_zookeeper_brokers_file_does_not_come_from_a_format() -> None:
    made = plan(with_meta("/data/d1", f"version=0\nbroker.id=1\ncluster.id={CLUSTER_ID}\n"), blank("/data/d2"))
    assert stops(made) == [("not-formatted-for-kraft", "directory /data/d1")]


def test_directory_of_another_node_or_cluster_is_left_alone() -> None:
    made = plan(formatted("/data/d1", node_id=7), blank("/data/d2"))
    assert stops(made) == [("node-id-mismatch", "directory /data/d1")]
    made = plan(formatted("/data/d1", cluster_id="a"), formatted("/data/d2", cluster_id="b"))
    assert stops(made) == [("cluster-id-mismatch", "log.dirs")]
