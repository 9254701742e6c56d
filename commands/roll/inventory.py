"""The option `--inventory` of `kafkactl roll`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from kafkactl.commands.framework.options import ConnectionOption

if TYPE_CHECKING:
    from kafkactl.roll.inventory import RollInventory

Function = TypeVar("Function", bound=Callable[..., Any])
# Nodes are given up before the command is, so that it can still report which ones did not answer.
_SHARE_OF_TIME: Final = 0.8


def inventory_option(function: Function) -> Function:
    """Add `--inventory FILE`; the function gets the parameter `inventory`."""
    text = "Nodes, hooks and journal (TOML): docs/rolling-upgrade.md."
    decorated: Any = click.option("--inventory", cls=ConnectionOption, metavar="FILE", help=text)(function)
    return decorated  # type: ignore[no-any-return]


def time_for_nodes_ms() -> float:
    """Return the time in ms for an observation of the whole cluster within --timeout."""
    from kafkactl.commands.framework.settings import current_settings

    return _SHARE_OF_TIME * current_settings().timeout_ms


def read_inventory(
    path: str, command_config: str | None = None, controller_command_config: str | None = None
) -> RollInventory:
    """Return the inventory in a file; what the inventory and its client properties expose is reported.

    The client properties replace those of the inventory. Raises InventoryError, InputError `input-file-unreadable`,
    RefusedError with --strict-security.
    """
    from kafkactl.commands.framework.exposure import tell_exposure
    from kafkactl.roll.api import observing

    return observing.read_inventory(
        path,
        command_config=command_config,
        controller_command_config=controller_command_config,
        on_exposure=tell_exposure,
    )
