"""`kafkactl config delete`: remove a context."""

from __future__ import annotations

import click

from kafkactl.commands.framework import completing
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import unasked_writing_options


@leaf_command(
    "delete",
    examples=("kafkactl config delete old",),
    codes=(0, 1, 2, 3),
)
@click.argument("name", shell_complete=completing.contexts)
@unasked_writing_options
def command(name: str, dry_run: bool) -> None:
    """Remove a context. The client properties that it names are kept."""
    from kafkactl.commands.config.answer import tell
    from kafkactl.kafka.api.contexts import delete_context

    tell(delete_context(name, dry_run=dry_run))
