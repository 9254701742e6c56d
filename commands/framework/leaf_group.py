"""A command that does something itself and has verbs of its own: `quorum recover`, `quorum recover verify`."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from kafkactl.commands.framework.lazy_group import LazyGroup
from kafkactl.commands.framework.leaf import LeafCommand


class LeafGroup(LeafCommand, LazyGroup):
    """A leaf with a table of verbs (`entries`). Without a verb the leaf runs; with one, its own options are none."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, invoke_without_command=True, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the leaf, or the verb that the first word names."""
        words = [*ctx._protected_args, *ctx.args]
        if not words:
            return super().invoke(ctx)
        name, command, rest = self.resolve_command(ctx, words)
        assert command is not None, "resolve_command raises for an unknown verb"
        given = [name for name in ctx.params if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE]
        if given:
            option = next(param.opts[0] for param in self.params if param.name == given[0])
            raise click.UsageError(f"{option} belongs behind the verb {name!r}, or to the command without one.", ctx)
        with command.make_context(name, rest, parent=ctx) as below:
            return command.invoke(below)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the leaf's options, then the verbs."""
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)
