"""The content of the disks, and what Kafka does without a message: refusals and warnings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kafkactl.core.file_read import FileRead
from kafkactl.core.findings import Outcome, Severity
from kafkactl.core.kafka_names import FIRST_CHECKPOINT, METADATA_LOG
from kafkactl.storage.format.warnings import check_space
from kafkactl.storage.model import Action, DirectoryEntry, DirectoryState, GuardOverrides, Owner, VoterMode
from tests.storage.format.planning import OTHER_ID, OWN_ID, SCRAM, TWO, VOTERS, finding, plan, refused, stops
from tests.storage.nodes import CLUSTER_ID, blank, formatted, seen, with_meta


def test_formatted_directory_is_refused_and_kept_with_ignore_formatted() -> None:
    node = seen(formatted("/data/d1"), blank("/data/d2"))
    made = plan(node=TWO, observed=node)
    refused(made, "already-formatted", "already formatted: directory /data/d1; --ignore-formatted")
    made = plan(node=TWO, observed=node, ignore_formatted=True)
    assert (made.directories[0].action, str(made.directories[0].directory_id)) == (Action.KEEP, "1" + 21 * "A")
    assert made.directories[1].action is Action.FORMAT


def test_formatted_directories_leave_nothing_to_do() -> None:
    made = plan(observed=seen(formatted("/data/d1")), ignore_formatted=True)
    assert (made.outcome, made.outcome.exit_code) == (Outcome.NOTHING_TO_DO, 0)
    assert made.directories[0].action is Action.KEEP


@pytest.mark.parametrize("ignore_formatted", [False, True])
def test_ids_on_the_disks_must_be_those_asked_for(ignore_formatted: bool) -> None:
    node = seen(formatted("/data/d1", cluster_id="other"), formatted("/data/d2", node_id=7, directory_id=OTHER_ID))
    made = plan(node=TWO, observed=node, ignore_formatted=ignore_formatted)
    cluster, own = finding(made, "cluster-id-mismatch"), finding(made, "node-id-mismatch")
    assert f"Invalid cluster.id in: /data/d1/meta.properties. Expected {CLUSTER_ID}, but read other" in cluster.message
    assert "Stored node id 7 doesn't match previous node id 1 in /data/d2/meta.properties" in own.message
    assert made.outcome is Outcome.REFUSED


def test_3_3_to_3_6_do_not_compare_ids_so_it_is_a_warning() -> None:
    node = seen(formatted("/data/d1", node_id=7), blank("/data/d2"))
    made = plan("3.6", node=TWO, observed=node, ignore_formatted=True)
    assert made.outcome is Outcome.PLANNED
    assert finding(made, "node-id-mismatch").severity is Severity.WARNING


def test_directory_ids_on_the_disks_must_be_different_and_not_reserved() -> None:
    node = seen(formatted("/data/d1"), formatted("/data/d2"))
    made = plan(node=TWO, observed=node, ignore_formatted=True)
    assert stops(made) == ["duplicate-directory-id"]
    assert "Duplicate directory ID 1AAAAAAAAAAAAAAAAAAAAA found" in finding(made, "duplicate-directory-id").message
    node = seen(formatted("/data/d1", directory_id="AAAAAAAAAAAAAAAAAAAAAQ"))
    made = plan(observed=node, ignore_formatted=True)
    refused(made, "reserved-directory-id", "Invalid reserved directory ID AAAAAAAAAAAAAAAAAAAAAQ found in /data/d1")


def test_empty_meta_properties_is_formatted_with_a_warning() -> None:
    made = plan(observed=seen(with_meta("/data/d1", "")), ignore_formatted=True)
    assert made.outcome is Outcome.NOTHING_TO_DO
    assert finding(made, "meta-properties-without-node-id").severity is Severity.WARNING


BROKEN = [
    with_meta("/data/d2", "version=2\n"),
    with_meta("/data/d2", error="Permission denied"),
    blank("/data/d2", state=DirectoryState.NOT_A_DIRECTORY, error="Not a directory"),
    blank("/data/d2", state=DirectoryState.UNREADABLE, error="Input/output error"),
]


@pytest.mark.parametrize("broken", BROKEN, ids=["version", "permission", "file", "disk"])
def test_directory_that_cannot_be_read_must_be_allowed_by_name(broken: Any) -> None:
    node = seen(blank("/data/d1"), broken)
    refused(
        plan(node=TWO, observed=node), "log-directory-unreadable", "I/O error trying to read log directory /data/d2"
    )
    allowed = GuardOverrides(allow_failed_dirs=frozenset({"/data/d2"}))
    made = plan(node=TWO, observed=node, overrides=allowed)
    assert made.outcome is Outcome.PLANNED
    assert [directory.action for directory in made.directories] == [Action.FORMAT, Action.SKIP]
    assert stops(plan("3.7", node=TWO, observed=node, overrides=allowed)) == ["log-directory-unreadable"]


def test_metadata_directory_can_never_be_left_out() -> None:
    node = seen(with_meta("/data/d1", "version=2\n"), blank("/data/d2"))
    allowed = GuardOverrides(allow_failed_dirs=frozenset({"/data/d1"}))
    made = plan(node=TWO, observed=node, overrides=allowed)
    refused(made, "metadata-directory-unreadable", "I/O error trying to read log directory /data/d1")
    evidence = finding(made, "metadata-directory-unreadable").evidence
    assert evidence["path"] == "/data/d1"
    assert "version" in evidence["why"]


def test_unreadable_directories_leave_none_to_format() -> None:
    made = plan(observed=seen(with_meta("/data/d1", "version=2\n")))
    assert stops(made) == ["metadata-directory-unreadable", "no-directory-left"]
    assert finding(made, "no-directory-left").message == "No available log directories to format"


def test_one_place_under_two_names_is_formatted_once_and_reported() -> None:
    node = {"log_dirs": ("/data/d1", "/data/d1/")}
    made = plan(node=node, observed=seen(blank("/data/d1"), blank("/data/d1/", real_path="/data/d1")))
    assert [directory.action for directory in made.directories] == [Action.FORMAT, Action.SKIP]
    assert finding(made, "same-directory-twice").severity is Severity.WARNING


def test_metadata_directory_under_a_second_name_is_the_one_that_is_formatted() -> None:
    node = {"log_dirs": ("/data/d1/",), "metadata_log_dir": "/data/d1"}
    made = plan(node=node, observed=seen(blank("/data/d1/", real_path="/data/d1"), blank("/data/d1")))
    assert {directory.path: directory.action for directory in made.directories} == {
        "/data/d1/": Action.SKIP,
        "/data/d1": Action.FORMAT,
    }


def test_guard_refuses_data_in_a_plan() -> None:
    entry = DirectoryEntry(name="topic-0", kind="directory", size_bytes=0, mtime_ms=0)
    refused(plan(observed=seen(blank("/data/d1", entries=(entry,)))), "directory-not-blank", "it holds topic-0")


def test_room_is_counted_for_directories_of_one_disk_together() -> None:
    made = plan(node=TWO, observed=seen(blank("/data/d1", free_bytes=500), blank("/data/d2", free_bytes=500)))
    refused(made, "no-space-left", "500 are free")
    made = plan(node=TWO, observed=seen(blank("/data/d1", free_bytes=900), blank("/data/d2", free_bytes=200, device=1)))
    assert made.outcome is Outcome.PLANNED


def test_full_disk_on_which_nothing_is_written_is_accepted() -> None:
    full = replace(blank("/data/d1"), free_bytes=0)
    assert list(check_space([full], {})) == []
    assert [found.id for found in check_space([full], {"/data/d1": 1})] == ["no-space-left"]


def test_users_and_features_do_nothing_on_a_broker() -> None:
    made = plan(node={"roles": "broker"}, scram=(SCRAM,), features=("group.version=1",))
    assert made.outcome is Outcome.PLANNED
    assert [finding.severity for finding in made.findings if finding.id == "bootstrap-flag-on-broker"] == [
        Severity.WARNING,
        Severity.INFO,
    ]


def test_kept_directory_that_differs_from_the_request_is_reported() -> None:
    first = plan("4.3", node=TWO)
    bootstrap = FileRead(path="/data/d1/bootstrap.checkpoint", content=first.directories[0].files[1].content)
    kept = replace(formatted("/data/d1"), bootstrap_checkpoint=bootstrap)
    same = plan("4.3", node=TWO, observed=seen(kept, blank("/data/d2")), ignore_formatted=True)
    assert not [finding for finding in same.findings if finding.id == "formatted-directory-differs"]
    other = plan("4.3", node=TWO, observed=seen(kept, blank("/data/d2")), ignore_formatted=True, release_version="4.1")
    assert other.outcome is Outcome.PLANNED
    assert finding(other, "formatted-directory-differs").evidence["stored"]["metadata.version"] == 30


def test_voters_that_are_kept_and_differ_are_reported() -> None:
    first = plan("4.4", voter_mode=VoterMode.INITIAL_CONTROLLERS, initial_controllers=VOTERS)
    file = FileRead(path=f"/data/d1/{METADATA_LOG}/{FIRST_CHECKPOINT}", content=first.directories[0].files[0].content)
    kept = replace(formatted("/data/d1"), metadata_files={FIRST_CHECKPOINT: file})
    made = plan("4.4", observed=seen(kept), ignore_formatted=True)
    assert finding(made, "formatted-directory-differs").evidence == {"stored": [1, 2], "asked": [1]}


@pytest.mark.parametrize(
    ("voters", "id_"),
    [
        ("1@localhost:9093:AAAAAAAAAAAAAAAAAAAAAQ", "reserved-directory-id"),
        (f"1@localhost:9093:{OWN_ID},2@two:9093:{OWN_ID}", "shared-directory-id"),
        (f"1@localhost:9093:{OWN_ID},2@two:0:{OTHER_ID}", "voter-without-address"),
        (f"1@localhost:9093:{OWN_ID},2@:9093:{OTHER_ID}", "voter-without-address"),
        (f"1@localhost:9093:{OWN_ID},2@0.0.0.0:9093:{OTHER_ID}", "voter-without-address"),
        (f"1@localhost:9093:{OWN_ID},2@[::]:9093:{OTHER_ID}", "voter-without-address"),
        (f"2@two:9093:{OTHER_ID}", "node-not-among-voters"),
        (f"1@localhost:9999:{OWN_ID}", "voter-endpoint-differs"),
    ],
)
def test_voters_that_kafka_accepts_and_a_node_fails_on_are_a_warning(voters: str, id_: str) -> None:
    made = plan(voter_mode=VoterMode.INITIAL_CONTROLLERS, initial_controllers=voters)
    assert made.outcome is Outcome.PLANNED
    assert finding(made, id_).severity is Severity.WARNING


@pytest.mark.parametrize("roles", ["controller", "broker"])
@pytest.mark.parametrize(("release", "warns"), [("3.7.2", False), ("3.9.2", True), ("4.3.1", True)])
def test_static_voter_at_any_address_is_a_warning_where_no_node_starts(release: str, warns: bool, roles: str) -> None:
    entries = "1@0.0.0.0:9093,2@two:9093" if roles == "controller" else "8@0.0.0.0:9093,9@two:9093"
    config = {"roles": roles, "static": True, "controller_quorum_voters": entries}
    made = plan(release, node=config)
    assert made.outcome is Outcome.PLANNED
    named = [finding for finding in made.findings if finding.id == "quorum-voter-not-routable"]
    assert [finding.severity for finding in named] == [Severity.WARNING] * warns
    assert all(finding.next_step.startswith(f"Give voter {entries[0]} ") for finding in named)


@pytest.mark.parametrize("listed", ["[::1]:9093", "[0:0:0:0:0:0:0:1]:9093", "[::1]:9094"])
def test_addresses_of_ipv6_are_compared_by_what_they_are_and_shown_in_brackets(listed: str) -> None:
    config = {"roles": "controller", "listeners": "CONTROLLER://[::1]:9093"}
    made = plan(node=config, voter_mode=VoterMode.INITIAL_CONTROLLERS, initial_controllers=f"1@{listed}:{OWN_ID}")
    differing = [finding.evidence for finding in made.findings if finding.id == "voter-endpoint-differs"]
    assert differing == ([] if "9093" in listed else [{"listed": listed, "listener": "[::1]:9093"}])


def test_voters_directory_id_that_another_directory_has_is_a_warning() -> None:
    node = seen(blank("/data/d1"), formatted("/data/d2", directory_id=OWN_ID))
    made = plan(
        node=TWO, observed=node, ignore_formatted=True, voter_mode=VoterMode.INITIAL_CONTROLLERS,
        initial_controllers=VOTERS,
        overrides=GuardOverrides(replace_lost_metadata_disk=True, verified_quorum=True),
    )  # fmt: skip
    assert made.outcome is Outcome.PLANNED
    assert finding(made, "shared-directory-id").subject == "directory /data/d2"


def test_stale_bootstrap_checkpoint_is_reported_where_4_4_would_read_it() -> None:
    stale = FileRead(path="/data/d1/bootstrap.checkpoint", content=b"x")
    entry = DirectoryEntry(name="bootstrap.checkpoint", kind="file", size_bytes=1, mtime_ms=0)
    node = seen(blank("/data/d1", bootstrap_checkpoint=stale, entries=(entry,)))
    assert finding(plan("4.4", observed=node), "stale-bootstrap-checkpoint").severity is Severity.WARNING
    assert "stale-bootstrap-checkpoint" not in [finding.id for finding in plan("4.3", observed=node).findings]


def test_files_of_another_user_are_a_warning_without_owner_and_a_refusal_without_root() -> None:
    made = plan(observed=seen(blank("/data/d1", owner_uid=1000)))
    assert finding(made, "owner-differs").severity is Severity.WARNING
    owner = Owner(text="kafka", uid=1000, gid=1000)
    assert plan(observed=seen(blank("/data/d1", owner_uid=1000)), owner=owner).owner == owner
    other = replace(seen(blank("/data/d1", owner_uid=500)), process_uid=500)
    refused(plan(observed=other, owner=owner), "owner-needs-root", "only root can give files to kafka")


def test_every_reason_is_reported_at_once_and_kafkas_comes_first() -> None:
    node = seen(with_meta("/data/d1", "version=2\n"), formatted("/data/d2", node_id=7))
    made = plan(
        "4.4", node=TWO, observed=node, voter_mode=VoterMode.UNSPECIFIED, release_version="3.4",
        features=("foo.version=1", "metadata.version=30"), scram=(SCRAM,),
    )  # fmt: skip
    assert stops(made) == [
        "voter-flag-missing",
        "release-version-and-feature",
        "unsupported-feature",
        "node-id-mismatch",
        "already-formatted",
        "metadata-directory-unreadable",
    ]


def test_override_for_a_directory_that_is_none_of_the_nodes_has_no_effect_and_is_reported() -> None:
    made = plan(overrides=GuardOverrides(allow_not_blank=frozenset({"/data/d1/"})))
    assert made.outcome is Outcome.PLANNED
    assert finding(made, "directory-not-in-config").subject == "--allow-not-blank"
