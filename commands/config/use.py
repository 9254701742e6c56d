"""`kafkactl config use`: which context counts if none is named."""

from __future__ import annotations

import click

from kafkactl.commands.framework import completing
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import unasked_writing_options


@leaf_command(
    "use",
    examples=("kafkactl config use prod",),
    codes=(0, 1, 2, 3),
)
@click.argument("name", shell_complete=completing.contexts)
@unasked_writing_options
def command(name: str, dry_run: bool) -> None:
    """Select the current context, used if no node and no context is named."""
    from kafkactl.commands.config.answer import tell
    from kafkactl.kafka.api.contexts import use_context

    tell(use_context(name, dry_run=dry_run))
