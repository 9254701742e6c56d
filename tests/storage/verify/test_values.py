"""Verification of states that no test can make on a disk: owners, read-only file systems, locks of other users."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from kafkactl.core.file_read import FileRead
from kafkactl.core.findings import Severity
from kafkactl.metadata.io.metadata_log import scan_metadata_log
from kafkactl.metadata.log.scan import Contents
from kafkactl.protocol.catalog.releases import find_release
from kafkactl.storage.io.directories import observe_node
from kafkactl.storage.verify.node import verify_node
from tests.storage.verify.nodes import blocker_ids, two

DENIED = {"writable": False, "write_error": "Permission denied"}


def verify(made, *, log=None, **changes):
    """Return the prediction after the observation of some directories (by name) was changed."""
    config = made.config()
    observed = observe_node(config)
    directories = tuple(
        replace(directory, **changes.get(directory.path.rpartition("/")[2], {})) for directory in observed.directories
    )
    facts = replace(scan_metadata_log(config.metadata_log_dir), **(log or {}))
    return verify_node(config, replace(observed, directories=directories), find_release(made.version), facts)


def test_metadata_directory_of_another_user_prevents_the_start(node):
    made = node("4.3.1").format(static=True)
    answer = verify(made, d1=DENIED)
    assert answer.expected_failure.phase.word == "metadata-directory"
    assert answer.expected_failure.message == (
        f"java.nio.file.AccessDeniedException: {made.root}/d1/__cluster_metadata-0"
    )
    assert blocker_ids(answer)[0] == "directory-not-writable"


def test_controller_cannot_make_its_lock_file(node):
    made = node("4.4.0").format(roles="controller", static=True)
    assert verify(made, d1=DENIED).expected_failure.message.endswith("/d1/.lock")


def test_read_only_data_directory_prevents_the_first_start_only(node):
    made = two(node, "4.4.0")
    answer = verify(made, d2={"writable": False, "write_error": "Read-only file system"})
    assert answer.will_start is False
    assert answer.expected_failure.message.startswith("java.nio.file.FileSystemException: ")
    assert answer.expected_failure.message.endswith("/d2/recovery-point-offset-checkpoint")
    made.started_once()
    for name in ("recovery-point-offset-checkpoint", "log-start-offset-checkpoint"):
        made.path(f"d2/{name}").write_text("0\n0\n")
    answer = verify(made, d2=DENIED)
    assert (answer.will_start, [loss.what for loss in answer.would_lose]) == (True, ["replicas"])


def test_files_that_cannot_be_opened_come_in_the_order_of_a_start(node):
    made = node("4.3.1").format(static=True).started_once()
    made.path("d1/__cluster_metadata-0/leader-epoch-checkpoint").write_text("0\n1\n1 0\n")
    log = {"unreadable": (("quorum-state", "Permission denied"),), "write_error": "Permission denied"}
    answer = verify(made, log=log)
    assert "Could not read file" in answer.expected_failure.message
    to_write = {"unreadable": (("00000000000000000000.log", "Permission denied to write"),)}
    assert verify(made, log=to_write).expected_failure.message.startswith("java.nio.file.AccessDeniedException: ")
    assert verify(made, log={"write_error": "Permission denied"}).will_start is False


@pytest.mark.parametrize("version", ["3.9.2", "4.3.1", "4.4.0"])
@pytest.mark.parametrize(
    "log",
    [
        {"state": "unreadable", "error": "Permission denied", "snapshots": ()},
        {"unreadable": (("00000000000000000000.log", "Permission denied"),)},
        {"unreadable": (("00000000000000000000-0000000000.checkpoint", "Permission denied"),), "snapshots": ()},
    ],
    ids=["folder", "segment", "snapshot"],
)
def test_unreadable_log_is_not_reported_as_gone(node, version, log):
    # A verify by another user than the node's must not advise to unformat a disk with a log.
    made = node(version).format(static=True).started_once()
    made.path("d1/bootstrap.checkpoint").unlink(missing_ok=True)
    answer = verify(made, log={"segments": (), "contents": Contents(), **log}, d1={"bootstrap_checkpoint": None})
    assert (answer.will_start, blocker_ids(answer)[0]) == (False, "metadata-log-unreadable")
    assert not answer.would_lose
    assert not {"metadata-log-missing", "missing-bootstrap-checkpoint"} & {finding.id for finding in answer.findings}


@pytest.mark.parametrize("version", ["3.6.2", "3.9.2", "4.4.0"])
def test_meta_properties_that_may_not_be_read_is_neither_formatted_nor_repaired(node, version):
    made = node(version).format(static=True).started_once()
    denied = FileRead(path=f"{made.root}/d1/meta.properties", content=None, error="Permission denied")
    answer = verify(made, d1={"meta_properties": denied})
    steps = {finding.id: finding.next_step for finding in answer.findings if finding.severity is Severity.BLOCKER}
    assert steps["unreadable-meta-properties"].startswith("Run the command as the user that runs Kafka.")
    assert "Format the directory" not in " ".join(steps.values())


def test_whose_disk_it_is_is_unknown_where_the_voters_are_known_and_meta_properties_is_not_read(node):
    made = node("4.4.0").format("--standalone").started_once()
    denied = FileRead(path=f"{made.root}/d1/meta.properties", content=None, error="Permission denied")
    assert "voter-directory-id-changed" not in {
        finding.id for finding in verify(made, d1={"meta_properties": denied}).findings
    }


def test_unreadable_quorum_state_has_no_move_as_next_step(node):
    made = node("4.4.0").format(static=True).started_once()
    denied = {"quorum-state": FileRead(path="quorum-state", content=None, error="Permission denied")}
    answer = verify(made, d1={"metadata_files": denied})
    (step,) = (finding.next_step for finding in answer.findings if finding.id == "broken-quorum-state")
    assert step.startswith("Run the command as the user that runs Kafka.")


@pytest.mark.parametrize(
    ("version", "roles", "starts"),
    [("3.3.2", "broker,controller", False), ("3.3.2", "controller", True), ("4.4.0", "controller", False)],
)
def test_locked_directory_is_reported_as_in_use(node, version, roles, starts):
    made = node(version).format(roles=roles, static=True)
    held = {"locked_by_process": True, "lock_holder_pid": 4711, "lock_holder_is_node": False}
    answer = verify(made, d1=held)
    assert answer.will_start is starts
    if not starts:
        assert "Failed to acquire lock on file .lock in" in answer.expected_failure.message
        assert "process 4711" in next(
            finding.message for finding in answer.findings if finding.id == "directory-in-use"
        )


@pytest.mark.parametrize(("pid", "is_node"), [(4711, True), (4711, None), (None, None)])
def test_node_that_holds_its_own_lock_is_running(node, pid, is_node):
    made = node("4.3.1").format(static=True)
    answer = verify(made, d1={"locked_by_process": True, "lock_holder_pid": pid, "lock_holder_is_node": is_node})
    ids = {finding.id for finding in answer.findings}
    assert (answer.will_start, "node-is-running" in ids, "directory-in-use" in ids) == (True, True, False)


def test_lock_on_a_directory_of_another_node_is_in_use(node):
    made = node("4.3.1").format(static=True)
    made.file.write_text(made.file.read_text().replace("node.id=1", "node.id=2").replace("=1@", "=2@"))
    answer = verify(made, d1={"locked_by_process": True, "lock_holder_pid": 4711, "lock_holder_is_node": True})
    assert "directory-in-use" in {finding.id for finding in answer.findings}


def test_two_processes_on_the_directories_of_one_node_are_in_use(node):
    made = node("4.3.1").format(log_dirs=("d1", "d2"), static=True)
    held = {"locked_by_process": True, "lock_holder_is_node": True}
    answer = verify(made, d1=held | {"lock_holder_pid": 1}, d2=held | {"lock_holder_pid": 2})
    ids = [finding.id for finding in answer.findings]
    assert (ids.count("directory-in-use"), "node-is-running" in ids) == (2, False)


def test_half_written_batch_of_a_running_node_is_not_damage(node):
    made = node("4.3.1").format(static=True).started_once()
    log = made.path("d1/__cluster_metadata-0/00000000000000000000.log")
    log.write_bytes(log.read_bytes()[:-5])
    assert verify(made).would_lose
    answer = verify(made, d1={"locked_by_process": True})
    assert (answer.will_start, answer.would_lose) == (True, ())
    assert "torn-tail" in {finding.id for finding in answer.findings}


def test_files_of_another_owner_are_reported(node):
    made = node("4.3.1").format(static=True)
    answer = verify(made, d1={"owner_uid": 4711})
    assert "files-of-another-owner" in {finding.id for finding in answer.findings}


def test_unwritable_meta_properties_are_reported(node):
    made = node("4.3.1").format(static=True)
    text = made.path("d1/meta.properties").read_text()
    kept = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("directory.id"))
    made.path("d1/meta.properties").write_text(kept)
    assert blocker_ids(verify(made, d1=DENIED))[0] == "meta-properties-not-writable"


def test_root_cannot_judge_for_others(node):
    made = node("4.3.1").format(static=True)
    config = made.config()
    observed = observe_node(config)
    directories = tuple(replace(directory, owner_uid=4711) for directory in observed.directories)
    seen = replace(observed, directories=directories, process_uid=0)
    answer = verify_node(config, seen, find_release("4.3.1"), scan_metadata_log(config.metadata_log_dir))
    assert "verified-as-root" in {finding.id for finding in answer.findings}


def test_fifo_with_the_name_of_a_segment_is_reported_and_not_waited_for(node):
    made = node("4.3.1").format(static=True).started_once()
    name = f"{77:020}.log"
    os.mkfifo(made.path(f"d1/__cluster_metadata-0/{name}"))
    answer = verify(made)
    assert answer.will_start is True
    (reported,) = [finding for finding in answer.findings if finding.id == "log-file-not-regular"]
    assert reported.subject == f"file {made.root}/d1/__cluster_metadata-0/{name}"
    assert "a FIFO" in reported.message
