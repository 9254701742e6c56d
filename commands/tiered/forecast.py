"""`kafkactl tiered forecast`: what each replica would do as leader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page
from kafkactl.commands.tiered.options import (
    CODES,
    Inputs,
    Wanted,
    code_of,
    fail_on_option,
    filters_of,
    input_options,
    loaded,
    partition_options,
)
from kafkactl.commands.tiered.shown import candidate_groups, forecast_heading


@leaf_command(
    "forecast",
    examples=(
        "kafkactl tiered forecast --observation saved",
        "kafkactl tiered forecast broker1/data --metadata broker1/data/__cluster_metadata-0 --metadata-partitions 8",
    ),
    codes=CODES,
    timeout="1h",
)
@input_options
@partition_options
@fail_on_option
def command(*, inputs: Inputs, wanted: Wanted, fail_on: str) -> None:
    """Say of each replica what it would do as leader, after it has read the metadata topic from its start.

    Where the log would begin, where uploads would go on, and what consumers could no longer read.
    Run it before a restart, a failover or a change of the number of metadata partitions
    (--metadata-partitions is the value that brokers will start with). Exit code 7 if a replica that
    is alive and in sync would do harm.
    """
    from kafkactl.operations.tiered import foresee

    everything = loaded(inputs)
    answer = foresee(everything, filters_of(wanted))
    code = code_of(answer["findings"], fail_on=fail_on, is_empty=everything.is_empty)
    emit("tiered.forecast", answer, render=_show, exit_code=code, listing="partitions")


def _show(page: Page, answer: Mapping[str, Any]) -> None:
    forecast_heading(page, answer)
    page.findings(answer["findings"])
    candidate_groups(page, answer["partitions"])
    for assumption in answer["assumptions"]:
        page.line(f"Assumed: {assumption}")
