from __future__ import annotations

import pytest

from kafkactl.core.errors import InputError
from kafkactl.protocol.catalog.releases import (
    KafkaVersion,
    find_release,
    known_releases,
    kraft_version_for,
    newest_release,
)

NAMES = ["3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9", "4.0", "4.1", "4.2", "4.3", "4.4"]
MODES = ("unspecified", "standalone", "initial-controllers", "no-initial-controllers")


def test_known_releases_are_in_order() -> None:
    assert [release.name for release in known_releases()] == NAMES
    assert newest_release().name == "4.4"
    versions = [release.version for release in known_releases()]
    assert versions == sorted(versions)


@pytest.mark.parametrize(
    ("text", "name", "patch", "version_text"),
    [
        ("4.3", "4.3", 1, "4.3"),
        ("4.3.1", "4.3", 1, "4.3.1"),
        ("4.3.0", "4.3", 0, "4.3.0"),
        (" 3.9 ", "3.9", 2, "3.9"),
        ("04.3", "4.3", 1, "4.3"),
        ("4.3.7", "4.3", 7, "4.3.7"),
    ],
)
def test_release_is_found_by_name_or_patch(text: str, name: str, patch: int, version_text: str) -> None:
    release = find_release(text)
    assert (release.name, release.patch, release.version_text) == (name, patch, version_text)
    assert release.version == KafkaVersion(*map(int, name.split(".")), patch)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("4.33", "4.4"),
        ("v4.3", "4.3"),
        ("5.0", "4.4"),
        ("3.2", "3.3"),
        ("0.10.0", "3.3"),
        ("3.10", "3.9"),
        ("4.3.1.1", "4.3"),
        ("4.3-IV0", "4.3"),
        ("", None),
        ("latest", None),
        ("4", "4"),
        ("4,3", "4.3"),
        ("٤.٣", None),
    ],
)
def test_unknown_release_is_an_input_error_with_a_hint(text: str, meant: str | None) -> None:
    with pytest.raises(InputError, match="is not known") as caught:
        find_release(text)
    assert caught.value.id == "unknown-kafka-version"
    assert caught.value.exit_code == 2
    assert ", ".join(NAMES) in caught.value.advice
    if meant is not None:
        assert f"Did you mean {meant}" in caught.value.advice


@pytest.mark.parametrize(
    ("text", "layout", "supported", "lowest_format"),
    [
        ("3.3", 1, (1, 7, 7), 4),
        ("3.4", 1, (1, 8, 8), 4),
        ("3.5", 1, (1, 11, 11), 4),
        ("3.6", 1, (1, 14, 14), 4),
        ("3.7", 2, (1, 19, 20), 4),
        ("3.8", 2, (1, 20, 21), 4),
        ("3.9", 3, (1, 21, 23), 4),
        ("4.0", 3, (7, 25, 26), 7),
        ("4.1", 3, (7, 27, 29), 7),
        ("4.2", 3, (7, 29, 30), 7),
        ("4.3", 3, (7, 30, 31), 7),
        ("4.4", 4, (7, 33, 34), 7),
    ],
)
def test_release_has_its_layout_and_levels(
    text: str, layout: int, supported: tuple[int, int, int], lowest_format: int
) -> None:
    release = find_release(text)
    assert release.layout == layout
    assert (release.lowest_supported_level, release.production_level, release.testing_level) == supported
    assert release.lowest_format_level == lowest_format


# Rows: what changes, and from which release on it is so (3.3 if it was so from the start).
@pytest.mark.parametrize(
    ("fact", "values"),
    [
        ("cluster_id_rule", {"3.3": "reencoded", "3.7": "verbatim"}),
        ("meta_properties_compared", {"3.3": False, "3.7": True}),
        ("has_directory_ids", {"3.3": False, "3.7": True}),
        ("writes_bootstrap_checkpoint", {"3.3": True, "4.4": False}),
        ("error_directory_rule", {"3.3": "not-noticed", "3.7": "fails", "3.8": "ignored"}),
        ("jbod_format_level", {"3.3": 0, "3.7": 17, "3.9": 0}),
        ("empty_log_dir_refused", {"3.3": False, "4.2": True}),
        ("scram_rule", {"3.3": "none", "3.5": "salt-needs-iterations", "3.9": "any"}),
        ("feature_flag", {"3.3": "none", "3.8": "metadata-version-only", "3.9": "all"}),
        ("voter_flags", {"3.3": False, "3.9": True}),
        ("knows_bootstrap_servers", {"3.3": False, "3.9": True}),
        ("uses_inter_broker_protocol", {"3.3": True, "4.0": False}),
        ("zookeeper_mode", {"3.3": True, "4.0": False}),
        ("mapping_commands", {"3.3": False, "4.0": True}),
        ("quorum_state_version", {"3.3": 0, "3.8": 1}),
        ("unstable_raises_default", {"3.3": False, "3.9": True}),
        (
            "unstable_switch",
            {"3.3": "", "3.7": "unstable.metadata.versions.enable", "3.8": "unstable.feature.versions.enable"},
        ),
    ],
)
def test_rule_has_its_value_from_its_release_on(fact: str, values: dict[str, object]) -> None:
    expected: object = None
    for release in known_releases():
        expected = values.get(release.name, expected)
        assert getattr(release, fact) == expected, release.name


@pytest.mark.parametrize(
    ("text", "rule", "excluded"),
    [
        ("3.8.1", "always-0", False),
        ("3.9.0", "standalone-or-initial-controllers", False),
        ("3.9.1", "any-voter-flag", False),
        ("3.9.2", "no-static-voters", True),
        ("3.9", "no-static-voters", True),
        ("4.0.0", "any-voter-flag", False),
        ("4.0.1", "any-voter-flag", False),
        ("4.0.2", "no-static-voters", True),
        ("4.1.0", "any-voter-flag", False),
        ("4.1.1", "no-static-voters", True),
        ("4.2.0", "no-static-voters", True),
        ("4.4.0", "no-static-voters", True),
    ],
)
def test_rules_follow_the_patch_of_a_release(text: str, rule: str, excluded: bool) -> None:
    release = find_release(text)
    assert release.kraft_version_rule == rule
    assert release.static_voters_exclude_voter_flags is excluded


# kraft.version for the four modes, without static voters and with them.
@pytest.mark.parametrize(
    ("text", "without", "with_static"),
    [
        ("3.8.1", (0, 0, 0, 0), (0, 0, 0, 0)),
        ("3.9.0", (0, 1, 1, 0), (0, 1, 1, 0)),
        ("3.9.1", (0, 1, 1, 1), (0, 1, 1, 1)),
        ("3.9.2", (1, 1, 1, 1), (0, 0, 0, 0)),
        ("4.1.0", (0, 1, 1, 1), (0, 1, 1, 1)),
        ("4.4.0", (1, 1, 1, 1), (0, 0, 0, 0)),
    ],
)
def test_kraft_version_follows_the_voter_mode(
    text: str, without: tuple[int, ...], with_static: tuple[int, ...]
) -> None:
    release = find_release(text)
    assert tuple(kraft_version_for(release, voter_mode=mode, static_voters=False) for mode in MODES) == without
    assert tuple(kraft_version_for(release, voter_mode=mode, static_voters=True) for mode in MODES) == with_static


def test_several_log_directories_were_not_looked_at_in_the_first_release_that_has_them() -> None:
    levels = {
        version: find_release(version).jbod_format_level for version in ("3.6.2", "3.7.0", "3.7.1", "3.8.1", "3.9.0")
    }
    assert levels == {"3.6.2": 0, "3.7.0": 0, "3.7.1": 17, "3.8.1": 17, "3.9.0": 0}


def test_kraft_version_takes_the_enumeration_of_the_storage_room() -> None:
    from kafkactl.storage.model import VoterMode

    release = find_release("3.9.1")
    found = {mode: kraft_version_for(release, voter_mode=mode, static_voters=False) for mode in VoterMode}
    assert {mode.value for mode in VoterMode} == set(MODES)
    assert [mode for mode, level in found.items() if level == 0] == [VoterMode.UNSPECIFIED]
