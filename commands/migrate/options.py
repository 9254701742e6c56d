"""Options for the source of a `kafkactl migrate` command: an inventory, or a saved observation.

@leaf_command("status", ...)
@observation_options
def command(*, source: ObservationArguments) -> None:
    inventory = open_inventory(source)      # None if only an observation was given
    observation = open_observation(source)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from kafkactl.commands.framework import completing
from kafkactl.commands.framework.bundles import bundle_option, until_the_end
from kafkactl.commands.framework.option_group import option_group
from kafkactl.commands.framework.options import ConnectionOption

if TYPE_CHECKING:
    from kafkactl.migration.api.observing import Lacking
    from kafkactl.migration.inventory import Inventory
    from kafkactl.migration.observed.observation import Observation

Function = TypeVar("Function", bound=Callable[..., Any])
# The nodes are given up before the command is, so that it can still say who did not answer.
_SHARE_OF_TIME = 0.8
# Decorator: `--accept FINDING`, several times; the function gets the parameter `accepted`.
accept_option = click.option(
    "--accept", "accepted", multiple=True, metavar="FINDING",
    shell_complete=completing.findings,
    help="Accept a warning or unknown that you have checked yourself, by its id; of one node only with ID@broker-3. "
    "Blockers cannot be accepted.",
)  # fmt: skip


class ObservationArguments(NamedTuple):
    """Arguments about the observation; no file is read yet."""

    inventory: str | None = None
    observation: str | None = None


def inventory_option(function: Function) -> Function:
    """Add `--inventory FILE`, for commands that require a live cluster."""
    text = "Nodes, ZooKeeper, hooks and journal (TOML): docs/migration-inventory.md."
    decorated: Any = _option("--inventory", "FILE", text)(function)
    return decorated  # type: ignore[no-any-return]


def observation_options(function: Function) -> Function:
    """Add `--inventory FILE` and `--observation DIR`; the function gets the parameter `source`."""
    text = "A saved observation in place of the cluster (migrate observe)."
    options = inventory_option, _option("--observation", "DIR", text), bundle_option
    return option_group("source", _Named, *options, make=_source)(function)


class _Named(NamedTuple):
    """The options as they were given."""

    inventory: str | None = None
    observation: str | None = None
    bundle: str | None = None


def _source(*, bundle: str | None = None, **named: str | None) -> ObservationArguments:
    """Return the observation; one in a bundle is unpacked first."""
    if bundle is None:
        return ObservationArguments(**named)
    if any(named.values()):
        raise click.UsageError("--bundle contains an observation: it is used without --inventory and --observation.")
    from kafkactl.bundle.api.reading import unpacked_observation

    return ObservationArguments(observation=until_the_end(unpacked_observation(bundle)))


def open_observation(source: ObservationArguments) -> Observation:
    """Return the observation that was saved, or one that is made now.

    Raises InputError `observation-or-inventory-missing`, and those of the folder, the inventory and its files.
    """
    from kafkactl.migration.api.observing import load_observation, observe

    if source.observation is not None:
        return load_observation(source.observation)
    inventory = open_inventory(source)
    if inventory is None:
        raise _nothing_named()
    return observe(inventory, timeout_ms=time_for_nodes_ms())


def code_without_evidence(source: ObservationArguments, lacks: Lacking | None) -> int | None:
    """Return the exit code if too little was observed for an answer; None if enough was observed.

    4 if ZooKeeper could not be reached now, or kafkactl was not let in; 6 if the observation does not hold it.
    """
    from kafkactl.commands.framework import exit_codes
    from kafkactl.migration.api.observing import Lacking

    if lacks is None:
        return None
    is_live = source.observation is None
    return exit_codes.UNREACHABLE if is_live and lacks is not Lacking.EVERYTHING else exit_codes.UNKNOWN


def time_for_nodes_ms() -> float:
    """Return the time in ms for an observation of the whole cluster within --timeout."""
    from kafkactl.commands.framework.settings import current_settings

    return _SHARE_OF_TIME * current_settings().timeout_ms


def open_inventory(source: ObservationArguments) -> Inventory | None:
    """Return the inventory; None if only an observation was given.

    Raises InventoryError, InputError `input-file-unreadable`, and `observation-or-inventory-missing` for neither.
    """
    if source.inventory is None:
        if source.observation is None:
            raise _nothing_named()
        return None
    return read_inventory(source.inventory)


def read_inventory(path: str | None) -> Inventory:
    """Return the inventory in a file; what the inventory and its settings expose is reported.

    Raises click.UsageError if none was given, InventoryError, InputError `input-file-unreadable`, RefusedError where
    the operator is strict.
    """
    from kafkactl.commands.framework.exposure import tell_exposure
    from kafkactl.migration.api import observing

    if path is None:
        raise click.UsageError("Missing option '--inventory'.")
    return observing.read_inventory(path, on_exposure=tell_exposure)


def _nothing_named() -> Exception:
    from kafkactl.core.errors import InputError

    return InputError("neither a cluster nor an observation is named", id="observation-or-inventory-missing")


def _option(name: str, metavar: str, text: str) -> Callable[[Any], Any]:
    return click.option(name, cls=ConnectionOption, metavar=metavar, help=text)
