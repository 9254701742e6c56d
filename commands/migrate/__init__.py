"""`kafkactl migrate`: the table of its verbs. Each verb is a module of its own."""

from __future__ import annotations

import click

from kafkactl.commands.framework.lazy_group import Entry, LazyGroup

VERBS = {
    "check": Entry("kafkactl.commands.migrate.check", "command", "Report problems and risks, in any state."),
    "compare": Entry("kafkactl.commands.migrate.compare", "command", "Compare ZooKeeper with KRaft, entity by entity."),
    "finalize": Entry(
        "kafkactl.commands.migrate.finalize", "command", "Finalize the migration. This cannot be undone."
    ),
    "observe": Entry(
        "kafkactl.commands.migrate.observe", "command", "Save the input of the other commands in a folder."
    ),
    "plan": Entry(
        "kafkactl.commands.migrate.plan", "command", "Show the remaining steps, and what the copy will write."
    ),
    "rollback": Entry("kafkactl.commands.migrate.rollback", "command", "Roll back to ZooKeeper."),
    "run": Entry("kafkactl.commands.migrate.run", "command", "Migrate to KRaft, one step at a time."),
    "status": Entry(
        "kafkactl.commands.migrate.status", "command", "Show the state of the migration, and the next step."
    ),
    "render": Entry(
        "kafkactl.commands.migrate.render", "command", "Write every node's configuration file for every phase."
    ),
}


@click.group(
    "migrate",
    cls=LazyGroup,
    entries=VERBS,
    examples=(
        "kafkactl migrate status --inventory migration.toml",
        "kafkactl migrate check --observation observation",
        "kafkactl migrate observe --inventory migration.toml --out observation",
    ),
)
def command() -> None:
    """Move a cluster from ZooKeeper to KRaft, step by step, and back.

    Each command looks at the live cluster (--inventory), or at a saved observation of one (--observation).
    """
