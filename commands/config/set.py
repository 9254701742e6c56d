"""`kafkactl config set`: make a context, or change what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import unasked_writing_options

if TYPE_CHECKING:
    from kafkactl.findings import Finding


@leaf_command(
    "set",
    examples=(
        "kafkactl config set prod --bootstrap-server broker-1:9092,broker-2:9092 --command-config prod.properties",
        "kafkactl config set prod --cluster-id MkU3OEVBNTcwNTJENDM2Qg",
    ),
    codes=(0, 1, 2, 3),
)
@click.argument("name")
@click.option("--bootstrap-server", metavar="HOST:PORT,…", help="Brokers to ask first; takes the controllers' place.")
@click.option("--bootstrap-controller", metavar="HOST:PORT,…", help="Controllers to ask first, instead of brokers.")
@click.option("--command-config", metavar="FILE", help="Client properties: security, login, time-outs.")
@click.option("--cluster-id", metavar="ID", help="The id that the cluster must have before anything is changed.")
@click.option("--spark-master", metavar="URL", help="The Spark master on which dryrun replays logs.")
@unasked_writing_options
def command(
    *,
    name: str,
    bootstrap_server: str | None,
    bootstrap_controller: str | None,
    command_config: str | None,
    cluster_id: str | None,
    spark_master: str | None,
    dry_run: bool,
) -> None:
    """Set what is given and leave the rest; a context that is not there is made.

    The path of the client properties is kept whole, so that the context works from every folder.
    """
    import os.path

    from kafkactl.adapters.files.contexts_edit import with_context
    from kafkactl.commands.config.answer import change_and_tell

    _check(bootstrap_server, bootstrap_controller)
    given = {
        "bootstrap_server": bootstrap_server,
        "bootstrap_controller": bootstrap_controller,
        "command_config": command_config and os.path.abspath(os.path.expanduser(command_config)),  # noqa: PTH100, PTH111
        "cluster_id": cluster_id,
        "spark_master": spark_master,
    }
    changes = {key: value for key, value in given.items() if value}
    if not changes:
        raise click.UsageError("Nothing to set: give at least one option.", click.get_current_context())
    change_and_tell(
        lambda contexts: with_context(contexts, name, changes),
        name,
        dry_run=dry_run,
        findings=_remarks(changes.get("command_config")),
    )


def _check(bootstrap_server: str | None, bootstrap_controller: str | None) -> None:
    from kafkactl.adapters.net.transport import parse_addresses

    if bootstrap_server and bootstrap_controller:
        raise click.UsageError(
            "A context names brokers or controllers: keep one of --bootstrap-server and --bootstrap-controller.",
            click.get_current_context(),
        )
    for addresses in (bootstrap_server, bootstrap_controller):
        if addresses:
            parse_addresses(addresses)


def _remarks(path: str | None) -> list[Finding]:
    """Whether the client properties can be read and understood now: they may come later, so it is no error."""
    from kafkactl.adapters.kafka.client_config import load_client_config
    from kafkactl.errors import KafkactlError
    from kafkactl.findings import Finding, Severity

    if path is None:
        return []
    try:
        return list(load_client_config(path).findings)
    except KafkactlError as error:
        step = error.next_step or ""
        return [
            Finding(
                id=error.id,
                severity=Severity.WARNING,
                subject="command_config",
                message=error.message,
                next_step=step,
            )
        ]
