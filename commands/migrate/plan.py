"""`kafkactl migrate plan`: what will be done from here to the end, and what the copy will write."""

from __future__ import annotations

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.migrate.options import (
    ObservationArguments,
    code_without_evidence,
    observation_options,
    open_inventory,
    open_observation,
)
from kafkactl.commands.rendering.output import emit

KIND = "migrate.plan"


@leaf_command(
    "plan",
    examples=(
        "kafkactl migrate plan --inventory migration.toml",
        "kafkactl migrate plan --observation observation -o json",
    ),
    codes=(
        exit_codes.DONE, exit_codes.FAILED, exit_codes.USAGE, exit_codes.REFUSED, exit_codes.UNREACHABLE,
        exit_codes.UNKNOWN,
    ),
    timeout="5m",
)  # fmt: skip
@observation_options
def command(*, source: ObservationArguments) -> None:
    """Show every step from here to the end, what it waits for, and what the copy will write.

    Nothing is changed. Completed steps are shown as done. Before the last broker enters there is a
    barrier, because the copy then begins automatically; before the first controller is finalized there is
    another, because no rollback is possible after it. `migrate check` shows what blocks the next step.
    """
    from kafkactl.commands.migrate.page import plan_page
    from kafkactl.migration.api.planning import plan

    inventory = open_inventory(source)
    found = plan(open_observation(source), inventory)
    lacking = code_without_evidence(source, found.lacks)
    code = found.outcome.exit_code
    emit(KIND, found, render=plan_page, exit_code=code if code or lacking is None else lacking)
