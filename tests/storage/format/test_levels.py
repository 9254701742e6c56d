"""Levels that a format sets in each release, and the reasons to refuse them."""

from __future__ import annotations

import pytest

from kafkactl.core.errors import InputError
from kafkactl.core.findings import Outcome, Severity
from kafkactl.storage.model import VoterMode
from tests.storage.format.planning import SCRAM, finding, plan, refused, stops


@pytest.mark.parametrize(
    ("release", "text", "id_", "phrase"),
    [
        ("3.7", "3.8-IV0", "unstable-release-version", "is not ready for production use yet"),
        ("3.8", "3.9-IV0", "unstable-release-version", "is not ready for production use yet"),
        ("4.0", "4.1-IV0", "unstable-release-version", "metadata.version 4.1-IV0 is not yet stable."),
        ("4.4", "4.5-IV0", "unstable-release-version", "Unknown metadata.version '4.5-IV0'"),
        ("3.3", "3.2-IV0", "release-version-too-old", "before 3.3-IV0"),
        ("4.0", "3.3-IV2", "release-version-too-old", "Version 3.3-IV2 is not a valid version"),
        ("4.4", "3.2", "release-version-too-old", "Unknown metadata.version '3.2'"),
    ],
)
def test_release_version_outside_the_range_is_refused(release: str, text: str, id_: str, phrase: str) -> None:
    made = plan(release, release_version=text)
    assert stops(made)[0] == id_
    assert phrase in finding(made, id_).message


def test_unreadable_release_version_is_reported_before_a_wrong_flag() -> None:
    # 4.x fails on a release version that it does not know while it reads its arguments, 3.9 knows it as too old.
    wrong = {"node": {"static": True}, "voter_mode": VoterMode.STANDALONE, "release_version": "3.2"}
    assert stops(plan("4.4", **wrong))[0] == "release-version-too-old"
    assert stops(plan("3.9", **wrong))[0] != "release-version-too-old"


@pytest.mark.parametrize(
    ("release", "phrase"),
    [("3.9", "Version x is not a valid version"), ("4.4", "Unknown metadata.version 'x'. Supported")],
)
def test_unknown_release_version_is_a_mistake_in_the_words(release: str, phrase: str) -> None:
    with pytest.raises(InputError) as caught:
        plan(release, release_version="x")
    assert caught.value.id == "unknown-release-version"
    assert phrase in caught.value.message
    assert caught.value.exit_code == 2


def test_inter_broker_protocol_is_the_release_in_3_x_only() -> None:
    made = plan("3.6", node={"inter_broker_protocol_version": "3.4"})
    assert made.metadata_version_name == "3.4-IV0"
    made = plan("3.6", node={"inter_broker_protocol_version": "3.4"}, release_version="3.5")
    assert made.metadata_version_name == "3.5-IV2"


def test_unstable_switch_raises_the_default_and_allows_more() -> None:
    unstable = {"unstable_feature_versions_enable": "true"}
    assert plan("4.1", node=unstable).metadata_version_name == "4.2-IV1"
    assert plan("4.1", node=unstable, features=("streams.version=1",)).features["streams.version"] == 1
    refused(plan("4.1", features=("streams.version=1",)), "unknown-feature-level", "No feature:streams.version")


@pytest.mark.parametrize("text", ["group.version", "group.version=x", "group.version=99999", "x=", "a=1_0"])
def test_feature_that_cannot_be_parsed_is_a_mistake_in_the_words(text: str) -> None:
    with pytest.raises(InputError) as caught:
        plan(features=(text,))
    assert caught.value.id == "feature-argument-not-understood"
    assert f"Can't parse feature=level string {text}" in caught.value.message


def test_of_a_feature_given_twice_the_last_counts_and_level_0_leaves_it_out() -> None:
    made = plan(features=("group.version=1", " group.version = 0 "))
    assert "group.version" not in made.features


@pytest.mark.parametrize(
    ("release", "features", "id_", "phrase"),
    [
        ("4.4", ("foo.version=1",), "unsupported-feature", "Unsupported feature: foo.version. Supported features are:"),
        ("4.4", ("share.version=3",), "unknown-feature-level", "No feature:share.version with feature level 3"),
        ("4.4", ("group.version=-1",), "unknown-feature-level", "No feature:group.version with feature level -1"),
        ("4.4", ("metadata.version=99",), "unknown-feature-level", "No MetadataVersion with feature level 99"),
        ("3.9", ("metadata.version=3",), "release-version-too-old", "before 3.3-IV0"),
        ("4.4", ("metadata.version=34",), "unstable-release-version", "metadata.version 4.5-IV0 is not yet stable."),
        ("3.9", ("transaction.version=2",), "unknown-feature-level", "No feature:transaction.version"),
        ("4.3", ("kraft.version=0",), "kraft-version-contradicts-quorum", "Cannot set kraft.version to 0 if"),
        ("3.9.1", ("kraft.version=0",), "kraft-version-contradicts-quorum", "if one of the flags --standalone"),
    ],
)
def test_feature_that_the_release_does_not_take_is_refused(
    release: str, features: tuple[str, ...], id_: str, phrase: str
) -> None:
    refused(plan(release, features=features), id_, phrase)


def test_kraft_version_1_needs_a_dynamic_quorum() -> None:
    made = plan("4.3", node={"static": True}, features=("kraft.version=1",))
    refused(made, "kraft-version-contradicts-quorum", "Cannot set kraft.version to 1 unless")


def test_feature_needs_what_it_depends_on() -> None:
    made = plan("4.4", release_version="3.9", features=("eligible.leader.replicas.version=1",))
    refused(made, "feature-dependency-not-met", "could not be set to 1 because it depends on metadata.version level 23")


def test_metadata_version_is_given_once() -> None:
    made = plan("4.4", release_version="4.3", features=("metadata.version=30",))
    refused(made, "release-version-and-feature", "Use --release-version instead of --feature metadata.version=X")
    made = plan("3.8", release_version="3.8", features=("metadata.version=20",))
    refused(made, "release-version-and-feature", "Only one of the two flags can be set")


def test_3_8_ignores_every_feature_but_metadata_version() -> None:
    made = plan("3.8", features=("foo.version=7", "metadata.version=19"))
    assert made.outcome is Outcome.PLANNED
    assert (made.metadata_version_level, made.features) == (19, {})
    assert finding(made, "feature-ignored").severity is Severity.WARNING


def test_users_need_a_metadata_version_that_knows_them() -> None:
    made = plan("4.4", release_version="3.4", scram=(SCRAM,))
    refused(made, "scram-needs-newer-metadata-version", "SCRAM is only supported in metadata.version 3.5-IV2 or later")


@pytest.mark.parametrize("release", ["3.7", "3.8"])
def test_several_directories_need_a_metadata_version_that_assigns_them(release: str) -> None:
    node = {"log_dirs": ("/data/d1", "/data/d2")}
    made = plan(release, node=node, release_version="3.6")
    refused(made, "several-directories-need-newer-metadata-version", "Multiple log directories (aka JBOD)")
    assert plan(release, node={**node, "roles": "controller"}, release_version="3.6").outcome is Outcome.PLANNED
    assert plan("3.9", node=node, release_version="3.6").outcome is Outcome.PLANNED
