"""`kafkactl features downgrade`."""

from __future__ import annotations

import click

from kafkactl.commands.features.change import change
from kafkactl.commands.features.options import CHANGE_CODES, level_options
from kafkactl.commands.framework.connection import ConnectionArguments, connection_options
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import unasked_writing_options


@leaf_command(
    "downgrade",
    examples=(
        "kafkactl features downgrade --bootstrap-server b1:9092 --feature transaction.version=1 --dry-run",
        "kafkactl features downgrade --bootstrap-server b1:9092 --metadata 4.0-IV1",
    ),
    codes=CHANGE_CODES,
    timeout="2m",
)
@level_options
@click.option("--unsafe", is_flag=True, help="Accept that metadata is lost. Kafka refuses that for metadata.version.")
@unasked_writing_options
@connection_options
def command(
    *,
    metadata: str | None,
    features: tuple[str, ...],
    release_version: str | None,
    unsafe: bool,
    dry_run: bool,
    connection: ConnectionArguments,
) -> None:
    """Lower feature levels, where that is possible.

    No release of Kafka can go below a level that changed metadata, with or without --unsafe; the
    answer names the lowest reachable level.
    """
    from kafkactl.features.api.cluster import feature_request

    request = feature_request(
        "downgrade",
        metadata=metadata,
        features=features,
        release_version=release_version,
        unsafe=unsafe,
    )
    change(request, dry_run=dry_run, connection=connection)
