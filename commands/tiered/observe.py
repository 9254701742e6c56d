"""`kafkactl tiered observe`: everything that the other verbs look at, saved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import PATH
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page
from kafkactl.commands.tiered.options import CODES, Inputs, code_of, loaded, saved_input_options
from kafkactl.core.wording import counted, size_text

if TYPE_CHECKING:
    from kafkactl.tiered.api.verbs import MetadataPartition, Saved
    from kafkactl.tiered.bucket import BucketRead


@leaf_command(
    "observe",
    examples=(
        "kafkactl tiered observe --from-cluster --bootstrap-server host:9092 --out saved",
        "kafkactl tiered observe /data/kafka --metadata /data/kafka/__cluster_metadata-0 --bucket list.txt --out saved",
    ),
    codes=CODES,
    timeout="1h",
)
@saved_input_options
@click.option("--out", required=True, metavar="DIR", type=PATH, help="A folder that is not there yet, or empty.")
def command(*, inputs: Inputs, out: str) -> None:
    """Save the metadata topic, what is known of the cluster, and the listing of the store.

    The other verbs take the folder as --observation, to ask a colleague or to look back. Only topics,
    partitions, offsets and the topics' own settings are saved. The folder is its owner's alone.
    """
    from kafkactl.tiered.api.verbs import check_saved, save

    check_saved(out)
    everything = loaded(inputs)
    saved = save(everything, out)
    emit("tiered.observe", saved, render=_show, exit_code=code_of(saved.findings, is_empty=everything.is_empty))


def _show(page: Page, saved: Saved) -> None:
    page.fields(
        [
            ("saved to", saved.folder),
            ("cluster", saved.cluster_id),
            ("topics", saved.topics),
            ("metadata partitions", _read(saved.source.metadata_partitions)),
            ("objects", _listed(saved.source.bucket)),
        ]
    )
    page.findings(saved.findings)


def _read(partitions: Sequence[MetadataPartition]) -> str:
    whole = sum(found.complete for found in partitions)
    records = sum(found.records for found in partitions)
    return f"{len(partitions)}, {whole} of them whole, {counted(records, 'record')}"


def _listed(bucket: BucketRead | None) -> str:
    return "no listing was given" if bucket is None else f"{bucket.objects}, {size_text(bucket.bytes)}"
