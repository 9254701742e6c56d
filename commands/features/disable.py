"""`kafkactl features disable`."""

from __future__ import annotations

import click

from kafkactl.commands.features.change import change
from kafkactl.commands.features.options import CHANGE_CODES
from kafkactl.commands.framework import completing_live
from kafkactl.commands.framework.connection import ConnectionArguments, connection_options
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import unasked_writing_options


@leaf_command(
    "disable",
    examples=(
        "kafkactl features disable --bootstrap-server b1:9092 --feature group.version --dry-run",
        "kafkactl features disable --bootstrap-server b1:9092 --feature share.version",
    ),
    codes=CHANGE_CODES,
    timeout="2m",
)
@click.option(
    "--feature", "features", multiple=True, metavar="NAME", shell_complete=completing_live.features,
    help="A feature to turn off.",
)  # fmt: skip
@click.option("--unsafe", is_flag=True, help="Accept that metadata is lost.")
@unasked_writing_options
@connection_options
def command(*, features: tuple[str, ...], unsafe: bool, dry_run: bool, connection: ConnectionArguments) -> None:
    """Turn features off: lower them to level 0. metadata.version and kraft.version cannot be."""
    from kafkactl.features.api.cluster import feature_request

    request = feature_request("disable", features=features, unsafe=unsafe)
    change(request, dry_run=dry_run, connection=connection)
