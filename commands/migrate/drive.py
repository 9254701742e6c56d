"""Common part of `migrate run`, `rollback` and `finalize`: options, a drive to its answer, and its page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.option_group import option_group
from kafkactl.commands.framework.options import Duration
from kafkactl.commands.rendering import output

if TYPE_CHECKING:
    from kafkactl.migration.api.driving import DriveOptions, DriveResult
    from kafkactl.migration.inventory import Inventory

_EDITS = ("refuse", "carry", "overwrite")
CODES = (
    exit_codes.DONE, exit_codes.FAILED, exit_codes.USAGE, exit_codes.REFUSED, exit_codes.UNREACHABLE,
    exit_codes.PARTLY_DONE, exit_codes.UNKNOWN, exit_codes.INTERRUPTED,
)  # fmt: skip


class HandEdit(click.ParamType[str]):
    """`carry`, or `carry@broker-1`."""

    name = "edit"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text. Fails for another word, or a subject that is not a node."""
        word, at, subject = value.partition("@")
        if word not in _EDITS:
            self.fail(f"{word!r} is not one of {', '.join(map(repr, _EDITS))}.", param, ctx)
        if at and not re.fullmatch(r"(?:broker|controller)-\d+", subject):
            self.fail(f"{subject!r} is not a node: expected, for example, {word}@broker-1.", param, ctx)
        return value


class DriveArguments(NamedTuple):
    """The options of `drive_options`."""

    gate_interval_ms: int
    gate_timeout_ms: int | None
    accept_observed: bool
    hand_edits: tuple[str, ...] = ()
    rendered: str | None = None


# Decorator: how patient the driver is; the function gets the parameter `arguments`, a DriveArguments.
drive_options = option_group(
    "arguments",
    DriveArguments,
    click.option(
        "--gate-interval", "gate_interval_ms", type=Duration(), default="10s", show_default=True, metavar="TIME",
        help="The time between the two observations that confirm a gate.",
    ),
    click.option(
        "--gate-timeout", "gate_timeout_ms", type=Duration(), metavar="TIME",
        help="How long to wait for a gate after its hook has succeeded. "
        "[default: 10m; for the copy three times the predicted time, and 2m]",
    ),
    click.option(
        "--accept-observed", is_flag=True,
        help="Resume from the observed state even if it contradicts the journal.",
    ),
    click.option(
        "--hand-edits", type=HandEdit(), multiple=True, metavar="[refuse|carry|overwrite][@NODE]",
        help="What to do with a file that was edited after the driver read or wrote it: refuse the run, keep the edit"
        " in every later file, or replace the file; of one node only with carry@broker-1. Can be repeated."
        " [default: refuse]",
    ),
    click.option(
        "--rendered", metavar="DIR",
        help="Use the files of this folder of `migrate render`, with what was added to them. [default: render them; a"
        " later run remembers the folder]",
    ),
)  # fmt: skip


def options_of(arguments: DriveArguments, accepted: tuple[str, ...]) -> DriveOptions:
    """Return the options as the driver takes them."""
    from kafkactl.migration.api.driving import DriveOptions

    given = arguments._asdict()
    edits = ",".join(arguments.hand_edits) or "refuse"
    return DriveOptions(accepted=frozenset(accepted), **{**given, "hand_edits": edits})


def refuse_edits_of_unknown_nodes(arguments: DriveArguments, inventory: Inventory) -> None:
    """Raise click.BadOptionUsage if --hand-edits names a node that the inventory does not have."""
    from kafkactl.commands.migrate.accept import refuse_unknown_nodes

    refuse_unknown_nodes(arguments.hand_edits, [node.name for node in inventory.nodes], option="--hand-edits")


def prepared(
    inventory: str | None, accepted: tuple[str, ...], arguments: DriveArguments
) -> tuple[Inventory, DriveOptions]:
    """Return the inventory and the options of a drive. Raises click.UsageError for what cannot be accepted in it."""
    from kafkactl.commands.migrate.accept import accepted_words, refuse_unknown_nodes
    from kafkactl.commands.migrate.options import read_inventory

    accepted = accepted_words(accepted)
    found = read_inventory(inventory)
    refuse_unknown_nodes(accepted, [node.name for node in found.nodes])
    refuse_edits_of_unknown_nodes(arguments, found)
    return found, options_of(arguments, accepted)


def answer(kind: str, found: DriveResult) -> NoReturn:
    """Print how a run ended, or what it would do."""
    from kafkactl.commands.migrate.page import drive_page

    code = exit_codes.UNREACHABLE if found.is_not_let_in else found.outcome.exit_code
    exit_code = exit_codes.INTERRUPTED if found.result.interrupted else code
    output.emit(kind, found, render=drive_page, exit_code=exit_code)
