"""The command of a scenario, made from its description: `kafkactl dryrun NAME`."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any

import click

from kafkactl.commands.dryrun.options import CODES, Common, NodeIds, scenario_options
from kafkactl.commands.dryrun.run import answer
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import PATH, Choice

if TYPE_CHECKING:
    from kafkactl.dryrun.api import Form, Option, Scenario


class _Order(NodeIds):
    """Node ids, or the word auto."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the ids in their order, or "auto"."""
        return value if value == "auto" else super().convert(value, param, ctx)


def scenario_command(scenario: Scenario) -> click.Command:
    """Return the command with the options of a scenario.

    Help and completion read the same description as the library.
    """

    def command(*, common: Common, **given: Any) -> None:
        answer(common, scenario, _asked(scenario, given))

    command.__doc__ = scenario.help
    function: Callable[..., Any] = command
    function = scenario_options(function)
    for option in reversed(scenario.options):  # first in the help
        function = _click_option(scenario, option)(function)
    decorate = leaf_command(scenario.name, examples=scenario.examples, codes=CODES, timeout="1h")
    return decorate(function)


def _asked(scenario: Scenario, given: dict[str, Any]) -> Any:
    """Return the `Input` of what was typed."""
    from kafkactl.dryrun.api import OptionsError, input_of_options

    try:
        return input_of_options(scenario, given)
    except OptionsError as error:
        raise click.UsageError(str(error)) from None


def _click_option(scenario: Scenario, option: Option) -> Callable[[Any], Any]:
    """Return the click option; its form, default and necessity are those of the field that it sets."""
    from kafkactl.dryrun.api import Form, fields_of

    field = fields_of(scenario.input).get(option.field or option.name)
    form = Form.TEXT if field is None else field.kind.form
    flag = option.flag or "--" + option.name.replace("_", "-")
    if form is Form.FLAG:
        return click.option(flag, option.name, is_flag=True, help=option.help)
    if option.is_repeatable:
        return click.option(flag, option.name, multiple=True, metavar=option.metavar, help=option.help)
    default = option.default if field is None or option.default is not None else field.default
    is_required = option.is_required or (field is not None and field.is_required and default is None)
    choices = () if field is None else field.kind.choices
    kind, metavar = _click_type(form, choices, option)
    # Click takes a default of None for a value that was given.
    more = {} if default is None else {"default": _typed(default), "show_default": default != ()}
    metavar = option.metavar or metavar
    return click.option(flag, option.name, type=kind, metavar=metavar, required=is_required, help=option.help, **more)


def _typed(default: Any) -> Any:
    """Return a default as it would be typed."""
    if isinstance(default, tuple):
        return list(default)
    return default.value if isinstance(default, Enum) else default


def _click_type(form: Form, choices: tuple[str, ...], option: Option) -> tuple[Any, str | None]:
    """Return the type by the form of the option, and how its value is shown."""
    from kafkactl.dryrun.api import Form

    if option.document is not None:
        return PATH, "FILE"
    if form is Form.CHOICE:
        return Choice(choices), None
    if form is Form.NUMBER:
        return click.IntRange(min=option.least), "N"
    return {Form.IDS: (NodeIds(), "IDS"), Form.ORDER: (_Order(), "IDS|auto")}.get(form, (None, None))
