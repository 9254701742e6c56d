"""`kafkactl features plan`: a change with nothing written."""

from __future__ import annotations

import click

from kafkactl.commands.features.change import change
from kafkactl.commands.features.options import CHANGE_CODES, level_options, min_insync_option
from kafkactl.commands.framework.connection import ConnectionArguments, connection_options
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import Choice


@leaf_command(
    "plan",
    examples=(
        "kafkactl features plan --bootstrap-server b1:9092 --release-version 4.3",
        "kafkactl features plan downgrade --bootstrap-server b1:9092 --metadata 4.0-IV1",
        "kafkactl features plan disable --bootstrap-server b1:9092 --feature share.version -o json",
    ),
    codes=CHANGE_CODES,
    timeout="2m",
)
@click.argument("operation", type=Choice(("upgrade", "downgrade", "disable")), default="upgrade")
@level_options
@click.option("--unsafe", is_flag=True, help="With downgrade and disable: accept that metadata is lost.")
@click.option(
    "--convert-quorum", is_flag=True,
    help="With --release-version: raise kraft.version too, which makes the quorum dynamic permanently.",
)  # fmt: skip
@min_insync_option
@connection_options
def command(
    *,
    operation: str,
    metadata: str | None,
    features: tuple[str, ...],
    release_version: str | None,
    unsafe: bool,
    convert_quorum: bool,
    accepted_min_insync: int | None,
    connection: ConnectionArguments,
) -> None:
    """Preview an upgrade, downgrade or disable, and what blocks it. Nothing is written.

    The same as that command with --dry-run.
    """
    from kafkactl.operations.features.cluster import feature_request

    request = feature_request(
        operation,
        metadata=metadata,
        features=features,
        release_version=release_version,
        unsafe=unsafe,
        convert_quorum=convert_quorum,
        accepted_min_insync=accepted_min_insync,
    )
    change(request, dry_run=True, connection=connection)
