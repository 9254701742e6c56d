"""Storage: format nodes, read their disks, and say what a start would do.

`config` is always the path of a node's server.properties. What is planned is a value; `apply_…` carries it out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.core.lazy import lazy_names

__all__ = [
    "DumpResult",
    "FleetApplyResult",
    "FleetPlanResult",
    "FormatRequest",
    "FormatResult",
    "GuardOverrides",
    "InfoResult",
    "NodeVerification",
    "Owner",
    "UnformatResult",
    "VoterMode",
    "apply_fleet",
    "apply_format",
    "apply_unformat",
    "check_fleet",
    "dump_files",
    "feature_dependencies",
    "named_owner",
    "node_info",
    "parse_scram_users",
    "plan_ensure",
    "plan_fleet",
    "plan_format",
    "plan_unformat",
    "random_uuid",
    "read_scram_users",
    "verify_node",
    "version_mapping",
]

if TYPE_CHECKING:
    from kafkactl.features.api.levels import feature_dependencies, version_mapping
    from kafkactl.storage.api.fleet_apply import FleetApplyResult, apply_fleet, check_fleet
    from kafkactl.storage.api.fleet_plan import FleetPlanResult, plan_fleet
    from kafkactl.storage.api.format import FormatResult, apply_format, plan_ensure, plan_format
    from kafkactl.storage.api.identity import random_uuid
    from kafkactl.storage.api.reading import (
        DumpResult,
        InfoResult,
        NodeVerification,
        dump_files,
        node_info,
        verify_node,
    )
    from kafkactl.storage.api.request import (
        FormatRequest,
        GuardOverrides,
        Owner,
        VoterMode,
        named_owner,
        parse_scram_users,
        read_scram_users,
    )
    from kafkactl.storage.api.unformat import UnformatResult, apply_unformat, plan_unformat
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "kafkactl.features.api.levels": ("feature_dependencies", "version_mapping"),
            f"{__name__}.fleet_apply": ("FleetApplyResult", "apply_fleet", "check_fleet"),
            f"{__name__}.fleet_plan": ("FleetPlanResult", "plan_fleet"),
            f"{__name__}.format": ("FormatResult", "apply_format", "plan_ensure", "plan_format"),
            f"{__name__}.identity": ("random_uuid",),
            f"{__name__}.reading": (
                "DumpResult", "InfoResult", "NodeVerification", "dump_files", "node_info", "verify_node",
            ),
            f"{__name__}.request": (
                "FormatRequest", "GuardOverrides", "Owner", "VoterMode", "named_owner", "parse_scram_users",
                "read_scram_users",
            ),
            f"{__name__}.unformat": ("UnformatResult", "apply_unformat", "plan_unformat"),
        },
    )  # fmt: skip
