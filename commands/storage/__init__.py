"""`kafkactl storage`: the table of its verbs. Each verb is a module of its own."""

from __future__ import annotations

import click

from kafkactl.commands.framework.lazy_group import Entry, LazyGroup

VERBS = {
    "format": Entry("kafkactl.commands.storage.format", "command", "Format the log directories of one node."),
    "ensure": Entry(
        "kafkactl.commands.storage.ensure", "command", "Format what was never formatted; for entry points."
    ),
    "info": Entry("kafkactl.commands.storage.info", "command", "Show the state of a node's log directories."),
    "verify": Entry("kafkactl.commands.storage.verify", "command", "Will this node start, and what would it lose?"),
    "plan": Entry("kafkactl.commands.storage.plan", "command", "Plan the format of a whole fleet from an inventory."),
    "apply": Entry("kafkactl.commands.storage.apply", "command", "Format a node as a plan says."),
    "dump": Entry("kafkactl.commands.storage.dump", "command", "Decode meta.properties, checkpoints, quorum-state."),
    "unformat": Entry("kafkactl.commands.storage.unformat", "command", "Undo a format of a node that never started."),
    "random-uuid": Entry("kafkactl.commands.storage.random_uuid", "command", "A new id for a cluster."),
    "version-mapping": Entry(
        "kafkactl.commands.storage.version_mapping", "command", "Feature levels that belong to a release."
    ),
    "feature-dependencies": Entry(
        "kafkactl.commands.storage.feature_dependencies", "command", "What a feature level depends on."
    ),
}


@click.group(
    "storage",
    cls=LazyGroup,
    entries=VERBS,
    argument_files=True,
    examples=(
        "kafkactl storage format -t ID -c server.properties --standalone",
        "kafkactl storage plan fleet.toml --out plan.json",
        "kafkactl storage verify -c server.properties",
    ),
)
def command() -> None:
    """Format nodes before their first start, look at their disks, and say what a start would do.

    Flags have the names and the meaning of kafka-storage.sh. A word @FILE is replaced by the
    arguments in that file, one a line.
    """
