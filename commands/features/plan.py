"""`kafkactl features plan`: a change with nothing written."""

from __future__ import annotations

import click

from kafkactl.commands.features.change import change, save
from kafkactl.commands.features.options import CHANGE_CODES, level_options, min_insync_option
from kafkactl.commands.framework.connection import ConnectionArguments, connection_options
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import Choice, plan_file_options


@leaf_command(
    "plan",
    examples=(
        "kafkactl features plan --bootstrap-server b1:9092 --release-version 4.3",
        "kafkactl features plan downgrade --bootstrap-server b1:9092 --metadata 4.0-IV1",
        "kafkactl features plan --bootstrap-server b1:9092 --release-version 4.3 --out plan.json",
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
@plan_file_options
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
    out: str | None,
    overwrite: bool,
    connection: ConnectionArguments,
) -> None:
    """Preview an upgrade, downgrade or disable, and what blocks it. Nothing is changed in the cluster.

    The same as that command with --dry-run. With --out the plan is also written to a file, which
    `kafkactl features apply` carries out later, if the cluster is then still as it was.
    """
    from kafkactl.features.api.cluster import feature_request

    request = feature_request(
        operation,
        metadata=metadata,
        features=features,
        release_version=release_version,
        unsafe=unsafe,
        convert_quorum=convert_quorum,
        accepted_min_insync=accepted_min_insync,
    )
    if out is None:
        change(request, dry_run=True, connection=connection)
    save(request, out, overwrite=overwrite, connection=connection)
