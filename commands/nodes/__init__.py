"""`kafkactl nodes`: the table of its verbs."""

from __future__ import annotations

import click

from kafkactl.commands.framework.connection import connection_options
from kafkactl.commands.framework.lazy_group import Entry, LazyGroup

VERBS = {
    "list": Entry("kafkactl.commands.nodes.list", "command", "Who is registered, who votes, who answers."),
    "unregister": Entry("kafkactl.commands.nodes.unregister", "command", "Take out the registration of a dead node."),
    "verify": Entry("kafkactl.commands.nodes.verify", "command", "Compare the settings that controllers decide."),
}


@click.group(
    "nodes",
    cls=LazyGroup,
    entries=VERBS,
    examples=(
        "kafkactl nodes list --bootstrap-server broker-1:9092",
        "kafkactl nodes unregister --id 4 --dry-run",
        "kafkactl nodes verify --bootstrap-server broker-1:9092",
    ),
)
@connection_options
def command() -> None:
    """Show brokers and controllers as the metadata log and the nodes themselves report them, and unregister one."""
