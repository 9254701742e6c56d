"""The catalog of feature levels: one place to import from.

Facts are in `levels`, the reading of a release version in `release_version`, what goes with what in `mapping`.
"""

from __future__ import annotations

from kafkactl.core.kafka_names import KRAFT_VERSION, METADATA_VERSION
from kafkactl.protocol.catalog.levels import (
    FeatureFacts,
    FeatureLevel,
    MetadataVersion,
    changes_metadata_in,
    default_levels,
    default_metadata_version,
    features_of,
    metadata_version,
    metadata_versions,
    metadata_versions_of,
)
from kafkactl.protocol.catalog.mapping import (
    Level,
    feature_dependencies,
    known_metadata_version,
    parse_feature_level,
    render_dependencies,
    version_mapping,
)
from kafkactl.protocol.catalog.release_version import parse_release_version, supported_names
from kafkactl.protocol.catalog.releases import kraft_version_for

__all__ = [
    "KRAFT_VERSION",
    "METADATA_VERSION",
    "FeatureFacts",
    "FeatureLevel",
    "Level",
    "MetadataVersion",
    "changes_metadata_in",
    "default_levels",
    "default_metadata_version",
    "feature_dependencies",
    "features_of",
    "known_metadata_version",
    "kraft_version_for",
    "metadata_version",
    "metadata_versions",
    "metadata_versions_of",
    "parse_feature_level",
    "parse_release_version",
    "render_dependencies",
    "supported_names",
    "version_mapping",
]
