"""`kafkactl config unset`: take keys out of a context."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import Choice, unasked_writing_options

if TYPE_CHECKING:
    from kafkactl.adapters.files.contexts import Contexts

_KEYS = ("bootstrap-server", "bootstrap-controller", "command-config", "cluster-id", "spark-master")


@leaf_command(
    "unset",
    examples=("kafkactl config unset prod cluster-id",),
    codes=(0, 1, 2, 3),
)
@click.argument("name")
@click.argument("key", nargs=-1, required=True, type=Choice(_KEYS))
@unasked_writing_options
def command(name: str, key: tuple[str, ...], dry_run: bool) -> None:
    """Take keys out of a context.

    Without cluster-id a change is sent to whatever cluster answers at the context's addresses.
    """
    from kafkactl.adapters.files.contexts_edit import with_context
    from kafkactl.commands.config.answer import change_and_tell

    def unset(contexts: Contexts) -> Contexts:
        contexts.context(name)
        return with_context(contexts, name, {one.replace("-", "_"): None for one in key})

    change_and_tell(unset, name, dry_run=dry_run)
