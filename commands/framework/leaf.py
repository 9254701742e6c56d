"""Base of every leaf command: common options, examples, exit codes, a time limit."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import click
from click.core import ParameterSource

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.deadline import deadline, ends_clean
from kafkactl.commands.framework.help_text import HelpContext, option_record
from kafkactl.commands.framework.lazy_group import write_examples
from kafkactl.commands.framework.options import COMMON_NAMES, CommonOption, ConnectionOption, common_options
from kafkactl.commands.framework.settings import Invocation, Settings


class LeafCommand(click.Command):
    """A command with the common options; they become `Settings`, the rest the function's arguments."""

    context_class = HelpContext

    def __init__(
        self,
        *args: Any,
        examples: tuple[str, ...],
        codes: tuple[int, ...] = (exit_codes.DONE, exit_codes.FAILED, exit_codes.USAGE),
        on_terminal: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.examples = examples
        self.on_terminal = on_terminal
        self.codes = codes

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Accept what Kafka's parser accepts and click reads otherwise (`-t=ID`), then parse."""
        return super().parse_args(ctx, _kafka_words(self, ctx, args))

    def invoke(self, ctx: click.Context) -> Any:
        """Take the common options out, then run the function within the time limit; signals end it as Ctrl-C does."""
        common = {name: ctx.params.pop(name) for name in COMMON_NAMES if name in ctx.params}
        is_default = ctx.get_parameter_source("output") is ParameterSource.DEFAULT
        if is_default and self.on_terminal is not None and sys.stdout.isatty():
            common["output"] = self.on_terminal
        changes = {"dry_run", "bootstrap_server"} <= ctx.params.keys()
        settings = Settings(
            **common,
            command=ctx.command_path.partition(" ")[2],
            changes_cluster=changes,
            is_default_output=is_default,
        )
        ctx.ensure_object(Invocation).settings = settings
        ctx.with_resource(ends_clean())  # the first: it ends after everything that the function leaves to the context
        with deadline(settings.timeout_ms):
            return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command's own options first, then sections of options that many or all commands share."""
        sections: dict[str, list[tuple[str, str]]] = {"Options": [], "Connection options": [], "Common options": []}
        help_option = self.get_help_option(ctx)
        for param in self.get_params(ctx):
            record = option_record(param, ctx)
            if record is not None and (record[1] or isinstance(param, click.Option)):
                is_common = isinstance(param, CommonOption) or param is help_option
                is_connection = isinstance(param, ConnectionOption)
                title = "Common options" if is_common else "Connection options" if is_connection else "Options"
                sections[title].append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write examples, exit codes, and the names of the options in the environment."""
        write_examples(formatter, self.examples)
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), exit_codes.MEANINGS[code]) for code in self.codes])
        prefix = ctx.auto_envvar_prefix
        if prefix:
            formatter.write_paragraph()
            formatter.write_text(
                f"Options can be set in the environment: {prefix}_<OPTION>, common ones KAFKACTL_<OPTION>."
            )
        click.Command.format_epilog(self, ctx, formatter)  # not that of a group of verbs, which has examples as well


def leaf_command(
    name: str,
    *,
    examples: tuple[str, ...],
    codes: tuple[int, ...] = (exit_codes.DONE, exit_codes.FAILED, exit_codes.USAGE),
    timeout: str = "30s",
    output: str = "table",
    has_metrics: bool = False,
    **attributes: Any,
) -> Callable[[Callable[..., Any]], LeafCommand]:
    """Make a function a command with the common options.

    `name` is the name in the group's table, `examples` are whole command lines, `codes` the exit codes that this
    command can end with, `timeout` and `output` the defaults of `--timeout` and `--output`. The attribute `on_terminal`
    is the output on a terminal, if it differs. `has_metrics`:
    schemas/metrics.toml has metrics of its answer, which `-o prometheus` prints.
    """

    def decorate(function: Callable[..., Any]) -> LeafCommand:
        command = click.command(name, cls=LeafCommand, examples=examples, codes=codes, **attributes)
        return command(common_options(timeout, output, has_metrics=has_metrics)(function))

    return decorate


def _kafka_words(command: click.Command, ctx: click.Context, args: list[str]) -> list[str]:
    """Rewrite `-t=ID` to `-t ID`, and refuse an option as the value of another (`-t -g`: a forgotten id).

    argparse4j strips the `=` of a short option, click keeps it as part of the value. A value that merely starts with
    a dash is taken, cluster ids may; one that is an option of this command needs the form `-t=-g`.
    """
    options = [param for param in command.get_params(ctx) if isinstance(param, click.Option)]
    known = {word for option in options for word in (*option.opts, *option.secondary_opts)}
    valued = {
        word
        for option in options
        if not option.is_flag and not option.count and not _may_lack_value(option)
        for word in option.opts
    }
    # Click takes a short name for a misspelt long one first, and looks for what was meant.
    long = {word: option.opts[-1] for option in options for word in option.opts}
    words: list[str] = []
    rest = iter(args)
    for word in rest:
        short, equals, value = word[:2], word[2:3], word[3:]
        if word == "--":
            return [*words, word, *rest]
        if equals == "=" and short in valued:
            words += [long[short], value]
        elif word in valued:
            words += [long[word], *_value_of(word, rest, known, ctx)]
        else:
            words.append(long.get(word, word))
    return words


def _may_lack_value(option: click.Option) -> bool:
    """Return True for an option such as `--watch [SECONDS]`, whose value click looks for itself."""
    return bool(getattr(option, "_flag_needs_value", False))


def _value_of(option: str, rest: Iterator[str], known: set[str], ctx: click.Context) -> list[str]:
    value = next(rest, None)
    if value in known:
        meant = f"Write {option}={value} if you mean it."
        raise click.BadOptionUsage(
            option, f"Option {option!r} requires an argument, and {value!r} is an option. {meant}", ctx
        )
    return [] if value is None else [value]
