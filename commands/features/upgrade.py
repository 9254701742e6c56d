"""`kafkactl features upgrade`."""

from __future__ import annotations

import click

from kafkactl.commands.features.change import change
from kafkactl.commands.features.options import CHANGE_CODES, level_options, min_insync_option
from kafkactl.commands.framework.connection import ConnectionArguments, connection_options
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import unasked_writing_options


@leaf_command(
    "upgrade",
    examples=(
        "kafkactl features upgrade --bootstrap-server b1:9092 --metadata 4.3 --dry-run",
        "kafkactl features upgrade --bootstrap-server b1:9092 --release-version 4.3",
        "kafkactl features upgrade --bootstrap-controller c1:9093 --feature group.version=1",
    ),
    codes=CHANGE_CODES,
    timeout="2m",
)
@level_options
@click.option(
    "--convert-quorum", is_flag=True,
    help="With --release-version: raise kraft.version too, which makes the quorum dynamic permanently.",
)  # fmt: skip
@min_insync_option
@unasked_writing_options
@connection_options
def command(
    *,
    metadata: str | None,
    features: tuple[str, ...],
    release_version: str | None,
    convert_quorum: bool,
    accepted_min_insync: int | None,
    dry_run: bool,
    connection: ConnectionArguments,
) -> None:
    """Raise feature levels after checking every node, and verify them on every node.

    All blockers are reported at once, and no request is sent while there is one. Each level is shown
    with its effects and whether it can be undone. --dry-run also requests the active controller's
    own dry run, and reports differences.

    --release-version does not change kraft.version: raising it cannot be undone.
    """
    from kafkactl.features.api.cluster import feature_request

    request = feature_request(
        "upgrade",
        metadata=metadata,
        features=features,
        release_version=release_version,
        convert_quorum=convert_quorum,
        accepted_min_insync=accepted_min_insync,
    )
    change(request, dry_run=dry_run, connection=connection)
