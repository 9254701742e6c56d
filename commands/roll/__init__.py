"""`kafkactl roll`: the table of its verbs. Each verb is a module of its own."""

from __future__ import annotations

import click

from kafkactl.commands.framework.lazy_group import Entry, LazyGroup

VERBS = {
    "observe": Entry("kafkactl.commands.roll.observe", "command", "Save the input of the other commands in a folder."),
}


@click.group(
    "roll",
    cls=LazyGroup,
    entries=VERBS,
    examples=("kafkactl roll observe --inventory roll.toml --out observation",),
)
def command() -> None:
    """Restart or upgrade the nodes of a live KRaft cluster one by one, and back.

    Each command looks at the live cluster (--inventory), or at a saved observation of one (--observation).
    """
