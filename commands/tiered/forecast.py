"""`kafkactl tiered forecast`: what each replica would do as leader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page
from kafkactl.commands.tiered.options import (
    CODES,
    Inputs,
    Selection,
    code_of,
    fail_on_option,
    filters_of,
    input_options,
    loaded,
    partition_options,
)
from kafkactl.commands.tiered.page_blocks import assumed, candidate_groups, forecast_heading

if TYPE_CHECKING:
    from kafkactl.tiered.api.verbs import Forecast


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
def command(*, inputs: Inputs, wanted: Selection, fail_on: str) -> None:
    """Predict for each replica what it would do as leader, after it has read the metadata topic from its start.

    Shows where the log would begin, where uploads would continue, and what consumers could no longer read.
    Run it before a restart, a failover or a change of the number of metadata partitions
    (--metadata-partitions is the value that brokers will start with). Exit code 7 if a replica that
    is alive and in sync would do harm.
    """
    from kafkactl.tiered.api.verbs import foresee

    everything = loaded(inputs)
    found = foresee(everything, filters_of(wanted))
    code = code_of(found.findings, fail_on=fail_on, is_empty=everything.is_empty)
    emit("tiered.forecast", found, render=_show, exit_code=code, listing="partitions")


def _show(page: Page, found: Forecast) -> None:
    forecast_heading(page, found)
    page.findings(found.findings)
    candidate_groups(page, found.partitions)
    assumed(page, found.assumptions)
