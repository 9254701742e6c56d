"""A command group that connects to a cluster, to test what all such groups share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from kafkactl.commands.framework.connection import ConnectionArguments, connection_options, guard_cluster, open_client
from kafkactl.commands.framework.lazy_group import Entry, LazyGroup
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.rendering import output
from kafkactl.commands.rendering.page import Page


@click.group("live", cls=LazyGroup, entries={"look": Entry("tests.commands.live_sample", "look", "Look.")})
@connection_options
def command() -> None:
    """Run a group."""


@leaf_command("look", examples=("kafkactl live look",))
@connection_options
@click.option("--open", "how", default="")
def look(*, connection: ConnectionArguments, how: str) -> None:
    """Show the connection, open it, or compare it with the context."""
    answer: dict[str, Any] = connection._asdict()
    if how:
        with open_client(connection) as client:
            if how == "guard":
                guard_cluster(client, connection)
            answer |= {"bootstrap": [str(address) for address in client.bootstrap], "role": client.role.word}
    output.emit("live.look", answer, render=_show)


def _show(page: Page, answer: Mapping[str, Any]) -> None:
    page.fields(answer.items())
