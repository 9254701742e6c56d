"""Our definitions against those inside the jars of every release of the lab: field by field, version by version.

Of the newest release everything must be equal. Of an older one everything must be there too, at every version that it
has; where Kafka itself has since changed a version that already existed, the change is listed here, and a listed
change that is not found fails as well. Reads zip files only; no JVM.
"""

from __future__ import annotations

import functools
import json
import re
import runpy
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import pytest
import tomli

from kafkactl.core.data_files import read_data
from kafkactl.protocol.schema.build import build_message
from kafkactl.protocol.schema.definitions import message, message_names, metadata_record_names
from kafkactl.protocol.schema.dialect import parse_definition
from kafkactl.protocol.schema.spec import MessageSpec
from tests.lab.harness import maven, releases
from tests.protocol.schema.layouts import FieldLayout, layout_at

pytestmark = pytest.mark.lab

OLDER = releases.VERSIONS[:-1]
ROOT = Path(__file__).resolve().parents[3]
DEFINITION = re.compile(r"(.*/)?(message|metadata)/[A-Za-z]+\.json")

# message, path of the field -> newest release that still has the old form. Same bytes, another name.
RENAMED: dict[tuple[str, str], tuple[str, str]] = {
    ("PartitionChangeRecord", "LastKnownELR"): ("LastKnownElr", "3.7.2"),
    ("PartitionRecord", "LastKnownELR"): ("LastKnownElr", "3.7.2"),
    ("VoteRequest", "Topics.Partitions.CandidateEpoch"): ("ReplicaEpoch", "3.9.2"),
    ("VoteRequest", "Topics.Partitions.CandidateId"): ("ReplicaId", "3.9.2"),
    ("VoteRequest", "Topics.Partitions.CandidateDirectoryId"): ("ReplicaDirectoryId", "3.9.2"),
}
# What a client puts where a value is not given, or may leave out: no byte on the wire is read differently.
CLIENT_SIDE: dict[tuple[str, str, str], str] = {
    ("EndQuorumEpochRequest", "Topics.Partitions.PreferredSuccessors", "ignorable"): "3.8.1",
    ("FetchRequest", "ReplicaId", "default"): "3.3.2",
    ("ProduceRequest", "TopicData.Name", "ignorable"): "4.0.2",
    ("ProduceResponse", "Responses.Name", "ignorable"): "4.0.2",
    ("RequestHeader", "ClientId", "ignorable"): "3.9.2",
    ("UpdateFeaturesResponse", "Results", "ignorable"): "3.9.2",
}
# Tagged fields added to a version that existed: older readers skip them, older writers leave them out.
TAGGED_LATER: dict[tuple[str, str], str] = {
    ("ApiVersionsResponse", "ZkMigrationReady"): "3.3.2",
    ("RemoteLogSegmentMetadataRecord", "TxnIndexEmpty"): "3.9.2",
    ("RemoteLogSegmentMetadataSnapshotRecord", "TxnIndexEmpty"): "3.9.2",
}
# Other bytes under the same version number. The records of 3.3 were never written by a 3.3 controller (SCRAM and
# delegation tokens came to KRaft with 3.5 and 3.6, KIP-900), tiered storage was not yet usable before 3.6 (KIP-405).
OTHER_BYTES: dict[str, str] = {
    "DelegationTokenRecord": "3.3.2",
    "RemoteLogSegmentMetadataRecord": "3.3.2",
    "RemoteLogSegmentMetadataSnapshotRecord": "3.3.2",
    "RemoteLogSegmentMetadataUpdateRecord": "3.3.2",
    "UserScramCredentialRecord": "3.3.2",
}


@dataclass(frozen=True, slots=True)
class Difference:
    """Thing that differs at a path; `what` is a field attribute, or `missing`, `added`, `order`."""

    path: str
    what: str


@functools.cache
def jar_specs(release: str) -> dict[str, MessageSpec]:
    """Return the messages of a release that we carry, by name, straight from its jars."""
    found = (build_message(definition) for definition in _definitions(release) if definition["name"] in message_names())
    return {spec.name: spec for spec in found}


def _definitions(release: str) -> Iterator[dict]:
    for jar in sorted(maven.jars(release).glob("kafka*.jar")):
        with zipfile.ZipFile(jar) as archive:
            for name in archive.namelist():
                if DEFINITION.fullmatch(name):
                    yield parse_definition(archive.read(name).decode(), last_key_wins=True)


def at_most(release: str, newest: str) -> bool:
    return releases.release(release).number <= releases.release(newest).number


def differences(theirs: tuple[FieldLayout, ...], ours: tuple[FieldLayout, ...], where: str = "") -> set[Difference]:
    their_names, our_names = [field.name for field in theirs], [field.name for field in ours]
    found = {Difference(where + name, "missing") for name in their_names if name not in our_names}
    found |= {Difference(where + name, "added") for name in our_names if name not in their_names}
    if [name for name in their_names if name in our_names] != [name for name in our_names if name in their_names]:
        found.add(Difference(where, "order"))
    mine = {field.name: field for field in ours}
    for field in theirs:
        if field.name in mine:
            found |= field_differences(field, mine[field.name], where + field.name)
    return found


def field_differences(theirs: FieldLayout, ours: FieldLayout, where: str) -> set[Difference]:
    found = {
        Difference(where, attribute.name)
        for attribute in fields(FieldLayout)
        if attribute.name != "fields" and getattr(theirs, attribute.name) != getattr(ours, attribute.name)
    }
    return found | differences(theirs.fields, ours.fields, where + ".")


def field_at(layout: tuple[FieldLayout, ...], path: str) -> FieldLayout:
    first, _, rest = path.partition(".")
    field = next(field for field in layout if field.name == first)
    return field_at(field.fields, rest) if rest else field


def test_newest_release_is_equal_version_by_version() -> None:
    specs = jar_specs(releases.NEWEST)
    for name, theirs in specs.items():
        ours = message(name)
        assert (ours.kind, ours.api_key, ours.listeners) == (theirs.kind, theirs.api_key, theirs.listeners), name
        assert ours.flexible_versions == theirs.flexible_versions, name
        assert ours.deprecated_versions == theirs.deprecated_versions, name
        assert ours.latest_version_unstable == theirs.latest_version_unstable, name
        assert ours.valid_versions.highest == theirs.valid_versions.highest, name
        for version in theirs.valid_versions:
            assert layout_at(ours, version) == layout_at(theirs, version), f"{name} v{version}"
    assert len(specs) >= 90


def test_every_message_of_ours_is_in_some_release() -> None:
    known = set().union(*(jar_specs(release) for release in releases.VERSIONS))
    assert set(message_names()) == known


def test_every_metadata_record_of_every_release_is_carried() -> None:
    for release in releases.VERSIONS:
        with zipfile.ZipFile(maven.jars(release) / f"kafka-metadata-{release}.jar") as archive:
            names = [name for name in archive.namelist() if re.fullmatch(r".*/metadata/\w+\.json", name)]
            texts = [archive.read(name).decode() for name in names]
        records = {parse_definition(text)["name"] for text in texts}
        assert records <= set(metadata_record_names()), release
        assert len(records) >= 19
    assert len(records) == 27  # what issue 3 and lab.md counted in 4.4.0


def test_our_versions_are_exactly_those_of_all_releases() -> None:
    for name in message_names():
        theirs = {version for release in releases.VERSIONS if name in jar_specs(release)
                  for version in jar_specs(release)[name].valid_versions}  # fmt: skip
        assert set(message(name).valid_versions) == theirs, name


@pytest.mark.parametrize("release", OLDER)
def test_older_release_is_contained(release: str) -> None:
    seen: set[object] = set()
    for name, theirs in jar_specs(release).items():
        ours = message(name)
        assert (ours.kind, ours.api_key) == (theirs.kind, theirs.api_key), name
        for version in theirs.valid_versions:
            assert ours.is_flexible(version) == theirs.is_flexible(version), f"{name} v{version}"
            their_layout, our_layout = layout_at(theirs, version).fields, layout_at(ours, version).fields
            found = differences(their_layout, our_layout)
            unexplained = {
                difference
                for difference in found
                if not explained(name, release, difference, their_layout, our_layout, seen)
            }
            assert not unexplained, f"{name} v{version}: {unexplained}"
    assert seen == expected_in(release)


Layout = tuple[FieldLayout, ...]


def explained(name: str, release: str, difference: Difference, theirs: Layout, ours: Layout, seen: set[object]) -> bool:
    """Return True if a difference is one of the listed ones; notes in `seen` which."""
    if difference.what == "added" and (name, difference.path) in TAGGED_LATER:
        seen.add((name, difference.path))
        return field_at(ours, difference.path).tag is not None and at_most(release, TAGGED_LATER[name, difference.path])
    if name in OTHER_BYTES and at_most(release, OTHER_BYTES[name]):
        seen.add(name)
        return True
    if (name, difference.path, difference.what) in CLIENT_SIDE:
        seen.add((name, difference.path, difference.what))
        return at_most(release, CLIENT_SIDE[name, difference.path, difference.what])
    return renamed(name, release, difference, theirs, ours, seen)


def renamed(name: str, release: str, difference: Difference, theirs: Layout, ours: Layout, seen: set[object]) -> bool:
    """Return True if both names stand at the same place and mean the same bytes."""
    folder, _, own_name = difference.path.rpartition(".")
    for (message_name, old), (new, last) in RENAMED.items():
        old_folder, _, old_name = old.rpartition(".")
        if message_name == name and folder == old_folder and own_name in {old_name, new}:
            seen.add((name, old))
            their_fields = field_at(theirs, folder).fields if folder else theirs
            our_fields = field_at(ours, folder).fields if folder else ours
            return at_most(release, last) and same_place(their_fields, old_name, our_fields, new)
    return False


def same_place(theirs: Layout, old: str, ours: Layout, new: str) -> bool:
    their_field, our_field = field_at(theirs, old), field_at(ours, new)
    same_position = [field.name for field in theirs].index(old) == [field.name for field in ours].index(new)
    only_the_name = {difference.what for difference in field_differences(their_field, our_field, "")} == {"name"}
    return only_the_name and (same_position or their_field.tag is not None)


def expected_in(release: str) -> set[object]:
    """Return the listed changes that must show in a release: all whose message and version it has."""
    has = jar_specs(release)
    expected: set[object] = {key for key, last in CLIENT_SIDE.items() if key[0] in has and at_most(release, last)}
    expected |= {key for key, last in TAGGED_LATER.items() if key[0] in has and at_most(release, last)}
    expected |= {name for name, last in OTHER_BYTES.items() if name in has and at_most(release, last)}
    for key, (_, last) in RENAMED.items():
        if key[0] in has and at_most(release, last) and _has_field(has[key[0]], key[1]):
            expected.add(key)
    return expected


def _has_field(spec: MessageSpec, path: str) -> bool:
    layout = layout_at(spec, spec.valid_versions.highest).fields
    try:
        return bool(field_at(layout, path))
    except StopIteration:
        return False


def test_no_version_that_was_unstable_in_an_older_release_has_changed_since() -> None:
    # If one ever does, this fails and the change must be listed above by name.
    for release in OLDER:
        for name, theirs in jar_specs(release).items():
            if theirs.latest_version_unstable:
                version = theirs.valid_versions.highest
                found = differences(layout_at(theirs, version).fields, layout_at(message(name), version).fields)
                assert {(name, difference.path, difference.what) for difference in found} <= set(CLIENT_SIDE), (
                    f"{name} of {release}"
                )


def test_script_makes_these_very_files() -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "import_definitions.py"))
    wanted = tomli.loads((ROOT / "scripts" / "definitions.toml").read_text())
    found = script["read_releases"]({release: maven.jars(release) for release in releases.VERSIONS})
    for folder in script["FOLDERS"]:
        for name, about in wanted[folder].items():
            text = script["rendered"](script["merged"](found[name]) | {"about": about})
            assert text == read_data(f"{folder}/{name}.json").decode(), name
    assert script["make_index"](wanted, found) == json.loads(read_data("index.json"))


def test_index_says_which_releases_it_was_made_from() -> None:
    assert json.loads(read_data("index.json"))["releases"] == list(releases.VERSIONS)
