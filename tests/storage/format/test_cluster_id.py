"""Cluster ids: what each release stores and refuses, and what is reported to the operator."""

from __future__ import annotations

import pytest

from kafkactl.core.findings import Severity, blockers
from kafkactl.protocol.catalog.releases import find_release
from kafkactl.storage.format.cluster_id import APACHE_IMAGE_ID, check_cluster_id

CANONICAL = "XgM8cvG1S-mQ3k4wGhkVpQ"
OTHER_TAIL = "XgM8cvG1S-mQ3k4wGhkVpR"  # the same 16 bytes
OLD = ("3.3", "3.4", "3.5", "3.6")
NEW = ("3.7", "3.8", "3.9", "4.0", "4.1", "4.2", "4.3", "4.4")


def ids(text: str, release: str, **options: bool) -> list[str]:
    return [finding.id for finding in check_cluster_id(text, find_release(release), **options).findings]


@pytest.mark.parametrize("release", OLD + NEW)
@pytest.mark.parametrize("text", [CANONICAL, "-" + CANONICAL[1:], "AAAAAAAAAAAAAAAAAAAAAA"])
def test_valid_cluster_id_has_no_findings(text: str, release: str):
    checked = check_cluster_id(text, find_release(release))
    assert (checked.stored, checked.findings) == (text, ())


@pytest.mark.parametrize("text", [OTHER_TAIL, f"{CANONICAL}=="])
def test_old_releases_change_the_id(text: str):
    for release in OLD:
        checked = check_cluster_id(text, find_release(release))
        assert checked.stored == CANONICAL
        assert [finding.id for finding in checked.findings] == ["cluster-id-not-canonical"]
        assert f"stores {CANONICAL}" in checked.findings[0].message
    for release in NEW:
        checked = check_cluster_id(text, find_release(release))
        assert checked.stored == text
        assert [finding.id for finding in checked.findings] == ["cluster-id-not-canonical"]
        assert "stores the id as given" in checked.findings[0].message


@pytest.mark.parametrize("text", ["abc", "my-cluster", "", "a" * 23, " x"])
def test_old_releases_want_a_uuid(text: str):
    for release in OLD:
        checked = check_cluster_id(text, find_release(release))
        (found,) = blockers(checked.findings)
        assert found.id == "cluster-id-not-a-uuid"
        assert f"Cluster ID string {text} does not appear to be a valid UUID" in found.message
        assert found.advice
    for release in NEW:
        checked = check_cluster_id(text, find_release(release))
        assert checked.stored == text
        assert blockers(checked.findings) == []
        assert checked.findings


@pytest.mark.parametrize("release", OLD + NEW)
@pytest.mark.parametrize("text", ["clüster", "\N{GRINNING FACE}", "x\udcff"])
def test_text_beyond_ascii_does_not_come_back(text: str, release: str):
    found = blockers(check_cluster_id(text, find_release(release)).findings)[0]
    assert found.id == "cluster-id-not-ascii"
    assert "ISO-8859-1" in found.message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["cluster-id-empty"]),
        ("my cluster", ["cluster-id-with-blanks", "cluster-id-not-a-uuid"]),
        (f"{CANONICAL}\n", ["cluster-id-with-blanks", "cluster-id-not-a-uuid"]),
        ("x\x00", ["cluster-id-with-blanks", "cluster-id-not-a-uuid"]),
        (APACHE_IMAGE_ID, ["cluster-id-well-known"]),
        (f"{APACHE_IMAGE_ID}==", ["cluster-id-not-canonical"]),
    ],
)
def test_unusual_cluster_id_is_a_warning_with_advice(text: str, expected: list[str]):
    checked = check_cluster_id(text, find_release("4.3"))
    assert [finding.id for finding in checked.findings] == expected
    assert {finding.severity for finding in checked.findings} == {Severity.WARNING}
    assert all(finding.advice for finding in checked.findings)


def test_image_s_id_is_known_in_any_spelling():
    assert "cluster-id-well-known" in ids(f"{APACHE_IMAGE_ID}==", "3.6")


@pytest.mark.parametrize("release", ["3.4", "3.6", "3.9"])
def test_migrated_cluster_keeps_its_id(release: str):
    for text in ("my-cluster", OTHER_TAIL, "-abc"):
        checked = check_cluster_id(text, find_release(release), migration=True)
        assert checked.stored == text
        assert blockers(checked.findings) == []
    assert ids("clüster", release, migration=True)[0] == "cluster-id-not-ascii"


def test_in_a_migration_a_strange_id_is_compared_and_never_generated():
    (finding,) = check_cluster_id("my-old-id", find_release("3.9"), migration=True).findings
    assert finding.id == "cluster-id-not-a-uuid"
    assert "/cluster/id in ZooKeeper" in finding.advice
    assert "random-uuid" not in finding.advice
