"""Feature levels: what a release says of them, and those of a live cluster: describe, plan, change and prove them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.lazy import lazy_names

__all__ = ["FeatureDependencies", "VersionMapping", "feature_dependencies", "version_mapping"]

if TYPE_CHECKING:
    from kafkactl.operations.features.levels import (
        FeatureDependencies,
        VersionMapping,
        feature_dependencies,
        version_mapping,
    )
else:
    __getattr__ = lazy_names(
        __name__,
        {f"{__name__}.levels": ("FeatureDependencies", "VersionMapping", "feature_dependencies", "version_mapping")},
    )
