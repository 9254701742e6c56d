"""`kafkactl tiered segments`: which remote segments there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.rendering import output
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page
from kafkactl.commands.tiered.options import (
    CODES,
    Inputs,
    Selection,
    code_of,
    filters_of,
    loaded,
    segment_input_options,
    segment_options,
    written_details,
)
from kafkactl.commands.tiered.page_blocks import segment_groups

if TYPE_CHECKING:
    from kafkactl.core.findings import Finding
    from kafkactl.tiered.answers import RemoteSegment, RemoteSegments


@leaf_command(
    "segments",
    examples=(
        "kafkactl tiered segments /data/kafka --topic orders",
        "kafkactl tiered segments /data/kafka --state COPY_SEGMENT_STARTED -o jsonl",
    ),
    codes=CODES,
    timeout="1h",
)
@segment_input_options
@segment_options
@click.option("--all", "with_deleted", is_flag=True, help="List DELETE_SEGMENT_FINISHED segments, too.")
def command(*, inputs: Inputs, wanted: Selection, with_deleted: bool) -> None:
    """List the segments that the metadata topic has, with their state and place in the epoch index.

    A segment that brokers have forgotten is listed and marked. Exit code 6 if there was no record.
    """
    from kafkactl.tiered.api.verbs import segments, source_findings

    keep = with_deleted or "DELETE_SEGMENT_FINISHED" in wanted.state
    everything = loaded(inputs, keep_deleted=keep)
    filters = filters_of(wanted)
    found = segments(everything, filters)
    details = written_details(inputs, everything, filters)
    findings = source_findings(everything)
    if not found and not everything.is_empty:
        output.say("No segment matches these options.")
    answer: RemoteSegments = {
        "engine": everything.engine.name,
        "segments": found,
        "findings": findings,
        "assumptions": everything.assumptions,
        "details": details,
    }
    emit(
        "tiered.segments",
        answer,
        render=lambda page, _: _show(page, found, findings),
        exit_code=code_of(findings, is_empty=everything.is_empty),
        listing="segments",
    )


def _show(page: Page, found: Sequence[RemoteSegment], findings: Sequence[Finding]) -> None:
    segment_groups(page, found)
    page.findings(findings)
