"""`kafkactl log`: the table of its verbs. Each verb is a module of its own."""

from __future__ import annotations

import click

from kafkactl.commands.framework.connection import connection_options
from kafkactl.commands.framework.lazy_group import Entry, LazyGroup

VERBS = {
    "dump": Entry("kafkactl.commands.log.dump", "command", "Every record as a line of JSON."),
    "verify": Entry("kafkactl.commands.log.verify", "command", "Is the log whole, and do the nodes agree?"),
    "image": Entry("kafkactl.commands.log.image", "command", "The whole state that the log comes to, at any point."),
    "diff": Entry("kafkactl.commands.log.diff", "command", "What differs between two states."),
    "history": Entry("kafkactl.commands.log.history", "command", "Every record that made a key what it is."),
    "browse": Entry("kafkactl.commands.log.browse", "command", "Walk through the state as a tree of files."),
    "export": Entry("kafkactl.commands.log.export", "command", "Tables of logs as files for other programs."),
    "lint": Entry("kafkactl.commands.log.lint", "command", "What in the state does not fit together."),
}


@click.group(
    "log",
    cls=LazyGroup,
    entries=VERBS,
    examples=(
        "kafkactl log dump /disk1/__cluster_metadata-0 --type PartitionChangeRecord",
        "kafkactl log --bootstrap-controller host:9093 dump --from-cluster",
    ),
)
@connection_options
def command() -> None:
    """Read, check and search the metadata log of a cluster.

    A SOURCE is a __cluster_metadata-0 folder, the log directory around it, or single .log and
    .checkpoint files; with --from-cluster the log is fetched from the active controller. Nothing
    is ever written to them. Passwords, SCRAM keys and tokens are left out unless asked for.
    """
