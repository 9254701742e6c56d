"""`kafkactl storage ensure`: for entry points; formats what was never formatted, and refuses any difference."""

from __future__ import annotations

from typing import Any

from kafkactl.commands.framework.connection import find_node_file
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import kafka_version_option, writing_options
from kafkactl.commands.framework.settings import current_settings
from kafkactl.commands.storage.format_answer import carry_out
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
def command(config: str | None, kafka_version: str | None, dry_run: bool, **given: Any) -> None:
    """Ensure that a node is formatted with these arguments; safe to run before every start.

    Directories that were never formatted are formatted. If everything already matches, nothing is
    done. Any difference (cluster id, node id, and on a node that never started: feature levels, users,
    voters) is refused, and so is an empty disk that `format` would refuse.
    """
    from kafkactl.commands.framework.exposure import tell_exposure
    from kafkactl.storage.api.format import plan_ensure

    yes = given.pop("yes") or config is not None  # only a file that was not named has to be confirmed
    config = config or find_node_file(writes=True).path
    request, notes = build_request(given, ignore_formatted=True)
    planned = plan_ensure(
        config, request, kafka_version=kafka_version, on_exposure=tell_exposure,
        timeout_ms=current_settings().timeout_ms,
    )  # fmt: skip
    carry_out("storage.ensure", planned, notes, dry_run=dry_run, yes=yes, config=config)
