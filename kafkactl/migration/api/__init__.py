"""ZooKeeper to KRaft: observe, check, plan, render, compare and drive a migration.

Everything is judged by an observation: of the live cluster (`observe`), or one that was saved (`load_observation`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.core.lazy import lazy_names

__all__ = [
    "CheckResult",
    "ComparisonResult",
    "DriveOptions",
    "DriveResult",
    "MigrationPlan",
    "MigrationStatus",
    "NodeFiles",
    "Question",
    "RenderResult",
    "RollbackPlan",
    "SavedObservation",
    "StatusWatch",
    "check",
    "compare",
    "finalize",
    "load_observation",
    "node_files",
    "observe",
    "plan",
    "plan_finalize",
    "plan_rollback",
    "plan_run",
    "read_inventory",
    "render",
    "rollback",
    "run",
    "save_observation",
    "saved_node_files",
    "status",
]

if TYPE_CHECKING:
    from kafkactl.migration.api.checking import CheckResult, check
    from kafkactl.migration.api.comparing import ComparisonResult, compare
    from kafkactl.migration.api.driving import DriveOptions, DriveResult, Question
    from kafkactl.migration.api.forward import finalize, plan_finalize, plan_run, run
    from kafkactl.migration.api.observing import (
        SavedObservation,
        load_observation,
        observe,
        read_inventory,
        save_observation,
    )
    from kafkactl.migration.api.planning import MigrationPlan, plan
    from kafkactl.migration.api.position import MigrationStatus, StatusWatch, status
    from kafkactl.migration.api.rendering import NodeFiles, RenderResult, node_files, render, saved_node_files
    from kafkactl.migration.api.rollback_run import RollbackPlan, plan_rollback, rollback
else:
    __getattr__ = lazy_names(
        __name__,
        {
            f"{__name__}.rollback_run": ("RollbackPlan", "plan_rollback", "rollback"),
            f"{__name__}.checking": ("CheckResult", "check"),
            f"{__name__}.comparing": ("ComparisonResult", "compare"),
            f"{__name__}.driving": ("DriveOptions", "DriveResult", "Question"),
            f"{__name__}.forward": ("finalize", "plan_finalize", "plan_run", "run"),
            f"{__name__}.observing": (
                "SavedObservation", "load_observation", "observe", "read_inventory", "save_observation",
            ),
            f"{__name__}.planning": ("MigrationPlan", "plan"),
            f"{__name__}.position": ("MigrationStatus", "StatusWatch", "status"),
            f"{__name__}.rendering": ("NodeFiles", "RenderResult", "node_files", "render", "saved_node_files"),
        },
    )  # fmt: skip
