"""`kafkactl roll`: the table of its verbs. Each verb is a module of its own."""

from __future__ import annotations

import click

from kafkactl.commands.framework.connection import connection_options
from kafkactl.commands.framework.lazy_group import Entry, LazyGroup

VERBS = {
    "check": Entry("kafkactl.commands.roll.check", "command", "Report what stops or harms a roll, node by node."),
    "observe": Entry("kafkactl.commands.roll.observe", "command", "Save the input of the other commands in a folder."),
    "plan": Entry("kafkactl.commands.roll.plan", "command", "Show every step, its effects and its gates."),
    "rollback": Entry("kafkactl.commands.roll.rollback", "command", "Take nodes back to the old release."),
    "run": Entry("kafkactl.commands.roll.run", "command", "Restart or upgrade the nodes, one step at a time."),
    "status": Entry("kafkactl.commands.roll.status", "command", "Show the position of the cluster, node by node."),
}


@click.group(
    "roll",
    cls=LazyGroup,
    entries=VERBS,
    examples=(
        "kafkactl roll check --inventory roll.toml --to 4.3.1",
        "kafkactl roll plan --inventory roll.toml --to 4.3.1",
        "kafkactl roll run --inventory roll.toml --to 4.3.1",
        "kafkactl roll status --observation observation",
        "kafkactl roll observe --inventory roll.toml --out observation",
    ),
)
@connection_options
def command() -> None:
    """Restart or upgrade the nodes of a live KRaft cluster one by one, and back.

    Each command looks at the live cluster (--inventory), or at a saved observation of one (--observation). Commands
    that change nothing take the address of a node in place of an inventory; the files of the nodes are unknown then.
    """
