"""`kafkactl config set`: make a context, or change what it says."""

from __future__ import annotations

import click

from kafkactl.commands.framework import completing
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import unasked_writing_options


@leaf_command(
    "set",
    examples=(
        "kafkactl config set prod --bootstrap-server broker-1:9092,broker-2:9092 --command-config prod.properties",
        "kafkactl config set prod --cluster-id MkU3OEVBNTcwNTJENDM2Qg",
    ),
    codes=(0, 1, 2, 3),
)
@click.argument("name", shell_complete=completing.contexts)
@click.option("--bootstrap-server", metavar="HOST:PORT,…", help="Brokers to connect to first; replaces controllers.")
@click.option(
    "--bootstrap-controller", metavar="HOST:PORT,…", help="Controllers to connect to first, instead of brokers."
)
@click.option("--bootstrap", metavar="HOST:PORT,…", help="Brokers or controllers: they are asked which they are.")
@click.option("--command-config", metavar="FILE", help="Client properties: security, login, time-outs.")
@click.option("--controller-command-config", metavar="FILE", help="Client properties for controllers, if they differ.")
@click.option("--cluster-id", metavar="ID", help="The id that the cluster must have before anything is changed.")
@click.option("--spark-master", metavar="URL", help="The Spark master on which dryrun replays logs.")
@unasked_writing_options
def command(
    *,
    name: str,
    bootstrap_server: str | None,
    bootstrap_controller: str | None,
    bootstrap: str | None,
    command_config: str | None,
    controller_command_config: str | None,
    cluster_id: str | None,
    spark_master: str | None,
    dry_run: bool,
) -> None:
    """Set the given values of a context; create the context if it does not exist.

    The path of the client properties is stored as an absolute path.
    """
    from kafkactl.commands.config.answer import tell
    from kafkactl.kafka.api.contexts import set_context

    if [bootstrap_server, bootstrap_controller, bootstrap].count(None) < 2:
        raise click.UsageError(
            "A context has one kind of addresses: keep one of --bootstrap-server, --bootstrap-controller, --bootstrap.",
            click.get_current_context(),
        )
    given = {
        "bootstrap_server": bootstrap_server,
        "bootstrap_controller": bootstrap_controller,
        "bootstrap": bootstrap,
        "command_config": _absolute(command_config),
        "controller_command_config": _absolute(controller_command_config),
        "cluster_id": cluster_id,
        "spark_master": spark_master,
    }
    changes = {key: value for key, value in given.items() if value}
    if not changes:
        raise click.UsageError("Nothing to set: give at least one option.", click.get_current_context())
    tell(set_context(name, changes, dry_run=dry_run))


def _absolute(path: str | None) -> str | None:
    import os.path

    return path and os.path.abspath(os.path.expanduser(path))  # noqa: PTH100, PTH111
