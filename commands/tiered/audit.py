"""`kafkactl tiered audit`: what is wrong with the remote log, and where each partition stands."""

from __future__ import annotations

from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.rendering.output import emit, say
from kafkactl.commands.tiered.options import (
    CODES,
    Inputs,
    Selection,
    bucket_input_options,
    code_of,
    fail_on_option,
    filters_of,
    html_option,
    loaded,
    partition_options,
    says_empty,
    stored_audit,
    written_details,
)
from kafkactl.commands.tiered.page_blocks import WithFiles, audit_page


@leaf_command(
    "audit",
    examples=(
        "kafkactl tiered audit /data/kafka --metadata /data/kafka/__cluster_metadata-0",
        "kafkactl tiered audit broker1/data broker2/data --bucket listing.txt",
        "kafkactl tiered audit --observation saved --fail-on warning -o json",
    ),
    codes=CODES,
    timeout="1h",
    has_metrics=True,
)
@bucket_input_options
@partition_options
@fail_on_option
@html_option
def command(*, inputs: Inputs, wanted: Selection, fail_on: str, html: str | None) -> None:
    """Find lost, unreachable and leftover data in tiered storage.

    Replays the metadata topic as brokers do, and compares the result with the cluster's metadata, the
    brokers' leader epochs and the objects of the store, as far as each is given. The findings are in
    the order of what they cost; `kafkactl explain ID` says more of each. Exit code 7 if one is a
    blocker, 6 if there was no record to judge. --html writes the page of `tiered report`.
    """
    from kafkactl.tiered.api.pages import check_html, report, write_html
    from kafkactl.tiered.api.verbs import audit

    check_html(html)
    kept = None if html is not None or inputs.details is not None or any(wanted) else stored_audit(inputs)
    if kept is not None:
        saved, answer_saved = kept
        code = code_of(saved.findings, fail_on=fail_on, is_empty=says_empty(saved.findings))
        emit(
            "tiered.audit",
            answer_saved,
            render=lambda page, _: audit_page(page, saved),
            exit_code=code,
            listing="findings",
        )
    everything = loaded(inputs)
    filters = filters_of(wanted)
    found = audit(everything, filters)
    details = written_details(inputs, everything, filters)
    answer = WithFiles(html=html, answer=found, details=details)
    if html is not None:
        write_html(html, report(everything, filters))
        say(f"The report is in {html}.")
    code = code_of(found.findings, fail_on=fail_on, is_empty=everything.is_empty)
    emit("tiered.audit", answer, render=lambda page, _: audit_page(page, found), exit_code=code, listing="findings")
