"""`kafkactl tiered audit`: what is wrong with the remote log, and where each partition stands."""

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
    bucket_input_options,
    code_of,
    fail_on_option,
    filters_of,
    loaded,
    partition_options,
)
from kafkactl.wording import counted


@leaf_command(
    "audit",
    examples=(
        "kafkactl tiered audit /data/kafka --metadata /data/kafka/__cluster_metadata-0",
        "kafkactl tiered audit broker1/data broker2/data --bucket listing.txt",
        "kafkactl tiered audit --observation saved --fail-on warning -o json",
    ),
    codes=CODES,
    timeout="1h",
)
@bucket_input_options
@partition_options
@fail_on_option
def command(*, inputs: Inputs, wanted: Wanted, fail_on: str) -> None:
    """Find lost, unreachable and leftover data in tiered storage.

    Replays the metadata topic as brokers do, and compares the result with the cluster's metadata, the
    brokers' leader epochs and the objects of the store, as far as each is given. The findings are in
    the order of what they cost; `kafkactl explain ID` says more of each. Exit code 7 if one is a
    blocker, 6 if there was no record to judge.
    """
    from kafkactl.operations.tiered import audit

    everything = loaded(inputs)
    answer = audit(everything, filters_of(wanted))
    code = code_of(answer["findings"], fail_on=fail_on, is_empty=everything.is_empty)
    emit("tiered.audit", answer, render=_show, exit_code=code, listing="findings")


def _show(page: Page, answer: Mapping[str, Any]) -> None:
    blockers = sum(finding["severity"] == "blocker" for finding in answer["findings"])
    warnings = sum(finding["severity"] == "warning" for finding in answer["findings"])
    if blockers:
        page.heading(f"The remote log has {counted(blockers, 'problem')}", "bad")
    elif warnings:
        page.heading(f"Nothing is lost; {counted(warnings, 'warning')}", "warn")
    else:
        page.heading("The remote log is sound", "good")
    sums = answer["totals"]
    page.line(
        f"{counted(sums['topics'], 'topic')}, {counted(sums['partitions'], 'partition')}, "
        f"{counted(sums['segments'], 'segment')}, {sums['bytes']} bytes, {counted(sums['records'], 'record')}"
    )
    page.findings(answer["findings"])
    page.table(
        ("partition", "segments", "bytes", "remote", "highest", "next upload", "log start", "local start", "holes"),
        (_row(partition) for partition in answer["partitions"] if partition["segments"] or partition["holes"]),
    )
    for assumption in answer["assumptions"]:
        page.line(f"Assumed: {assumption}")


def _row(partition: Mapping[str, Any]) -> tuple[Any, ...]:
    start, end = partition["remote_start_offset"], partition["remote_end_offset"]
    return (
        f"{partition['topic']}-{partition['partition']}",
        partition["segments"],
        partition["bytes"],
        None if start is None else f"{start}-{end}",
        partition["highest_offset"],
        partition["next_upload_offset"],
        partition["log_start_offset"],
        partition["local_log_start_offset"],
        " ".join(f"{hole['from_offset']}-{hole['to_offset']}" for hole in partition["holes"]) or None,
    )
