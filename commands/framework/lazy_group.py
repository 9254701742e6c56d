"""Command groups that know their commands by a table and import one only when it is called.

Help, completion and "did you mean" read the table alone, so `kafkactl --help` costs click and nothing else.
"""

from __future__ import annotations

import os.path
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from kafkactl.commands.framework.help_text import HelpContext
from kafkactl.commands.framework.shell_lines import shell_lines

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_MOST_WORDS, _MOST_NESTED = 100_000, 16  # of argument files; a few lines that name each other could make any number
_TIME_TO_READ_MS = 30_000


class Entry(NamedTuple):
    """Module of a command, and its description in one line: what `--help` shows."""

    module: str
    attribute: str
    short_help: str


class LazyGroup(click.Group):
    """A group whose commands stand in a literal table `name -> Entry`.

    With `argument_files` a word `@FILE` is replaced by the words in that file, one a line, as Kafka's tools do.
    """

    context_class = HelpContext

    def __init__(
        self,
        *args: Any,
        entries: Mapping[str, Entry],
        examples: tuple[str, ...] = (),
        argument_files: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.entries = entries
        self.examples = examples
        self.argument_files = argument_files

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table."""
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command of this name; None if the table has none."""
        entry = self.entries.get(cmd_name)
        if entry is None:
            return None
        command: click.Command = getattr(import_module(entry.module), entry.attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command to call; an unknown name is a usage error that suggests the nearest ones."""
        name = args[0]
        if name not in self.entries and not ctx.resilient_parsing:
            if name.startswith("-"):
                self.parse_args(ctx, args)
            from kafkactl.core.wording import did_you_mean

            raise click.UsageError(f"No such command {name!r}.{did_you_mean(name, self.entries)}", ctx)
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Expand `@FILE` words if this group takes them, then parse as usual."""
        return super().parse_args(ctx, expand_argument_files(args) if self.argument_files else args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table without importing a single command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.short_help) for name, entry in self.entries.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples first, then the epilog."""
        write_examples(formatter, self.examples)
        super().format_epilog(ctx, formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete from the table; options as click does."""
        from click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        return [
            CompletionItem(name, help=entry.short_help)
            for name, entry in self.entries.items()
            if name.startswith(incomplete)
        ]


def write_examples(formatter: click.HelpFormatter, examples: tuple[str, ...]) -> None:
    """Write a section of command lines as wide as the screen."""
    if examples:
        with formatter.section("Examples"):
            indent = " " * formatter.current_indent
            for example in examples:
                formatter.write("".join(f"{line}\n" for line in shell_lines(example, formatter.width, indent=indent)))


def expand_argument_files(args: list[str]) -> list[str]:
    """Replace every `@FILE` by the lines of that file, as argparse4j does for Kafka's tools.

    A line is one argument, blanks and all; an empty line is an empty argument; files may name further files.
    `-c=@x` is a value, not a file. The time for reading them is that of `--timeout`, if it stands among the words
    themselves or in the environment. Raises click.UsageError for a file that cannot be read or names itself and for
    more than 100,000 arguments, and UnknownOutcomeError `timed-out`.
    """
    if not any(arg.startswith("@") for arg in args):
        return args
    from kafkactl.commands.framework.deadline import deadline

    with deadline(_time_to_read_ms(args)):
        return _expand(args, within=())


def _time_to_read_ms(args: list[str]) -> int:
    """Return the value of `--timeout`; an invalid value is reported after all options are parsed."""
    from kafkactl.commands.framework.options import Duration

    given = os.environ.get("KAFKACTL_TIMEOUT", "")
    for word, following in zip(args, [*args[1:], ""], strict=True):
        option, equals, value = word.partition("=")
        if option == "--timeout":
            given = value if equals else following
    try:
        return Duration().convert(given, None, None) if given else _TIME_TO_READ_MS
    except click.UsageError:
        return _TIME_TO_READ_MS


def _expand(args: list[str], *, within: tuple[str, ...]) -> list[str]:
    words: list[str] = []
    for arg in args:
        if not arg.startswith("@"):
            words.append(arg)
            continue
        path = os.path.realpath(arg[1:])
        if path in within:
            raise click.UsageError(f"The argument file {arg[1:]!r} names itself.")
        if len(within) == _MOST_NESTED:
            raise click.UsageError(f"The argument file {arg[1:]!r} is more than {_MOST_NESTED} files deep.")
        words += _expand(_read_lines(arg[1:]), within=(*within, path))
        if len(words) > _MOST_WORDS:
            raise click.UsageError(f"The argument file {arg[1:]!r} leads to more than {_MOST_WORDS} arguments.")
    return words


def _read_lines(path: str) -> list[str]:
    from kafkactl.files.input_files import InputKind, read_whole

    try:
        text = read_whole(path, InputKind.ARGUMENTS).decode("utf-8")
    except OSError as error:
        raise click.UsageError(f"Cannot read the argument file {path!r}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise click.UsageError(f"The argument file {path!r} is not UTF-8 text.") from error
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")  # the three ends of line that Java knows
    return lines if lines[-1] else lines[:-1]
