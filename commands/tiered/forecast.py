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
    page.findings(answer["findings"])
    page.table(
        ("partition", "broker", "leads", "alive", "consumer", "uploads", "log start", "highest", "next upload", "lost"),
        (_row(partition, candidate) for partition in answer["partitions"] for candidate in partition["candidates"]),
    )
    for assumption in answer["assumptions"]:
        page.line(f"Assumed: {assumption}")


def _row(partition: Mapping[str, Any], candidate: Mapping[str, Any]) -> tuple[Any, ...]:
    lost = candidate["unreachable"]
    alive = candidate["alive"]
    return (
        f"{partition['topic']}-{partition['partition']}",
        candidate["broker_id"],
        "yes" if candidate["leads_now"] else "no",
        None if alive is None else "yes" if alive else "no",
        candidate["consumer"],
        candidate["uploads"],
        candidate["log_start_offset"],
        candidate["highest_offset"],
        candidate["next_upload_offset"],
        None if lost is None else f"{lost['from_offset']}-{lost['to_offset']}",
    )
