"""`kafkactl config unset`: take keys out of a context."""

from __future__ import annotations

import click

from kafkactl.commands.framework import completing
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import Choice, unasked_writing_options

_KEYS = (
    "bootstrap-server", "bootstrap-controller", "bootstrap", "command-config", "controller-command-config",
    "cluster-id", "spark-master",
)  # fmt: skip


@leaf_command(
    "unset",
    examples=("kafkactl config unset prod cluster-id",),
    codes=(0, 1, 2, 3),
)
@click.argument("name", shell_complete=completing.contexts)
@click.argument("key", nargs=-1, required=True, type=Choice(_KEYS))
@unasked_writing_options
def command(name: str, key: tuple[str, ...], dry_run: bool) -> None:
    """Remove keys from a context.

    Without cluster-id a change is sent to any cluster that responds at the context's addresses.
    """
    from kafkactl.commands.config.answer import tell
    from kafkactl.kafka.api.contexts import unset_context

    tell(unset_context(name, [word.replace("-", "_") for word in key], dry_run=dry_run))
