"""`kafkactl tiered observe`: everything that the other verbs look at, saved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page
from kafkactl.commands.tiered.options import CODES, Inputs, bucket_input_options, code_of, loaded


@leaf_command(
    "observe",
    examples=(
        "kafkactl tiered observe --from-cluster --bootstrap-server host:9092 --out saved",
        "kafkactl tiered observe /data/kafka --metadata /data/kafka/__cluster_metadata-0 --bucket list.txt --out saved",
    ),
    codes=CODES,
    timeout="1h",
)
@bucket_input_options
@click.option(
    "--out", required=True, metavar="DIR", type=click.Path(), help="A folder that is not there yet, or empty."
)
def command(*, inputs: Inputs, out: str) -> None:
    """Save the metadata topic, what is known of the cluster, and the listing of the store.

    The other verbs take the folder as --observation, to ask a colleague or to look back. Only topics,
    partitions, offsets and the topics' own settings are saved. The folder is its owner's alone.
    """
    from kafkactl.operations.tiered import save

    everything = loaded(inputs)
    answer = save(everything, out)
    emit(
        "tiered.observe",
        answer,
        render=_show,
        exit_code=code_of(answer["findings"], is_empty=everything.is_empty),
    )


def _show(page: Page, answer: Mapping[str, Any]) -> None:
    page.fields(
        [
            ("saved to", answer["folder"]),
            ("cluster", answer["cluster_id"]),
            ("topics", answer["topics"]),
            ("metadata partitions", len(answer["source"]["metadata_partitions"])),
        ]
    )
    page.findings(answer["findings"])
