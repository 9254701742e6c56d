"""`kafkactl tiered`: the table of its verbs. Each verb is a module of its own."""

from __future__ import annotations

import click

from kafkactl.commands.framework.connection import connection_options
from kafkactl.commands.framework.lazy_group import Entry, LazyGroup

VERBS = {
    "audit": Entry("kafkactl.commands.tiered.audit", "command", "Report problems of the remote log, worst first."),
    "segments": Entry("kafkactl.commands.tiered.segments", "command", "List the remote segments."),
    "history": Entry(
        "kafkactl.commands.tiered.history", "command", "Show the metadata records of a segment or partition."
    ),
    "forecast": Entry("kafkactl.commands.tiered.forecast", "command", "Predict what each replica would do as leader."),
    "observe": Entry(
        "kafkactl.commands.tiered.observe", "command", "Save the input of the other commands in a folder."
    ),
    "report": Entry("kafkactl.commands.tiered.report", "command", "Write audit and forecast as one HTML page."),
    "leftovers": Entry("kafkactl.commands.tiered.leftovers", "command", "List objects that no broker will delete."),
}


@click.group(
    "tiered",
    cls=LazyGroup,
    entries=VERBS,
    examples=(
        "kafkactl tiered audit /data/kafka --metadata /data/kafka/__cluster_metadata-0",
        "kafkactl tiered --bootstrap-server host:9092 audit --from-cluster",
    ),
)
@connection_options
def command() -> None:
    """Audit tiered storage (KIP-405) by its metadata topic, __remote_log_metadata.

    A SOURCE is a __remote_log_metadata-N folder, a folder that holds some, a broker's log directory,
    or a single .log file of such a folder. Several sources with the same metadata partition are
    replicas of it. With --from-cluster the brokers are asked. Nothing is written to a cluster or a
    store; what is not given is unknown.
    """
