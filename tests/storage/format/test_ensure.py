"""Plan of `storage ensure`: nothing to do for the same arguments again, and a finding for each difference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from kafkactl.core.file_read import FileRead
from kafkactl.core.findings import Finding, Outcome, Severity, blockers
from kafkactl.metadata.log.checkpoint import decode_checkpoint
from kafkactl.protocol.catalog.releases import find_release
from kafkactl.storage.format.ensure import plan_ensure
from kafkactl.storage.format.plan import plan_format
from kafkactl.storage.model import DirectoryEntry, FormatPlan, FormatRequest, ObservedDirectory, ObservedNode, VoterMode
from tests.storage.nodes import CLUSTER_ID, FixedSource, a_config, blank, blank_node

FIRST = "00000000000000000000-0000000000.checkpoint"
ALICE = "SCRAM-SHA-256=[name=alice,password=alice-secret]"
DIRS = ("/data/d1", "/data/d2")


class FreshSource(FixedSource):
    """Source of other ids and salts than the first format drew."""

    def directory_id(self, path):
        found = super().directory_id(path)
        return replace(found, raw=found.raw[::-1])

    def scram_salt(self, position):
        return b"fresh" * 4


def request(**changes) -> FormatRequest:
    return replace(FormatRequest(cluster_id=CLUSTER_ID, voter_mode=VoterMode.STANDALONE), **changes)


def disks(plan: FormatPlan, *, started: bool = False, without: tuple[str, ...] = ()) -> ObservedNode:
    """Return what lies on the disks after this plan was applied, but for the files in `without`."""
    return ObservedNode(
        directories=tuple(disk(directory.path, directory.files, started, without) for directory in plan.directories)
    )


def disk(path: str, files, started: bool, without: tuple[str, ...]) -> ObservedDirectory:
    read: Mapping[str, FileRead] = {
        file.name: FileRead(path=f"{path}/{file.name}", content=file.content)
        for file in files
        if file.name not in without
    }
    inside = [name.partition("/")[2] for name in read if "/" in name]
    log = [*inside, *(["00000000000000000000.log", "quorum-state"] if started else [])]
    return blank(
        path,
        entries=tuple(entry(name) for name in sorted({name.partition("/")[0] for name in read})),
        meta_properties=read.get("meta.properties"),
        bootstrap_checkpoint=read.get("bootstrap.checkpoint"),
        metadata_log=tuple(entry(name) for name in log) if log else None,
        metadata_files={name: read[f"__cluster_metadata-0/{name}"] for name in inside},
    )


def entry(name: str) -> DirectoryEntry:
    kind = "directory" if name == "__cluster_metadata-0" else "file"
    return DirectoryEntry(name=name, kind=kind, size_bytes=1, mtime_ms=0)


def formatted(asked: FormatRequest, release: str = "4.3", **settings) -> FormatPlan:
    config = a_config(release, log_dirs=DIRS, **settings)
    plan = plan_format(asked, config, blank_node(config), find_release(release), FixedSource())
    assert plan.outcome is Outcome.PLANNED, plan.findings
    return plan


def ensure(asked: FormatRequest, observed: ObservedNode, release: str = "4.3", **settings) -> FormatPlan:
    config = a_config(release, log_dirs=DIRS, **settings)
    return plan_ensure(asked, config, observed, find_release(release), FreshSource())


def ids(findings) -> list[str]:
    return [finding.id for finding in findings]


RELEASES = ("3.3", "3.6", "3.7", "3.8", "3.9", "4.0", "4.3", "4.4")


@pytest.mark.parametrize("release", RELEASES)
def test_blank_node_is_formatted_by_ensure(release):
    static = request(voter_mode=VoterMode.UNSPECIFIED)
    config = a_config(release, log_dirs=DIRS, static=True)
    plan = ensure(static, blank_node(config), release, static=True)
    assert plan.outcome is Outcome.PLANNED
    assert [directory.action for directory in plan.directories] == ["format", "format"]


@pytest.mark.parametrize("release", RELEASES)
def test_same_again_is_nothing_to_do(release):
    static = request(voter_mode=VoterMode.UNSPECIFIED)
    plan = ensure(static, disks(formatted(static, release, static=True)), release, static=True)
    assert (plan.outcome, ids(blockers(plan.findings))) == (Outcome.NOTHING_TO_DO, [])


@pytest.mark.parametrize("release", ["3.9", "4.3", "4.4"])
@pytest.mark.parametrize(
    "asked",
    [
        request(),
        request(scram=(ALICE,)),
        request(features=("transaction.version=0",)),
        request(voter_mode=VoterMode.NO_INITIAL_CONTROLLERS),
        request(
            voter_mode=VoterMode.INITIAL_CONTROLLERS,
            initial_controllers="1@localhost:9093:MvDxzVmcRsaTz33bUuRU6A,2@h2:9093:JEXY6aqzQY-32P5TStzaFg",
        ),
    ],
    ids=["standalone", "users", "features", "joins", "initial-controllers"],
)
def test_same_again_is_nothing_to_do_although_ids_and_salts_were_random(asked, release):
    plan = ensure(asked, disks(formatted(asked, release)), release)
    assert (plan.outcome, ids(blockers(plan.findings))) == (Outcome.NOTHING_TO_DO, [])


DIFFERENT: dict[str, tuple[FormatRequest, FormatRequest, str]] = {
    "cluster": (request(), request(cluster_id="AAAAAAAAAAAAAAAAAAAAAA"), "cluster-id-mismatch"),
    "release": (request(release_version="4.1"), request(), "feature-levels-differ"),
    "feature": (request(), request(features=("transaction.version=0",)), "feature-levels-differ"),
    "user-added": (request(), request(scram=(ALICE,)), "scram-users-differ"),
    "user-gone": (request(scram=(ALICE,)), request(), "scram-users-differ"),
    "password": (
        request(scram=(ALICE,)),
        request(scram=(ALICE.replace("alice-secret", "another"),)),
        "scram-users-differ",
    ),
    "voters": (request(), request(voter_mode=VoterMode.NO_INITIAL_CONTROLLERS), "voters-differ"),
    "other-voters": (
        request(),
        request(
            voter_mode=VoterMode.INITIAL_CONTROLLERS,
            initial_controllers="1@localhost:9093:MvDxzVmcRsaTz33bUuRU6A,2@h2:9093:JEXY6aqzQY-32P5TStzaFg",
        ),
        "voters-differ",
    ),
}


@pytest.mark.parametrize("release", ["4.3", "4.4"])
@pytest.mark.parametrize("name", DIFFERENT)
def test_difference_is_refused_before_the_first_start(name, release):
    before, now, id = DIFFERENT[name]
    plan = ensure(now, disks(formatted(before, release)), release)
    assert plan.outcome is Outcome.REFUSED
    assert id in ids(blockers(plan.findings))
    assert "alice-secret" not in repr(plan)


@pytest.mark.parametrize("release", ["4.3", "4.4"])
@pytest.mark.parametrize("name", sorted(set(DIFFERENT) - {"cluster", "other-voters"}))
def test_after_the_first_start_the_cluster_decides_and_nothing_is_refused(name, release):
    before, now, id = DIFFERENT[name]
    plan = ensure(now, disks(formatted(before, release), started=True), release)
    assert plan.outcome is Outcome.NOTHING_TO_DO
    (reported,) = [finding for finding in plan.findings if finding.id == id]
    assert reported.severity is Severity.INFO


def test_another_cluster_is_always_refused():
    plan = ensure(request(cluster_id="AAAAAAAAAAAAAAAAAAAAAA"), disks(formatted(request()), started=True))
    assert plan.outcome is Outcome.REFUSED


@pytest.mark.parametrize("release", ["3.3", "3.6"])
def test_ids_are_compared_although_old_tools_did_not(release):
    static = request(voter_mode=VoterMode.UNSPECIFIED)
    observed = disks(formatted(static, release, static=True))
    plan = ensure(replace(static, cluster_id="AAAAAAAAAAAAAAAAAAAAAA"), observed, release, static=True)
    assert "cluster-id-mismatch" in ids(blockers(plan.findings))


def test_another_node_is_refused():
    plan = ensure(request(), disks(formatted(request())), node_id=2)
    assert "node-id-mismatch" in ids(blockers(plan.findings))


@pytest.mark.parametrize(
    ("release", "lost"), [("4.3", "bootstrap.checkpoint"), ("4.4", f"__cluster_metadata-0/{FIRST}")]
)
def test_lost_bootstrap_records_are_refused_before_the_first_start(release, lost):
    static = request(voter_mode=VoterMode.UNSPECIFIED)
    plan = formatted(static, release, static=True)
    found = ensure(static, disks(plan, without=(lost,)), release, static=True)
    assert ids(blockers(found.findings)) == ["bootstrap-records-missing"]
    started = ensure(static, disks(plan, without=(lost,), started=True), release, static=True)
    assert started.outcome is Outcome.NOTHING_TO_DO


@pytest.mark.parametrize("started", [False, True])
def test_unreadable_file_is_refused_and_not_reported_as_lost(started):
    # By another user than the node's: neither equal to what is asked for, nor to be unformatted.
    observed = disks(formatted(request()), started=started)
    file = replace(observed.directories[0].bootstrap_checkpoint, content=None, error="Permission denied")
    for hidden in ({"bootstrap_checkpoint": file}, {"metadata_log": (), "metadata_log_error": "Permission denied"}):
        found = replace(observed.directories[0], **hidden)
        plan = ensure(request(), ObservedNode(directories=(found, observed.directories[1])))
        (reported,) = blockers(plan.findings)
        assert (plan.outcome, reported.id) == (Outcome.REFUSED, "metadata-directory-unreadable")
        assert "Permission denied" in reported.message and "unformat" not in reported.next_step


def test_damaged_checkpoint_is_refused():
    observed = disks(formatted(request()))
    file = observed.directories[0].bootstrap_checkpoint
    cut = replace(observed.directories[0], bootstrap_checkpoint=replace(file, content=file.content[:-10]))
    plan = ensure(request(), ObservedNode(directories=(cut, observed.directories[1])))
    (reported,) = (finding for finding in blockers(plan.findings) if finding.id == "checkpoint-damaged")
    first = decode_checkpoint(file.content[:-10]).problems[0]
    assert reported.message == f"bootstrap.checkpoint in {DIRS[0]} is damaged: {first.reason} (byte {first.offset})"


def test_directory_id_that_was_given_is_that_of_the_disk():
    # Voters of other nodes have it: with another id this node would never vote.
    _, asked, _ = DIFFERENT["other-voters"]
    plan = ensure(asked, disks(formatted(request())))
    (reported,) = (finding for finding in blockers(plan.findings) if finding.id == "directory-id-mismatch")
    assert reported.subject == f"directory {DIRS[0]}"
    assert reported.evidence["expected"] == "MvDxzVmcRsaTz33bUuRU6A"
    assert reported.evidence["found"] != reported.evidence["expected"]


def test_new_data_disk_next_to_formatted_ones_is_formatted():
    observed = disks(formatted(request()), started=True)
    plan = ensure(request(), ObservedNode(directories=(observed.directories[0], blank(DIRS[1]))))
    assert plan.outcome is Outcome.PLANNED
    assert [directory.action for directory in plan.directories] == ["keep", "format"]


def test_blank_metadata_disk_next_to_formatted_ones_is_refused():
    observed = disks(formatted(request()), started=True)
    plan = ensure(request(), ObservedNode(directories=(blank(DIRS[0]), observed.directories[1])))
    assert "metadata-disk-lost" in ids(blockers(plan.findings))


def test_disk_that_is_not_blank_is_refused():
    used = blank(DIRS[0], entries=(DirectoryEntry(name="orders-0", kind="directory", size_bytes=0, mtime_ms=0),))
    plan = ensure(request(), ObservedNode(directories=(used, blank(DIRS[1]))))
    assert "directory-not-blank" in ids(blockers(plan.findings))


@pytest.mark.parametrize(("before", "after"), [("3.6", "4.3"), ("3.7", "4.4"), ("4.3", "4.4")])
def test_disks_of_an_older_release_are_as_asked_after_an_upgrade(before, after):
    # The release of the first format is named: the newer default would be another metadata.version.
    static = request(voter_mode=VoterMode.UNSPECIFIED, release_version="3.6" if before == "3.6" else "3.7")
    observed = disks(formatted(static, before, static=True), started=True)
    plan = ensure(static, observed, after, static=True)
    assert (plan.outcome, ids(blockers(plan.findings))) == (Outcome.NOTHING_TO_DO, [])


def test_findings_have_advice_and_evidence():
    for before, now, _ in DIFFERENT.values():
        finding: Finding
        for finding in blockers(ensure(now, disks(formatted(before))).findings):
            assert finding.advice
            assert finding.evidence
