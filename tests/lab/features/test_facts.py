"""Our tables of levels, features, error codes and control records against the enumerations in the jars."""

from __future__ import annotations

import zipfile

import pytest

from kafkactl.core.kafka_names import METADATA_VERSION
from kafkactl.protocol.catalog.levels import changes_metadata_in, features_of, metadata_version, names_before_levels
from kafkactl.protocol.catalog.releases import Release, find_release
from kafkactl.protocol.schema.build import build_message
from kafkactl.protocol.schema.definitions import control_record
from kafkactl.protocol.schema.dialect import parse_definition
from kafkactl.protocol.schema.error_codes import error_code, error_codes
from tests.lab.harness import maven, releases
from tests.lab.oracles.facts import facts

pytestmark = pytest.mark.lab

RELEASES = pytest.mark.parametrize("version", releases.VERSIONS)
# Enum constants of ControlRecordType -> the message of ours that such a record holds.
CONTROL_RECORDS = {
    "ABORT": "EndTxnMarker",
    "COMMIT": "EndTxnMarker",
    "LEADER_CHANGE": "LeaderChangeMessage",
    "SNAPSHOT_HEADER": "SnapshotHeaderRecord",
    "SNAPSHOT_FOOTER": "SnapshotFooterRecord",
    "KRAFT_VERSION": "KRaftVersionRecord",
    "KRAFT_VOTERS": "VotersRecord",
}


def rows(version: str, kind: str) -> list[tuple[str, ...]]:
    return [words[1:] for words in facts(version) if words[0] == kind]


@RELEASES
def test_levels_of_metadata_version_equal_those_of_kafka(version: str) -> None:
    release = find_release(version)
    levels = [row for row in rows(version, METADATA_VERSION) if row[0] != "-1"]
    assert [int(level) for level, *_ in levels] == list(
        range(release.lowest_supported_level, release.testing_level + 1)
    )
    for level, name, changes, production in levels:
        assert metadata_version(int(level)).name == name
        assert changes_metadata_in(release, int(level)) is (changes == "true"), name
        assert (int(level) <= release.production_level) is (production == "true"), name


@RELEASES
def test_names_from_before_there_were_levels(version: str) -> None:
    names = tuple(name for level, name, *_ in rows(version, METADATA_VERSION) if level == "-1")
    assert names == (names_before_levels() if version.startswith("3.") else ())


@RELEASES
def test_levels_defaults_and_dependencies_equal_those_of_kafka(version: str) -> None:
    release = find_release(version)
    assert [row[0] for row in rows(version, "feature")] == list(features_of(release))
    for name, production, testing in rows(version, "feature"):
        facts_of_it = features_of(release)[name]
        assert (facts_of_it.latest_production, facts_of_it.latest_testing) == (int(production), int(testing)), name
        assert [level.level for level in facts_of_it.levels] == [
            int(row[1]) for row in rows(version, "level") if row[0] == name
        ]
    for name, level, default_from, needs in rows(version, "level"):
        ours = features_of(release)[name].levels[int(level)]
        assert max(ours.default_from, release.lowest_supported_level) == int(default_from), (name, level)
        assert "{" + ",".join(f"{key}={value}" for key, value in sorted(ours.dependencies.items())) + "}" == needs


@RELEASES
def test_error_codes_keep_their_names(version: str) -> None:
    for code, name, _retriable in rows(version, "error"):
        assert error_code(int(code)).name == name


def test_error_codes_of_the_newest_release_are_ours() -> None:
    theirs = [(int(code), name, retriable == "true") for code, name, retriable in rows(releases.NEWEST, "error")]
    assert sorted(theirs) == [(code.code, code.name, code.retriable) for code in error_codes()]


@RELEASES
def test_control_records_equal_those_of_kafka(version: str) -> None:
    types = {int(number): name for number, name in rows(version, "control") if name != "UNKNOWN"}
    assert {control_record(number).name for number in types} <= set(CONTROL_RECORDS.values())
    for number, name in types.items():
        assert control_record(number).name == CONTROL_RECORDS[name]


@RELEASES
def test_newest_quorum_state_that_a_release_can_read(version: str) -> None:
    with zipfile.ZipFile(maven.jars(version) / f"kafka-raft-{version}.jar") as archive:
        text = archive.read("common/message/QuorumStateData.json").decode()
    highest = build_message(parse_definition(text)).valid_versions.highest
    assert find_release(version).quorum_state_version == highest


def test_every_release_of_the_lab_is_known_and_the_newest_of_its_line() -> None:
    known: list[Release] = [find_release(version) for version in releases.VERSIONS]
    assert [release.patch for release in known] == [release.newest_patch for release in known]
