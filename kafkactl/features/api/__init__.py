"""Feature levels: what a release says of them, and those of a live cluster: describe, plan, change and prove them.

`client` is what `kafkactl.connect` gives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.core.lazy import lazy_names

__all__ = [
    "FeatureChange",
    "FeatureDependencies",
    "FeatureDescription",
    "FeaturePlanFile",
    "FeatureRequest",
    "LevelProof",
    "VersionMapping",
    "apply_plan",
    "change_levels",
    "describe",
    "feature_dependencies",
    "feature_request",
    "level_name",
    "load_plan",
    "plan_change",
    "save_plan",
    "verify_levels",
    "version_mapping",
]

if TYPE_CHECKING:
    from kafkactl.features.api.cluster import (
        FeatureChange,
        LevelProof,
        change_levels,
        feature_request,
        plan_change,
        verify_levels,
    )
    from kafkactl.features.api.description import FeatureDescription, describe
    from kafkactl.features.api.levels import (
        FeatureDependencies,
        VersionMapping,
        feature_dependencies,
        version_mapping,
    )
    from kafkactl.features.api.plan_files import apply_plan, load_plan, save_plan
    from kafkactl.features.plan.plan_file import FeaturePlanFile
    from kafkactl.features.plan.request import FeatureRequest
    from kafkactl.protocol.catalog.consequences import level_name
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "kafkactl.protocol.catalog.consequences": ("level_name",),
            "kafkactl.features.plan.plan_file": ("FeaturePlanFile",),
            "kafkactl.features.plan.request": ("FeatureRequest",),
            f"{__name__}.cluster": (
                "FeatureChange", "LevelProof", "change_levels", "feature_request", "plan_change", "verify_levels",
            ),
            f"{__name__}.description": ("FeatureDescription", "describe"),
            f"{__name__}.plan_files": ("apply_plan", "load_plan", "save_plan"),
            f"{__name__}.levels": ("FeatureDependencies", "VersionMapping", "feature_dependencies", "version_mapping"),
        },
    )  # fmt: skip
