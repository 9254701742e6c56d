"""`kafkactl tiered history`: the records that made a segment or partition what it is."""

from __future__ import annotations

from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.rendering import output
from kafkactl.commands.rendering.stream import RecordStream
from kafkactl.commands.tiered.options import (
    CODES,
    Inputs,
    Selection,
    code_of,
    filters_of,
    input_options,
    loaded,
    segment_options,
)
from kafkactl.commands.tiered.records import TITLE, line_of


@leaf_command(
    "history",
    examples=(
        "kafkactl tiered history /data/kafka --topic orders --partition 3",
        "kafkactl tiered history /data/kafka --segment EBESExQVFhcYGRobHB0eHw -o table",
    ),
    codes=CODES,
    timeout="1h",
    output="jsonl",
)
@input_options
@segment_options
def command(*, inputs: Inputs, wanted: Selection) -> None:
    """Print the records of the metadata topic, each with whether brokers apply it, and why not.

    Records are in the order of metadata partition and offset, a line each. Findings about what could
    not be read go to stderr. Exit code 6 if there was no record, 7 if the logs are damaged.
    """
    from kafkactl.tiered.api.verbs import history, source_findings

    everything = loaded(inputs)
    stream = RecordStream("tiered.history", table=(TITLE, line_of))
    found = False
    for record in history(everything, filters_of(wanted)):
        found = True
        if not stream.write_record(record):
            break
    if not found and not everything.is_empty:
        output.say("No record matches these options.")
    findings = source_findings(everything)
    stream.end(findings, code_of(findings, is_empty=everything.is_empty))
