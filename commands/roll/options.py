"""Options that the verbs of `kafkactl roll` share: what is looked at, and which nodes are rolled how.

@leaf_command("check", ...)
@source_options
@request_options
def command(*, source: RollSource, asked: RequestOptions) -> None:
    observation = open_observation(source)
    request = request_of(asked, observation)
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import click
from click.core import ParameterSource

from kafkactl.commands.framework import completing
from kafkactl.commands.framework.connection import (
    ConnectionArguments,
    address_options,
    connection_in,
    guard_cluster,
    open_client,
    target_of,
)
from kafkactl.commands.framework.option_group import option_group
from kafkactl.commands.framework.options import Choice, ConnectionOption
from kafkactl.commands.roll.inventory import inventory_option, read_inventory, time_for_nodes_ms

if TYPE_CHECKING:
    from kafkactl.roll.api import RollInventory, RollObservation, RollRequest

Function = TypeVar("Function", bound=Callable[..., Any])
AUTO: Final = "auto"
ONE: Final = "one"
RACK: Final = "rack"
UNTIL: Final = ("controllers", "brokers", "binaries", "levels", "proof")


class IdList(click.ParamType["tuple[int, ...]"]):
    """Node ids separated by commas."""

    name = "ids"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Return the ids, each once."""
        if not isinstance(value, str):
            return tuple(value)
        parts = [part.strip() for part in value.split(",")]
        if not all(part.isascii() and part.isdigit() and len(part) <= 10 for part in parts):
            self.fail(f"{value!r} is not a list of node ids such as 11,12,13.", param, ctx)
        return tuple(dict.fromkeys(map(int, parts)))


class OrderOption(IdList):
    """`auto`, or node ids separated by commas."""

    name = "order"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return None for `auto`, else the ids."""
        return None if value in (None, AUTO) else super().convert(value, param, ctx)


class BatchOption(click.ParamType[int]):
    """`one`, `rack`, or the largest number of brokers."""

    name = "batch"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the largest number of brokers; 0 for all of a rack."""
        if isinstance(value, int):
            return value
        words = {ONE: 1, RACK: 0}
        if value in words:
            return words[value]
        if not (value.isascii() and value.isdigit() and 1 <= len(value) <= 4 and int(value) > 0):
            self.fail(f"{value!r} is not one, rack, or a number of brokers.", param, ctx)
        return int(value)


class AcceptedWord(click.ParamType[str]):
    """The id of a finding, `@NODE` of one node only."""

    name = "accepted"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the word; an id that no finding has accepts nothing, and is a usage error."""
        from kafkactl.core.explanations import explanations
        from kafkactl.core.wording import did_you_mean

        id, at, node = str(value).partition("@")
        known = explanations()
        if id not in known:
            self.fail(f"there is no finding {id!r}.{did_you_mean(id, known)}", param, ctx)
        if at and not (node.isascii() and node.isdigit() and len(node) <= 10):
            self.fail(f"{value!r} does not end in the id of a node, such as {id}@11.", param, ctx)
        return str(value)


class RollSource(NamedTuple):
    """Arguments about the observation; no file is read yet. All after the observation are those of a connection."""

    inventory: str | None = None
    observation: str | None = None
    bootstrap_server: str | None = None
    bootstrap_controller: str | None = None
    bootstrap: str | None = None
    command_config: str | None = None
    controller_command_config: str | None = None
    context: str | None = None

    @property
    def connection(self) -> ConnectionArguments:
        """Return the arguments about the live cluster."""
        return ConnectionArguments(*self[2:])


class RequestOptions(NamedTuple):
    """Options about the roll as they were given."""

    to: str | None = None
    only: tuple[int, ...] | None = None
    skip: tuple[int, ...] = ()
    order: tuple[int, ...] | None = None
    batch: int = 1
    rendered: str | None = None
    until: str | None = None
    accepted: tuple[str, ...] = ()


def source_options(function: Function) -> Function:
    """Add `--inventory FILE`, `--observation DIR` and the connection options; the function gets `source`."""
    text = "A saved observation instead of the cluster (roll observe)."
    saved = click.option("--observation", cls=ConnectionOption, metavar="DIR", help=text)
    options = (inventory_option, saved, *address_options())
    return option_group("source", RollSource, *options, make=_gathered)(function)


def live_options(function: Function) -> Function:
    """Add `--inventory FILE` and the connection options; the function gets the parameter `source`."""
    return option_group("source", RollSource, inventory_option, *address_options(), make=_gathered)(function)


def _gathered(*, inventory: str | None, observation: str | None = None, **_given: str | None) -> RollSource:
    return RollSource(inventory, observation, **connection_in(click.get_current_context()).target())


def to_option(function: Function) -> Function:
    """Add `--to RELEASE`."""
    text = "Release to roll to, such as 4.3.1. [default: the present one, a restart]"
    decorated: Any = click.option(
        "--to", metavar="RELEASE", shell_complete=completing.releases, help=text
    )(function)  # fmt: skip
    return decorated  # type: ignore[no-any-return]


def request_options(function: Function) -> Function:
    """Add the options that say which nodes are rolled how; the function gets the parameter `asked`."""
    options = (
        to_option,
        click.option("--only", type=IdList(), metavar="IDS", help="Roll only these nodes."),
        click.option("--skip", type=IdList(), default=(), metavar="IDS", help="Leave these nodes out."),
        click.option(
            "--order", type=OrderOption(), metavar="auto|IDS",
            help="Order of the brokers. [default: the one that moves the fewest leaders]",
        ),
        click.option(
            "--batch", type=BatchOption(), default=ONE, show_default=True, metavar="one|rack|N",
            help="Brokers of one rack that are stopped together, if every partition allows it.",
        ),
        click.option("--rendered", metavar="DIR", help="New configuration files: ID.properties for each node."),
        click.option(
            "--until", type=Choice(UNTIL), metavar="PHASE",
            help=f"Last phase: {', '.join(UNTIL)}. [default: binaries with --to, else proof]",
        ),
        click.option(
            "--accept", "accepted", multiple=True, type=AcceptedWord(), metavar="ID[@NODE]",
            shell_complete=completing.findings,
            help="Accept a warning that you have checked yourself. Blockers cannot be accepted.",
        ),
    )  # fmt: skip
    return option_group("asked", RequestOptions, *options)(function)


def open_observation(source: RollSource) -> RollObservation:
    """Return the saved observation, or one that is made now. Raise click.UsageError for none of them or several."""
    from kafkactl.roll.api import load_observation, observe

    if source.observation is not None:
        if source.inventory is not None or _is_address_typed():
            raise click.UsageError("Give --observation for a saved cluster, or name a live one, not both.")
        return load_observation(source.observation)
    return observe(open_inventory(source), timeout_ms=time_for_nodes_ms())


def open_inventory(source: RollSource) -> RollInventory:
    """Return the inventory with the logins of the command line, or the nodes that the named cluster has itself.

    Without an inventory the files of the nodes are unknown. Raises click.UsageError if no cluster is named, and there
    is not a current context,
    RefusedError `cluster-id-mismatch` if another one than the context's answers, and as `read_inventory`.
    """
    from kafkactl.roll.api import inventory_of_cluster

    connection = source.connection
    if source.inventory is not None:
        if _is_address_typed():
            raise click.UsageError("Give --inventory or the address of a node, not both: an inventory has addresses.")
        return read_inventory(source.inventory, connection.command_config, connection.controller_command_config)
    target = target_of(connection)
    if not (target.bootstrap_server or target.bootstrap_controller or target.bootstrap):
        raise click.UsageError(
            "Give --inventory FILE, the address of a node or a context for the live cluster, or --observation DIR for "
            "a saved one."
        )
    with open_client(connection) as client:
        guard_cluster(client, connection)
        return inventory_of_cluster(
            client,
            command_config=target.command_config,
            controller_command_config=target.controller_command_config,
            cluster_id=target.cluster_id,
            timeout_ms=time_for_nodes_ms() / 4,
        )


def open_written_inventory(source: RollSource) -> RollInventory:
    """Return the inventory of a command that runs hooks.

    Raises click.UsageError if none was given, and as `open_inventory`.
    """
    if source.inventory is None:
        raise click.UsageError("Missing option '--inventory'.")
    return open_inventory(source)


def _is_address_typed() -> bool:
    ctx = click.get_current_context()
    names = ("bootstrap_server", "bootstrap_controller", "bootstrap", "context")
    return any(ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE for name in names)


def request_of(
    asked: RequestOptions, observation: RollObservation | RollInventory, inventory: str | None
) -> RollRequest:
    """Return the request that the options make; the files of --rendered are read. `inventory` is its path."""
    from kafkactl.roll.api import RollRequest, read_rendered

    return RollRequest.of(
        to=asked.to,
        only=asked.only,
        skip=asked.skip,
        rendered={} if asked.rendered is None else read_rendered(asked.rendered, observation),
        order=asked.order,
        batch=asked.batch,
        until=asked.until,
        accepted=asked.accepted,
        inventory=inventory,
        rendered_from=None if asked.rendered is None else str(Path(asked.rendered).absolute()),
    )
