"""`kafkactl tiered report`: audit and forecast in one answer and one page."""

from __future__ import annotations

from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.rendering.output import emit, say
from kafkactl.commands.rendering.page import Page, Word
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
    written_details,
)
from kafkactl.commands.tiered.page_blocks import WithFiles, report_page


@leaf_command(
    "report",
    examples=(
        "kafkactl tiered report --observation saved --html report.html",
        "kafkactl tiered report /data/kafka --metadata /data/kafka/__cluster_metadata-0 --html report.html",
    ),
    codes=CODES,
    timeout="1h",
)
@bucket_input_options
@partition_options
@fail_on_option
@html_option
def command(*, inputs: Inputs, wanted: Selection, fail_on: str, html: str | None) -> None:
    """Audit and forecast together, with --html as one page with pictures.

    The page needs no network and no script. It draws for the worst partitions which offsets are remote,
    local, both or in a hole, and for each topic how old orphaned copies are; what is not drawn is
    counted. Without a source that names the replicas there is no forecast, which the answer says. Exit
    code 7 if a finding of either is a blocker, 6 if there was no record to judge.
    """
    from kafkactl.tiered.api.pages import check_html, report, write_html

    check_html(html)
    everything = loaded(inputs)
    filters = filters_of(wanted)
    found = report(everything, filters)
    if html is not None:
        write_html(html, found)
        say(f"The report is in {html}.")
    code = code_of(found.findings, fail_on=fail_on, is_empty=everything.is_empty)
    details = written_details(inputs, everything, filters)

    def show(page: Page, _: object) -> None:
        report_page(page, found, (("page", html), ("tables", details)))
        if html is None:
            page.line(Word("--html FILE writes it as one page with pictures", "dim"))

    answer = WithFiles(html=html, answer=found, details=details)
    emit("tiered.report", answer, render=show, exit_code=code, listing="findings")
