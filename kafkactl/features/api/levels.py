"""Feature levels in the tables of a release, as Kafka's tools print them. No cluster is queried."""

from __future__ import annotations

from collections.abc import Iterable

from kafkactl.core.answers import json_of
from kafkactl.core.frozen import frozen
from kafkactl.protocol.catalog import mapping
from kafkactl.protocol.catalog.consequences import level_name
from kafkactl.protocol.catalog.mapping import Level
from kafkactl.protocol.catalog.releases import find_release, newest_release

__all__ = [
    "FeatureDependencies",
    "LevelDependencies",
    "VersionMapping",
    "feature_dependencies",
    "level_name",
    "version_mapping",
]


@frozen
class VersionMapping:
    """The level of every feature that goes with a release version; metadata.version is the first of `levels`."""

    kafka_version: str
    levels: tuple[Level, ...]

    @property
    def lines(self) -> list[str]:
        """Return the lines of Kafka's tool."""
        return [str(level) for level in self.levels]

    @property
    def release_version(self) -> str:
        """Return the metadata.version of the release."""
        return self.levels[0].note

    to_dict = json_of("kafka_version", "release_version", "features=levels", kind="features.version-mapping")


def version_mapping(release_version: str | None = None, *, kafka_version: str | None = None) -> VersionMapping:
    """Return the levels that go with a release (4.2) or a metadata.version (4.2-IV1), by the tool of `kafka_version`.

    Without `release_version` the newest one of that Kafka, without `kafka_version` the newest Kafka known. Raises
    InputError `unknown-kafka-version` and `unknown-release-version`.
    """
    release = find_release(kafka_version) if kafka_version else newest_release()
    levels = mapping.version_mapping(release, release_version)
    return VersionMapping(kafka_version=release.version_text, levels=tuple(levels))


@frozen
class LevelDependencies:
    """A feature level and the levels that it needs."""

    name: str
    level: int
    needs: tuple[Level, ...]

    to_dict = json_of("name", "level", "dependencies=needs")


@frozen
class FeatureDependencies:
    """Dependencies of feature levels, in the order of the request."""

    kafka_version: str
    features: tuple[LevelDependencies, ...]

    @property
    def lines(self) -> list[str]:
        """Return the lines of Kafka's tool."""
        found = (mapping.render_dependencies(feature.name, feature.level, feature.needs) for feature in self.features)
        return [line for lines in found for line in lines]

    to_dict = json_of("kafka_version", "features", kind="features.feature-dependencies")


def feature_dependencies(features: Iterable[str], *, kafka_version: str | None = None) -> FeatureDependencies:
    """Return the dependencies of each `NAME=LEVEL`, by the tables of `kafka_version` (default: the newest known).

    Raises InputError `unknown-kafka-version`, `invalid-feature-argument`, `unknown-feature` and
    `unknown-feature-level`.
    """
    release = find_release(kafka_version) if kafka_version else newest_release()
    asked = [mapping.parse_feature_level(release, word) for word in features]
    return FeatureDependencies(
        kafka_version=release.version_text,
        features=tuple(
            LevelDependencies(name=name, level=level, needs=tuple(mapping.feature_dependencies(release, name, level)))
            for name, level in asked
        ),
    )
