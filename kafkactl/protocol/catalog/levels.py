"""Feature levels as facts: what each is called, which release knows it, what is the default, what needs what.

Source of the facts: `MetadataVersion.java`, `Feature.java` and the `*Version.java` next to them in server-common, read
out of each released jar by tests/lab/test_catalog.py. A level's meaning is a matter of the release that is asked:
what is unstable in one is production in the next, and 3.9 knew 4.0's levels under other meanings.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from kafkactl.core.data_files import read_data
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import (
    ELR_VERSION,
    GROUP_VERSION,
    KRAFT_VERSION,
    METADATA_VERSION,
    SHARE_VERSION,
    STREAMS_VERSION,
    TRANSACTION_VERSION,
)
from kafkactl.protocol.catalog.releases import Release, release_names
from kafkactl.protocol.schema.spec import Versions

_FEATURES = (KRAFT_VERSION, TRANSACTION_VERSION, GROUP_VERSION, ELR_VERSION, SHARE_VERSION, STREAMS_VERSION)


@frozen
class MetadataVersion:
    """A level of metadata.version. `release` is the release whose level it is: `3.7` for 3.7-IV4.

    `changes_metadata`: going below it would lose metadata, so a safe downgrade cannot cross it.
    """

    level: int
    name: str
    release: str
    changes_metadata: bool
    about: str


@frozen
class FeatureLevel:
    """A level of a feature. `default_from` is the level of metadata.version from which on it is the default."""

    level: int
    default_from: int
    dependencies: Mapping[str, int]
    about: str


@frozen
class FeatureFacts:
    """A feature as one release knows it. `levels` begin with 0, which always exists and means off.

    `latest_production` is the highest level that `format` takes and a node advertises (0: it is not advertised);
    levels up to `latest_testing` need the switch for unstable features.
    """

    name: str
    about: str
    levels: tuple[FeatureLevel, ...]
    latest_production: int
    latest_testing: int

    def default_level(self, metadata_version: int) -> int:
        """Return the level that goes with a level of metadata.version (`Feature.defaultLevel`)."""
        return max(level.level for level in self.levels if level.default_from <= metadata_version)


@functools.cache
def metadata_versions() -> tuple[MetadataVersion, ...]:
    """Return every level of metadata.version, lowest first."""
    return tuple(
        MetadataVersion(
            level=row["level"],
            name=row["name"],
            release=row["name"].partition("-")[0],
            changes_metadata=row["changes_metadata"],
            about=row["about"],
        )
        for row in _metadata_version_table()["level"]
    )


def metadata_version(level: int) -> MetadataVersion:
    """Return the metadata.version with that level. Raises KeyError."""
    return _by_level()[level]


def metadata_versions_of(release: Release, *, unstable: bool) -> tuple[MetadataVersion, ...]:
    """Return the levels that a release's tool can format with, lowest first; `unstable` ones need the switch."""
    highest = release.testing_level if unstable else release.production_level
    return tuple(mv for mv in metadata_versions() if release.lowest_format_level <= mv.level <= highest)


def default_metadata_version(release: Release, *, unstable: bool) -> MetadataVersion:
    """Return the level that `format` uses without a release version; `unstable` enables unstable levels."""
    raised = unstable and release.unstable_raises_default
    return metadata_version(release.testing_level if raised else release.production_level)


def changes_metadata_in(release: Release, level: int) -> bool:
    """Return whether a level changes metadata in that release: the meaning of unstable levels differs by release."""
    row = next(row for row in _metadata_version_table()["level"] if row["level"] == level)
    return bool(row.get("changes_metadata_in", {}).get(release.name, row["changes_metadata"]))


def features_of(release: Release) -> Mapping[str, FeatureFacts]:
    """Return the features other than metadata.version that a release's tools list, in their order; none before 3.9."""
    return _features_of(release.name, release.patch)


def default_levels(release: Release, metadata_version_level: int) -> dict[str, int]:
    """Return the features that `format` sets along with a metadata.version, in the tools' order, level 0 left out.

    metadata.version and kraft.version are not among them: the one is given, the other follows the quorum
    (`kafkactl.protocol.catalog.releases.kraft_version_for`).
    """
    levels = {name: facts.default_level(metadata_version_level) for name, facts in features_of(release).items()}
    return {name: level for name, level in levels.items() if level > 0 and name != KRAFT_VERSION}


def supported_by(release: Release) -> dict[str, Versions]:
    """Return the levels that a node of a release advertises, by feature, unstable ones left out."""
    found = {METADATA_VERSION: Versions(release.lowest_supported_level, release.production_level)}
    features = features_of(release).items()
    return found | {name: Versions(0, facts.latest_production) for name, facts in features if facts.latest_production}


def names_before_levels() -> tuple[str, ...]:
    """Return the names from before metadata.version had levels (0.8.0 to 3.0-IV0)."""
    return tuple(_metadata_version_table()["before_levels"]["names"])


@functools.cache
def _features_of(release_name: str, patch: int) -> Mapping[str, FeatureFacts]:
    facts = (_facts(name, _table(name), release_name, patch) for name in _FEATURES)
    return MappingProxyType({fact.name: fact for fact in facts if fact is not None})


def _facts(name: str, table: Mapping[str, Any], release_name: str, patch: int) -> FeatureFacts | None:
    """Return the feature as one release knows it; None if it does not."""
    releases = release_names()
    position = releases.index(release_name)
    since = [known for known in table["known"] if releases.index(known) <= position]
    if not since:
        return None
    production, testing = table["known"][since[-1]]
    rows = [row for row in table["level"] if row["level"] <= testing]
    off = FeatureLevel(level=0, default_from=0, dependencies=MappingProxyType({}), about="off")
    return FeatureFacts(
        name=name,
        about=table["about"],
        levels=(off, *(_feature_level(row, release_name, patch) for row in rows)),
        latest_production=production,
        latest_testing=testing,
    )


def _feature_level(row: Mapping[str, Any], release_name: str, patch: int) -> FeatureLevel:
    default_from = row.get("default_from_in", {}).get(release_name, row["default_from"])
    last_patch = row.get("depends_on_until", {release_name: patch}).get(release_name, -1)
    depends_on = row.get("depends_on", {}) if patch <= last_patch else {}
    return FeatureLevel(
        level=row["level"],
        default_from=_by_name()[default_from].level,
        dependencies=MappingProxyType(depends_on),
        about=row["about"],
    )


@functools.cache
def _by_level() -> dict[int, MetadataVersion]:
    return {mv.level: mv for mv in metadata_versions()}


@functools.cache
def _by_name() -> dict[str, MetadataVersion]:
    return {mv.name: mv for mv in metadata_versions()}


def _metadata_version_table() -> dict[str, Any]:
    return _table(METADATA_VERSION)


@functools.cache
def _table(name: str) -> dict[str, Any]:
    import tomli

    return tomli.loads(read_data(f"features/{name}.toml").decode("utf-8"))
