"""`kafkactl log history`: every record that made a key what it is."""

from __future__ import annotations

import click

from kafkactl.commands.framework import completing_live, exit_codes
from kafkactl.commands.framework.bundles import bundle_option
from kafkactl.commands.framework.connection import ConnectionArguments, reading_options
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.log_options import code_of, from_cluster_option, log_place, show_secrets_option
from kafkactl.commands.framework.options import PATH
from kafkactl.commands.rendering import output
from kafkactl.commands.rendering.progress import shown_progress


@leaf_command(
    "history",
    examples=(
        "kafkactl log history /disk1/__cluster_metadata-0 --topic orders --partition 3 -o table",
        "kafkactl log history /disk1/__cluster_metadata-0 --config topic:orders:retention.ms",
        "kafkactl log history --from-cluster --bootstrap-controller host:9093 --broker 4",
    ),
    codes=exit_codes.READING,
    timeout="1h",
    output="jsonl",
    on_terminal="table",
)  # fmt: skip
@click.argument("sources", metavar="[SOURCE]...", nargs=-1, type=PATH)
@from_cluster_option
@bundle_option
@click.option(
    "--topic", metavar="T", shell_complete=completing_live.topics,
    help="A topic, by name or id: itself, its partitions, its configuration.",
)  # fmt: skip
@click.option("--partition", type=click.IntRange(min=0), metavar="P", help="Only this partition of the topic.")
@click.option(
    "--broker",
    shell_complete=completing_live.brokers,
    type=click.IntRange(min=0),
    metavar="N",
    help="A broker: its registrations and its configuration.",
)
@click.option(
    "--controller", type=click.IntRange(min=0), metavar="N", shell_complete=completing_live.controllers,
    help="A controller's registrations.",
)  # fmt: skip
@click.option("--config", metavar="KEY", help="topic:NAME, broker:ID, group:NAME …, or one of its keys (topic:NAME:K).")
@click.option("--user", metavar="U", help="A user: SCRAM credentials, quotas, ACLs, tokens.")
@click.option(
    "--feature", metavar="F", shell_complete=completing_live.features, help="A feature, such as metadata.version."
)
@click.option("--acl", metavar="ID", help="An ACL, by its id.")
@show_secrets_option
@reading_options
def command(
    *,
    sources: tuple[str, ...],
    from_cluster: bool,
    bundle: str | None,
    partition: int | None,
    show_secrets: bool,
    connection: ConnectionArguments,
    **keys: str | int | None,
) -> None:
    """Print all records that concern a topic, broker, configuration or user.

    Each is a line in the format of `log dump`, a table on a terminal; `applied` is false for records of an aborted
    transaction. If the log does not begin at offset 0, the snapshot that covers the records before is
    searched first; the history before that snapshot is lost.
    """
    from kafkactl.commands.rendering.stream import RecordStream
    from kafkactl.core.wording import did_you_mean
    from kafkactl.metadata.api.history import record_history

    subject, name = _subject(keys, partition)
    with (
        shown_progress("Reading the log", writes=True),
        log_place(sources, connection, from_cluster=from_cluster, bundle=bundle) as place,
    ):
        history = record_history(place, subject, name, partition=partition)
        stream = RecordStream("log.history")
        for event in history.events():
            if not stream.write_record(event.to_dict(hide=not show_secrets)):
                break
    if history.is_empty:
        output.say(f"No record matches these options.{did_you_mean(name, history.names)}")
    findings = history.findings
    stream.end(findings, code_of(findings))


def _subject(keys: dict[str, str | int | None], partition: int | None) -> tuple[str, str]:
    """Return the subject of the history. Raise UsageError unless exactly one option names it."""
    from kafkactl.metadata.api.history import CONFIG_KINDS, SUBJECTS

    named = {option: value for option, value in keys.items() if value is not None}
    if len(named) != 1:
        options = ", ".join(f"--{option}" for option in SUBJECTS)
        raise click.UsageError(f"Give exactly one of {options}.")
    if partition is not None and "topic" not in named:
        raise click.UsageError("--partition goes with --topic.")
    ((option, name),) = named.items()
    word, colon, _ = str(name).partition(":")
    if option == "config" and not (colon and (word in CONFIG_KINDS or word.isdigit())):
        known = ", ".join(f"{kind}:NAME" for kind in CONFIG_KINDS)
        raise click.BadParameter(
            f"{name!r} names no configuration: write {known}, or broker: for that of all brokers.",
            param_hint="--config",
        )
    return option, str(name)
