"""`kafkactl tiered`: the table of its verbs. Each verb is a module of its own."""

from __future__ import annotations

import click

from kafkactl.commands.framework.connection import connection_options
from kafkactl.commands.framework.lazy_group import Entry, LazyGroup

VERBS = {
    "audit": Entry("kafkactl.commands.tiered.audit", "command", "What is wrong with the remote log, worst first."),
    "segments": Entry("kafkactl.commands.tiered.segments", "command", "Which remote segments there are."),
    "history": Entry("kafkactl.commands.tiered.history", "command", "The records behind a segment or a partition."),
    "forecast": Entry("kafkactl.commands.tiered.forecast", "command", "What each replica would do as leader."),
    "observe": Entry("kafkactl.commands.tiered.observe", "command", "Save everything that the others look at."),
    "report": Entry("kafkactl.commands.tiered.report", "command", "Audit and forecast as one page with pictures."),
    "leftovers": Entry("kafkactl.commands.tiered.leftovers", "command", "Objects that no broker will ever delete."),
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
