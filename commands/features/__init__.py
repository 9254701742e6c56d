"""`kafkactl features`: the table of its verbs. Each verb is a module of its own."""

from __future__ import annotations

import click

from kafkactl.commands.framework.connection import connection_options
from kafkactl.commands.framework.lazy_group import Entry, LazyGroup

VERBS = {
    "describe": Entry("kafkactl.commands.features.describe", "command", "Levels of the cluster, ranges of every node."),
    "plan": Entry("kafkactl.commands.features.plan", "command", "Preview a change, and what blocks it."),
    "apply": Entry("kafkactl.commands.features.apply", "command", "Carry out a plan file, if nothing changed since."),
    "upgrade": Entry("kafkactl.commands.features.upgrade", "command", "Raise levels; proved on every node."),
    "downgrade": Entry("kafkactl.commands.features.downgrade", "command", "Lower levels, where that is possible."),
    "disable": Entry("kafkactl.commands.features.disable", "command", "Turn features off."),
    "verify": Entry("kafkactl.commands.features.verify", "command", "Do all nodes have these levels?"),
    "version-mapping": Entry(
        "kafkactl.commands.features.version_mapping", "command", "Feature levels that belong to a release."
    ),
    "feature-dependencies": Entry(
        "kafkactl.commands.features.feature_dependencies", "command", "What a feature level depends on."
    ),
}


@click.group(
    "features",
    cls=LazyGroup,
    entries=VERBS,
    examples=(
        "kafkactl features --bootstrap-server b1:9092 describe",
        "kafkactl features plan --bootstrap-server b1:9092 --release-version 4.3",
        "kafkactl features upgrade --bootstrap-server b1:9092 --metadata 4.3",
    ),
)
@connection_options
def command() -> None:
    """Look at the feature levels of a cluster, and change them.

    Flags have the names and the meaning of kafka-features.sh.
    """
