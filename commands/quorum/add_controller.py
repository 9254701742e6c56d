"""`kafkactl quorum add-controller`: one more voter, as kafka-metadata-quorum.sh does it, and guarded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kafkactl.commands.framework.connection import ConnectionArguments, connection_options
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import unasked_writing_options
from kafkactl.commands.quorum.change_page import change_page
from kafkactl.commands.quorum.change_run import (
    CODES,
    ChangeArguments,
    change_options,
    override_options,
    overrides_in,
    perform,
)
from kafkactl.commands.rendering.page import Page

if TYPE_CHECKING:
    from kafkactl.quorum.api.change import QuorumChange


@leaf_command(
    "add-controller",
    examples=(
        "kafkactl quorum add-controller --bootstrap-controller c1:9093 --command-config server.properties",
        "kafkactl quorum add-controller --bootstrap-server b1:9092 --command-config server.properties --dry-run",
    ),
    codes=CODES,
    timeout="20m",
)
@override_options("--allow-unstable")
@change_options(adds=True)
@connection_options
@unasked_writing_options
def command(*, dry_run: bool, arguments: ChangeArguments, connection: ConnectionArguments, **overrides: bool) -> None:
    """Make the controller of this host a voter: --command-config names its own server.properties.

    Its node id, directory id and endpoints are read from that file and from its metadata log
    directory. The controller must run and have caught up, and respond at its endpoint.
    """
    from kafkactl.commands.framework.connection import target_of
    from kafkactl.quorum.api.change import addition

    file = target_of(connection).command_config
    if file is None:
        raise click.UsageError("add-controller needs --command-config with the file of the controller to be added.")
    candidate = addition(file, overrides=overrides_in(overrides), max_lag=arguments.max_lag)
    places = ", ".join(candidate.endpoints)
    words = f"controller {candidate.node_id} with directory id {candidate.directory_id} and endpoints: {places}"

    def render(page: Page, change: QuorumChange) -> None:
        if change.outcome in _LINES and not change.result.interrupted:
            page.line(f"{_LINES[change.outcome]} {words}")
            page.findings(change.findings)
        else:
            change_page(page, change, goal=f"add controller {candidate.node_id}")

    perform(candidate.goal, connection, arguments, render=render, dry_run=dry_run, cluster_id=candidate.cluster_id)


_LINES = {"done": "Added", "planned": "DRY RUN of adding", "nothing-to-do": "Nothing to do: already a voter:"}
