"""Rolling restarts and upgrades of a live KRaft cluster: check and plan one, and show its position."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.core.lazy import lazy_names

__all__ = [
    "RollCheck",
    "RollInventory",
    "RollObservation",
    "RollOptions",
    "RollPlan",
    "RollRequest",
    "RollRun",
    "RollStatus",
    "SavedRoll",
    "check",
    "inventory_of_cluster",
    "load_observation",
    "observe",
    "plan",
    "plan_rollback",
    "plan_run",
    "read_inventory",
    "read_rendered",
    "rollback",
    "run",
    "save_observation",
    "status",
]

if TYPE_CHECKING:
    from kafkactl.roll.api.driving import RollOptions, plan_rollback, plan_run, rollback, run
    from kafkactl.roll.api.judging import check, plan, read_rendered, status
    from kafkactl.roll.api.observing import SavedRoll, observe, read_inventory, save_observation
    from kafkactl.roll.case import RollRequest
    from kafkactl.roll.checks.run import RollCheck
    from kafkactl.roll.driver.answer import RollRun
    from kafkactl.roll.inventory import RollInventory
    from kafkactl.roll.io.cluster_inventory import inventory_of_cluster
    from kafkactl.roll.io.saved_observation import load_observation
    from kafkactl.roll.observation import RollObservation
    from kafkactl.roll.planning import RollPlan
    from kafkactl.roll.position import RollStatus
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "kafkactl.roll.api.judging": ("check", "plan", "read_rendered", "status"),
            "kafkactl.roll.case": ("RollRequest",),
            "kafkactl.roll.checks.run": ("RollCheck",),
            "kafkactl.roll.planning": ("RollPlan",),
            "kafkactl.roll.position": ("RollStatus",),
            "kafkactl.roll.api.observing": ("SavedRoll", "observe", "read_inventory", "save_observation"),
            "kafkactl.roll.api.driving": ("RollOptions", "plan_rollback", "plan_run", "rollback", "run"),
            "kafkactl.roll.driver.answer": ("RollRun",),
            "kafkactl.roll.inventory": ("RollInventory",),
            "kafkactl.roll.io.cluster_inventory": ("inventory_of_cluster",),
            "kafkactl.roll.io.saved_observation": ("load_observation",),
            "kafkactl.roll.observation": ("RollObservation",),
        },
    )
