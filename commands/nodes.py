"""`kafkactl nodes`: the table of its verbs."""

from __future__ import annotations

import click

from kafkactl.commands.connection import connection_options
from kafkactl.commands.lazy_group import Entry, LazyGroup

VERBS = {
    "list": Entry("kafkactl.commands.nodes_list", "command", "Who is registered, who votes, who answers."),
    "unregister": Entry("kafkactl.commands.nodes_unregister", "command", "Take out the registration of a dead node."),
}


@click.group(
    "nodes",
    cls=LazyGroup,
    entries=VERBS,
    examples=(
        "kafkactl nodes list --bootstrap-server broker-1:9092",
        "kafkactl nodes unregister --id 4 --dry-run",
    ),
)
@connection_options
def command() -> None:
    """Brokers and controllers as the metadata log and the nodes themselves tell of them."""
