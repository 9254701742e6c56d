"""`kafkactl storage ensure`: for entry points; formats what was never formatted, and refuses any difference."""

from __future__ import annotations

from typing import Any

from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import kafka_version_option, writing_options
from kafkactl.commands.framework.settings import current_settings
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.storage.format_answer import format_answer, show_format
from kafkactl.commands.storage.format_request import build_request, kafka_options, our_options


@leaf_command(
    "ensure",
    examples=(
        "kafkactl storage ensure -t ID -c server.properties --no-initial-controllers",
        'kafkactl storage ensure -t "$CLUSTER_ID" -c /etc/kafka/server.properties --kafka-version 4.3.1',
    ),
    codes=(0, 1, 2, 3, 5, 6),
)
@kafka_options
@kafka_version_option
@our_options
@writing_options
def command(config: str, kafka_version: str | None, dry_run: bool, **given: Any) -> None:
    """Make sure that a node is formatted as these arguments say; safe to run before every start.

    What was never formatted is formatted. Where everything is as asked, nothing is done. Any
    difference (cluster id, node id, and on a node that never started: feature levels, users, voters)
    is a refusal, and so is a blank disk that `format` would refuse.
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
    from kafkactl.storage.format.ensure import plan_ensure

    del given["yes"]  # an entry point has nobody to ask
    release = find_release(kafka_version) if kafka_version else newest_release()
    request, said = build_request(given, ignore_formatted=True)
    data = read_input(Path(config), "the node's configuration", InputKind.NODE_CONFIG)
    node = read_node_config(data, file=config, release=release, resolve=resolve)
    observed = observe_for_format(node, request.overrides)
    plan = plan_ensure(request, node, observed, release, SystemSource())
    applied = None if dry_run else apply_plan(plan, OsFilesystem())
    outcome, findings = (plan.outcome, plan.findings) if applied is None else (applied.outcome, applied.findings)
    digests = dry_run or current_settings().output != "table"  # people see them in a dry run
    answer = format_answer(plan, outcome=outcome, findings=[*findings, *said], applied=applied, digests=digests)
    emit("storage.ensure", answer, render=show_format, exit_code=outcome.exit_code)
