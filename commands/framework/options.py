"""Options that several commands share, and the types of their values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from kafkactl.commands.framework.settings import COLORS, FORMATS, PROMETHEUS

Function = TypeVar("Function", bound=Callable[..., Any])

COMMON_NAMES = ("output", "color", "quiet", "verbose", "timeout_ms", "strict_security")

# Of two units that fit, the longer one stands first.
_UNIT_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}

_LONGEST_MS = 365 * 24 * 3_600_000  # what a timer of the system takes, with room
_MOST_DIGITS = 20


PLACE = click.Path(readable=False)
"""A path that the command itself opens, or writes, or a URI: click would refuse one without a word of what can be
done."""


class DiskPath(click.Path):
    """A path on a disk of this machine, also as a `file:` URI."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path. Raises InputError `path-needs-spark`, `invalid-file-uri` for another URI."""
        from kafkactl.core.uris import disk_path

        return super().convert(disk_path(value) if isinstance(value, str) else value, param, ctx)


PATH = DiskPath(readable=False)


class Duration(click.ParamType[int]):
    """A length of time with its unit: `500ms`, `30s`, `2m`, `1h`; zero only with `has_zero`. The value is in ms."""

    name = "duration"

    def __init__(self, *, has_zero: bool = False) -> None:
        self._has_zero = has_zero

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return milliseconds; a number without unit and anything else is a usage error."""
        if isinstance(value, int):
            return value
        text = value.strip()
        unit = next((unit for unit in _UNIT_MS if text.endswith(unit)), "")
        number = text.removesuffix(unit)
        is_number = bool(unit) and number.isdecimal() and len(number) <= _MOST_DIGITS
        if not is_number or not (int(number) or self._has_zero):
            self.fail(f"{value!r} is not a duration: write 500ms, 30s, 2m or 1h.", param, ctx)
        if int(number) * _UNIT_MS[unit] > _LONGEST_MS:
            self.fail(f"{value!r} is longer than {_LONGEST_MS // _UNIT_MS['h']}h.", param, ctx)
        return int(number) * _UNIT_MS[unit]


class Choice(click.Choice[str]):
    """A choice that suggests the nearest word."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """Return click's message, with a suggestion."""
        from kafkactl.core.wording import did_you_mean

        return super().get_invalid_choice_message(value, ctx) + did_you_mean(str(value), list(self.choices))


class CommonOption(click.Option):
    """An option that every command takes; shown in a section of its own."""


class ConnectionOption(click.Option):
    """An option of every command that connects to a cluster; shown in a section of its own."""


def plan_file_options(function: Function) -> Function:
    """Add `--out` and `--overwrite`, for a plan that is written: parameters `out` and `overwrite`."""
    options = (
        click.option("--out", metavar="FILE", help="Write the plan to FILE, readable by its owner only; see `apply`."),
        click.option("--overwrite", is_flag=True, help="Overwrite an existing plan file."),
    )
    for option in reversed(options):
        function = option(function)
    return function


def common_options(timeout: str, output: str = "table", *, has_metrics: bool = False) -> Callable[[Function], Function]:
    """Add the options of every leaf command. `leaf_command` applies them; the values are stored in `Settings`."""
    formats = (*FORMATS, PROMETHEUS) if has_metrics else FORMATS
    options = (
        click.option(
            "-o", "--output", cls=CommonOption, type=Choice(formats), default=output, show_default=True,
            envvar="KAFKACTL_OUTPUT", help="How the answer is printed.",
        ),
        click.option(
            "--color", cls=CommonOption, type=Choice(COLORS), default="auto", show_default=True,
            envvar="KAFKACTL_COLOR", help="Colour: auto means on a terminal, unless NO_COLOR is set.",
        ),
        click.option(
            "-q", "--quiet", cls=CommonOption, is_flag=True, envvar="KAFKACTL_QUIET",
            help="Say nothing on stderr but errors.",
        ),
        click.option(
            "-v", "--verbose", cls=CommonOption, is_flag=True, envvar="KAFKACTL_VERBOSE",
            help="Say more on stderr; a bug shows its traceback.",
        ),
        click.option(
            "--timeout", "timeout_ms", cls=CommonOption, type=Duration(), default=timeout, show_default=True,
            metavar="TIME", envvar="KAFKACTL_TIMEOUT", help="Give up after this time: 500ms, 30s, 2m.",
        ),
        click.option(
            "--strict-security", cls=CommonOption, is_flag=True, envvar="KAFKACTL_STRICT_SECURITY",
            help="Refuse logins without TLS, unchecked host names, and secrets that others can read.",
        ),
    )  # fmt: skip
    return _all_of(options)


def writing_options(function: Function) -> Function:
    """Add `--dry-run` and `--yes`, for every command that writes: parameters `dry_run` and `yes`."""
    options = (
        click.option("--dry-run", is_flag=True, help="Show what would be done, without doing it."),
        click.option("--yes", is_flag=True, help="Do not ask for confirmation."),
    )
    return _all_of(options)(function)


def unasked_writing_options(function: Function) -> Function:
    """Add `--dry-run` of a change too harmless to ask about: parameter `dry_run`. `--yes` changes nothing."""
    options = (
        click.option("--dry-run", is_flag=True, help="Show what would be done, without doing it."),
        click.option(
            "--yes", is_flag=True, expose_value=False, help="No effect: this command does not ask for confirmation."
        ),
    )
    return _all_of(options)(function)


def confirm_option(function: Function) -> Function:
    """Add `--confirm CLUSTER_ID`, for changes that cannot be undone: parameter `confirm`."""
    option = click.option(
        "--confirm",
        metavar="CLUSTER_ID",
        help="Confirm a change that cannot be undone with the id of the cluster.",
    )
    return option(function)


def kafka_version_option(function: Function) -> Function:
    """Add `--kafka-version V`, the release that will start on these disks: parameter `kafka_version` (or None)."""
    option = click.option(
        "--kafka-version", metavar="V",
        help="The Kafka release that will start on these disks, such as 3.9.2 or 4.4."
        " [default: the one found on this host, else the newest known]",
    )  # fmt: skip
    return option(function)


def _all_of(options: tuple[Callable[[Any], Any], ...]) -> Callable[[Function], Function]:
    def decorate(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate
