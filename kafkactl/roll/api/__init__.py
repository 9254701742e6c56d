"""Rolling restarts and upgrades of a live KRaft cluster: check and plan one, and see where one stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.core.lazy import lazy_names

__all__ = [
    "RollInventory",
    "RollObservation",
    "SavedRoll",
    "load_observation",
    "observe",
    "read_inventory",
    "save_observation",
]

if TYPE_CHECKING:
    from kafkactl.roll.api.observing import SavedRoll, observe, read_inventory, save_observation
    from kafkactl.roll.inventory import RollInventory
    from kafkactl.roll.io.saved import load_observation
    from kafkactl.roll.observation import RollObservation
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "kafkactl.roll.api.observing": ("SavedRoll", "observe", "read_inventory", "save_observation"),
            "kafkactl.roll.inventory": ("RollInventory",),
            "kafkactl.roll.io.saved": ("load_observation",),
            "kafkactl.roll.observation": ("RollObservation",),
        },
    )
