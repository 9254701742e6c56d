"""`kafkactl storage format`: what `kafka-storage.sh format` does, planned, guarded and safe against a crash."""

from __future__ import annotations

from typing import Any

import click

from kafkactl.commands.framework.connection import find_node_file
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import kafka_version_option, writing_options
from kafkactl.commands.framework.settings import current_settings
from kafkactl.commands.storage.format_answer import carry_out
from kafkactl.commands.storage.format_request import build_request, kafka_options, our_options


@leaf_command(
    "format",
    examples=(
        "kafkactl storage format -t ID -c controller.properties --standalone",
        "kafkactl storage format -t ID -c broker.properties --no-initial-controllers --dry-run",
        "kafkactl storage format -t ID -c server.properties --kafka-version 3.9.2 --owner kafka:kafka",
        "kafkactl storage format -t ID -c controller.properties -s --scram-file users.txt",
    ),
    codes=(0, 1, 2, 3, 5, 6),
)
@kafka_options
@click.option("-g", "--ignore-formatted", is_flag=True, help="Leave formatted directories alone, format the others.")
@kafka_version_option
@our_options
@writing_options
def command(config: str | None, kafka_version: str | None, ignore_formatted: bool, dry_run: bool, **given: Any) -> None:
    """Format the log directories of one node before its first start.

    Everything is planned first: if any check fails, all problems are reported and nothing is
    written. A directory that is not empty, or only appears to be empty, is refused.
    """
    from kafkactl.commands.framework.exposure import tell_exposure
    from kafkactl.storage.api.format import plan_format

    yes = given.pop("yes") or config is not None  # only a file that was not named has to be confirmed
    config = config or find_node_file(writes=True).path
    request, notes = build_request(given, ignore_formatted=ignore_formatted)
    planned = plan_format(
        config, request, kafka_version=kafka_version, on_exposure=tell_exposure,
        timeout_ms=current_settings().timeout_ms,
    )  # fmt: skip
    carry_out("storage.format", planned, notes, dry_run=dry_run, yes=yes, config=config)
