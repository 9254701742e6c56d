"""`kafkactl storage format`: what `kafka-storage.sh format` does, planned, guarded and safe against a crash."""

from __future__ import annotations

from typing import Any

import click

from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import kafka_version_option, writing_options
from kafkactl.commands.framework.settings import current_settings
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.storage.format_answer import format_answer, show_format
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
def command(config: str, kafka_version: str | None, ignore_formatted: bool, dry_run: bool, **given: Any) -> None:
    """Format the log directories of one node before its first start.

    Everything is planned first: where something speaks against it, all of it is said and nothing is
    written. A directory without meta.properties that is not blank, or blank by accident, is refused.
    """
    from pathlib import Path

    from kafkactl.adapters.disks.apply_format import apply_plan
    from kafkactl.adapters.files.config_providers import resolve
    from kafkactl.adapters.files.entropy import SystemSource
    from kafkactl.adapters.files.filesystem import OsFilesystem
    from kafkactl.adapters.files.input_files import InputKind, read_input
    from kafkactl.commands.storage.format_observation import observe_for_format
    from kafkactl.features.catalog.releases import find_release, newest_release
    from kafkactl.storage.config.node_config import read_node_config
    from kafkactl.storage.format.plan import plan_format

    del given["yes"]  # like Kafka's tool this one never asks
    release = find_release(kafka_version) if kafka_version else newest_release()
    request, said = build_request(given, ignore_formatted=ignore_formatted)
    data = read_input(Path(config), "the node's configuration", InputKind.NODE_CONFIG)
    node = read_node_config(data, file=config, release=release, resolve=resolve)
    observed = observe_for_format(node, request.overrides)
    plan = plan_format(request, node, observed, release, SystemSource())
    applied = None if dry_run else apply_plan(plan, OsFilesystem())
    outcome, findings = (plan.outcome, plan.findings) if applied is None else (applied.outcome, applied.findings)
    digests = dry_run or current_settings().output != "table"  # people see them in a dry run
    answer = format_answer(plan, outcome=outcome, findings=[*findings, *said], applied=applied, digests=digests)
    emit("storage.format", answer, render=show_format, exit_code=outcome.exit_code)
