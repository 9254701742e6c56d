"""`kafkactl quorum`: the table of its verbs. Each verb is a module of its own."""

from __future__ import annotations

import click

from kafkactl.commands.framework.connection import connection_options
from kafkactl.commands.framework.lazy_group import Entry, LazyGroup

VERBS = {
    "describe": Entry(
        "kafkactl.commands.quorum.describe", "command", "Who leads, who votes, who lags; also without a leader."
    ),
    "add-controller": Entry(
        "kafkactl.commands.quorum.add_controller", "command", "Make this host's controller a voter."
    ),
    "remove-controller": Entry("kafkactl.commands.quorum.remove_controller", "command", "Remove a voter."),
    "reassign": Entry(
        "kafkactl.commands.quorum.reassign", "command", "Change the voters, one at a time, in the safest order."
    ),
    "apply": Entry(
        "kafkactl.commands.quorum.apply", "command", "Carry out a plan file, if the voters are still the same."
    ),
    "convert": Entry("kafkactl.commands.quorum.convert", "command", "Make a static quorum dynamic, permanently."),
    "recover": Entry(
        "kafkactl.commands.quorum.recover.run", "command", "Recover a quorum whose majority of disks is lost."
    ),
}


@click.group(
    "quorum",
    cls=LazyGroup,
    entries=VERBS,
    examples=(
        "kafkactl quorum --bootstrap-controller c1:9093 describe",
        "kafkactl quorum describe --bootstrap-server b1:9092 --watch",
    ),
)
@connection_options
def command() -> None:
    """Look at the quorum of controllers (KRaft).

    Flags have the names and the meaning of kafka-metadata-quorum.sh.
    """
