"""`kafkactl config`: the table of its verbs."""

from __future__ import annotations

import click

from kafkactl.commands.framework.lazy_group import Entry, LazyGroup

VERBS = {
    "view": Entry("kafkactl.commands.config.view", "command", "The contexts, and which is the current one."),
    "use": Entry("kafkactl.commands.config.use", "command", "Make a context the current one."),
    "set": Entry("kafkactl.commands.config.set", "command", "Make a context, or change what it says."),
    "unset": Entry("kafkactl.commands.config.unset", "command", "Remove keys from a context."),
    "delete": Entry("kafkactl.commands.config.delete", "command", "Remove a context."),
}


@click.group(
    "config",
    cls=LazyGroup,
    entries=VERBS,
    examples=(
        "kafkactl config set prod --bootstrap-server broker-1:9092 --command-config prod.properties",
        "kafkactl config use prod",
        "kafkactl config view",
    ),
)
def command() -> None:
    """Manage clusters under names of your own: where they are, how to get in, and which id they must have.

    Contexts are in kafkactl/config.toml in your folder for configuration (XDG_CONFIG_HOME, or
    ~/.config); KAFKACTL_CONFIG names another file. Logins are in the client properties that a
    context names, not in the context.
    """
