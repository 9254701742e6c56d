"""What a command of `kafkactl migrate` looks at: a live cluster by its inventory, or an observation that was saved.

@leaf_command("status", ...)
@observation_options
def command(*, source: ObservationArguments) -> None:
    inventory = open_inventory(source)      # None where only an observation was given
    observation = open_observation(source)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from kafkactl.commands.framework.option_group import option_group
from kafkactl.commands.framework.options import ConnectionOption

if TYPE_CHECKING:
    from kafkactl.adapters.migration.saved import Captured
    from kafkactl.migration.inventory import Inventory
    from kafkactl.migration.observed.observation import Observation
    from kafkactl.migration.state.names import State

Function = TypeVar("Function", bound=Callable[..., Any])
# The nodes are given up before the command is, so that it can still say who did not answer.
_SHARE_OF_TIME = 0.8
ACCEPT_HELP = (
    "A finding or open question that you have looked at yourself, by its id or number, of one node with "
    "ID@broker-3. Nothing else is accepted by it. Blockers stay."
)


class ObservationArguments(NamedTuple):
    """What was said about the cluster; no file is read yet."""

    inventory: str | None = None
    observation: str | None = None


def inventory_option(function: Function) -> Function:
    """Decorator: `--inventory FILE`, for what cannot do without a live cluster."""
    text = "Nodes, ZooKeeper, hooks and journal (TOML): docs/migration-inventory.md."
    decorated: Any = _option("--inventory", "FILE", text)(function)
    return decorated  # type: ignore[no-any-return]


def observation_options(function: Function) -> Function:
    """Decorator: `--inventory FILE` and `--observation DIR`; the function gets the parameter `source`."""
    text = "A saved observation in place of the cluster (migrate observe)."
    options = inventory_option, _option("--observation", "DIR", text)
    return option_group("source", ObservationArguments, *options)(function)


def open_observation(source: ObservationArguments) -> Observation:
    """The observation that was saved, or one that is made now.

    Raises InputError `observation-or-inventory-missing`, and those of the folder, the inventory and its files.
    """
    from kafkactl.adapters.migration.saved import observation_from

    return observation_from(open_captured(source))


def open_captured(source: ObservationArguments) -> Captured:
    """The same before anything is made of its logs, for what has to read them in another way. Raises as above."""
    from kafkactl.adapters.migration.saved import load_captured

    if source.observation is not None:
        return load_captured(source.observation)
    from kafkactl.adapters.migration.observe import observe

    inventory = open_inventory(source)
    if inventory is None:
        raise _nothing_named()
    # What a broker on ZooKeeper hangs up on is an error in its log, and tells nothing that ApiVersions does not.
    captured = observe(inventory, timeout_ms=time_for_nodes_ms(), asks_zookeeper_brokers=False)
    if captured.znodes is None and not captured.logs and not any(one.alive for one in captured.raw.nodes):
        raise _nothing_reached(captured)
    return captured


def _nothing_reached(captured: Captured) -> Exception:
    """Neither ZooKeeper nor a node: there is no answer, and the first reason of each is what can be told."""
    from kafkactl.errors import UnreachableError

    findings = [*captured.raw.findings, *captured.findings]
    reasons = [f"{one.subject}: {one.message}" for one in findings if one.id in _NOT_MET]
    return UnreachableError(
        "nothing of the cluster was reached: " + "; ".join(reasons),
        id="nothing-of-the-cluster-reached",
        next_step="Compare the addresses in the inventory with the nodes' `listeners`, and see that this machine "
        "reaches them. `kafkactl migrate observe` on one that does saves what can be looked at here.",
    )


_NOT_MET = frozenset({"zookeeper-not-observed", "node-not-observed", "node-of-another-role"})


def code_without_evidence(source: ObservationArguments, observation: Observation, state: State) -> int | None:
    """The exit code where too little was seen to answer with: 4 where ZooKeeper could not be reached now, 6 where the
    observation does not hold it; None where there is enough.

    Until the migration is final, nothing can be said of it without ZooKeeper.
    """
    from kafkactl.commands.framework import exit_codes
    from kafkactl.migration.state.names import State

    needs_zookeeper = state not in (State.M10, State.M11, State.BORN_IN_KRAFT)
    if needs_zookeeper and observation.tree is None:
        return exit_codes.UNREACHABLE if source.observation is None else exit_codes.UNKNOWN
    if observation.tree is not None or observation.logs or any(one.alive for one in observation.nodes):
        return None
    return exit_codes.UNKNOWN


def time_for_nodes_ms() -> float:
    """How long a look at the whole cluster may take within --timeout."""
    from kafkactl.commands.framework.settings import current_settings

    return _SHARE_OF_TIME * current_settings().timeout_ms


def open_inventory(source: ObservationArguments) -> Inventory | None:
    """The inventory; None where only an observation was given.

    Raises InventoryError, InputError `input-file-unreadable`, and `observation-or-inventory-missing` for neither.
    """
    if source.inventory is None:
        if source.observation is None:
            raise _nothing_named()
        return None
    return read_inventory(source.inventory)


def read_inventory(path: str) -> Inventory:
    """The inventory in a file; what the inventory and its settings expose is reported.

    Raises InventoryError, InputError `input-file-unreadable`, RefusedError where the operator is strict.
    """
    from pathlib import Path

    from kafkactl.adapters.files.input_files import InputKind, read_input
    from kafkactl.commands.framework.exposure import tell_exposure
    from kafkactl.migration.inventory import parse_inventory
    from kafkactl.operations.exposure import inventory_exposure

    inventory = parse_inventory(read_input(Path(path), "inventory", InputKind.INVENTORY), file=path)
    tell_exposure(inventory_exposure(inventory))
    return inventory


def _nothing_named() -> Exception:
    from kafkactl.errors import InputError

    return InputError(
        "neither a cluster nor an observation is named",
        id="observation-or-inventory-missing",
        next_step="Give --inventory FILE for the cluster, or --observation DIR for a saved observation.",
    )


def _option(name: str, metavar: str, text: str) -> Callable[[Any], Any]:
    return click.option(name, cls=ConnectionOption, metavar=metavar, help=text)
